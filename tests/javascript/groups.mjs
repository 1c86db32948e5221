// The calls that belong together, by the route of SANDLOT_TEST_ROUTE ("native" or "command"): processes, network, ports, changes,
// terminals, tools, over `local`; and the sandboxes of a provider, over the test plugin `fake`. Prints one line for each test.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { defaultProvider, Sandbox, Sandboxes, SandlotError, tools } from 'sandlot';

const route = process.env.SANDLOT_TEST_ROUTE;
const native = route === 'native';
const tests = {};
const code = (wanted) => (problem) => problem instanceof SandlotError && problem.code === wanted && problem.message.length > 10;

async function gather(pieces) {
    const all = [];
    for await (const piece of pieces) all.push(piece);
    return Buffer.concat(all).toString();
}

function get(port) {
    return new Promise((resolve, reject) => http.get({ host: '127.0.0.1', port, agent: false }, (answer) => resolve(answer.resume().statusCode)).on('error', reject));
}

tests['processes: what one prints, and how it ends'] = async ({ processes }) => {
    const id = await processes.start('echo one; sleep 0.2; echo two >&2; exit 7', { environment: { X: '1' }, workingDir: '/tmp' });
    assert.equal(await gather(processes.follow(id)), 'one\ntwo\n');
    const ended = await processes.wait(id);
    assert.deepEqual([ended.id, ended.state, ended.exitCode, ended.outputTotal, ended.timedOut], [id, 'exited', 7, 8, false]);
    assert.ok(ended.startedAt.getTime() > 1e12 && ended.endedAt >= ended.startedAt);
    assert.deepEqual((await processes.list()).find((each) => each.id === id), ended);
    const log = await processes.log(id, { start: -4 });
    assert.deepEqual([log.text, log.start, log.next, log.exitCode], ['two\n', 4, 8, 7]);
    assert.equal((await processes.log(id, { start: log.next })).text, '');
    assert.equal((await processes.log(id, { most: 2 })).text, 'on');
    await assert.rejects(processes.wait('p99'), code('process_not_found'));
    await assert.rejects(gather(processes.follow('p99')), code('process_not_found'));
    await assert.rejects(processes.signal(id), code('process_ended'));
};

tests['processes: input, news, signals'] = async ({ processes }) => {
    const id = await processes.start('read line; echo "got $line"; sleep 3000', { input: true });
    assert.equal(await processes.write(id, 'this\n', { close: true }), 5);
    for await (const piece of processes.follow(id)) {
        assert.equal(piece.toString(), 'got this\n');
        break;
    }
    assert.equal((await processes.wait(id, { timeout: 0 })).state, 'running');
    await assert.rejects(gather(processes.follow(id, { signal: AbortSignal.timeout(300) })), { name: 'TimeoutError' });
    await processes.signal(id, 'KILL');
    assert.equal((await processes.wait(id)).exitCode, 137);
    const separate = processes.start('echo out; echo err >&2', { separateErrors: true });
    if (!native) return assert.rejects(separate, code('usage'));
    assert.equal(await gather(processes.follow(await separate, { errors: true })), 'err\n');
};

tests['network: shown and changed'] = async ({ network }) => {
    assert.ok(network.canChange && network.hasLog);
    await network.change(null, { allow: ['a.invalid', 'b.invalid'] });
    await network.change(null, { deny: ['a.invalid'] });
    const { mode, allow, credentials, note, broken } = await network.show();
    assert.deepEqual([mode, allow, credentials, note, broken], ['allow', ['b.invalid'], {}, null, false]);
    assert.deepEqual(await network.log(), []);
    await assert.rejects(network.log({ after: -1 }), code('usage')); // by the command it is wanted of the library
    await network.change('off');
    assert.equal((await network.show()).mode, 'off');
    await assert.rejects(network.change('ajar'), code('usage'));
};

