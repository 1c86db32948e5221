// What the official SDK does, one operation per process. See ../README.md.
import { RunloopSDK } from '@runloop/api-client';
import { createReadStream, createWriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const [operation, url, ...words] = process.argv.slice(2);
const runloop = new RunloopSDK({ bearerToken: process.env.RUNLOOP_API_KEY, baseURL: url, http2: false });

async function attach(id) {
    const devbox = runloop.devbox.fromId(id);
    await devbox.awaitRunning();
    return devbox;
}

async function exec(devbox) {
    const result = await devbox.cmd.exec('echo done');
    if (!(await result.stdout()).includes('done')) throw new Error(await result.stderr());
}

const operations = {
    create: async () => console.log((await runloop.devbox.create()).id),
    exec: async (id) => exec(await attach(id)),
    upload: async (id, local, path) => {
        const devbox = await attach(id);
        await devbox.cmd.exec(`mkdir -p -- '${dirname(path)}'`); // it makes no folders
        await devbox.file.upload({ path, file: createReadStream(local) });
    },
    download: async (id, path, local) => {
        const { body } = await (await attach(id)).file.download({ path });
        await pipeline(body instanceof Readable ? body : Readable.fromWeb(body), createWriteStream(local));
    },
    cycle: async () => {
        const devbox = await runloop.devbox.create();
        await exec(devbox);
        await devbox.shutdown();
    },
    list: async () => {
        for await (const devbox of runloop.api.devboxes.list()) if (!devbox.id) throw new Error('no id');
    },
    delete: async (id) => runloop.devbox.fromId(id).shutdown(),
};
await operations[operation](...words);
