// What the official SDK does, one operation per process. See ../README.md.
import { Daytona } from '@daytonaio/sdk';

const [operation, url, ...words] = process.argv.slice(2);
const daytona = new Daytona({ apiKey: process.env.DAYTONA_API_KEY, apiUrl: `${url}/api` });

async function exec(sandbox) {
    const { result } = await sandbox.process.executeCommand('echo done');
    if (!result.includes('done')) throw new Error(result);
}

const operations = {
    create: async () => console.log((await daytona.create()).id),
    exec: async (id) => exec(await daytona.get(id)),
    upload: async (id, local, remote) => (await daytona.get(id)).fs.uploadFile(local, remote),
    download: async (id, remote, local) => (await daytona.get(id)).fs.downloadFile(remote, local),
    cycle: async () => {
        const sandbox = await daytona.create();
        await exec(sandbox);
        await sandbox.delete();
    },
    list: async () => {
        for await (const sandbox of daytona.list()) if (!sandbox.id) throw new Error('no id');
    },
    delete: async (id) => (await daytona.get(id)).delete(),
};
await operations[operation](...words);
await daytona[Symbol.asyncDispose]();
