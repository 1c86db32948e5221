// The toolbox: the proxy of the region and, behind it, the daemon in each sandbox.

import busboy from 'busboy';
import path from 'node:path';
import { Readable } from 'node:stream';
import { HttpError } from '../common/server.mjs';
import { daemonBody, daemonError, proxyError } from './errors.mjs';

const BOUNDARY = 'DAYTONA-FILE-BOUNDARY';
const WORDS = { EACCES: 'permission denied', EPERM: 'operation not permitted', EISDIR: 'is a directory', ENOTDIR: 'not a directory',
    ENOENT: 'no such file or directory', ENOSPC: 'no space left on device', ELOOP: 'too many levels of symbolic links', EROFS: 'read-only file system' };
const words = (failure) => WORDS[failure.code] ?? failure.message;

// ---- the proxy -------------------------------------------------------------------------------------------------------

/** The sandbox that a request is for, if it runs. */
function reach(sandboxes, request) {
    const sandbox = sandboxes.all.get(request.params.id); // only the id works here
    if (!sandbox && sandboxes.gone.has(request.params.id)) throw proxyError(404, 'NOT_FOUND', 'sandbox container not found', request);
    if (!sandbox) throw proxyError(401, 'UNAUTHORIZED', 'unauthorized: Invalid credentials', request);
    if (['starting', 'stopping', 'creating', 'restoring', 'resuming'].includes(sandbox.state)) throw new HttpError(502);
    if (sandbox.state !== 'started') {
        throw proxyError(400, 'BAD_REQUEST', 'bad request: failed to resolve container IP after 3 attempts: no IP address found. Is the Sandbox started?', request);
    }
    sandboxes.touch(sandbox);
    return sandbox;
}

async function jsonOf(request) {
    try {
        return JSON.parse((await request.body()).toString());
    } catch {
        throw daemonError(400, 'INVALID_REQUEST_BODY', 'invalid request body', request);
    }
}

// ---- commands --------------------------------------------------------------------------------------------------------

function checkCommand({ command, cwd, envs, timeout }, request) {
    const refuse = (message) => daemonError(400, 'INVALID_REQUEST_BODY', message, request);
    if (typeof command !== 'string' || !command.trim()) throw refuse('command is required');
    if (cwd !== undefined && typeof cwd !== 'string') throw refuse('cwd must be a string');
    if (timeout !== undefined && !(Number.isInteger(timeout) && timeout >= 0)) throw refuse('timeout must be an unsigned integer');
    for (const [name, value] of Object.entries(envs ?? {})) {
        if (!/^[A-Za-z_]\w*$/.test(name) || typeof value !== 'string') throw refuse(`invalid environment variable ${name}`);
    }
}

async function execute(sandboxes, request) {
    const sandbox = reach(sandboxes, request);
    const body = await jsonOf(request);
    checkCommand(body, request);
    const unknown = Object.keys(body).filter((name) => !['command', 'cwd', 'envs', 'timeout'].includes(name));
    sandboxes.unknownFields.push(...unknown);
    const output = [];
    let command;
    try {
        // The command is what the shell finds on its standard input.
        command = await sandbox.box.spawn({ argv: ['/bin/bash'], cwd: body.cwd || undefined, env: body.envs, merged: true,
            stdin: Buffer.from(body.command), onStdout: (bytes) => void output.push(bytes) });
    } catch (failure) {
        return { json: { exitCode: -1, result: `chdir ${body.cwd}: ${words(failure)}` } };
    }
    let timer;
    const late = new Promise((resolve) => (timer = body.timeout ? setTimeout(resolve, body.timeout * 1000, 'late') : null));
    const ended = Promise.all([command.done, command.closed]).then(([result]) => result);
    const result = await Promise.race([ended, late]);
    clearTimeout(timer);
    if (result === 'late') {
        await command.kill('SIGKILL', true);
        throw daemonError(408, 'PROCESS_EXECUTION_TIMEOUT', 'request timeout: command execution timeout', request);
    }
    sandboxes.touch(sandbox);
    return { json: { exitCode: result.code ?? -1, result: Buffer.concat(output).toString() } }; // what is no UTF-8 is replaced
}

// ---- files in --------------------------------------------------------------------------------------------------------

