// What an official SDK would do, as far as a made-up vendor has one: one operation per process. See ../README.md.
import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';

const [operation, url, ...words] = process.argv.slice(2);
const authorization = `Bearer ${process.env.ACME_API_KEY}`;

async function ask(method, target, { headers = {}, ...more } = {}) {
    const response = await fetch(`${url}/v1/sandboxes${target}`, { method, headers: { authorization, ...headers }, ...more });
    if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${await response.text()}`);
    return response;
}

async function create() {
    const body = JSON.stringify({ name: `bench-${process.pid}-${Date.now()}` });
    const { id } = await (await ask('POST', '', { headers: { 'content-type': 'application/json' }, body })).json();
    while ((await (await ask('GET', `/${id}`)).json()).state !== 'running') await pause(100);
    return id;
}

async function exec(id) {
    await ask('GET', `/${id}`);
    const text = await (await ask('POST', `/${id}/exec`, { body: JSON.stringify({ command: 'echo done' }) })).text();
    if (!text.includes('done')) throw new Error(text);
}

const file = (id, path) => `/${id}/files?path=${encodeURIComponent(path)}`;

async function upload(id, local, remote) {
    await ask('GET', `/${id}`);
    const body = Readable.toWeb(createReadStream(local));
    await ask('PUT', file(id, remote), { headers: { 'content-length': statSync(local).size }, body, duplex: 'half' });
}

async function download(id, remote, local) {
    await ask('GET', `/${id}`);
    await pipeline(Readable.fromWeb((await ask('GET', file(id, remote))).body), createWriteStream(local));
}

async function cycle() {
    const id = await create();
    await exec(id);
    await ask('DELETE', `/${id}`);
}

const operations = { create: async () => console.log(await create()), exec, upload, download, cycle, list: () => ask('GET', ''), delete: (id) => ask('DELETE', `/${id}`) };
await operations[operation](...words);
