// The official SDK, unpatched, against the emulator: what passes here is what the service's clients really send and take.
//
//   node sdk.mjs URL [counts]    counts: prints how many requests each operation takes instead

import { Sandbox } from 'e2b';
import { setTimeout as pause } from 'node:timers/promises';
import * as cases from '../common/cases.mjs';
import { refused, same, test } from '../common/cases.mjs';
import { askPort } from '../common/ports.mjs';

const [url, what] = process.argv.slice(2);
const client = { apiKey: 'e2b_0123456789abcdef0123456789abcdef', apiUrl: url, sandboxUrl: url };
const counted = (name, work) => cases.counted(url, name, work);
const stateOf = async () => (await fetch(`${url}/__control/state`)).json();
const named = (name) => (problem) => problem.name === name;

// ---- counts ----------------------------------------------------------------------------------------------------------

async function counts() {
    let id;
    const attached = () => Sandbox.connect(id, client);
    const files = Array.from({ length: 20 }, (_, index) => ({ path: `/home/user/many/${index}`, data: 'x' }));
    await counted('create', async () => ({ sandboxId: id } = await Sandbox.create(client)));
    await counted('exec', async () => (await attached()).commands.run('true'));
    await counted('upload 1 MiB', async () => (await attached()).files.write('mebibyte', new Blob([Buffer.alloc(1 << 20)])));
    await counted('download 1 MiB', async () => (await attached()).files.read('mebibyte', { format: 'bytes' }));
    await counted('upload 20', async () => (await attached()).files.write(files));
    await counted('download 20', async () => {
        const box = await attached();
        for (const { path } of files) await box.files.read(path);
    });
    await counted('list', () => Sandbox.list(client).nextItems());
    await counted('delete', () => Sandbox.kill(id, client));
    await counted('create, exec, delete', async () => {
        const box = await Sandbox.create(client);
        await box.commands.run('true');
        await box.kill();
    });
}

// ---- the life of a sandbox -------------------------------------------------------------------------------------------

/** How a command ended; a status other than 0 is an error to the SDK. */
const run = async (box, script, more = {}) => {
    const { stdout, stderr, exitCode } = await box.commands.run(script, more).catch((problem) => {
        if (problem.name !== 'CommandExitError') throw problem;
        return problem;
    });
    return { out: stdout, err: stderr, code: exitCode };
};

async function creating(box) {
    await test('create', async () => {
        const info = await box.getInfo();
        return same([info.sandboxId, info.state, info.metadata, info.templateId, info.lifecycle], [box.sandboxId, 'running', { purpose: 'test', 'a&b': 'c=d e' }, 'base', { onTimeout: 'kill', autoResume: false }]);
    });
    await test('is running', async () => same(await box.isRunning(), true));
    await test('a template that is not there', () => refused(() => Sandbox.create('nothing', client), (problem) => /not found/.test(problem.message)));
    await test('a life that is too long', () => refused(() => Sandbox.create({ ...client, timeoutMs: 25 * 3600000 }), (problem) => /cannot be greater/.test(problem.message)));
    await test('a wrong key', () => refused(() => Sandbox.create({ ...client, apiKey: 'e2b_0000' }), named('AuthenticationError')));
    await test('a sandbox that is not there', () => refused(() => Sandbox.connect('inothing', client), named('SandboxNotFoundError')));
}

async function commands(box) {
    await test('run', async () => same(await run(box, 'pwd; echo "$GREETING"; echo problem >&2; exit 3'), { out: '/home/user\nhello\n', err: 'problem\n', code: 3 }));
    await test('environment, folder, root', async () => same(await run(box, 'pwd; echo $A; id -u', { envs: { A: '1' }, cwd: '/tmp', user: 'root' }), { out: '/tmp\n1\n0\n', err: '', code: 0 }));
    await test('much output', async () => same((await run(box, 'head -c 3000000 /dev/zero | tr "\\0" x')).out.length, 3000000));
    await test('a time limit', () => refused(() => run(box, 'sleep 60', { timeoutMs: 500 }), named('TimeoutError')));
    await test('a folder that is not there', () => refused(() => run(box, 'true', { cwd: '/nothing' }), named('InvalidArgumentError')));
    await test('an unknown user', () => refused(() => run(box, 'true', { user: 'nobody-here' }), named('AuthenticationError')));
    await test('output as it comes', async () => {
        const seen = [];
        const result = await box.commands.run('echo one; sleep 0.3; echo two >&2', { onStdout: (text) => void seen.push(text), onStderr: (text) => void seen.push(text) });
        return same([seen, result.exitCode], [['one\n', 'two\n'], 0]);
    });
    await test('standard input, and its end', async () => {
        const handle = await box.commands.run('cat', { background: true, stdin: true });
        await handle.sendStdin('typed\n');
        await handle.closeStdin();
        return same((await handle.wait()).stdout, 'typed\n');
    });
    await test('list and kill', async () => {
        const handle = await box.commands.run('sleep 60', { background: true });
        const listed = await box.commands.list();
        const killed = await handle.kill();
        const ended = await handle.wait().catch((problem) => problem);
        return same([listed.some(({ pid, cmd }) => pid === handle.pid && cmd === '/bin/bash'), killed, ended.exitCode, await box.commands.kill(handle.pid)], [true, true, -1, false]);
    });
    await test('connect to what runs', async () => {
        const { pid } = await box.commands.run('sleep 0.3; echo late', { background: true });
        return same((await (await box.commands.connect(pid)).wait()).stdout, 'late\n');
    });
}

