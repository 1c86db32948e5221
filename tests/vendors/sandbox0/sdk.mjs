// The official SDK, unpatched, against the emulator: what passes here is what the service's clients really send and take.
//
//   node sdk.mjs URL [counts]    counts: prints how many requests each operation takes instead

import { createHash } from 'node:crypto';
import { APIError, Client } from 'sandbox0';
import * as cases from '../common/cases.mjs';
import { same, test } from '../common/cases.mjs';
import { askPort } from '../common/ports.mjs';

const [baseUrl, what] = process.argv.slice(2);
const token = 's0_emulated_0123456789abcdef0123456789abcdef';
const client = new Client({ token, baseUrl });
const refused = (work, status, code) => cases.refused(work, (problem) => problem instanceof APIError && problem.statusCode === status && (!code || problem.code === code));
const counted = (name, work) => cases.counted(baseUrl, name, work);
const shell = (box, script, more = {}) => box.cmd(script, { command: ['bash', '-lc', script], cwd: '/workspace', ...more });

// ---- counts ----------------------------------------------------------------------------------------------------------

async function counts() {
    let box;
    const attached = async () => client.sandbox((await client.sandboxes.get(box.id)).id);
    const run = async () => {
        const one = await attached();
        await one.deleteContext((await shell(one, 'true')).contextId); // or the sandbox keeps it for ever
    };
    await counted('create', async () => (box = await client.sandboxes.claim('default')));
    await counted('exec', run);
    await counted('upload 1 MiB', async () => (await attached()).writeFile('/workspace/mebibyte', Buffer.alloc(1 << 20)));
    await counted('download 1 MiB', async () => (await attached()).readFile('/workspace/mebibyte'));
    await counted('upload 20', async () => {
        const one = await attached();
        for (let index = 0; index < 20; index++) await one.writeFile(`/workspace/many/${index}`, 'x');
    });
    await counted('download 20', async () => {
        const one = await attached();
        for (let index = 0; index < 20; index++) await one.readFile(`/workspace/many/${index}`);
    });
    await counted('list', () => client.sandboxes.list());
    await counted('delete', () => client.sandboxes.delete(box.id));
}

// ---- the life of a sandbox -------------------------------------------------------------------------------------------

async function commands(box) {
    await test('run', async () => {
        const { stdout, stderr, exitCode, state } = await shell(box, 'pwd; echo "$GREETING"; echo problem >&2; exit 3');
        return same([stdout, stderr, exitCode, state], ['/workspace\nhello\n', 'problem\n', 3, 'crashed']);
    });
    await test('nothing printed', async () => {
        const { stdout, stderr, outputRaw, exitCode } = await shell(box, 'true');
        return same([stdout, stderr, outputRaw, exitCode], ['', '', '', 0]);
    });
    await test('both streams in their order', async () => same((await shell(box, 'echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three')).outputRaw, 'one\ntwo\nthree\n'));
    await test('variables and folder', async () => same((await shell(box, 'pwd; echo $A', { cwd: '/tmp', envVars: { A: '1' } })).stdout, '/tmp\n1\n'));
    await test('of much output the last mebibyte', async () => {
        const { stdout } = await shell(box, 'head -c 1048570 /dev/zero | tr "\\0" x; echo; echo end of it');
        return same([stdout.length, stdout.endsWith('\nend of it\n')], [1048576, true]);
    });
    await test('no such program', () => refused(() => box.cmd('no-such-program'), 500, 'create_failed'));
    await test('no such folder', () => refused(() => shell(box, 'true', { cwd: '/nowhere' }), 500, 'create_failed'));
    await test('a killed one', async () => {
        const { contextId } = await shell(box, 'exec sleep 60', { wait: false });
        const { running, exitCode } = await box.getContext(contextId);
        await box.contextSignal(contextId, 'KILL');
        let ended;
        do ended = await box.getContext(contextId); while (ended.running);
        return same([running, exitCode, ended.exitCode, ended.state], [true, undefined, -1, 'killed']);
    });
    await test('contexts stay until they are deleted', async () => {
        for (const { id } of await box.listContexts()) await box.deleteContext(id);
        const { contextId } = await shell(box, 'true');
        const before = (await box.listContexts()).map(({ id }) => id);
        await box.deleteContext(contextId);
        await refused(() => box.getContext(contextId), 404, 'context_not_found');
        return same([before, await box.listContexts()], [[contextId], []]);
    });
}

