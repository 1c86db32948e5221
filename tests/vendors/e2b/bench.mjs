// What the official SDK does, one operation per process. See ../README.md.
import { Sandbox } from 'e2b';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const [operation, url, ...words] = process.argv.slice(2);
const client = { apiKey: process.env.E2B_API_KEY, apiUrl: url, sandboxUrl: url };
const attached = (id) => Sandbox.connect(id, client);

async function exec(sandbox) {
    const { stdout } = await sandbox.commands.run('echo done');
    if (!stdout.includes('done')) throw new Error('no output');
}

const operations = {
    create: async () => console.log((await Sandbox.create(client)).sandboxId),
    exec: async (id) => exec(await attached(id)),
    upload: async (id, local, remote) => (await attached(id)).files.write(remote, Readable.toWeb(createReadStream(local))),
    download: async (id, remote, local) => pipeline(await (await attached(id)).files.read(remote, { format: 'stream' }), createWriteStream(local)),
    cycle: async () => {
        const sandbox = await Sandbox.create(client);
        await exec(sandbox);
        await sandbox.kill();
    },
    list: async () => {
        const pages = Sandbox.list(client);
        while (pages.hasNext) for (const { sandboxId } of await pages.nextItems()) if (!sandboxId) throw new Error('no id');
    },
    delete: async (id) => Sandbox.kill(id, client),
};
await operations[operation](...words);
process.exit(0);
