// What the official SDK does, one operation per process. See ../README.md.
import { Client, Sandbox } from '@deno/sandbox';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';

const [operation, url, ...words] = process.argv.slice(2);
const options = { sandboxEndpoint: url, apiEndpoint: url };
const create = () => Sandbox.create({ ...options, timeout: '10m' });
const connect = (id) => Sandbox.connect(id, options);

async function exec(sandbox) {
    const child = await sandbox.spawn('/bin/bash', { args: ['-c', 'echo done'], stdout: 'piped', stderr: 'piped' });
    const { stdoutText } = await child.output();
    if (!stdoutText.includes('done')) throw new Error(stdoutText);
}

const operations = {
    create: async () => console.log((await create()).id),
    exec: async (id) => exec(await connect(id)),
    upload: async (id, local, remote) => (await connect(id)).fs.writeFile(remote, Readable.toWeb(createReadStream(local))),
    download: async (id, remote, local) => writeFile(local, (await (await connect(id)).fs.open(remote, { read: true })).readable),
    cycle: async () => {
        const sandbox = await create();
        await exec(sandbox);
        await sandbox.kill();
    },
    list: () => new Client(options).sandboxes.list(),
    delete: async (id) => (await connect(id)).kill(),
};
await operations[operation](...words);
process.exit(0); // it keeps its connection open
