// What the official SDK does, one operation per process. See ../README.md.
import { readFile, writeFile } from 'node:fs/promises';
import { SandboxClient } from 'langsmith/sandbox';

const [operation, url, ...words] = process.argv.slice(2);
const client = new SandboxClient({ apiEndpoint: `${url}/v2/sandboxes`, apiKey: process.env.LANGSMITH_API_KEY });

async function exec(sandbox) {
    const { stdout } = await sandbox.run('echo done');
    if (!stdout.includes('done')) throw new Error(stdout);
}

const operations = {
    create: async () => console.log((await client.createSandbox({ snapshotName: 'sandlot' })).name),
    exec: async (name) => exec(await client.getSandbox(name)),
    upload: async (name, local, remote) => (await client.getSandbox(name)).write(remote, await readFile(local)),
    download: async (name, remote, local) => writeFile(local, await (await client.getSandbox(name)).read(remote)),
    cycle: async () => {
        const sandbox = await client.createSandbox({ snapshotName: 'sandlot' });
        await exec(sandbox);
        await sandbox.delete();
    },
    list: () => client.listSandboxes(),
    delete: (name) => client.deleteSandbox(name),
};
await operations[operation](...words);
process.exit(0); // it keeps connections open