async function terminals(box) {
    let shown = '';
    const sees = async (pattern) => {
        while (!pattern.test(shown)) await pause(5);
        return true;
    };
    const open = () => box.pty.create({ rows: 24, cols: 80, timeoutMs: 0, onData: (bytes) => void (shown += Buffer.from(bytes).toString()) });
    const type = (handle, text) => box.pty.sendInput(handle.pid, Buffer.from(text));
    const end = (handle) => handle.wait().catch((problem) => problem);
    await test('a terminal', async () => {
        const handle = await open();
        await type(handle, 'echo $TERM $(stty size)\r');
        await sees(/xterm-256color 24 80/);
        await box.pty.resize(handle.pid, { rows: 50, cols: 132 });
        await type(handle, 'stty size; cat\r');
        await sees(/50 132/);
        // Each waits for the one before: a shell that begins or ends a program may miss an interrupt, and what is typed then.
        await type(handle, 'again\r');
        await sees(/again\r\nagain/);
        await type(handle, '\x03');
        await sees(/\^C[^]*[$#] /);
        await type(handle, 'exit 3\r');
        return same((await end(handle)).exitCode, 3);
    });
    await test('a terminal that is connected to, and killed', async () => {
        const { pid } = await open();
        shown = '';
        const handle = await box.pty.connect(pid, { timeoutMs: 0, onData: (bytes) => void (shown += Buffer.from(bytes).toString()) });
        await type(handle, 'echo go""es on\r');
        await sees(/goes on/);
        const wrong = await box.commands.sendStdin(pid, 'x').catch((problem) => problem.message);
        return same([/tty assigned/.test(wrong), await box.pty.kill(pid), (await end(handle)).exitCode, await box.pty.kill(pid)], [true, true, -1, false]);
    });
}

async function files(box) {
    const bytes = Buffer.from(Uint8Array.from({ length: 300000 }, (_, index) => (index * 31) % 256));
    await test('files up and down, in one form', async () => {
        const written = await box.files.write([{ path: 'new folder/ä.bin', data: new Blob([bytes]) }, { path: '/tmp/plain', data: 'text' }]);
        const back = Buffer.from(await box.files.read('new folder/ä.bin', { format: 'bytes' }));
        return same([written.map((one) => one.path), Buffer.compare(back, bytes), await box.files.read('/tmp/plain')], [['/home/user/new folder/ä.bin', '/tmp/plain'], 0, 'text']);
    });
    await test('one as a stream', async () => {
        const { path } = await box.files.write('streamed', new Blob([bytes]).stream());
        return same([path, (await run(box, 'wc -c <streamed')).out], ['/home/user/streamed', '300000\n']);
    });
    await test('an empty one', async () => {
        await box.files.write('empty', '');
        return same(await box.files.read('empty'), '');
    });
    await test('a missing file', () => refused(() => box.files.read('nothing'), named('FileNotFoundError')));
    await test('a folder is no file', () => refused(() => box.files.read('/tmp'), named('InvalidArgumentError')));
    await test('folders, names and ends', async () => {
        const made = [await box.files.makeDir('made'), await box.files.makeDir('made')];
        await box.files.rename('/tmp/plain', '/home/user/made/moved');
        const [listed] = await box.files.list('made');
        await box.files.remove('made');
        return same([made, listed.name, listed.type, listed.size, await box.files.exists('made')], [[true, false], 'moved', 'file', 4, false]);
    });
}

async function pausing(box) {
    await test('a new end', async () => {
        await box.setTimeout(600000);
        const { endAt } = await box.getInfo();
        return same(Math.abs(endAt - Date.now() - 600000) < 60000, true);
    });
    await test('pause and resume, with what runs', async () => {
        const { pid } = await box.commands.run('sleep 61', { background: true });
        const paused = [await box.pause(), await box.pause(), (await box.getInfo()).state];
        await box.connect();
        return same([paused, await box.commands.kill(pid), await box.isRunning()], [[true, false, 'paused'], true, true]);
    });
    await test('pause without memory', async () => {
        await run(box, 'echo kept >kept; sleep 61 >/dev/null 2>&1 &');
        await box.pause({ keepMemory: false });
        await box.connect();
        return same(await run(box, 'cat kept; ps ax | grep -c "[s]leep 61"'), { out: 'kept\n0\n', err: '', code: 1 });
    });
}

async function copies(box) {
    let snapshot;
    await test('snapshot', async () => {
        await run(box, 'echo state >state');
        snapshot = await box.createSnapshot({ name: 'kept' });
        return same([/kept:default$/.test(snapshot.snapshotId), await box.isRunning()], [true, true]);
    });
    await test('start from it', async () => {
        const second = await Sandbox.create(snapshot.snapshotId, client);
        const { out } = await run(second, 'cat state');
        const inUse = await Sandbox.deleteSnapshot(snapshot.snapshotId, client).catch((problem) => problem.message);
        await second.kill();
        return same([out, /sandboxes that use it/.test(inUse)], ['state\n', true]);
    });
    await test('fork', async () => {
        const [second] = await box.fork();
        const { out } = await run(second, 'cat state');
        await second.kill();
        return same([out, second.sandboxId !== box.sandboxId], ['state\n', true]);
    });
    await test('list and delete snapshots', async () => {
        const listed = await Sandbox.listSnapshots(client).nextItems();
        return same([listed.map((one) => one.snapshotId), await Sandbox.deleteSnapshot(snapshot.snapshotId, client), await Sandbox.deleteSnapshot(snapshot.snapshotId, client)],
            [[snapshot.snapshotId], true, false]);
    });
}

async function network() {
    const reach = async (box, ...places) => (await run(box, places.map((place) => `curl -sp -x 127.0.0.1:3128 http://${place}/ || echo no`).join('; '))).out;
    const rules = { 'a.example': [{ transform: { headers: { 'X-Secret': 'added' } } }] };
    const box = await Sandbox.create({ ...client, network: { allowOut: ['a.example', '*.b.example', '198.51.100.0/24'], denyOut: ['0.0.0.0/0'], rules } });
    const first = await reach(box, 'a.example:443', 'low.b.example:80', 'b.example:443', '198.51.100.7:9999', 'a.example:8443');
    const added = (await (await fetch(`${url}/__control/reached`)).json()).map((one) => one.headers['x-secret'] ?? null);
    await box.updateNetwork({ allowOut: ['c.example'], denyOut: ['0.0.0.0/0'] });
    const second = await reach(box, 'c.example:443', 'a.example:443');
    await box.updateNetwork({ allowInternetAccess: false });
    const third = await reach(box, 'c.example:443');
    await box.kill();
    same([first, added, second, third], ['reached a.example:443\nreached low.b.example:80\nno\nreached 198.51.100.7:9999\nno\n', ['added', null, null], 'reached c.example:443\nno\n', 'no\n']);
    await refused(() => Sandbox.create({ ...client, network: { allowOut: ['a.example'] } }), (problem) => /denyOut/.test(problem.message));
}

async function listed() {
    const all = async (options) => {
        const pages = Sandbox.list({ ...client, ...options });
        const ids = [];
        while (pages.hasNext) ids.push(...(await pages.nextItems()).map((one) => one.sandboxId));
        return ids;
    };
    const more = [];
    for (const group of ['pages', 'pages', 'x y&z']) more.push(await Sandbox.create({ ...client, metadata: { group } }));
    await more[0].pause();
    const tagged = await all({ query: { metadata: { group: 'x y&z' } } });
    const paused = await all({ query: { state: ['paused'] } });
    const everything = await all({ limit: 1 });
    for (const one of more) await Sandbox.kill(one.sandboxId, client);
    same([tagged, paused, everything.length], [[more[2].sandboxId], [more[0].sandboxId], 4]);
}

/** A port of a sandbox without public traffic: its address, and who is let in. */
async function ports() {
    const { edge } = await stateOf();
    const box = await Sandbox.create({ ...client, domain: `localhost:${edge}`, network: { allowPublicTraffic: false } });
    await box.commands.run(`/run/agent/node -e "require('http').createServer((request, response) => response.end('from the box')).listen(3000)"`, { background: true });
    const address = `http://${box.getHost(3000)}`;
    const header = { 'e2b-traffic-access-token': box.trafficAccessToken };
    let answer;
    do answer = await askPort(address, header);
    while (answer.status === 502);
    const refusals = [(await askPort(address)).status, (await askPort(address, { 'e2b-traffic-access-token': 'wrong' })).status];
    await box.kill();
    same([answer, refusals], [{ status: 200, text: 'from the box' }, [403, 403]]);
}

async function life() {
    const box = await Sandbox.create({ ...client, timeoutMs: 300000, metadata: { purpose: 'test', 'a&b': 'c=d e' }, envs: { GREETING: 'hello' } });
    await creating(box);
    await commands(box);
    await terminals(box);
    await files(box);
    await pausing(box);
    await copies(box);
    await test('a network policy', network);
    await test('the address of a port, and who is let in', ports);
    await test('list, page by page', listed);
    await test('delete', async () => same([await box.kill(), await box.isRunning()], [true, false]));
    await test('delete again', async () => same(await Sandbox.kill(box.sandboxId, client), false));
    await test('a command in what is deleted', () => refused(() => run(box, 'true'), named('SandboxNotFoundError')));
    await test('nothing is left', async () => {
        const { sandboxes, snapshots } = await stateOf();
        same({ sandboxes, snapshots }, { sandboxes: [], snapshots: [] });
    });
}

await (what === 'counts' ? counts() : life());
await pause(0);
cases.finish();
