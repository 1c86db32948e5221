// The official SDK, unpatched, against the emulator: what passes here is what the service's clients really send and take.
//
//   node sdk.mjs URL [counts]    counts: prints how many requests each operation takes instead

import { SandboxClient } from 'langsmith/sandbox';
import { setTimeout as pause } from 'node:timers/promises';
import * as cases from '../common/cases.mjs';
import { same, test } from '../common/cases.mjs';
import { askPort } from '../common/ports.mjs';

const [url, what] = process.argv.slice(2);
const KEY = 'lsv2_sk_5e1f0c77a2b94d0e_emulated';
const client = new SandboxClient({ apiEndpoint: `${url}/v2/sandboxes`, apiKey: KEY });
const refused = (work, name) => cases.refused(work, (problem) => problem.name === name);
const counted = (name, work) => cases.counted(url, name, work);

// ---- counts ----------------------------------------------------------------------------------------------------------

async function counts() {
    const attached = () => client.getSandbox('sdk-counts');
    const files = Array.from({ length: 20 }, (_, index) => `/root/many/${index}`);
    await counted('create', () => client.createSandbox({ name: 'sdk-counts' }));
    await counted('exec', async () => (await attached()).run('true'));
    await counted('upload 1 MiB', async () => (await attached()).write('/root/mebibyte', new Uint8Array(1 << 20)));
    await counted('download 1 MiB', async () => (await attached()).read('/root/mebibyte'));
    await counted('upload 20', async () => {
        const box = await attached();
        for (const file of files) await box.write(file, 'x');
    });
    await counted('download 20', async () => {
        const box = await attached();
        for (const file of files) await box.read(file);
    });
    await counted('list', () => client.listSandboxes());
    await counted('delete', () => client.deleteSandbox('sdk-counts'));
    await counted('create, exec, delete', async () => {
        const box = await client.createSandbox({ name: 'sdk-counts' });
        await box.run('true');
        await box.delete();
    });
}

// ---- the life of a sandbox -------------------------------------------------------------------------------------------