async function store(box, destination, stream, outcome) {
    try {
        await box.mkdir(path.posix.dirname(destination), { parents: true, mode: 0o755 });
    } catch (failure) {
        stream.resume();
        outcome.errors.push(`${destination}: mkdir: mkdir ${path.posix.dirname(destination)}: ${words(failure)}`);
        return;
    }
    try {
        const there = await box.stat(destination).catch(() => null);
        const bytes = await box.writeFile(destination, stream, there ? {} : { mode: 0o644 });
        outcome.files.push({ path: destination, bytes });
    } catch (failure) {
        stream.resume();
        outcome.errors.push(`${destination}: create: open ${destination}: ${words(failure)}`);
    }
}

async function bulkUpload(sandboxes, request) {
    const { box } = reach(sandboxes, request);
    const outcome = { files: [], errors: [] };
    const paths = new Map();
    const stored = [];
    let form;
    try {
        form = busboy({ headers: request.headers, preservePath: true });
    } catch {
        throw new HttpError(400, { errors: ['request Content-Type isn\'t multipart/form-data'], files: null });
    }
    form.on('field', (name, value) => {
        const index = name.match(/^files\[(\d+)\]\.path$/)?.[1];
        if (index === undefined) sandboxes.unknownFields.push(name);
        else paths.set(index, value.trim());
    });
    form.on('file', (name, stream) => {
        const index = name.match(/^files\[(\d+)\]\.file$/)?.[1];
        const destination = paths.get(index);
        if (destination) stored.push(store(box, destination, stream, outcome));
        else {
            stream.resume();
            outcome.errors.push(`${name}: missing ${name.replace('.file', '.path')} metadata`);
        }
    });
    await new Promise((resolve, reject) => {
        form.on('close', resolve).on('error', reject);
        request.raw.on('aborted', () => form.destroy(new Error('the upload was cut')));
        request.stream.pipe(form);
    }).catch((failure) => outcome.errors.push(`unexpected end of the form: ${failure.message}`));
    await Promise.all(stored);
    if (outcome.errors.length > 0) throw new HttpError(400, { errors: outcome.errors, files: outcome.files.length > 0 ? outcome.files : null });
    return { json: { files: outcome.files } };
}

// ---- files out -------------------------------------------------------------------------------------------------------

/** Status, code and message for what keeps a file from being read. */
function reading(name, failure) {
    if (failure.code === 'ENOENT') return [404, 'FILE_NOT_FOUND', `file not found: ${name}`];
    if (failure.code === 'EACCES') return [403, 'FILE_ACCESS_DENIED', `stat ${name}: permission denied`];
    if (failure.code === 'EISDIR') return [400, undefined, `path points to a directory: ${name}`];
    return [failure.code === 'ENOTDIR' ? 400 : 500, 'FILE_READ_FAILED', `open ${name}: ${words(failure)}`];
}

async function open(box, name, range = {}) {
    const status = await box.stat(name);
    if (status.type === 'directory') throw Object.assign(new Error('is a directory'), { code: 'EISDIR' });
    return box.readFile(name, range);
}

async function download(sandboxes, request) {
    const { box } = reach(sandboxes, request);
    const name = request.query.get('path');
    if (!name) throw daemonError(400, 'BAD_REQUEST', 'path is required', request);
    try {
        const headers = { 'content-type': 'application/octet-stream', 'accept-ranges': 'bytes',
            'content-disposition': `attachment; filename*=utf-8''${encodeURIComponent(path.posix.basename(name))}` };
        const from = request.headers.range?.match(/^bytes=(\d+)-$/)?.[1];
        const { stream, size } = await open(box, name, from ? { offset: Number(from) } : {});
        return { status: from ? 206 : 200, headers: { ...headers, 'content-length': from ? size - Number(from) : size }, stream };
    } catch (failure) {
        const [status, code, message] = reading(name, failure);
        if (process.env.EMULATOR_OLD_DAEMON) throw Object.assign(new HttpError(status), { body: undefined });
        throw daemonError(status, code, message, request);
    }
}

