// An official SDK, unpatched, against the emulator: what passes here is what the service's clients really send and take.
//
//   node sdk.mjs URL PACKAGE [counts]    PACKAGE: modal-0-9 or modal-0-11; counts: prints how many calls each operation takes instead

import * as cases from '../common/cases.mjs';
import { same, test } from '../common/cases.mjs';
import { askPort } from '../common/ports.mjs';

const [url, name, what] = process.argv.slice(2);
process.env.MODAL_CONFIG_PATH = '/nonexistent/modal.toml';
process.env.MODAL_SERVER_URL = url;
process.env.MODAL_TOKEN_ID = 'ak-0123456789abcdefEMULATED';
process.env.MODAL_TOKEN_SECRET = 'as-0123456789abcdefEMULATED';
const { ModalClient, NotFoundError } = await import(name);
const IMAGE = 'python:3.13-slim';
const newest = name === 'modal-0-11';
const modal = new ModalClient();
const refused = (work, kind) => cases.refused(work, (problem) => problem.name === kind || (typeof kind === 'function' && problem instanceof kind));
const counted = (title, work) => cases.counted(url, title, () => work(new ModalClient()));
cases.callCases(name);

async function make(client, params = {}) {
    const app = await client.apps.fromName('sandlot', { createIfMissing: true });
    return client.sandboxes.create(app, client.images.fromRegistry(IMAGE), params);
}

/** {stdout, stderr, code} of a command. */
async function run(sandbox, words, params = {}) {
    const process = await sandbox.exec(words, params);
    const [stdout, stderr, code] = await Promise.all([process.stdout.readText(), process.stderr.readText(), process.wait()]);
    return { stdout, stderr, code };
}

async function all(iterator) {
    const found = [];
    for await (const one of iterator) found.push(one);
    return found;
}

// ---- counts ----------------------------------------------------------------------------------------------------------

async function counts() {
    const files = Array.from({ length: 20 }, (_, index) => `/workspace/many/${index}`);
    let id;
    await make(modal).then((sandbox) => sandbox.terminate()); // the image is built
    await counted('create', async (client) => (id = (await make(client)).sandboxId));
    await counted('exec', async (client) => run(await client.sandboxes.fromId(id), ['true']));
    await counted('upload 1 MiB', async (client) => (await client.sandboxes.fromId(id)).filesystem.writeBytes(new Uint8Array(1 << 20), '/root/mebibyte'));
    await counted('download 1 MiB', async (client) => (await client.sandboxes.fromId(id)).filesystem.readBytes('/root/mebibyte'));
    await counted('upload 20', async (client) => {
        const sandbox = await client.sandboxes.fromId(id);
        for (const file of files) await sandbox.filesystem.writeText('x', file);
    });
    await counted('download 20', async (client) => {
        const sandbox = await client.sandboxes.fromId(id);
        for (const file of files) await sandbox.filesystem.readText(file);
    });
    await counted('list', async (client) => all(client.sandboxes.list({ appId: (await client.apps.fromName('sandlot')).appId })));
    await counted('delete', async (client) => (await client.sandboxes.fromId(id)).terminate());
}

// ---- what it can do --------------------------------------------------------------------------------------------------

async function commands(sandbox) {
    await test('a command', async () => same(await run(sandbox, ['sh', '-c', 'echo out; echo err >&2; exit 3']), { stdout: 'out\n', stderr: 'err\n', code: 3 }));
    await test('an exit code of 0', async () => same((await run(sandbox, ['true'])).code, 0));
    await test('a signal', async () => same((await run(sandbox, ['sh', '-c', 'kill -TERM $$'])).code, 143));
    await test('a folder and variables', async () => same((await run(sandbox, ['sh', '-c', 'pwd; echo "$COLOUR $FROM"'], { workdir: '/tmp', env: { COLOUR: 'blue' } })).stdout, '/tmp\nblue create\n'));
    await test('standard input', async () => {
        const process = await sandbox.exec(['cat']);
        await process.stdin.writeText('typed');
        await process.stdin.close();
        return same(await process.stdout.readText(), 'typed');
    });
    await test('a time limit', async () => same(await (await sandbox.exec(['sleep', '30'], { timeoutMs: 1000 })).wait(), 137));
    await test('much output', async () => same((await run(sandbox, ['sh', '-c', 'head -c 3000000 /dev/zero | tr "\\0" x'])).stdout.length, 3000000));
}

