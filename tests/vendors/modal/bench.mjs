// What the official SDK does, one operation per process. See ../README.md.
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';

const [operation, url, ...words] = process.argv.slice(2);
process.env.MODAL_CONFIG_PATH = '/nonexistent/modal.toml';
process.env.MODAL_SERVER_URL = url;
const { ModalClient } = await import('modal-0-11');
const modal = new ModalClient();

async function make() {
    const app = await modal.apps.fromName('sandlot', { createIfMissing: true });
    return modal.sandboxes.create(app, modal.images.fromRegistry('python:3.13-slim'));
}

async function exec(sandbox) {
    const command = await sandbox.exec(['echo', 'done']);
    const [text, status] = await Promise.all([command.stdout.readText(), command.wait()]);
    if (text !== 'done\n' || status !== 0) throw new Error(`${text} ${status}`);
}

async function upload(sandbox, local, remote) {
    const pieces = [];
    for await (const piece of createReadStream(local)) pieces.push(piece);
    await sandbox.filesystem.writeBytes(Buffer.concat(pieces), remote);
}

const operations = {
    create: async () => console.log((await make()).sandboxId),
    exec: async (id) => exec(await modal.sandboxes.fromId(id)),
    upload: async (id, local, remote) => upload(await modal.sandboxes.fromId(id), local, remote),
    download: async (id, remote, local) => writeFile(local, await (await modal.sandboxes.fromId(id)).filesystem.readBytes(remote)),
    cycle: async () => {
        const sandbox = await make();
        await exec(sandbox);
        await sandbox.terminate();
    },
    list: async () => {
        const app = await modal.apps.fromName('sandlot');
        for await (const sandbox of modal.sandboxes.list({ appId: app.appId })) if (!sandbox.sandboxId) throw new Error('no id');
    },
    delete: async (id) => (await modal.sandboxes.fromId(id)).terminate(),
};
await operations[operation](...words);
process.exit(0);
