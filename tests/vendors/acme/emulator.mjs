// A made-up service, small and strict, in the manner of many:
//
//   POST   /v1/sandboxes {name, metadata?}      201, the sandbox; 409 if the name is taken
//   GET    /v1/sandboxes?limit=N&cursor=C&name= {items, next}
//   GET    /v1/sandboxes/ID                     {id, name, metadata, state, created_at}
//   DELETE /v1/sandboxes/ID                     204
//   POST   /v1/sandboxes/ID/pause, /resume      the sandbox
//   POST   /v1/sandboxes/ID/exec {command}      lines of JSON: {data} (text!), then {exit_code}
//   PUT    /v1/sandboxes/ID/files?path=P&mode=  the body becomes the file
//   GET    /v1/sandboxes/ID/files?path=P        the file; with "Range: bytes=N-" from there
//
// What a file cannot have, the header X-Acme-Error says: ENOENT, EISDIR, EACCES...

import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { createBox } from '../common/box.mjs';
import { createEmulator, HttpError } from '../common/server.mjs';

const KEY = 'acme-secret-key-0123456789';
const START_MS = 150;
const EXEC_SECONDS = 20; // a command may not take longer
const sandboxes = new Map();

const shown = ({ id, name, metadata, state, created_at }) => ({ id, name, metadata, state, created_at });

function only(body, ...allowed) {
    if (!body || typeof body !== 'object' || Array.isArray(body)) throw new HttpError(422, { message: 'an object is expected' });
    const unknown = Object.keys(body).find((name) => !allowed.includes(name));
    if (unknown) throw new HttpError(422, { message: `unknown field ${unknown}` });
    return body;
}

function find(request) {
    const sandbox = sandboxes.get(request.params.id);
    if (!sandbox) throw new HttpError(404, { message: `no sandbox ${request.params.id}` });
    return sandbox;
}

function running(request) {
    const sandbox = find(request);
    if (sandbox.state !== 'running') throw new HttpError(409, { message: `the sandbox is ${sandbox.state}` });
    return sandbox;
}

async function create(request) {
    if (request.headers['content-type'] !== 'application/json') throw new HttpError(415, { message: 'JSON is expected' });
    const { name, metadata = {} } = only(await request.json(), 'name', 'metadata');
    if (typeof name !== 'string' || !/^[a-z0-9-]{1,63}$/.test(name)) throw new HttpError(422, { message: 'name: [a-z0-9-], 1 to 63' });
    if ([...sandboxes.values()].some((one) => one.name === name)) throw new HttpError(409, { message: `the name ${name} is taken` });
    const sandbox = { id: `sbx_${randomBytes(8).toString('hex')}`, name, metadata, state: 'starting', created_at: new Date().toISOString() };
    sandboxes.set(sandbox.id, sandbox);
    sandbox.booting = Promise.all([createBox({ user: 'user', name: 'acme' }), pause(START_MS)]).then(([box]) => {
        sandbox.box = box;
        if (sandboxes.has(sandbox.id)) sandbox.state = 'running';
        else return box.destroy();
    });
    return { status: 201, json: shown(sandbox) };
}

function list(request) {
    const limit = Number(request.query.get('limit') ?? 2);
    if (!(limit >= 1 && limit <= 100)) throw new HttpError(422, { message: 'limit: 1 to 100' });
    const name = request.query.get('name');
    const all = [...sandboxes.values()].filter((one) => name === null || one.name === name);
    const begin = Number(request.query.get('cursor') ?? 0);
    const items = all.slice(begin, begin + limit).map(shown);
    return { json: { items, next: begin + limit < all.length ? String(begin + limit) : null } };
}

async function remove(request) {
    const sandbox = find(request);
    sandboxes.delete(sandbox.id);
    await sandbox.booting;
    await sandbox.box.destroy();
    return { status: 204 };
}

async function setPaused(request, paused) {
    const sandbox = find(request);
    await sandbox.booting;
    if (paused && sandbox.state === 'running') await sandbox.box.freeze();
    if (!paused && sandbox.state === 'paused') await sandbox.box.thaw();
    sandbox.state = paused ? 'paused' : 'running';
    return { json: shown(sandbox) };
}

async function exec(request) {
    const { box } = running(request);
    const { command } = only(await request.json(), 'command');
    if (typeof command !== 'string') throw new HttpError(422, { message: 'command: a text' });
    const lines = new PassThrough();
    const line = (value) => lines.writable && lines.write(`${JSON.stringify(value)}\n`);
    const job = await box.spawn({ argv: ['sh', '-c', command], onStdout: (bytes) => void line({ data: bytes.toString() }) });
    const timer = setTimeout(() => job.kill('SIGKILL'), EXEC_SECONDS * 1000);
    job.done.then(({ code, signal }) => {
        clearTimeout(timer);
        line({ exit_code: signal ? 137 : code });
        lines.end();
    });
    return { headers: { 'content-type': 'application/x-ndjson' }, stream: lines };
}

const fileStatus = { ENOENT: 404, ENOTDIR: 404, EISDIR: 400, EACCES: 403, ELOOP: 400, ENAMETOOLONG: 400, EINVAL: 400 };

async function onFile(request, action) {
    const { box } = running(request);
    const path = request.query.get('path');
    if (!path?.startsWith('/')) throw new HttpError(422, { message: 'path: an absolute one' });
    try {
        return await action(box, path);
    } catch (error) {
        if (!fileStatus[error.code]) throw error;
        throw new HttpError(fileStatus[error.code], { message: error.message }, { 'x-acme-error': error.code });
    }
}

async function upload(request) {
    return onFile(request, async (box, path) => {
        const mode = request.query.get('mode');
        if (mode !== null && !/^[0-7]{1,4}$/.test(mode)) throw new HttpError(422, { message: 'mode: octal' });
        await box.writeFile(path, request.stream, { parents: true, mode: mode === null ? undefined : parseInt(mode, 8) });
        return { status: 204 };
    });
}

async function download(request) {
    return onFile(request, async (box, path) => {
        const offset = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
        const { stream, size } = await box.readFile(path, { offset });
        const headers = { 'content-type': 'application/octet-stream' };
        // What the system shows of itself has no size.
        if (size > offset) headers['content-length'] = size - offset;
        return { status: offset > 0 ? 206 : 200, headers, stream };
    });
}

await createEmulator({
    name: 'acme',
    before: (request) => {
        if (request.headers.authorization !== `Bearer ${KEY}`) throw new HttpError(401, { message: 'the key is wrong' });
    },
    routes: [
        ['POST', '/v1/sandboxes', create],
        ['GET', '/v1/sandboxes', list],
        ['GET', '/v1/sandboxes/:id', (request) => ({ json: shown(find(request)) })],
        ['DELETE', '/v1/sandboxes/:id', remove],
        ['POST', '/v1/sandboxes/:id/pause', (request) => setPaused(request, true)],
        ['POST', '/v1/sandboxes/:id/resume', (request) => setPaused(request, false)],
        ['POST', '/v1/sandboxes/:id/exec', exec],
        ['PUT', '/v1/sandboxes/:id/files', upload],
        ['GET', '/v1/sandboxes/:id/files', download],
    ],
    state: () => ({ sandboxes: [...sandboxes.values()].map(shown) }),
});
