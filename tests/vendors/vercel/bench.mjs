// What the official SDK does, one operation per process. See ../README.md.
import { Sandbox } from '@vercel/sandbox';
import { createReadStream, createWriteStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

const [operation, url, ...words] = process.argv.slice(2);
const { VERCEL_TOKEN: token, VERCEL_TEAM_ID: teamId, VERCEL_PROJECT_ID: projectId } = process.env;
const there = (address, { dispatcher, ...options } = {}) => fetch(String(address).replace('https://vercel.com/api', `${url}/api`), options);
const client = { token, teamId, projectId, fetch: there };

async function exec(sandbox) {
    const finished = await sandbox.runCommand('sh', ['-c', 'echo done']);
    if (!(await finished.stdout()).includes('done')) throw new Error('no output');
}

const operations = {
    create: async () => console.log((await Sandbox.create({ ...client, persistent: false })).name),
    exec: async (name) => exec(await Sandbox.get({ ...client, name })),
    upload: async (name, local, remote) => (await Sandbox.get({ ...client, name })).writeFiles([{ path: remote, content: await buffer(createReadStream(local)) }]),
    download: async (name, remote, local) => pipeline(await (await Sandbox.get({ ...client, name })).readFile({ path: remote }), createWriteStream(local)),
    cycle: async () => {
        const sandbox = await Sandbox.create({ ...client, persistent: false });
        await exec(sandbox);
        await sandbox.delete();
    },
    list: async () => {
        for await (const { name } of await Sandbox.list(client)) if (!name) throw new Error('no name');
    },
    delete: async (name) => (await Sandbox.get({ ...client, name })).delete(),
};
await operations[operation](...words);
process.exit(0);