async function files(box) {
    const bytes = Buffer.from(Uint8Array.from({ length: 300000 }, (_, index) => (index * 31) % 256));
    await test('a file up and down', async () => {
        await box.writeFile('/workspace/new folder/ä.bin', bytes);
        return same(Buffer.compare(Buffer.from(await box.readFile('new folder/ä.bin')), bytes), 0);
    });
    await test('an empty file', async () => {
        await box.writeFile('/workspace/empty', '');
        return same((await box.readFile('/workspace/empty')).length, 0);
    });
    await test('its mode is lost', async () => {
        await shell(box, 'touch tool; chmod 755 tool');
        await box.writeFile('/workspace/tool', 'echo');
        return same((await box.statFile('/workspace/tool')).mode, '0644');
    });
    await test('a missing file', () => refused(() => box.readFile('/workspace/nothing'), 404, 'file_not_found'));
    await test('a folder is no file', () => refused(() => box.readFile('/workspace'), 409, 'path_not_file'));
    await test('a path below a file', () => refused(() => box.readFile('/workspace/tool/below'), 500, 'operation_failed'));
    await test('onto a folder', () => refused(() => box.writeFile('/workspace', 'x'), 409, 'path_not_file'));
    await test('folders', async () => {
        await box.mkdir('/workspace/made');
        await refused(() => box.mkdir('/workspace/made'), 409, 'path_exists');
        await box.mkdir('/workspace/made', true);
        await box.moveFile('/workspace/tool', '/workspace/made/deep/tool');
        const names = (await box.listFiles('/workspace/made')).map(({ name, type }) => `${name} ${type}`);
        await box.deleteFile('/workspace/made');
        await box.deleteFile('/workspace/made');
        await refused(() => box.listFiles('/workspace/made'), 404, 'directory_not_found');
        return same(names, ['deep dir']);
    });
}

async function sleeping(box) {
    await test('pause and resume', async () => {
        await shell(box, 'echo kept >kept; echo lost >/tmp/lost');
        const { runtimeGeneration: before } = await client.sandboxes.get(box.id);
        const accepted = await client.sandboxes.pause(box.id);
        const { status, paused } = await client.sandboxes.pauseAndWait(box.id);
        const { runtimeGeneration: now } = await client.sandboxes.resumeAndWait(box.id);
        return same([accepted.paused, status, paused, now - before, (await shell(box, 'cat kept; ls /tmp')).stdout], [false, 'paused', true, 1, 'kept\n']);
    });
    await test('a command wakes it', async () => {
        await client.sandboxes.pauseAndWait(box.id);
        return same((await shell(box, 'cat kept')).stdout, 'kept\n');
    });
    await test('unless that is not wanted', async () => {
        await client.sandboxes.update(box.id, { config: { autoResume: false } });
        await client.sandboxes.pauseAndWait(box.id);
        await refused(() => shell(box, 'true'), 503, 'unavailable');
        await client.sandboxes.resumeAndWait(box.id);
    });
    await test('clocks begin anew', async () => {
        const { hardExpiresAt } = await client.sandboxes.get(box.id);
        return same((await client.sandboxes.refresh(box.id, { duration: 60 })).hardExpiresAt >= hardExpiresAt, true);
    });
}

async function copies(box) {
    let snapshot;
    await test('a snapshot, and a sandbox from it', async () => {
        snapshot = await client.sandboxes.createRootFSSnapshot(box.id, { name: 'kept' });
        const copy = await client.sandboxes.claim('default', { snapshotId: snapshot.id });
        const { stdout } = await shell(copy, 'cat kept');
        await client.sandboxes.delete(copy.id);
        const listed = await client.sandboxes.listRootFSSnapshots(box.id);
        return same([stdout, listed.map(({ id, name }) => [id, name]), (await client.sandboxes.getRootFSSnapshot(snapshot.id)).name], ['kept\n', [[snapshot.id, 'kept']], 'kept']);
    });
    await test('deleted, once', async () => {
        await client.sandboxes.deleteRootFSSnapshot(snapshot.id);
        await refused(() => client.sandboxes.deleteRootFSSnapshot(snapshot.id), 404);
        return refused(() => client.sandboxes.claim('default', { snapshotId: snapshot.id }), 404);
    });
    await test('a fork sleeps', async () => {
        const { sandbox } = await client.sandboxes.fork(box.id, { config: { ttl: 60, hardTtl: 600 } });
        await client.sandboxes.resumeAndWait(sandbox.id);
        const { stdout } = await shell(client.sandbox(sandbox.id), 'cat kept');
        await client.sandboxes.delete(sandbox.id);
        return same([sandbox.status, sandbox.paused, stdout], ['paused', true, 'kept\n']);
    });
}

