// The official SDK, unpatched, against the emulator: what passes here is what the service's clients really send and take.
//
//   node sdk.mjs URL [counts]    counts: prints how many requests each operation takes instead

import { Client, Sandbox, SeekMode } from '@deno/sandbox';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as cases from '../common/cases.mjs';
import { refused, same, test } from '../common/cases.mjs';
import { askPort } from '../common/ports.mjs';

const [url, what] = process.argv.slice(2);
const KEY = 'ddo_5e1f0c77a2b94d0e_emulated';
const options = { token: KEY, sandboxEndpoint: url, apiEndpoint: url };
const client = new Client(options);
const piped = { stdout: 'piped', stderr: 'piped' };
const create = (more) => Sandbox.create({ ...options, timeout: '10m', ...more });
const connect = (id) => Sandbox.connect(id, options);
const counted = (name, work) => cases.counted(url, name, work);
const shell = async (box, line, more) => (await box.spawn('/bin/bash', { args: ['-c', line], ...piped, ...more })).output();
const bytesOf = (length) => new Uint8Array(length).map((_, index) => (index * 31) % 256);

// ---- counts ----------------------------------------------------------------------------------------------------------

async function counts() {
    let box;
    const attached = async (work) => {
        const one = await connect(box.id);
        await work(one);
        await one.close();
    };
    const files = Array.from({ length: 20 }, (_, index) => `/home/app/${index}`);
    await counted('create', async () => (box = await create()));
    await counted('exec', () => attached((one) => shell(one, 'true')));
    await counted('read', () => attached((one) => one.fs.readFile('/etc/passwd')));
    await counted('edit', () => attached(async (one) => one.fs.writeTextFile('edited', `${await one.fs.readTextFile('/etc/passwd')}x`)));
    await counted('upload 1 MiB', () => attached((one) => one.fs.writeFile('/home/app/mebibyte', bytesOf(1 << 20))));
    await counted('download 1 MiB', () => attached((one) => one.fs.readFile('/home/app/mebibyte')));
    await counted('upload 20', () => attached(async (one) => {
        for (const file of files) await one.fs.writeTextFile(file, 'x');
    }));
    await counted('download 20', () => attached(async (one) => {
        for (const file of files) await one.fs.readTextFile(file);
    }));
    await counted('list', () => client.sandboxes.list());
    await counted('delete', () => attached((one) => one.kill()).catch(() => {}));
    await counted('create, exec, delete', async () => {
        const one = await create();
        await shell(one, 'true');
        await one.kill();
    });
}

// ---- the life of a sandbox -------------------------------------------------------------------------------------------

async function life() {
    let box;
    await test('create', async () => {
        box = await create({ memory: '1GiB', labels: { 'sdk-label': 'a b' }, env: { GREETING: 'hello' } });
        return /^sbx_ord_/.test(box.id);
    });
    await test('a wrong token', () => refused(() => create({ token: 'ddo_wrong' }), (problem) => problem.name === 'Error' || /INVALID|invalid/.test(problem.message)));
    await test('a personal token needs its organization', async () => {
        const mine = { ...options, token: 'ddp_77a2b94d0e5e1f0c_emulated', org: 'emulated' };
        await refused(() => new Client({ ...mine, org: 'another' }).sandboxes.list(), (problem) => problem.status === 403);
        return same((await new Client(mine).sandboxes.list()).length, 1);
    });
    await test('list, by label', async () => {
        const [one] = await client.sandboxes.list({ labels: { 'sdk-label': 'a b' } });
        return same([one.id, one.status, one.region, one.stoppedAt, await client.sandboxes.list({ labels: { other: 'x' } })], [box.id, 'running', 'ord', null, []]);
    });
    await test('extend', async () => same(Math.abs(await box.extendTimeout('20m') - Date.now() - 1200000) < 60000, true));
    await commands(box);
    await files(box);
    await test('the URL of a port', async () => {
        await box.spawn('/run/agent/node', { args: ['-e', "require('http').createServer((request, response) => response.end('from the box')).listen(3000)"] });
        const url = await box.exposeHttp({ port: 3000 });
        let answer;
        do answer = await askPort(url.replace('https:', 'http:'));
        while (answer.status === 502);
        return same([url.startsWith('https://'), answer], [true, { status: 200, text: 'from the box' }]);
    });
    await test('a second connection', async () => {
        const second = await connect(box.id);
        const { stdoutText } = await shell(second, 'echo $GREETING');
        await second.close();
        return same([second.id, stdoutText], [box.id, 'hello\n']);
    });
    await test('kill', async () => {
        await box.kill();
        return same((await client.sandboxes.list()).map((one) => one.status), ['stopped']);
    });
    await test('what was killed is gone', () => refused(() => connect(box.id), (problem) => problem.status === 404));
    await test('one that belongs to its connection ends with it', async () => {
        const bound = await Sandbox.create(options);
        await bound.close();
        await refused(() => connect(bound.id), (problem) => problem.status === 404);
    });
    await volumes();
}