tests['ports: a server in the box'] = async ({ execute, processes, ports }) => {
    await processes.start('exec python3 -m http.server --bind 127.0.0.1 8000');
    const there = 'until python3 -c \'import socket; socket.create_connection(("127.0.0.1", 8000))\' 2>/dev/null; do sleep 0.05; done';
    await execute(there, { timeout: 300 });
    const forward = await ports.forward(8000);
    assert.equal(await get(forward.port), 200);
    await forward.close();
    await forward.close();
    await assert.rejects(get(forward.port));
    await ports.forward(8000); // the end of the box closes it
    await assert.rejects(ports.forward(0), code('usage'));
    await assert.rejects(ports.url(8000), code('not_supported'));
    for (const port of [65536 + 8000, -1, 80.5]) {
        await assert.rejects(ports.url(port), code('usage'));
        await assert.rejects(ports.forward(port), code('usage'));
        await assert.rejects(ports.forward(8000, { localPort: port }), code('usage'));
    }
};

tests['changes: a folder goes in and comes home'] = async (box) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'changes-'));
    const home = path.join(folder, 'home');
    const patch = path.join(folder, 'patch');
    fs.mkdirSync(home);
    fs.writeFileSync(path.join(home, 'kept'), 'kept\n');
    await assert.rejects(box.changes.list(), code('not_supported'));
    await box.changes.importFolder(home, { exclude: ['*.o'] });
    await box.write('made/new.txt', 'new\n');
    await box.edit('kept', 'kept', 'edited');
    await box.write('x.o', 'object');
    const found = Object.fromEntries((await box.changes.list()).map((change) => [change.path, change.kind]));
    assert.deepEqual(found, { kept: 'modified', made: 'added', 'made/new.txt': 'added' });
    const [file] = await box.changes.list(['made/new.txt']);
    assert.deepEqual([file.type, file.oldMode, file.newMode, file.newSize, file.risk], ['file', 0, 0o644, 4, null]);
    await box.changes.export(patch);
    assert.match(fs.readFileSync(patch, 'utf8'), /^\+edited$/m);
    await assert.rejects(box.changes.export(path.join(folder, 'nothing'), { format: 'zip' }), code('usage'));
    assert.deepEqual(fs.readdirSync(folder).sort(), ['home', 'patch']);
    const heard = [];
    const applied = await box.changes.apply(['made'], { applied: (change, problem) => heard.push([change.path, problem]) });
    assert.deepEqual(applied.map((change) => change.path), ['made', 'made/new.txt']);
    assert.deepEqual(heard, [['made', null], ['made/new.txt', null]]);
    assert.equal(fs.readFileSync(path.join(home, 'made/new.txt'), 'utf8'), 'new\n');
    fs.writeFileSync(path.join(home, 'kept'), 'here too\n');
    await assert.rejects(box.changes.apply(), code('conflict'));
    await box.changes.apply([], { force: ['kept'] });
    assert.equal(fs.readFileSync(path.join(home, 'kept'), 'utf8'), 'edited\n');
    fs.rmSync(folder, { recursive: true });
};

tests['a terminal, and tools for agents'] = async (box) => {
    assert.equal(box.canExecute, true);
    const pieces = [];
    const typed = path.join(os.tmpdir(), `typed-${route}`);
    execFileSync('mkfifo', [typed]);
    const input = fs.openSync(typed, 'r+'); // the end of what is typed would hang up
    fs.writeSync(input, 'x\n');
    const terminal = box.terminal(input, (piece) => pieces.push(piece), { command: 'stty size; read line; exit 3', window: () => [30, 100] });
    const tool = box.tool('execute', { command: 'echo hi; exit 2' });
    if (native) {
        assert.equal(await terminal, 3);
        assert.match(Buffer.concat(pieces).toString(), /30 100/);
        const answer = await tool;
        assert.match(answer.content[0].text, /hi/);
        assert.equal(answer.meta['sandlot/exit_code'], 2);
        await assert.rejects(box.tool('nope', {}), code('usage'));
        assert.ok((await tools()).some(({ name }) => name === 'execute'));
        assert.ok(!(await tools({ execute: false })).some(({ name }) => name === 'execute'));
        assert.equal(await defaultProvider(), null);
    } else {
        await assert.rejects(terminal, code('usage'));
        await assert.rejects(tool, code('usage'));
    }
    fs.closeSync(input);
    fs.rmSync(typed);
};