async function life() {
    let box;
    await test('claim', async () => {
        box = await client.sandboxes.claim('default', { config: { ttl: 600, hardTtl: 3600, envVars: { GREETING: 'hello' } }, memory: '512Mi' });
        const { status, paused, autoResume, templateId, resources } = await client.sandboxes.get(box.id);
        return same([box.status, status, paused, autoResume, templateId, resources], ['running', 'running', false, true, 'default', { memory: '512Mi' }]);
    });
    await test('lifetimes that contradict', () => refused(() => client.sandboxes.claim('default', { config: { ttl: 601, hardTtl: 600 } }), 400));
    await test('no such template', () => refused(() => client.sandboxes.claim('nothing'), 404, 'not_found'));
    await test('one that is not ready', () => refused(() => client.sandboxes.claim('unready'), 409, 'template_not_ready'));
    await test('a wrong token', () => refused(() => new Client({ token: 's0_wrong', baseUrl }).sandboxes.list(), 401, 'unauthorized'));
    await test('a sandbox that is not there', () => refused(() => client.sandboxes.get('rs-nothing'), 404, 'not_found'));
    await commands(box);
    await files(box);
    await sleeping(box);
    await copies(box);
    await test('a network policy', async () => {
        const other = await client.sandboxes.claim('default', { config: { network: { mode: 'block-all', egress: { trafficRules: [{ action: 'allow', domains: ['a.example'], ports: [{ port: 443 }] }] } } } });
        const reach = async () => (await shell(other, ['a.example:443', 'a.example:80', 'c.example:443'].map((place) => `curl -sp -x 127.0.0.1:3128 http://${place}/ || echo no`).join('; '))).stdout;
        const before = await reach();
        await other.updateNetworkPolicy({ mode: 'allow-all' });
        const after = await reach();
        await client.sandboxes.delete(other.id);
        return same([before, after], ['reached a.example:443\nno\nno\n', 'reached a.example:443\nreached a.example:80\nreached c.example:443\n']);
    });
    await test('a credential that is added outside', async () => {
        const other = await client.sandboxes.claim('default');
        const { name } = await client.credentialSources.create({ name: 'sdk', resolverKind: 'static_headers', spec: { staticHeaders: { values: { token: 'secret' } } } });
        await other.updateNetworkPolicy({ mode: 'allow-all', egress: { credentialRules: [{ credentialRef: 'own', protocol: 'https', tlsMode: 'terminate-reoriginate', failurePolicy: 'fail-closed', domains: ['a.example'], ports: [{ port: 443, protocol: 'tcp' }] }] },
            credentialBindings: [{ ref: 'own', sourceRef: name, projection: { type: 'http_headers', httpHeaders: { headers: [{ name: 'X-Secret', valueTemplate: 'Bearer {{ .token }}' }] } } }] });
        await shell(other, 'for port in 443 80; do curl -sp -x 127.0.0.1:3128 http://a.example:$port/; done');
        const reached = (await (await fetch(`${baseUrl}/__control/reached`)).json()).filter(({ host }) => host === 'a.example').slice(-2).map(({ headers }) => headers['x-secret']);
        const names = (await client.credentialSources.list()).map((one) => one.name);
        await client.credentialSources.delete(name);
        await refused(() => client.credentialSources.get(name), 404, 'not_found');
        await client.sandboxes.delete(other.id);
        return same([reached, names], [['Bearer secret', undefined], ['sdk']]);
    });
    await test('a port as a service', async () => {
        const auth = { mode: 'header', headerName: 'X-Door', headerValueSha256: createHash('sha256').update('open').digest('hex') };
        const routes = [{ id: 'all', pathPrefix: '/', resume: false, auth }];
        const box = await client.sandboxes.claim('default');
        await shell(box, `/run/agent/node -e "require('http').createServer((request, response) => response.end('from the box')).listen(3000)" >/dev/null 2>&1 &`);
        const { services: [one] } = await box.updateServices([{ id: 'web', port: 3000, runtime: { type: 'manual' }, ingress: { _public: true, routes } }]);
        let answer;
        do answer = await askPort(one.publicUrl, { 'x-door': 'open' });
        while (answer.status === 502);
        const again = (await box.getServices()).services.map(({ id, publishable }) => [id, publishable]);
        const refusal = (await askPort(one.publicUrl)).status;
        await client.sandboxes.delete(box.id);
        same([answer, again, refusal], [{ status: 200, text: 'from the box' }, [['web', true]], 401]);
    });
    await test('list, page by page', async () => {
        const more = [await client.sandboxes.claim('default'), await client.sandboxes.claim('python')];
        const first = await client.sandboxes.list({ limit: 2 });
        const second = await client.sandboxes.list({ limit: 2, offset: 2 });
        for (const { id } of more) await client.sandboxes.delete(id);
        return same([first.sandboxes.map(({ id }) => id), first.hasMore, second.sandboxes.map(({ id }) => id), second.hasMore], [[more[1].id, more[0].id], true, [box.id], false]);
    });
    await test('delete', async () => {
        await client.sandboxes.delete(box.id);
        await refused(() => client.sandboxes.delete(box.id), 404);
        return same((await client.sandboxes.list()).sandboxes, []);
    });
}

await (what === 'counts' ? counts() : life());
cases.finish();
