// Of a box and its agent, without a service.

import { Readable } from 'node:stream';
import { createBox, destroyAll } from './box.mjs';
import * as cases from './cases.mjs';
import { refused, same, test } from './cases.mjs';

const LARGE = 16 << 20, MOST_KIB = 8 << 10;
const box = await createBox({ user: 'user', environment: { LANG: 'C.UTF-8' } });
const shell = (line, options) => box.run(['sh', '-c', line], options);
const says = async (line, options) => (await shell(line, options)).stdout.toString();
const is = (code, what) => (problem) => problem.code === code && problem.what === what;
cases.callCases('box');

/** A reader that stops at its first piece until go() is called; then `bytes` counts. */
function stopping() {
    const gate = Promise.withResolvers(), begun = Promise.withResolvers();
    const reader = { bytes: 0, begun: begun.promise, go: gate.resolve, take: async (piece) => {
        begun.resolve();
        await gate.promise;
        reader.bytes += piece.length;
    } };
    return reader;
}

await test('whose reader stops waits, and nobody else', async () => {
    const one = stopping(), other = stopping();
    const command = await box.spawn({ argv: ['sh', '-c', `head -c ${LARGE} /dev/zero; head -c ${LARGE} /dev/zero >&2`], onStdout: one.take, onStderr: other.take });
    const { stream } = await box.readFile('/dev/zero', { length: LARGE });
    const sleeper = await box.spawn({ argv: ['sleep', '1000'], stdin: Readable.from([Buffer.alloc(4 << 20)]) });
    await one.begun;
    same(await says(`head -c ${LARGE} /dev/zero | wc -c`), `${LARGE}\n`);
    let moved = 0;
    await shell(`head -c ${LARGE} /dev/zero`, { onStdout: (piece) => void (moved += piece.length) });
    await box.writeFile('copy', Readable.from(Array(16).fill(Buffer.alloc(1 << 20))));
    const size = (await box.stat('copy')).size;
    one.go();
    await other.begun;
    other.go();
    const [end, read] = await Promise.all([command.done, stream.reduce((sum, piece) => sum + piece.length, 0)]);
    await sleeper.kill();
    await sleeper.closed;
    same([moved, size, one.bytes, other.bytes, read, end], [LARGE, LARGE, LARGE, LARGE, LARGE, { code: 0, signal: null }]);
});
await test('the agent stays small', async () => Number(await says("sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$PPID/status")) < MOST_KIB);
await test('what holds the output of a command that has ended is not waited for', async () => {
    let text = '';
    const command = await box.spawn({ argv: ['sh', '-c', 'sleep 1000 & echo here; echo $! >&2'], onStdout: (piece) => void (text += piece) });
    same([await command.done, text, await command.kill('SIGTERM')], [{ code: 0, signal: null }, 'here\n', { killed: true }]);
    await command.closed;
    same(await command.kill(), { killed: false });
});
await test('ends of commands', async () => {
    const ends = await Promise.all(['exit 7', 'kill $$', 'kill -9 $$'].map((line) => shell(line)));
    same(ends.map(({ code, signal }) => code ?? signal), [7, 'SIGTERM', 'SIGKILL']);
});
await test('a session of its own, with every signal as it was', async () => {
    const [leads, ...masks] = (await says("set -- $(cat /proc/self/stat); echo $(($6 == $$)); sed -n 's/^Sig[BI].*\\t/0x/p' /proc/self/status")).trim().split('\n');
    // Those above 31 are as they came to the emulator: nobody resets what glibc has for itself.
    same([leads, ...masks.map((mask) => Number(BigInt(mask) & 0x7fffffffn))], ['1', 0, 0]);
});
await test('its output can be opened again', async () => same(await says('echo one >/dev/stdout; echo two >/dev/stderr; cat /dev/stdin', { merged: true, stdin: Buffer.from('three') }), 'one\ntwo\nthree'));
await test('its environment has no less and no more', async () => same(await says('cd; env | sort | grep -v "^[A-Z]*WD="', { env: { A: 'b', LANG: 'C' } }),
    'A=b\nHOME=/home/user\nLANG=C\nLOGNAME=user\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nSHELL=/bin/bash\nUSER=user\n'));
