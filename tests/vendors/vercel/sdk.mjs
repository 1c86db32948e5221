// The official SDK, unpatched, against the emulator: what passes here is what the service's clients really send and take.
//
//   node sdk.mjs URL [counts]    counts: prints how many requests each operation takes instead

import { Sandbox, Snapshot } from '@vercel/sandbox';
import { setTimeout as pause } from 'node:timers/promises';
import * as cases from '../common/cases.mjs';
import { same, test } from '../common/cases.mjs';
import { askPort } from '../common/ports.mjs';

const [url, what] = process.argv.slice(2);
const credentials = { token: 'vcp_0123456789abcdefEMULATED', teamId: 'team_emulated', projectId: 'prj_emulated' };
// The SDK has no setting for the address of the API, but takes a fetch.
const there = (address, { dispatcher, ...options } = {}) => fetch(String(address).replace('https://vercel.com/api', `${url}/api`), options);
const client = { ...credentials, fetch: there };
const refused = (work, status) => cases.refused(work, (problem) => problem.response?.status === status); // of HTTP
const counted = (name, work) => cases.counted(url, name, work);

// ---- counts ----------------------------------------------------------------------------------------------------------

async function counts() {
    const attached = () => Sandbox.get({ ...client, name: 'sdk-counts' });
    const files = Array.from({ length: 20 }, (_, index) => ({ path: `/vercel/sandbox/many/${index}`, content: Buffer.from('x') }));
    await counted('create', () => Sandbox.create({ ...client, name: 'sdk-counts' }));
    await counted('exec', async () => (await attached()).runCommand('true'));
    await counted('upload 1 MiB', async () => (await attached()).writeFiles([{ path: 'mebibyte', content: Buffer.alloc(1 << 20) }]));
    await counted('download 1 MiB', async () => (await attached()).readFileToBuffer({ path: 'mebibyte' }));
    await counted('upload 20', async () => (await attached()).writeFiles(files));
    await counted('download 20', async () => {
        const box = await attached();
        for (const { path } of files) await box.readFileToBuffer({ path });
    });
    await counted('list', () => Sandbox.list(client));
    await counted('delete', async () => (await attached()).delete());
    await counted('create, exec, delete', async () => {
        const box = await Sandbox.create({ ...client, name: 'sdk-counts' });
        await box.runCommand('true');
        await box.delete();
    });
}

// ---- the life of a sandbox -------------------------------------------------------------------------------------------

const run = async (box, script, more = {}) => {
    const finished = await box.runCommand({ cmd: 'bash', args: ['-c', script], ...more });
    return { out: await finished.stdout(), err: await finished.stderr(), code: finished.exitCode };
};

async function creating() {
    await test('create', async () => {
        const box = await Sandbox.create({ ...client, name: 'sdk-1', timeout: 600000, tags: { purpose: 'test' }, env: { GREETING: 'hello' }, ports: [3000] });
        return same([box.name, box.status, box.persistent, box.cwd, box.tags, box.domain(3000).startsWith('https://')],
            ['sdk-1', 'running', true, '/vercel/sandbox', { purpose: 'test' }, true]);
    });
    await test('the older kind, with a runtime', async () => {
        const box = await Sandbox.create({ ...client, runtime: 'node24', persistent: false, name: 'sdk-runtime' });
        const who = await run(box, 'id -un');
        await box.delete();
        return same(who.out, 'vercel-sandbox\n');
    });
    await test('a name twice is refused', () => refused(() => Sandbox.create({ ...client, name: 'sdk-1' }), 409));
    await test('a session that is too long', () => refused(() => Sandbox.create({ ...client, timeout: 25 * 3600 * 1000 }), 400));
    await test('a wrong token', () => refused(() => Sandbox.list({ ...client, token: 'wrong' }), 403));
    await test('a sandbox that is not there', () => refused(() => Sandbox.get({ ...client, name: 'nothing' }), 404));
}

