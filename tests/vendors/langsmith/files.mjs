// Files of one sandbox: upload as a form with one part, download with ranges and validators.

import { Readable } from 'node:stream';
import { HttpError } from '../common/server.mjs';

const failure = (status, error, message) => new HttpError(status, { detail: { error, message } });

function pathOf(request) {
    const path = request.query.get('path');
    if (!path?.startsWith('/')) throw failure(400, 'InvalidRequest', 'path must be absolute');
    return path;
}

/** What the box says of a file, as the service says it. */
function told(problem, path, word) {
    const texts = { ENOENT: 'no such file or directory', EISDIR: 'is a directory', ENOTDIR: 'not a directory', EACCES: 'permission denied',
        EPERM: 'permission denied', EROFS: 'read-only file system', ENAMETOOLONG: 'file name too long' };
    if (!texts[problem.code]) throw problem;
    if (problem.code === 'ENOENT' && word === 'ReadError') return failure(404, 'FileNotFound', `file not found: ${path}`);
    return failure(['EACCES', 'EPERM'].includes(problem.code) ? 403 : 400, word, `open ${path}: ${texts[problem.code]}`);
}

// ---- upload ---------------------------------------------------------------------------------------------------------

/** The content of the only part of a form, piece by piece; the form must be whole and have just this part. */
async function* onlyPart(stream, boundary) {
    const closing = Buffer.from(`\r\n--${boundary}`);
    let held = Buffer.alloc(0), inside = false, ended = false;
    for await (const piece of stream) {
        held = Buffer.concat([held, piece]);
        if (!inside) {
            const end = held.indexOf('\r\n\r\n');
            if (end < 0) {
                if (held.length > 4096) throw failure(400, 'InvalidRequest', 'the head of the part is too long');
                continue;
            }
            const head = held.subarray(0, end).toString();
            if (!head.startsWith(`--${boundary}\r\n`)) throw failure(400, 'InvalidRequest', 'no boundary');
            if (!/^content-disposition: form-data; *name="file"; *filename="[^"]+"/im.test(head)) throw failure(400, 'InvalidRequest', 'no file part');
            if (!/^content-type: application\/octet-stream$/im.test(head)) throw failure(400, 'InvalidRequest', 'not application/octet-stream');
            held = held.subarray(end + 4);
            inside = true;
        }
        if (ended) continue;
        const at = held.indexOf(closing);
        if (at >= 0) {
            if (at > 0) yield held.subarray(0, at);
            held = held.subarray(at + closing.length);
            ended = true;
        } else if (held.length > closing.length) {
            yield held.subarray(0, held.length - closing.length);
            held = held.subarray(held.length - closing.length);
        }
    }
    if (!ended) throw Object.assign(new Error('the form was cut'), { code: 'ECUT' });
    if (!/^--(\r\n)?$/.test(held.toString())) throw failure(400, 'InvalidRequest', 'exactly one part');
}

export async function upload(box, request) {
    const path = pathOf(request);
    const boundary = /^multipart\/form-data;.*boundary="?([^";]+)/.exec(request.headers['content-type'] ?? '')?.[1];
    if (!boundary) throw failure(400, 'InvalidRequest', 'the body must be multipart/form-data');
    let refusal = null;
    const content = (async function* () {
        try {
            yield* onlyPart(request.stream, boundary);
        } catch (problem) {
            refusal = problem;
            throw problem;
        }
    })();
    try {
        const written = await box.writeFile(path, Readable.from(content), { parents: true });
        if (refusal) throw refusal;
        return { json: { path, written } };
    } catch (problem) {
        if (refusal instanceof HttpError) throw refusal;
        if (refusal) throw failure(400, 'WriteError', `the upload ended early: ${refusal.message}`);
        throw told(problem, path, 'WriteError');
    }
}

// ---- download -------------------------------------------------------------------------------------------------------

/** [first, length] of a Range header, null for the whole file. */
function rangeOf(text, size) {
    const match = /^bytes=(\d*)-(\d*)$/.exec(text ?? '');
    if (!match || (!match[1] && !match[2])) return null;
    const first = match[1] ? Number(match[1]) : Math.max(0, size - Number(match[2]));
    const last = match[1] && match[2] ? Math.min(Number(match[2]), size - 1) : size - 1;
    if (first >= size) throw new HttpError(416, 'range past the end', { 'content-range': `bytes */${size}` });
    return [first, last - first + 1];
}

export async function download(box, request) {
    const path = pathOf(request);
    try {
        const status = await box.stat(path);
        if (status.type === 'directory' || status.type === 'folder') throw Object.assign(new Error(), { code: 'EISDIR' });
        const etag = `"${Math.floor(status.mtimeMs * 1000).toString(16)}-${status.size.toString(16)}"`;
        if (request.headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
        const fresh = request.headers['if-range'] === undefined || request.headers['if-range'] === etag;
        const range = fresh ? rangeOf(request.headers.range, status.size) : null;
        const headers = { 'content-type': 'application/octet-stream', etag, 'last-modified': new Date(status.mtimeMs).toUTCString() };
        if (range) headers['content-range'] = `bytes ${range[0]}-${range[0] + range[1] - 1}/${status.size}`;
        headers['content-length'] = range ? range[1] : status.size;
        if (request.method === 'HEAD') return { status: 200, headers, body: '' };
        const { stream } = await box.readFile(path, range ? { offset: range[0], length: range[1] } : {});
        return { status: range ? 206 : 200, headers, stream };
    } catch (problem) {
        if (problem instanceof HttpError) throw problem;
        throw told(problem, path, 'ReadError');
    }
}
