// Files of one session: a tar to write, one file to read.

import path from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { apiError, badRequest, checkQuery, isFlag, isText, read } from './errors.mjs';

const BLOCK = 512;

/** Takes just so many bytes off a stream. */
class Taker {
    #pieces;
    #held = Buffer.alloc(0);

    constructor(stream) {
        this.#pieces = stream[Symbol.asyncIterator]();
    }

    async #more() {
        const { value, done } = await this.#pieces.next();
        if (done) throw badRequest('unexpected end of the archive');
        this.#held = this.#held.length > 0 ? Buffer.concat([this.#held, value]) : value;
    }

    async take(length) {
        while (this.#held.length < length) await this.#more();
        const bytes = this.#held.subarray(0, length);
        this.#held = this.#held.subarray(length);
        return bytes;
    }

    async *pieces(length) {
        for (let left = length; left > 0;) {
            if (this.#held.length === 0) await this.#more();
            const piece = this.#held.subarray(0, left);
            this.#held = this.#held.subarray(piece.length);
            left -= piece.length;
            yield piece;
        }
    }

    async drain() {
        while (!(await this.#pieces.next()).done);
    }
}

const field = (header, from, length) => header.subarray(from, from + length).toString().replace(/\0.*$/s, '');

function numberOf(header, from, length) {
    if (header[from] & 0x80) return Number(header.readBigUInt64BE(from + length - 8));
    return parseInt(field(header, from, length).trim() || '0', 8);
}

function readPax(bytes) {
    const records = {};
    for (let text = bytes; text.length > 0;) {
        const length = parseInt(text.toString('latin1', 0, 20), 10);
        const [, name, value] = /^\d+ ([^=]+)=(.*)\n$/s.exec(text.subarray(0, length).toString()) ?? [];
        if (!name) throw badRequest('a damaged pax header');
        records[name] = value;
        text = text.subarray(length);
    }
    return records;
}

/** The entries of a tar, {name, type, mode, size, content}; each content is to be read before the next. */
async function* entries(taker) {
    let pax = {};
    for (;;) {
        const header = await taker.take(BLOCK);
        if (header.every((byte) => byte === 0)) return;
        const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
        if (sum !== numberOf(header, 148, 8)) throw badRequest('archive/tar: invalid tar header');
        const type = String.fromCharCode(header[156] || 48);
        const size = pax.size === undefined ? numberOf(header, 124, 12) : Number(pax.size);
        const padding = (BLOCK - (size % BLOCK)) % BLOCK;
        if (type === 'x' || type === 'g' || type === 'L') {
            const bytes = Buffer.from(await taker.take(size));
            await taker.take(padding);
            pax = type === 'L' ? { ...pax, path: bytes.toString().replace(/\0.*$/s, '') } : { ...pax, ...readPax(bytes) };
            continue;
        }
        const prefix = header.toString('latin1', 257, 262) === 'ustar' ? field(header, 345, 155) : '';
        const name = pax.path ?? (prefix ? `${prefix}/${field(header, 0, 100)}` : field(header, 0, 100));
        yield { name, type, size, mode: numberOf(header, 100, 8) & 0o7777, content: () => Readable.from(taker.pieces(size)) };
        await taker.take(padding);
        pax = {};
    }
}

const words = { EACCES: 'permission denied', EPERM: 'operation not permitted', EISDIR: 'is a directory', ENOTDIR: 'not a directory', ENOENT: 'no such file or directory',
    ELOOP: 'too many levels of symbolic links', ENAMETOOLONG: 'file name too long', ENOSPC: 'no space left on device', EROFS: 'read-only file system' };

function told(problem, doing, name) {
    if (!words[problem.code]) return problem;
    return badRequest(`${doing} ${name}: ${words[problem.code]}`);
}

/** Like the service, it unpacks as the bytes come, over what is there and with the modes of the archive. */
export async function write(session, request) {
    checkQuery(request);
    session.mustRun();
    if (request.headers['content-type'] !== 'application/gzip') throw badRequest('Content-Type must be application/gzip');
    const folder = request.headers['x-cwd'] ?? '/home';
    if (!folder.startsWith('/')) throw badRequest('x-cwd must be absolute');
    const gunzip = createGunzip();
    request.stream.on('error', (problem) => gunzip.destroy(problem)).pipe(gunzip);
    const taker = new Taker(gunzip);
    let current = '';
    try {
        for await (const { name, type, mode, content } of entries(taker)) {
            if (name.startsWith('/') || name.split('/').includes('..') || name === '') throw badRequest(`illegal name ${name}`);
            current = path.posix.join(folder, name);
            if (type === '5') await session.box.mkdir(current, { parents: true });
            if (type !== '0') continue;
            await session.box.writeFile(current, content(), { parents: true });
            await session.box.chmod(current, mode);
        }
        await taker.drain();
        return { json: {} };
    } catch (problem) {
        request.stream.unpipe(gunzip);
        request.stream.resume();
        if (/^Z_|ERR_STREAM|ECONNRESET|ABORT/.test(problem.code ?? '')) throw badRequest(`the archive is broken: ${problem.message}`);
        throw told(problem, 'open', current);
    }
}

export async function readFile(session, request) {
    checkQuery(request);
    session.mustRun();
    const { path: name, cwd } = await read(request, { path: isText, cwd: isText }, ['path']);
    const full = path.posix.resolve(cwd ?? '/vercel/sandbox', name);
    try {
        const status = await session.box.stat(full);
        if (status.type === 'directory') throw Object.assign(new Error(), { code: 'EISDIR' });
        const { stream } = await session.box.readFile(full);
        return { headers: { 'content-type': 'application/octet-stream' }, stream };
    } catch (problem) {
        if (problem.code === 'ENOENT') throw apiError(404, 'not_found', `The requested file was not found: ${full}`);
        throw told(problem, 'read', full);
    }
}

export async function mkdir(session, request) {
    checkQuery(request);
    session.mustRun();
    const { path: name, cwd, recursive } = await read(request, { path: isText, cwd: isText, recursive: isFlag }, ['path']);
    const full = path.posix.resolve(cwd ?? '/vercel/sandbox', name);
    try {
        await session.box.mkdir(full, { parents: recursive === true });
        return { json: {} };
    } catch (problem) {
        if (problem.code === 'EEXIST') throw badRequest(`mkdir ${full}: file exists`);
        throw told(problem, 'mkdir', full);
    }
}
