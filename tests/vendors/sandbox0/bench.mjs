// What the official SDK does, one operation per process. See ../README.md.
import { Client } from 'sandbox0';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';

const [operation, baseUrl, ...words] = process.argv.slice(2);
const client = new Client({ token: process.env.SANDBOX0_TOKEN, baseUrl });
const attached = async (id) => client.sandbox((await client.sandboxes.get(id)).id);

async function exec(sandbox) {
    const { stdout, contextId } = await sandbox.cmd('echo', { command: ['bash', '-lc', 'echo done'], cwd: '/workspace' });
    await sandbox.deleteContext(contextId); // or the sandbox keeps it for ever
    if (!stdout.includes('done')) throw new Error('no output');
}

/** The same as ours: a file that nobody sees half, whose place keeps its mode and its links. */
async function upload(sandbox, local, remote) {
    await sandbox.writeFile('/tmp/.staged', await buffer(createReadStream(local)));
    const { exitCode, contextId } = await sandbox.cmd('mv', { command: ['bash', '-lc', 'cat /tmp/.staged >"$0.new" && mv "$0.new" "$0" && rm /tmp/.staged', remote], cwd: '/workspace' });
    await sandbox.deleteContext(contextId);
    if (exitCode !== 0) throw new Error('it was not put into its place');
}

/** The same as ours: with whose they are, which only the sandboxes themselves tell. */
async function list() {
    const { sandboxes } = await client.sandboxes.list();
    for (const { id } of sandboxes) await client.sandboxes.get(id);
}

const operations = {
    create: async () => console.log((await client.sandboxes.claim('default')).id),
    exec: async (id) => exec(await attached(id)),
    upload: async (id, local, remote) => upload(await attached(id), local, remote),
    download: async (id, remote, local) => writeFile(local, await (await attached(id)).readFile(remote)),
    cycle: async () => {
        const sandbox = await client.sandboxes.claim('default');
        await exec(sandbox);
        await client.sandboxes.delete(sandbox.id);
    },
    list,
    delete: async (id) => client.sandboxes.delete(id),
};
await operations[operation](...words);
process.exit(0);