tests['the sandboxes of a provider: pause, snapshots, forks'] = async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fake-'));
    fs.mkdirSync(path.join(folder, 'vendor'));
    const parameters = { folder: path.join(folder, 'vendor'), journal: path.join(folder, 'journal') };
    const options = { provider: 'fake', parameters, configFile: process.env.SANDLOT_TEST_FAKE, route };
    const sandboxes = new Sandboxes(options);
    const box = await Sandbox.open({ ...options, keep: true });
    const { id } = box;
    await box.detach();
    await box.close();
    const [listed] = await sandboxes.list();
    assert.deepEqual([listed.id, listed.provider, listed.mine], [id, 'fake', true]);
    await sandboxes.pause(id);
    await sandboxes.resume(id);
    await assert.rejects(sandboxes.pause('nobody'), code('sandbox_not_found'));
    const kept = await sandboxes.snapshot(id, 'kept');
    await assert.rejects(sandboxes.snapshot(id, 'kept'), code('conflict'));
    await sandboxes.snapshot(id, 'kept', { replace: true });
    await sandboxes.snapshot(id, 'kept', { replace: true, withBase: true });
    assert.equal(fs.readFileSync(parameters.journal, 'utf8').split('with base').length, 2);
    assert.deepEqual((await sandboxes.snapshots()).map((snapshot) => snapshot.id), [kept]);
    await sandboxes.deleteSnapshot(kept);
    assert.deepEqual(await sandboxes.snapshots(), []);
    const fork = await sandboxes.fork(id);
    assert.deepEqual((await sandboxes.list()).map((each) => each.id).sort(), [id, fork].sort());
    await sandboxes.delete(fork);
    await sandboxes.delete(id);
    assert.deepEqual(await sandboxes.list(), []);
    assert.deepEqual(await sandboxes.collectGarbage(), []);
    fs.rmSync(folder, { recursive: true });
};

tests['volumes outlive their sandbox'] = async () => {
    const name = `kept-${route}`;
    const sandboxes = new Sandboxes({ route });
    const ours = async () => (await sandboxes.volumes()).filter((volume) => volume.name === name);
    const first = await Sandbox.open({ route, volumes: [`${name}:/kept`] });
    await first.write('/kept/note', 'x'.repeat(5000));
    const [found] = await ours();
    assert.ok(found.bytes >= 5000 && found.limitBytes > 0 && found.usedAt);
    assert.deepEqual([found.writers, found.readers], [1, 0]);
    await assert.rejects(sandboxes.deleteVolume(name), code('quota'));
    await first.close();
    const second = await Sandbox.open({ route, volumes: [`${name}:/again:ro`] });
    assert.equal((await second.download('/again/note')).length, 5000);
    await second.close();
    await sandboxes.deleteVolume(name);
    assert.deepEqual(await ours(), []);
};

let failed = 0;
const box = await Sandbox.open({ route, network: 'off' });
const bound = { execute: box.execute.bind(box), processes: box.processes, ports: box.ports };
for (const [name, test] of Object.entries(tests)) {
    try {
        await test(name.startsWith('ports') ? bound : box);
        console.log(`ok ${route}: ${name}`);
    } catch (problem) {
        failed++;
        console.log(`not ok ${route}: ${name}\n${problem.stack.replace(/^/gm, '    ')}`);
    }
}
const { processes } = box;
await box.close();
await assert.rejects(async () => processes.list(), (problem) => problem instanceof SandlotError);
process.exitCode = failed ? 1 : 0;