async function commands(box) {
    await test('a command', async () => {
        const { status, stdoutText, stderrText } = await shell(box, 'pwd; echo "$GREETING$A"; echo problem >&2; exit 3', { env: { A: '1' } });
        return same([stdoutText, stderrText, status.code, status.success, status.signal], ['/home/app\nhello1\n', 'problem\n', 3, false, null]);
    });
    await test('the shell template', async () => same(await box.sh`echo ${'it is'} "$0"`.cwd('/tmp').text(), 'it is bash\n'));
    await test('in whatever order its end is told', async () => {
        for (let round = 0; round < 6; round++) same((await shell(box, 'echo out; echo err >&2')).stdoutText, 'out\n');
    });
    await test('exact bytes, many', async () => {
        const { stdout } = await shell(box, 'for i in 1 2 3 4 5 6 7 8; do head -c 200000 /dev/zero | tr "\\0" "\\377"; done');
        return same([stdout.length, stdout.every((byte) => byte === 255)], [1600000, true]);
    });
    await test('standard input', async () => {
        const child = await box.spawn('/bin/cat', { stdin: 'piped', ...piped });
        const writer = child.stdin.getWriter();
        await writer.write(new Uint8Array([0, 255, 10]));
        await writer.close();
        return same([...(await child.output()).stdout], [0, 255, 10]);
    });
    await test('a signal', async () => {
        const child = await box.spawn('sleep', { args: ['60'], ...piped });
        await child.kill('SIGKILL');
        const { code, signal } = await child.status;
        await child.kill(); // it is gone: no failure
        return same([code, signal], [137, 'SIGKILL']);
    });
    await test('a program that is not there', () => refused(() => box.spawn('no-such-program', piped), (problem) => problem.code === 'ENOENT'));
    await test('a folder that is not there', () => refused(() => shell(box, 'true', { cwd: '/nowhere' }), (problem) => problem.code === 'ENOENT'));
    await test('the environment', async () => {
        await box.env.set('B', '2');
        await box.env.delete('GREETING');
        const seen = [await box.env.get('B'), await box.env.get('none'), await box.env.toObject()];
        await box.env.set('GREETING', 'hello');
        return same(seen, ['2', undefined, { B: '2' }]);
    });
}

