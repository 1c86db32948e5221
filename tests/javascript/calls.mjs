// Every call of sdk/javascript, by the route of SANDLOT_TEST_ROUTE ("native" or "command"). Prints one line for each test.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { listProviders, Sandbox, SandlotError } from 'sandlot';
import { SandlotSandbox } from 'sandlot/deepagents';

const route = process.env.SANDLOT_TEST_ROUTE;
const tests = {};
const code = (wanted) => (problem) => problem instanceof SandlotError && problem.code === wanted && problem.message.length > 10;
const byPath = (found) => found.map((entry) => path.basename(entry.path)).sort();

tests['commands: output, exit codes, surroundings, input'] = async (box) => {
    const result = await box.execute('echo out; echo err >&2; exit 3');
    assert.deepEqual([result.exitCode, result.text, result.truncated, result.timedOut], [3, 'out\nerr\n', false, false]);
    const told = await box.execute('echo $NAME; pwd', { environment: { NAME: 'a "b" $c' }, workingDir: '/tmp' });
    assert.equal(told.text, 'a "b" $c\n/tmp\n');
    assert.equal((await box.execute('cat', { input: 'given' })).text, 'given');
    assert.equal((await box.execute('sleep 1000', { timeout: 1 })).timedOut, true);
    await assert.rejects(box.execute(''), code('usage'));
    for (const command of [undefined, null, 5, ['ls', '-l']]) await assert.rejects(box.execute(command), code('usage'));
    for (const timeout of [0, -1, NaN, '5']) await assert.rejects(box.execute('true', { timeout }), code('usage'));
    await assert.rejects(box.processes.start(undefined), code('usage'));
    await assert.rejects(box.processes.start('true', { timeout: 0 }), code('usage'));
};

tests['a command streams, and what its sink throws ends it'] = async (box) => {
    const pieces = [];
    const result = await box.execute('for n in 1 2 3; do echo $n; done; exit 5', { output: (piece) => pieces.push(piece) });
    assert.equal(Buffer.concat(pieces).toString(), '1\n2\n3\n');
    assert.equal(result.exitCode, 5);
    const sink = () => {
        throw new Error('enough');
    };
    await assert.rejects(box.execute('echo first; sleep 1000', { output: sink }), /enough/);
};

tests['a signal ends a call'] = async (box) => {
    const controller = new AbortController();
    const running = box.execute('echo up; sleep 1000', { signal: controller.signal, output: () => controller.abort() });
    await assert.rejects(running, { name: 'AbortError' });
    await assert.rejects(box.execute('true', { signal: AbortSignal.abort() }), { name: 'AbortError' });
};

tests['small calls one after the other leave others their turn'] = async (box) => {
    let turns = 0;
    await box.write('turn.txt', '');
    setImmediate(() => turns++);
    for (let n = 0; n < 8; n++) await box.read('turn.txt');
    assert.equal(turns, 1);
};

/* Each waits for all the others to have begun: one after the other they would never end. */
tests['eight commands at once do not wait for each other'] = async (box) => {
    const meet = 'touch meet.$N; until [ $(ls meet.* | wc -l) = 8 ]; do sleep 0.05; done; echo $N';
    const commands = Array.from({ length: 8 }, (_, n) => box.execute(meet, { environment: { N: String(n) }, timeout: 300 }));
    assert.deepEqual((await Promise.all(commands)).map((result) => result.text.trim()), [...'01234567']);
};

tests['files: write, read, edit, list, find, remove'] = async (box) => {
    await box.write('d/a.txt', 'one\ntwo\nthree\n');
    assert.deepEqual(await box.read('d/a.txt', { offset: 1, limit: 1 }).then(({ text, startLine, endLine, totalLines, nextOffset }) => [text, startLine, endLine, totalLines, nextOffset]), ['two', 2, 2, 3, 2]);
    assert.equal((await box.read('d/a.txt')).nextOffset, null);
    assert.equal(await box.edit('d/a.txt', 'o', '0', { replaceAll: true }), 2);
    await assert.rejects(box.edit('d/a.txt', 'e', 'x'), code('multiple_occurrences'));
    const [entry] = await box.ls('d');
    assert.deepEqual([path.basename(entry.path), entry.isDirectory, entry.size], ['a.txt', false, 14]);
    assert.ok(entry.modifiedAt.getTime() > 0);
    assert.deepEqual(byPath((await box.glob('*.txt', 'd')).entries), ['a.txt']);
    assert.deepEqual(byPath((await box.glob('d', undefined, { directories: true })).entries), ['d']);
    const { matches, truncated } = await box.grep('tw0', undefined, { glob: '*.txt' });
    assert.deepEqual([matches.length, matches[0].line, matches[0].text, truncated], [1, 2, 'tw0', false]);
    assert.deepEqual((await box.grep('tw0', undefined, { glob: '-q' })).matches, []); // no option, but a name
    assert.equal((await box.grep('', 'd', { maxCount: 1 })).truncated, true);
    await box.remove('d');
    await assert.rejects(box.read('d/a.txt'), code('file_not_found'));
    await assert.rejects(box.ls('d'), code('path_not_found'));
};