await test('programs are looked for in its own path', async () => {
    await shell('mkdir bin && printf "echo found" >bin/mine && chmod 755 bin/mine');
    same((await box.run(['mine'], { env: { PATH: '/home/user/bin:/bin' } })).stdout.toString(), 'found\n');
});
await test('what does not begin', async () => {
    await refused(() => box.run(['no-such-program']), is('ENOENT'));
    await refused(() => box.run(['/etc/passwd']), is('EACCES'));
    await refused(() => box.run(['sh'], { cwd: 'nowhere' }), is('ENOENT', 'cwd'));
    await refused(() => box.run(['sh', '-c', 'a\0b']), is('ERR_INVALID_ARG_VALUE'));
});
await test('a source that breaks', async () => {
    async function* broken() {
        yield Buffer.from('some');
        throw new Error('it broke');
    }
    await refused(() => box.writeFile('short', Readable.from(broken())), is('ECONNRESET'));
    same((await box.stat('short')).size, 4);
});
await test('nobody waits for a command that does not read', async () => same((await shell('exec <&-; echo done; sleep 0.1', { stdin: Buffer.alloc(8 << 20) })).code, 0));
await test('files have the names of errors that the system has', async () => {
    await shell('mkdir -p full/x closed && mkfifo pipe && touch file && ln -s file link && chmod 000 closed');
    const wrong = [['stat', 'none'], ['readdir', 'file'], ['readFile', 'full'], ['readFile', 'pipe'], ['readFile', 'file/x'], ['writeFile', '/etc/x', Buffer.alloc(1)],
        ['writeFile', 'pipe', Buffer.alloc(1)], ['writeFile', 'file', Buffer.alloc(1 << 21), { exclusive: true }], ['writeFile', 'file/x/y', Buffer.alloc(1), { parents: true }],
        ['mkdir', 'full'], ['mkdir', 'file', { parents: true }], ['mkdir', 'file/x', { parents: true }], ['mkdir', 'none/x'], ['remove', 'full'], ['remove', 'none', { recursive: true }],
        ['readdir', 'closed'], ['rename', 'none', 'other'], ['chmod', 'none', 0o600], ['stat', 'file\0x'], ['mkdir', '/usr/new/x', { parents: true }]];
    const codes = [];
    for (const [call, ...words] of wrong) codes.push(await box[call](...words).then(() => 'none', ({ code }) => code));
    same(codes, ['ENOENT', 'ENOTDIR', 'EISDIR', 'EINVAL', 'ENOTDIR', 'EACCES', 'ENXIO', 'EEXIST', 'ENOTDIR', 'EEXIST', 'EEXIST', 'ENOTDIR', 'ENOENT', 'ENOTEMPTY', 'ENOENT',
        'EACCES', 'ENOENT', 'ENOENT', 'ERR_INVALID_ARG_VALUE', 'ENOENT']);
});
await test('what files are', async () => {
    await box.mkdir('new/of/all', { parents: true, mode: 0o700 });
    await box.mkdir('new/of/all', { parents: true });
    await box.writeFile('new/./of/../b', Buffer.from('0123456789'), { mode: 0o640 });
    await box.writeFile('new/b', Buffer.from('ab'), { append: true });
    await shell('cd new && ln -s b a && mkfifo c && : >"$(printf "bad\\377")"');
    same((await box.readdir('new')).map(({ name, type, size, mode }) => [name, type, type === 'file' ? size : 0, mode]), [['a', 'symlink', 0, 0o777], ['b', 'file', 12, 0o640],
        ['c', 'fifo', 0, 0o644], ['of', 'directory', 0, 0o700]]);
    same([(await box.stat('new/a', { follow: false })).target, (await box.stat('new/a')).type, (await box.stat('/dev/null')).type], ['b', 'file', 'device']);
    const { stream, size } = await box.readFile('new/a', { offset: 3, length: 5 });
    same([(await stream.toArray()).join(''), size], ['34567', 12]);
    await box.remove('new', { recursive: true });
    await refused(() => box.stat('new'), is('ENOENT'));
});
await test('as root of a nested namespace', async () => same((await box.run(['id', '-u'], { sudo: true })).stdout.toString(), '0\n'));
await test('what is frozen stands still', async () => {
    const command = await box.spawn({ argv: ['sh', '-c', 'read line; echo "$line" >read'], stdin: 'pipe' });
    await box.freeze();
    command.write('words\n');
    same([await says('ps -o stat= -p "$0" | cut -c 1; test ! -e read && echo not yet'.replace('$0', command.pid))], ['T\nnot yet\n']);
    await box.thaw();
    await command.done;
    same(await says('cat read'), 'words\n');
});
await destroyAll();
cases.finish();