async function files(box) {
    const bytes = bytesOf(300000);
    await test('files in exact bytes', async () => {
        await box.fs.mkdir('new/folder', { recursive: true });
        await box.fs.writeFile('new/folder/ä.bin', bytes);
        return same([Buffer.compare(await box.fs.readFile('/home/app/new/folder/ä.bin'), bytes), (await box.fs.stat('new/folder/ä.bin')).size], [0, 300000]);
    });
    await test('folders are not made', () => refused(() => box.fs.writeTextFile('none/x', ''), (problem) => problem.code === 'ENOENT'));
    await test('a folder is no file', () => refused(() => box.fs.readFile('new'), (problem) => problem.code === 'EISDIR'));
    await test('what may not be read', () => refused(() => box.fs.writeTextFile('/etc/mine', ''), (problem) => problem.code === 'EACCES'));
    await test('an open file', async () => {
        const file = await box.fs.open('new/opened', { read: true, write: true, create: true });
        const written = await file.write(bytes.subarray(0, 1000));
        const at = await file.seek(-10, SeekMode.End);
        const end = new Uint8Array(100);
        const read = await file.read(end);
        const none = await file.read(end);
        await file.close();
        return same([written, at, read, none, [...end.subarray(0, 10)]], [1000, 990, 10, null, [...bytes.subarray(990, 1000)]]);
    });
    await test('up and down', async () => {
        const folder = await mkdtemp(path.join(os.tmpdir(), 'sandlot-sdk.'));
        await writeFile(`${folder}/up`, bytes);
        await box.fs.upload(`${folder}/up`, '/home/app/up');
        await box.fs.download('/home/app/up', `${folder}/down`);
        const back = await readFile(`${folder}/down`);
        await rm(folder, { recursive: true });
        return same(Buffer.compare(back, bytes), 0);
    });
    await test('names', async () => {
        await box.fs.rename('up', 'moved');
        await box.fs.symlink('moved', 'link');
        await box.fs.chmod('moved', 0o600);
        const names = [];
        for await (const { name, isSymlink } of box.fs.readDir('.')) names.push(`${name}${isSymlink ? '@' : ''}`);
        const { mode, isSymlink } = await box.fs.lstat('link');
        await box.fs.remove('new', { recursive: true });
        return same([names.includes('moved'), names.includes('link@'), isSymlink, mode !== 0, await box.fs.realPath('link')], [true, true, true, true, '/home/app/moved']);
    });
}

async function volumes() {
    await test('a volume is booted from and kept, and a snapshot of it is not changed', async () => {
        const volume = await client.volumes.create({ slug: 'sdk-volume', region: 'ord', capacity: '10GB', from: 'builtin:debian-13' });
        const first = await create({ root: volume.slug });
        await shell(first, 'echo kept >kept');
        const snapshot = await client.volumes.snapshot('sdk-volume', { slug: 'sdk-snapshot' });
        await refused(() => create({ root: 'sdk-volume' }), (problem) => problem.status === 409);
        await shell(first, 'echo later >kept');
        await first.kill();
        const second = await create({ root: 'sdk-snapshot' });
        const third = await create({ root: 'sdk-volume' });
        const seen = [(await shell(second, 'cat kept')).stdoutText, (await shell(third, 'cat kept')).stdoutText];
        await Promise.all([second.kill(), third.kill()]);
        return same([snapshot.isBootable, ...seen], [true, 'kept\n', 'later\n']);
    });
    await test('their lists have pages', async () => {
        await client.volumes.create({ slug: 'sdk-second', region: 'ord', capacity: 1000000000 });
        const slugs = [];
        for await (const { slug } of await client.volumes.list({ limit: 1 })) slugs.push(slug);
        return same([slugs, (await client.snapshots.list({ search: 'snap' })).items.map(({ slug }) => slug)], [['sdk-volume', 'sdk-second'], ['sdk-snapshot']]);
    });
    await test('they can be deleted', async () => {
        await client.snapshots.delete('sdk-snapshot');
        for (const slug of ['sdk-volume', 'sdk-second']) await client.volumes.delete(slug);
        return same([await client.snapshots.get('sdk-snapshot'), await client.volumes.get('sdk-volume')], [null, null]);
    });
}

async function network() {
    await test('a network policy', async () => {
        const other = await create({ allowNet: ['a.example:443', '*.b.example'] });
        const places = ['a.example:443', 'a.example:80', 'low.b.example:8443', 'c.example:443'];
        const { stdoutText } = await shell(other, places.map((place) => `curl -sp -x 127.0.0.1:3128 http://${place}/ || echo no`).join('; '));
        await other.kill();
        return same(stdoutText, 'reached a.example:443\nno\nreached low.b.example:8443\nno\n');
    });
}

await (what === 'counts' ? counts() : life().then(network));
cases.finish();
