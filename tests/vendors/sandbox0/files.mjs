// Files: raw bytes, or base64 in JSON for whoever asks for that. What is written goes to PATH.tmp first, and is 0644 afterwards.

import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { apiError, checkQuery, good, invalid, isText, read } from './errors.mjs';

const LONGEST = Number(process.env.EMULATOR_LONGEST ?? 100 << 20);

const failures = {
    ENOENT: [404, 'file_not_found', 'file not found'],
    EACCES: [403, 'permission_denied', 'permission denied'],
    EPERM: [403, 'permission_denied', 'permission denied'],
    EISDIR: [409, 'path_not_file', 'path is not a file'],
};

const words = { ENOTDIR: 'not a directory', ELOOP: 'too many levels of symbolic links', ENAMETOOLONG: 'file name too long' };

function told(problem, name, notFound = failures.ENOENT) {
    if (!/^E[A-Z0-9]+$/.test(problem.code ?? '')) return problem;
    const [status, code, message] = problem.code === 'ENOENT' ? notFound : failures[problem.code] ?? [500, 'operation_failed', `${name}: ${words[problem.code] ?? problem.code}`];
    return apiError(status, code, message);
}

function pathOf(request) {
    const name = request.query.get('path');
    if (!name) throw invalid('path is required');
    return path.posix.resolve('/workspace', name);
}

async function readFile(sandbox, request) {
    checkQuery(request, 'path');
    const name = pathOf(request);
    const box = await sandbox.awake();
    const wanted = `${request.headers.accept ?? ''} ${request.headers['content-type'] ?? ''}`;
    try {
        if ((await box.stat(name)).type === 'directory') throw Object.assign(new Error(), { code: 'EISDIR' });
        const { stream, size } = await box.readFile(name);
        if (wanted.includes('application/json')) return good({ content: (await buffer(stream)).toString('base64'), encoding: 'base64' });
        return { headers: { 'content-type': 'application/octet-stream', ...(size > 0 ? { 'content-length': size } : {}) }, stream };
    } catch (problem) {
        throw told(problem, name);
    }
}

async function writeFile(sandbox, request) {
    checkQuery(request, 'path', 'mkdir', 'recursive');
    const name = pathOf(request);
    const box = await sandbox.awake();
    if (request.query.get('mkdir') === 'true') return mkdir(box, name, request.query.get('recursive') === 'true');
    if (Number(request.headers['content-length'] ?? 0) > LONGEST) throw apiError(413, 'file_too_large', 'file too large');
    try {
        const there = await box.stat(name).catch(() => undefined);
        if (there?.type === 'directory') throw Object.assign(new Error(), { code: 'EISDIR' });
        const bytes = await request.body(LONGEST); // whole, before anything is written
        await box.writeFile(`${name}.tmp`, bytes, { parents: true, mode: 0o644 });
        await box.chmod(`${name}.tmp`, 0o644);
        await box.rename(`${name}.tmp`, name);
        return good({ written: true });
    } catch (problem) {
        if (problem.code === 'ENOTDIR' || problem.code === 'EEXIST') throw apiError(409, 'path_not_directory', 'path is not a directory');
        throw told(problem, name);
    }
}

async function mkdir(box, name, recursive) {
    try {
        await box.mkdir(name, { parents: recursive });
        return good({ created: true }, 201);
    } catch (problem) {
        if (problem.code === 'EEXIST') throw apiError(409, 'path_exists', 'path exists');
        throw told(problem, name);
    }
}

async function remove(sandbox, request) {
    const box = await sandbox.awake();
    await box.remove(pathOf(request), { recursive: true }).catch((problem) => { if (problem.code !== 'ENOENT') throw told(problem); });
    return good({ deleted: true });
}

async function move(sandbox, request) {
    const { source, destination } = await read(request, { source: isText, destination: isText });
    const box = await sandbox.awake();
    try {
        await box.mkdir(path.posix.dirname(path.posix.resolve('/workspace', destination)), { parents: true });
        await box.rename(path.posix.resolve('/workspace', source), path.posix.resolve('/workspace', destination));
        return good({ moved: true });
    } catch (problem) {
        throw told(problem, source);
    }
}

const types = { file: 'file', directory: 'dir', link: 'symlink', symlink: 'symlink' };
const shown = (name, { type, size, mode, mtimeMs, target }) => ({ name: path.posix.basename(name), path: name, type: types[type] ?? 'file', size,
    mode: `0${(mode & 0o777).toString(8)}`, mod_time: new Date(mtimeMs).toISOString(), is_link: types[type] === 'symlink', link_target: target });

async function stat(sandbox, request) {
    const box = await sandbox.awake();
    const name = pathOf(request);
    return good(shown(name, await box.stat(name, { follow: false }).catch((problem) => { throw told(problem, name); })));
}

async function list(sandbox, request) {
    const box = await sandbox.awake();
    const name = pathOf(request);
    try {
        return good({ entries: (await box.readdir(name)).map((one) => shown(path.posix.join(name, one.name), one)) });
    } catch (problem) {
        if (problem.code === 'ENOTDIR') throw apiError(409, 'path_not_directory', 'path is not a directory');
        throw told(problem, name, [404, 'directory_not_found', 'directory not found']);
    }
}

export function fileRoutes(base, sandboxOf) {
    const on = (handler) => async (request) => handler(sandboxOf(request), request);
    return [
        ['GET', `${base}/files`, on(readFile)],
        ['POST', `${base}/files`, on(writeFile)],
        ['DELETE', `${base}/files`, on(remove)],
        ['POST', `${base}/files/move`, on(move)],
        ['GET', `${base}/files/stat`, on(stat)],
        ['GET', `${base}/files/list`, on(list)],
    ];
}