tests['transfers: exact bytes, files, folders'] = async (box) => {
    const bytes = Uint8Array.from({ length: 70000 }, (_, n) => n * 7);
    const far = `${box.workingDir}/far`;
    await box.upload(far, bytes);
    assert.deepEqual(new Uint8Array(await box.download(far)), bytes);
    assert.equal((await box.read(far)).binary, true);
    const wide = Uint16Array.of(0x4141, 0x4242);
    for (const content of [wide, wide.subarray(1), new DataView(wide.buffer)]) {
        const all = 'AABB'.slice(-content.byteLength);
        assert.equal((await box.execute('cat', { input: content })).text, all);
        for (const put of [box.write, box.upload]) {
            await put.call(box, far, content);
            assert.equal((await box.read(far)).text, all);
        }
    }
    const local = fs.mkdtempSync(path.join(os.tmpdir(), 'sandlot-test-'));
    try {
        fs.mkdirSync(path.join(local, 'up/in'), { recursive: true });
        fs.writeFileSync(path.join(local, 'up/in/file'), 'inside');
        await box.uploadFile(path.join(local, 'up'), `${box.workingDir}/tree`, { recursive: true });
        await box.downloadFile(`${box.workingDir}/tree`, path.join(local, 'down'), { recursive: true });
        assert.equal(fs.readFileSync(path.join(local, 'down/in/file'), 'utf8'), 'inside');
    } finally {
        fs.rmSync(local, { recursive: true });
    }
    await assert.rejects(box.download('/none'), code('file_not_found'));
    await assert.rejects(box.upload('relative', bytes), code('invalid_path'));
};

tests['a backend: answers for models, and codes for single files'] = async (box) => {
    const backend = new SandlotSandbox(box);
    assert.match((await backend.read('none')).error, /not found/);
    await backend.write('/large_tool_results/r', 'kept\n'); // where the framework writes
    assert.match((await backend.ls('/large_tool_results/r')).error, /not a directory/);
    await backend.write('two', 'a a');
    assert.match((await backend.edit('two', 'a', 'b')).error, /multiple times/);
    await backend.uploadFiles([[`${box.workingDir}/x.bin`, new Uint8Array([0, 255])]]);
    assert.equal((await backend.read('x.bin')).mimeType, 'application/octet-stream');
    assert.deepEqual((await backend.readRaw(`${box.workingDir}/x.bin`)).data.content, new Uint8Array([0, 255]));
    const [there, gone] = await backend.downloadFiles([`${box.workingDir}/two`, '/none']);
    assert.deepEqual([new TextDecoder().decode(there.content), there.error, gone.content, gone.error], ['a a', null, null, 'file_not_found']);
    await box.execute('mkdir /dev/shm/odd; cd /dev/shm/odd; touch -d @9000000000000 late'); // a time that no calendar has
    assert.ok(Number.isNaN((await box.ls('/dev/shm/odd'))[0].modifiedAt.getTime()));
    assert.deepEqual(await backend.ls('/dev/shm/odd'), { files: [{ path: '/dev/shm/odd/late', is_dir: false, size: 0 }] });
    assert.deepEqual((await backend.execute('exit 4')).exitCode, 4);
};

tests['providers, and what does not exist'] = async (box) => {
    const local = (await listProviders({ route })).find(({ name }) => name === 'local');
    assert.equal(local.source, 'builtin');
    await assert.rejects(Sandbox.open({ provider: 'nope', route }), code('unknown_provider'));
    await assert.rejects(Sandbox.open({ provider: '--help', route }), code('unknown_provider'));
    await assert.rejects(Sandbox.open({ sandboxId: 'box-aaaaaaaaaaaa', route }), code('sandbox_not_found'));
    await assert.rejects(Sandbox.open({ route: 'other' }), code('usage'));
    await assert.rejects(Sandbox.open({ configFile: '', route }), code('usage'));
    assert.equal(inspect(box), `Sandbox { id: '${box.id}', provider: 'local', workingDir: '/workspace' }`);
    const other = await Sandbox.open({ sandboxId: box.id, route });
    assert.equal(other.workingDir, box.workingDir);
    await other.close();
    assert.equal((await box.execute('echo still here')).text, 'still here\n');
};

/* As where two packages of one program each bring their own. */
tests['two copies of the package in one program'] = async (box) => {
    const again = await import('sandlot-again');
    const other = await again.Sandbox.open({ sandboxId: box.id, route });
    assert.equal((await other.execute('echo both')).text, (await box.execute('echo both')).text);
    await other.close();
};

/* Whoever looks for leftovers next deletes it, or it is gone already. */
tests['a box does not survive the process that made it'] = async (box) => {
    const program = `import { Sandbox } from 'sandlot'; const box = await Sandbox.open({ route: '${route}' }); console.log(box.id); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const id = (await new Promise((resolve) => child.stdout.once('data', resolve))).toString().trim();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    for (;;) {
        const attached = await Sandbox.open({ sandboxId: id, route }).catch((problem) => problem);
        if (attached instanceof SandlotError) break;
        await attached.close();
        const another = await Sandbox.open({ route }); // which looks for leftovers
        await another.close();
    }
    assert.ok(box.id !== id);
};

let failed = 0;
const box = await Sandbox.open({ route });
for (const [name, test] of Object.entries(tests)) {
    try {
        await test(box);
        console.log(`ok ${route}: ${name}`);
    } catch (problem) {
        failed++;
        console.log(`not ok ${route}: ${name}\n${problem.stack.replace(/^/gm, '    ')}`);
    }
}
await box.close();
await box.close();
await assert.rejects(box.execute('true'), code('usage'));
process.exitCode = failed ? 1 : 0;
