// Files: the endpoint /files of envd, and what of filesystem.Filesystem its clients use beside it.

import path from 'node:path';
import busboy from 'busboy';
import { HttpError } from '../common/server.mjs';
import { checkToken, isRoot, reach } from './envd.mjs';
import { HOME } from './sandboxes.mjs';

const OLD_DAEMON = process.env.EMULATOR_ENVD !== undefined; // one that takes forms alone
const fileError = (code, message) => new HttpError(code, { code, message });

/** The sandbox, after the token and the user have been looked at. */
async function enter(all, request) {
    const sandbox = await reach(all, request);
    checkToken(sandbox, request);
    const user = request.query.get('username');
    if (isRoot(user) === undefined) throw fileError(401, `error looking up user '${user ?? ''}'`);
    return sandbox.box;
}

const resolved = (name) => path.posix.resolve(HOME, name.replace(/^~(?=\/|$)/, HOME));

async function download(all, request) {
    const box = await enter(all, request);
    const name = resolved(request.query.get('path') ?? '');
    try {
        const status = await box.stat(name);
        if (status.type === 'directory') throw fileError(400, `path '${name}' is a directory`);
        const from = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1];
        const { stream, size } = await box.readFile(name, from ? { offset: Number(from) } : {});
        const length = size - Number(from ?? 0);
        const headers = { 'content-type': 'application/octet-stream', 'last-modified': new Date(status.mtimeMs).toUTCString(), 'accept-ranges': 'bytes' };
        return { status: from ? 206 : 200, headers: length > 0 || size === 0 ? { ...headers, 'content-length': length } : headers, stream };
    } catch (problem) {
        if (problem instanceof HttpError) throw problem;
        if (problem.code === 'ENOENT') throw fileError(404, `path '${name}' does not exist`);
        throw fileError(500, `error opening file '${name}': ${problem.code}`);
    }
}

// ---- files in --------------------------------------------------------------------------------------------------------

/** Like the daemon, it writes as the bytes come, over what is there. */
async function store(box, name, stream, seen) {
    try {
        if (seen.has(name)) throw fileError(400, `you cannot upload multiple files to the same path '${name}'`);
        seen.add(name);
        if ((await box.stat(name).catch(() => null))?.type === 'directory') throw fileError(400, `path is a directory: ${name}`);
        await box.mkdir(path.posix.dirname(name), { parents: true, mode: 0o755 });
        // A client that has gone since has sent this again perhaps, and that is not to be emptied.
        if (stream.destroyed) throw fileError(400, 'the upload was cut');
        await box.writeFile(name, stream, {});
        return { path: name, name: path.posix.basename(name), type: 'file' };
    } catch (problem) {
        stream.resume();
        if (problem instanceof HttpError) throw problem;
        if (problem.code === 'ENOSPC') throw fileError(507, 'not enough disk space');
        throw fileError(500, `error ensuring directories: ${problem.code}`);
    }
}

function storeForm(box, request) {
    const name = request.query.get('path');
    const seen = new Set(), stored = [];
    let form;
    try {
        form = busboy({ headers: request.headers, preservePath: true, defParamCharset: 'utf8' });
    } catch {
        throw fileError(400, 'error parsing multipart form');
    }
    form.on('file', (field, stream, { filename }) => {
        if (field === 'file') stored.push(store(box, resolved(name ?? filename), stream, seen).catch((problem) => problem));
        else stream.resume();
    });
    return new Promise((resolve, reject) => {
        form.on('close', () => resolve(Promise.all(stored))).on('error', reject);
        request.raw.on('aborted', () => form.destroy(new Error('the upload was cut')));
        request.stream.pipe(form);
    }).catch((problem) => {
        throw fileError(500, `error reading multipart form: ${problem.message}`);
    });
}

async function upload(all, request) {
    const box = await enter(all, request);
    const type = request.headers['content-type'] ?? '';
    const name = request.query.get('path');
    let results;
    if (type.startsWith('multipart/form-data')) {
        results = await storeForm(box, request);
    } else {
        if (type !== 'application/octet-stream' || name === null || OLD_DAEMON) throw fileError(400, `unsupported content type: ${type}`);
        results = [await store(box, resolved(name), request.stream, new Set())];
    }
    const problem = results.find((one) => one instanceof Error);
    if (problem) throw problem;
    return { headers: { 'content-type': 'text/plain; charset=utf-8' }, body: JSON.stringify(results) };
}

// ---- beside them -----------------------------------------------------------------------------------------------------

const TYPES = { file: 'FILE_TYPE_FILE', directory: 'FILE_TYPE_DIRECTORY', symlink: 'FILE_TYPE_SYMLINK' };
const CODES = { ENOENT: [404, 'not_found'], EEXIST: [409, 'already_exists'], ENOTDIR: [400, 'invalid_argument'] };

/** An entry in JSON of proto3: 64 bits are a text, and what is zero is left out. */
const entry = (name, status) => ({ name: path.posix.basename(name), type: TYPES[status.type], path: name, ...(status.size > 0 && { size: `${status.size}` }), mode: status.mode,
    permissions: '-rw-r--r--', owner: 'user', group: 'user', modifiedTime: new Date(status.mtimeMs).toISOString() });

function onFilesystem(all, work) {
    return async (request) => {
        const box = await enter(all, request);
        const body = await request.json();
        try {
            return { json: (await work(box, body)) ?? {} };
        } catch (problem) {
            const [status, code] = CODES[problem.code] ?? [500, 'internal'];
            return { status, json: { code, message: `${problem.code}: ${problem.message}` } };
        }
    };
}

export function fileRoutes(all) {
    const rpc = (name, work) => ['POST', `/filesystem.Filesystem/${name}`, onFilesystem(all, work)];
    const look = async (box, name) => ({ entry: entry(name, await box.stat(name)) });
    return [
        ['GET', '/files', (request) => download(all, request)],
        ['POST', '/files', (request) => upload(all, request)],
        ['GET', '/health', async (request) => void (await reach(all, request))],
        rpc('Stat', (box, { path: name }) => look(box, resolved(name))),
        rpc('ListDir', async (box, { path: name }) => ({ entries: (await box.readdir(resolved(name))).map((one) => entry(path.posix.join(resolved(name), one.name), one)) })),
        rpc('MakeDir', async (box, { path: name }) => {
            if (await box.stat(resolved(name)).catch(() => null)) throw Object.assign(new Error(name), { code: 'EEXIST' });
            await box.mkdir(resolved(name), { parents: true });
            return look(box, resolved(name));
        }),
        rpc('Move', async (box, { source, destination }) => {
            await box.rename(resolved(source), resolved(destination));
            return look(box, resolved(destination));
        }),
        rpc('Remove', async (box, { path: name }) => void (await box.remove(resolved(name), { recursive: true }).catch(() => {}))),
    ];
}
