// Files of a devbox. Whatever goes wrong with one is a bad request, with the system's words in it.

import busboy from 'busboy';
import path from 'node:path';
import { HttpError } from '../common/server.mjs';
import { failure, isText, read } from './errors.mjs';

const WORDS = { ENOENT: ['No such file or directory', 2], EACCES: ['Permission denied', 13], EPERM: ['Operation not permitted', 1], EISDIR: ['Is a directory', 21],
    ENOTDIR: ['Not a directory', 20], ENAMETOOLONG: ['File name too long', 36], ELOOP: ['Too many levels of symbolic links', 40],
    EROFS: ['Read-only file system', 30], ENOSPC: ['No space left on device', 28] };

function refusal(name, problem) {
    if (problem instanceof HttpError) return problem;
    if (problem.code === 'ENOENT') return failure(400, `Path ${name} does not exist`);
    if (problem.code === 'EISDIR') return failure(400, `Path ${name} is a directory`);
    if (!WORDS[problem.code]) return problem;
    const [words, number] = WORDS[problem.code];
    return failure(400, `Failed to access ${name}: ${words} (os error ${number})`);
}

const absolute = (devbox, name) => path.posix.resolve(devbox.home, name.replace(/^~(?=\/|$)/, devbox.home));

async function open(devbox, name) {
    try {
        const status = await devbox.box.stat(absolute(devbox, name));
        if (status.type === 'directory') throw Object.assign(new Error('is a directory'), { code: 'EISDIR' });
        return await devbox.box.readFile(absolute(devbox, name));
    } catch (problem) {
        throw refusal(name, problem);
    }
}

async function download(devboxes, request) {
    const body = await read(request, { path: isText }, ['path']);
    const devbox = devboxes.running(request.params.id);
    const { stream, size } = await open(devbox, body.path);
    return { headers: { 'content-type': 'application/octet-stream', 'content-length': size,
        'content-disposition': `attachment; filename*=utf-8''${encodeURIComponent(path.posix.basename(body.path))}` }, stream };
}

async function readContents(devboxes, request) {
    const body = await read(request, { file_path: isText }, ['file_path']);
    const { stream } = await open(devboxes.running(request.params.id), body.file_path);
    return { headers: { 'content-type': 'text/plain' }, stream };
}

async function writeContents(devboxes, request) {
    const body = await read(request, { file_path: isText, contents: isText }, ['file_path', 'contents']);
    const devbox = devboxes.running(request.params.id);
    try {
        await devbox.box.writeFile(absolute(devbox, body.file_path), Buffer.from(body.contents));
    } catch (problem) {
        throw refusal(body.file_path, problem);
    }
    return { json: { devbox_id: devbox.id, exit_status: 0, stdout: '', stderr: '' } };
}

async function store(devbox, name, stream) {
    const destination = absolute(devbox, name);
    const there = await devbox.box.stat(destination).catch(() => null);
    if (there?.type === 'directory') throw Object.assign(new Error('is a directory'), { code: 'EISDIR' });
    await devbox.box.writeFile(destination, stream, there ? {} : { mode: 0o644 });
}

/** The path comes before its file, or the file waits for it. */
async function upload(devboxes, request) {
    const devbox = devboxes.running(request.params.id);
    let form;
    try {
        form = busboy({ headers: request.headers, preservePath: true });
    } catch {
        throw failure(400, 'The body must be multipart/form-data');
    }
    const name = Promise.withResolvers();
    name.promise.catch(() => {});
    let stored = null;
    let wrong = null;
    form.on('field', (field, value) => {
        if (field === 'path') name.resolve(value);
        else wrong ??= failure(400, `body.${field}: unrecognized field`);
    });
    form.on('file', (field, stream) => {
        if (field !== 'file' || stored) {
            wrong ??= failure(400, `body.${field}: unrecognized field`);
            stream.resume();
            return;
        }
        stored = name.promise.then((to) => store(devbox, to, stream).catch((problem) => {
            stream.resume();
            throw refusal(to, problem);
        }));
        stored.catch(() => stream.resume());
    });
    await new Promise((resolve, reject) => {
        form.on('close', resolve).on('error', reject);
        request.raw.on('aborted', () => form.destroy(new Error('the upload was cut')));
        request.stream.pipe(form);
    }).catch((problem) => (wrong ??= failure(400, `unexpected end of the form: ${problem.message}`)));
    name.reject(failure(400, 'body.path: required'));
    if (wrong) throw wrong;
    await (stored ?? name.promise);
    return { json: {} };
}

export function fileRoutes(devboxes) {
    const on = (work) => (request) => work(devboxes, request);
    return [
        ['POST', '/v1/devboxes/:id/upload_file', on(upload)],
        ['POST', '/v1/devboxes/:id/download_file', on(download)],
        ['POST', '/v1/devboxes/:id/write_file_contents', on(writeContents)],
        ['POST', '/v1/devboxes/:id/read_file_contents', on(readContents)],
    ];
}