async function commands(box) {
    await test('run', async () => same(await run(box, 'pwd; echo "$GREETING"; echo problem >&2; exit 3'), { out: '/vercel/sandbox\nhello\n', err: 'problem\n', code: 3 }));
    await test('environment, folder, root', async () => same(await run(box, 'pwd; echo $A; id -u', { env: { A: '1' }, cwd: '/tmp', sudo: true }), { out: '/tmp\n1\n0\n', err: '', code: 0 }));
    await test('much output', async () => same((await run(box, 'head -c 3000000 /dev/zero | tr "\\0" x')).out.length, 3000000));
    await test('a time limit', async () => same((await run(box, 'sleep 60', { timeoutMs: 500 })).code, 137));
    await test('no such program', () => refused(() => box.runCommand('no-such-program'), 400));
    await test('output as it comes', async () => {
        const command = await box.runCommand({ cmd: 'bash', args: ['-c', 'echo one; sleep 0.3; echo two >&2'], detached: true });
        const seen = [];
        for await (const { stream, data } of command.logs()) seen.push(`${stream} ${data}`);
        return same([seen, (await command.wait()).exitCode, await command.output('both')], [['stdout one\n', 'stderr two\n'], 0, 'one\ntwo\n']);
    });
    await test('kill', async () => {
        const command = await box.runCommand({ cmd: 'sleep', args: ['60'], detached: true });
        await command.kill('SIGTERM');
        return same((await command.wait()).exitCode, 143);
    });
}

async function files(box) {
    const bytes = Buffer.from(Uint8Array.from({ length: 300000 }, (_, index) => (index * 31) % 256));
    const long = `/vercel/sandbox/${'x'.repeat(60)}/${'y'.repeat(120)}`;
    await test('files up and down', async () => {
        await box.writeFiles([{ path: 'new folder/ä.bin', content: bytes }, { path: '/tmp/script', content: Buffer.from('#!/bin/sh\necho ran\n'), mode: 0o755 }, { path: long, content: Buffer.from('long') }]);
        const back = await box.readFileToBuffer({ path: 'new folder/ä.bin' });
        return same([Buffer.compare(back, bytes), (await run(box, '/tmp/script')).out, String(await box.readFileToBuffer({ path: long }))], [0, 'ran\n', 'long']);
    });
    await test('a missing file', async () => same(await box.readFileToBuffer({ path: 'nothing' }), null));
    await test('a folder is no file', () => refused(() => box.readFile({ path: '/tmp' }), 400));
    await test('what may not be written', () => refused(() => box.writeFiles([{ path: '/etc/no', content: Buffer.from('x') }]), 400));
    await test('a new folder, once', async () => {
        await box.mkDir('made');
        return (await refused(() => box.mkDir('made'), 400)) ?? same((await run(box, 'test -d made')).code, 0);
    });
}

async function sessions(box) {
    await test('a longer session', async () => {
        const before = box.currentSession().timeout;
        await box.extendTimeout(60000);
        const { timeout } = (await Sandbox.get({ ...client, name: box.name })).currentSession();
        return same(timeout - before, 60000);
    });
    await test('stop, and the next command begins another session with the files', async () => {
        await run(box, 'echo kept >kept');
        const before = box.currentSession().sessionId;
        await box.stop();
        const { out } = await run(box, 'cat kept');
        return same([out, box.currentSession().sessionId !== before], ['kept\n', true]);
    });
    await test('what is not persistent comes back empty', async () => {
        const brief = await Sandbox.create({ ...client, name: 'sdk-brief', persistent: false });
        await run(brief, 'echo lost >lost');
        await brief.stop();
        const { code } = await run(brief, 'test -e lost');
        await brief.delete();
        return same(code, 1);
    });
    await test('made persistent in time, it does not', async () => {
        const brief = await Sandbox.create({ ...client, name: 'sdk-brief', persistent: false });
        await run(brief, 'echo kept >kept');
        await brief.update({ persistent: true });
        await brief.stop();
        const { out } = await run(await Sandbox.get({ ...client, name: 'sdk-brief' }), 'cat kept');
        await brief.delete();
        return same(out, 'kept\n');
    });
}

async function snapshots(box) {
    let snapshot;
    await test('snapshot', async () => {
        await run(box, 'echo state >state');
        snapshot = await box.snapshot();
        return same([snapshot.status, (await run(box, 'cat state')).out], ['created', 'state\n']);
    });
    await test('start from a snapshot', async () => {
        const second = await Sandbox.create({ ...client, source: { type: 'snapshot', snapshotId: snapshot.snapshotId } });
        const { out } = await run(second, 'cat state');
        await second.delete();
        return same(out, 'state\n');
    });
    await test('fork', async () => {
        const second = await Sandbox.fork({ ...client, sourceSandbox: box.name, name: 'sdk-fork' });
        const { out } = await run(second, 'cat state');
        await second.delete();
        return same(out, 'state\n');
    });
    await test('list and delete snapshots', async () => {
        const listed = await Snapshot.list(client);
        const found = await Snapshot.get({ ...client, snapshotId: snapshot.snapshotId });
        await found.delete();
        return same([listed.snapshots.some((one) => one.id === snapshot.snapshotId), (await Snapshot.get({ ...client, snapshotId: snapshot.snapshotId })).status], [true, 'deleted']);
    });
    await test('from one that is gone', () => refused(() => Sandbox.create({ ...client, source: { type: 'snapshot', snapshotId: snapshot.snapshotId } }), 410));
}