async function life() {
    let box;
    await test('create', async () => {
        box = await client.createSandbox({ name: 'sdk-1', idleTtlSeconds: 600, vCpus: 1, runConfig: { work_dir: '/root', env_vars: { GREETING: 'hello' } } });
        return same([box.name, box.status], ['sdk-1', 'ready']);
    });
    await test('a name twice is a conflict', () => refused(() => client.createSandbox({ name: 'sdk-1' }), 'LangSmithSandboxError'));
    await test('a snapshot that is not there', () => refused(() => client.createSandbox({ snapshotName: 'nothing' }), 'LangSmithSandboxError'));
    await test('a wrong key', () => refused(() => new SandboxClient({ apiEndpoint: `${url}/v2/sandboxes`, apiKey: 'wrong' }).listSandboxes(),
        'LangSmithSandboxAuthenticationError'));
    await test('run', async () => same(await box.run('pwd; echo "$GREETING"; echo problem >&2; exit 3'),
        { stdout: '/root\nhello\n', stderr: 'problem\n', exit_code: 3 }));
    await test('input is closed', async () => same((await box.run('cat; echo end')).stdout, 'end\n'));
    await test('much output', async () => same((await box.run('head -c 3000000 /dev/zero | tr "\\0" x')).stdout.length, 3000000));
    await test('environment and folder', async () => same((await box.run('pwd; echo $A', { env: { A: '1' }, cwd: '/tmp' })).stdout, '/tmp\n1\n'));
    await test('a time limit', () => refused(() => box.run('sleep 60', { timeout: 1 }), 'LangSmithCommandTimeoutError'));
    await test('output as it comes', async () => {
        const seen = [];
        const handle = await box.run('echo one; sleep 0.3; echo two', { wait: false });
        for await (const piece of handle) seen.push(piece.data);
        return same(seen, ['one\n', 'two\n']);
    });
    await test('input, kill, and coming back to a command', async () => {
        const handle = await box.run('read line; echo "got $line"; sleep 60', { wait: false, closeInput: false });
        handle.sendInput('text\n');
        for await (const piece of handle) if (piece.data === 'got text\n') break;
        const again = await box.reconnect(handle.commandId, { stdoutOffset: 4 });
        const pieces = [];
        for await (const piece of again) {
            pieces.push(piece.data);
            again.kill();
        }
        const result = await again.result;
        return same([pieces, result.exit_code !== 0], [['text\n'], true]);
    });
    await test('an unknown command cannot be come back to', async () =>
        refused(async () => (await box.reconnect('0198f000-0000-7000-8000-000000000000')).result, 'LangSmithSandboxOperationError'));
    await test('files', async () => {
        const bytes = new Uint8Array(300000).map((_, index) => (index * 31) % 256);
        await box.write('/root/new folder/ä.bin', bytes);
        const back = await box.read('/root/new folder/ä.bin');
        const part = await box.readRange('/root/new folder/ä.bin', { start: 10, end: 19 });
        const { size_bytes } = await box.stat('/root/new folder/ä.bin');
        return same([Buffer.compare(back, bytes), [...part.content], size_bytes], [0, [...bytes.subarray(10, 20)], 300000]);
    });
    await test('a missing file', () => refused(() => box.read('/root/nothing'), 'LangSmithResourceNotFoundError'));
    await test('a folder is no file', () => refused(() => box.read('/root'), 'LangSmithSandboxOperationError'));
    await test('a folder cannot be written', () => refused(() => box.write('/root', 'x'), 'LangSmithSandboxOperationError'));
    await test('list', async () => same((await client.listSandboxes()).map((one) => one.name), ['sdk-1']));
    await test('stop and start', async () => {
        await box.stop();
        const stopped = await client.getSandboxStatus('sdk-1');
        await box.start();
        return same([stopped.status, box.status, (await box.run('ls "new folder"')).stdout], ['stopped', 'ready', 'ä.bin\n']);
    });
    await test('a stopped one wakes by itself', async () => {
        await box.stop();
        return same((await box.run('echo awake')).stdout, 'awake\n');
    });
    await test('stopping twice is refused', async () => {
        await box.stop();
        const problem = await refused(() => box.stop(), 'LangSmithSandboxError');
        await client.startSandbox('sdk-1');
        return problem;
    });
    await test('the address of a port, and who is let in', async () => {
        await box.run('(/run/agent/node -e "require(\'http\').createServer((request, response) => response.end(\'from the box\')).listen(3000)" >/dev/null 2>&1 &)');
        const service = await client.serviceUrl('sdk-1', { port: 3000, expiresInSeconds: 300 });
        const address = await service.serviceUrl();
        const ask = (headers) => askPort(address, headers);
        let answer;
        do answer = await ask({ 'x-langsmith-sandbox-service-token': await service.token() });
        while (answer.status === 502);
        const refusals = [(await ask()).status, (await ask({ 'x-langsmith-sandbox-service-token': 'wrong' })).status];
        const { access } = await client.serviceUrl('sdk-1', { port: 3001, access: 'restricted' });
        const granted = await refused(() => client.serviceUrl('sdk-1', { port: 3001 }), 'LangSmithSandboxError');
        return granted ?? same([answer, refusals, access, Number.isNaN(Date.parse(await service.expiresAt()))], [{ status: 200, text: 'from the box' }, [401, 401], 'restricted', false]);
    });
    await test('a network policy', async () => {
        const other = await client.createSandbox({ name: 'sdk-network', proxyConfig: { access_control: { allow_list: ['a.example', '*.b.example', '198.51.100.0/24'] },
            rules: [{ name: 'one', match_hosts: ['a.example'], headers: [{ name: 'X-Secret', type: 'opaque', value: 'added' }] }] } });
        const places = ['a.example:443', 'low.b.example:443', 'c.example:443', '198.51.100.7:443'];
        const { stdout } = await other.run(places.map((place) => `curl -sp -x 127.0.0.1:3128 http://${place}/ || echo no`).join('; '));
        const added = (await (await fetch(`${url}/__control/reached`)).json()).map((one) => one.headers['x-secret'] ?? null);
        await other.delete();
        return same([stdout, added], ['reached a.example:443\nreached low.b.example:443\nno\nreached 198.51.100.7:443\n', ['added', null, null]]);
    });
    await test('rename', async () => same((await client.updateSandbox('sdk-1', 'sdk-2')).name, 'sdk-2'));
    box = await client.getSandbox('sdk-2');
    await snapshots(box);
    await test('delete', async () => {
        await box.delete();
        return same(await client.listSandboxes(), []);
    });
    await test('delete again', () => refused(() => client.deleteSandbox('sdk-2'), 'LangSmithResourceNotFoundError'));
}

async function snapshots(box) {
    let built, captured;
    await test('build a snapshot', async () => {
        built = await client.createSnapshot('sdk-built', 'python:3', 17179869184);
        return same([built.name, built.status], ['sdk-built', 'ready']);
    });
    await test('a build that fails', () => refused(() => client.createSnapshot('sdk-broken', 'broken:1', 17179869184), 'LangSmithResourceCreationError'));
    await test('capture', async () => {
        await box.run('echo kept >/root/kept; echo lost >/tmp/lost');
        captured = await client.captureSnapshot(box.name, 'sdk-captured');
        return same(captured.status, 'ready');
    });
    await test('start from a snapshot', async () => {
        const second = await client.createSandbox({ snapshotName: 'sdk-captured', name: 'sdk-3' });
        const { stdout } = await second.run('cat /root/kept; ls /tmp');
        await second.delete();
        return same(stdout, 'kept\n');
    });
    await test('list snapshots', async () => same((await client.listSnapshots({ nameContains: 'CAPT' })).map((one) => one.name), ['sdk-captured']));
    await test('delete snapshots', async () => {
        for (const { id } of await client.listSnapshots({ nameContains: 'sdk-' })) await client.deleteSnapshot(id);
        return same(await client.listSnapshots({ nameContains: 'sdk-' }), []);
    });
}

await (what === 'counts' ? counts() : life());
await pause(0);
cases.finish();