async function files(sandbox) {
    const { filesystem } = sandbox;
    const bytes = Uint8Array.from({ length: 700000 }, (_, index) => (index * 31) & 255);
    await test('a file and back', async () => {
        await filesystem.writeBytes(bytes, '/root/new/folder/file');
        return same(Buffer.compare(Buffer.from(await filesystem.readBytes('/root/new/folder/file')), Buffer.from(bytes)), 0);
    });
    await test('a missing file', () => refused(() => filesystem.readText('/root/missing'), 'SandboxFilesystemNotFoundError'));
    await test('a folder is no file', () => refused(() => filesystem.readText('/root/new'), 'SandboxFilesystemIsADirectoryError'));
    await test('a listing', async () => same((await filesystem.listFiles('/root/new/folder')).map(({ name: file, size }) => [file, size]), [['file', 700000]]));
    await test('removing', async () => {
        await filesystem.remove('/root/new', { recursive: true });
        return refused(() => filesystem.stat('/root/new'), 'SandboxFilesystemNotFoundError');
    });
}

async function life() {
    const app = await modal.apps.fromName('sandlot', { createIfMissing: true });
    const sandbox = await make(modal, { name: `sdk-${process.pid}`, tags: { purpose: 'test' }, timeoutMs: 600000, env: { FROM: 'create' } });
    await test('the generation', async () => same(/^sb-[0-9A-Za-z]{22}$/.test(sandbox.sandboxId), !newest));
    await commands(sandbox);
    await files(sandbox);
    await test('by id', async () => same((await run(await modal.sandboxes.fromId(sandbox.sandboxId), ['echo', 'again'])).stdout, 'again\n'));
    await test('by name', async () => same((await modal.sandboxes.fromName('sandlot', `sdk-${process.pid}`)).sandboxId, sandbox.sandboxId));
    await test('a name is taken', () => refused(() => make(modal, { name: `sdk-${process.pid}` }), 'AlreadyExistsError'));
    await test('tags', async () => same(await sandbox.getTags(), { purpose: 'test' }));
    await test('other tags', async () => {
        await sandbox.setTags({ purpose: 'other' });
        return same(await sandbox.getTags(), { purpose: 'other' });
    });
    await test('a list', async () => same((await all(modal.sandboxes.list({ appId: app.appId, tags: { purpose: 'other' } }))).map((one) => one.sandboxId), [sandbox.sandboxId]));
    await test('it runs', async () => same(await sandbox.poll(), null));
    await test('a snapshot', async () => {
        await run(sandbox, ['sh', '-c', 'echo kept >/root/kept']);
        const image = await sandbox.snapshotFilesystem();
        const copy = await modal.sandboxes.create(app, image);
        const problem = same((await run(copy, ['cat', '/root/kept'])).stdout, 'kept\n');
        await copy.terminate();
        await modal.images.delete(image.imageId);
        return problem;
    });
    await test('the address of a port, and who is let in', async () => {
        await run(sandbox, ['sh', '-c', `/run/agent/node -e "require('http').createServer((request, response) => response.end('from the box')).listen(3000)" >/dev/null 2>&1 &`]);
        const { url: address, token } = await sandbox.createConnectToken({ port: 3000 });
        let answer;
        do answer = await askPort(address, { authorization: `Bearer ${token}` });
        while (answer.status === 502);
        const refusals = [(await askPort(address)).status, (await askPort(address, { authorization: 'Bearer wrong' })).status];
        return same([answer, refusals], [{ status: 200, text: 'from the box' }, [401, 401]]);
    });
    await test('a network policy', async () => {
        const box = await make(modal, { outboundCidrAllowlist: ['198.51.100.0/24'], outboundDomainAllowlist: ['a.example', '*.b.example'] });
        const places = ['a.example:443', 'low.b.example:443', 'c.example:443', '198.51.100.7:443'];
        const { stdout } = await run(box, ['sh', '-c', places.map((place) => `curl -sp -x 127.0.0.1:3128 http://${place}/ || echo no`).join('; ')]);
        await box.updateNetworkPolicy({ outboundCidrAllowlist: [], outboundDomainAllowlist: ['c.example'] });
        const after = await run(box, ['sh', '-c', 'for host in a c; do curl -sp -x 127.0.0.1:3128 http://$host.example:443/ || echo no; done']);
        await box.terminate();
        same(after.stdout, 'no\nreached c.example:443\n');
        return same(stdout, 'reached a.example:443\nreached low.b.example:443\nno\nreached 198.51.100.7:443\n');
    });
    await test('an image that cannot be built', () => refused(() => modal.sandboxes.create(app, modal.images.fromRegistry('broken:1')), Error));
    await test('the end', async () => {
        await sandbox.terminate();
        return same(await (await modal.sandboxes.fromId(sandbox.sandboxId)).wait(), 137);
    });
    await test('the list is empty', async () => same(await all(modal.sandboxes.list({ appId: app.appId })), []));
    await test('a missing app', () => refused(() => modal.apps.fromName('nobody'), NotFoundError));
}

await (what === 'counts' ? counts() : life());
cases.finish();