async function network() {
    const reach = async (box, ...places) => (await run(box, places.map((place) => `curl -sp -x 127.0.0.1:3128 http://${place}/ || echo no`).join('; '))).out;
    const allow = { 'a.example': [{ transform: [{ headers: { 'X-Secret': 'added' } }] }], '*.b.example': [] };
    const box = await Sandbox.create({ ...client, name: 'sdk-network', networkPolicy: { allow, subnets: { allow: ['198.51.100.0/24'] } } });
    const first = await reach(box, 'a.example:443', 'low.b.example:8443', 'b.example:443', '198.51.100.7:22', 'a.example:80');
    const added = (await (await fetch(`${url}/__control/reached`)).json()).map((one) => one.headers['x-secret'] ?? null);
    await box.update({ networkPolicy: { allow: ['c.example'] } });
    const second = await reach(box, 'c.example:443', 'a.example:443');
    await box.updateNetworkPolicy('deny-all');
    const third = await reach(box, 'c.example:443');
    await box.delete();
    same([first, added, second, third], ['reached a.example:443\nreached low.b.example:8443\nno\nreached 198.51.100.7:22\nno\n', ['added', null, null], 'reached c.example:443\nno\n', 'no\n']);
}

/** A port that was declared: its address, which is another one in the next session, and that all are let in. */
async function ports() {
    const { edge } = await (await fetch(`${url}/__control/state`)).json();
    const box = await Sandbox.create({ ...client, name: 'sdk-ports', ports: [3000, 8080] });
    const ask = async () => {
        await box.runCommand({ cmd: '/run/agent/node', args: ['-e', "require('http').createServer((request, response) => response.end('from the box')).listen(3000)"], detached: true });
        const domain = box.domain(3000);
        const address = domain.replace(/^https:(.*)[.]vercel[.]run$/, `http:$1.localhost:${edge}`);
        let answer;
        do answer = await askPort(address);
        while (answer.status === 502);
        return [domain, address, answer];
    };
    const [before, address, first] = await ask();
    await box.stop();
    const [after, , second] = await ask();
    const gone = (await askPort(address)).status;
    await refused(async () => box.domain(3001), undefined);
    await box.delete();
    const served = { status: 200, text: 'from the box' };
    return same([first, second, before !== after, gone], [served, served, true, 404]);
}

async function life() {
    await creating();
    const box = await Sandbox.get({ ...client, name: 'sdk-1' });
    await commands(box);
    await files(box);
    await sessions(box);
    await snapshots(box);
    await test('a network policy', network);
    await test('the address of a port', ports);
    await test('list, page by page', async () => {
        for (const name of ['sdk-2', 'sdk-3']) await Sandbox.create({ ...client, name, tags: { group: 'pages' } });
        const names = [];
        for await (const { name } of await Sandbox.list({ ...client, limit: 1 })) names.push(name);
        const tagged = await Sandbox.list({ ...client, tags: { group: 'pages' } });
        const prefixed = await Sandbox.list({ ...client, namePrefix: 'sdk-3', sortBy: 'name' });
        return same([names, tagged.sandboxes.length, prefixed.sandboxes.length], [['sdk-3', 'sdk-2', 'sdk-1'], 2, 1]);
    });
    await test('delete', async () => {
        for (const name of ['sdk-1', 'sdk-2', 'sdk-3']) await (await Sandbox.get({ ...client, name })).delete({ deleteOrphanSnapshots: true });
        return same((await Sandbox.list(client)).sandboxes, []);
    });
    await test('delete again', () => refused(() => box.delete(), 404));
    await test('nothing is left', async () => {
        const state = await (await fetch(`${url}/__control/state`)).json();
        return same([state.sandboxes.length, state.commands], [0, 0]);
    });
}

await (what === 'counts' ? counts() : life());
await pause(0);
cases.finish();