const latin = (name) => name.replace(/[^\x20-\x7e]|["\\]/g, '_');
const encoded = (name) => encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
const disposition = (kind, name) => `Content-Disposition: form-data; name="${kind}"; filename="${latin(name)}"; filename*=utf-8''${encoded(name)}`;

async function* parts(box, names, request) {
    for (const name of names) {
        yield `--${BOUNDARY}\r\n`;
        let file;
        try {
            file = await open(box, name);
        } catch (failure) {
            const [status, code, message] = reading(name, failure);
            yield `${disposition('error', name)}\r\nContent-Type: application/json; charset=utf-8\r\n\r\n`;
            yield `${JSON.stringify(daemonBody(status, code, message, request))}\r\n`;
            continue;
        }
        const type = name.endsWith('.json') ? 'application/json' : 'application/octet-stream';
        yield `${disposition('file', name)}\r\nContent-Type: ${type}\r\nContent-Length: ${file.size}\r\n\r\n`;
        yield* file.stream;
        yield '\r\n';
    }
    yield `--${BOUNDARY}--\r\n`;
}

async function bulkDownload(sandboxes, request) {
    const { box } = reach(sandboxes, request);
    const { paths } = await jsonOf(request);
    if (!Array.isArray(paths) || paths.length === 0) throw daemonError(400, 'BAD_REQUEST', 'request body must be {"paths": [ ... ]} and non-empty', request);
    return { headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }, stream: Readable.from(parts(box, paths, request), { objectMode: false }) };
}

// ---- other operations on files ---------------------------------------------------------------------------------------

const letters = (mode) => [...'rwxrwxrwx'].map((letter, at) => (mode & (0o400 >> at) ? letter : '-')).join('');
const describe = (name, status) => ({ name, size: status.size, mode: `${status.type === 'directory' ? 'd' : '-'}${letters(status.mode)}`,
    permissions: `0${(status.mode & 0o777).toString(8)}`, isDir: status.type === 'directory', owner: `${status.uid}`, group: `${status.gid}`,
    modTime: new Date(status.mtimeMs).toString(), modifiedAt: new Date(status.mtimeMs).toISOString() });

/** A handler of files: what fails in it becomes an answer. */
function onFiles(sandboxes, parameter, work) {
    return async (request) => {
        const { box } = reach(sandboxes, request);
        const name = request.query.get(parameter);
        if (!name) throw daemonError(400, 'BAD_REQUEST', `${parameter} is required`, request);
        try {
            return await work(box, name, request.query);
        } catch (failure) {
            if (failure instanceof HttpError) throw failure;
            throw daemonError(...reading(name, failure), request);
        }
    };
}

export function toolboxRoutes(sandboxes) {
    const folder = (request) => ({ json: { dir: reach(sandboxes, request).box.home } });
    const files = (parameter, work) => onFiles(sandboxes, parameter, work);
    return [
        ['GET', '/toolbox/:id/work-dir', folder],
        ['GET', '/toolbox/:id/user-home-dir', folder],
        ['POST', '/toolbox/:id/process/execute', (request) => execute(sandboxes, request)],
        ['POST', '/toolbox/:id/files/bulk-upload', (request) => bulkUpload(sandboxes, request)],
        ['GET', '/toolbox/:id/files/download', (request) => download(sandboxes, request)],
        ['POST', '/toolbox/:id/files/bulk-download', (request) => bulkDownload(sandboxes, request)],
        ['GET', '/toolbox/:id/files', files('path', async (box, name) => ({ json: (await box.readdir(name)).map((entry) => describe(entry.name, entry)) }))],
        ['GET', '/toolbox/:id/files/info', files('path', async (box, name) => ({ json: describe(path.posix.basename(name), await box.stat(name)) }))],
        ['POST', '/toolbox/:id/files/folder', files('path', async (box, name, query) => {
            await box.mkdir(name, { parents: true, mode: parseInt(query.get('mode') ?? '0755', 8) });
            return { status: 201, body: '' };
        })],
        ['DELETE', '/toolbox/:id/files', files('path', async (box, name, query) => {
            await box.remove(name, { recursive: query.get('recursive') === 'true' });
            return { status: 204 };
        })],
        ['POST', '/toolbox/:id/files/move', files('source', async (box, name, query) => {
            await box.rename(name, query.get('destination'));
            return { status: 200, body: '' };
        })],
        ['POST', '/toolbox/:id/files/permissions', files('path', async (box, name, query) => {
            await box.chmod(name, parseInt(query.get('mode'), 8));
            return { status: 200, body: '' };
        })],
    ];
}
