// What the protocol says about files, done in a sandbox's box. Relative paths begin in its home.

import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';

const LONGEST_READ = 4 << 20;
const FORMAT = '%f %s %d %i %h %u %g %o %b %Y %X %Z %W';
const wrong = (code) => Object.assign(new Error(code), { code });
const isoOf = (seconds) => new Date(seconds * 1000).toISOString();

/** What a program that only fails in words has found. */
function fromWords(text) {
    const found = [['ENOENT', /No such file/], ['EACCES', /Permission denied/], ['EEXIST', /File exists/], ['ENOTDIR', /Not a directory/],
        ['EISDIR', /Is a directory/], ['EPERM', /not permitted/], ['ELOOP', /Too many levels/]].find(([, words]) => words.test(text));
    return Object.assign(new Error(text.trim() || 'it failed'), { code: found?.[0] });
}

async function run(box, ...argv) {
    const { code, stdout, stderr } = await box.run(argv, { cwd: box.home, env: { LC_ALL: 'C' } });
    if (code !== 0) throw fromWords(stderr.toString());
    return stdout.toString();
}

async function status(box, path, follow) {
    const words = (await run(box, 'stat', ...(follow ? ['-L'] : []), '-c', FORMAT, '--', path)).trim().split(' ');
    const mode = Number.parseInt(words[0], 16);
    const [size, dev, ino, nlink, uid, gid, blksize, blocks, mtime, atime, ctime, birthtime] = words.slice(1).map(Number);
    const is = (type) => (mode & 0o170000) === type;
    return { isFile: is(0o100000), isDirectory: is(0o40000), isSymlink: is(0o120000), size, mtime: isoOf(mtime), atime: isoOf(atime), ctime: isoOf(ctime),
        birthtime: isoOf(birthtime), mode, dev, ino, nlink, uid, gid, rdev: 0, blksize, blocks, isBlockDevice: is(0o60000), isCharDevice: is(0o20000),
        isFifo: is(0o10000), isSocket: is(0o140000) };
}

async function write(connection, { path, content, contentStreamId, options = {} }) {
    const { append = false, create = true, createNew = false, mode } = options;
    const { box } = connection.sandbox;
    const source = contentStreamId === undefined ? Buffer.from(content) : connection.take(contentStreamId);
    try {
        if (!create && !createNew) await box.stat(path);
        await box.writeFile(path, source, { append, exclusive: createNew, mode });
    } catch (problem) {
        if (source instanceof Readable) source.destroy();
        throw problem;
    }
    return null;
}

// ---- files that are open ---------------------------------------------------------------------------------------------

async function open({ sandbox: { box }, handles }, { path, options = { read: true } }) {
    const { write: forWriting, append, truncate, create, createNew, mode } = options;
    const known = await box.stat(path).catch((problem) => problem);
    if (known instanceof Error && (known.code !== 'ENOENT' || !(create || createNew))) throw known;
    if (createNew && !(known instanceof Error)) throw wrong('EEXIST');
    if (known.type === 'directory' && (forWriting || append)) throw wrong('EISDIR');
    if (known instanceof Error || truncate) await box.writeFile(path, Buffer.alloc(0), { mode });
    else if (!forWriting && !append && known.type !== 'directory') (await box.readFile(path, { offset: 0, length: 0 })).stream.resume();
    handles.push({ path, offset: append ? known.size ?? 0 : 0 });
    return { fileHandleId: handles.length - 1 };
}

function handleOf({ handles }, id) {
    if (!handles[id]) throw wrong('EBADF');
    return handles[id];
}

/** At most 4 MiB, and as a real read now and then less than was asked for. */
async function fileRead(connection, { fileHandleId, length }) {
    const handle = handleOf(connection, fileHandleId);
    const asked = Math.min(length, LONGEST_READ) - (length > 100000 && connection.reads++ % 3 === 2 ? 777 : 0);
    const { stream } = await connection.sandbox.box.readFile(handle.path, { offset: handle.offset, length: asked });
    const bytes = await buffer(stream);
    handle.offset += bytes.length;
    return { data: bytes.length === 0 ? null : bytes.toString('base64') };
}

async function fileWrite(connection, { fileHandleId, data }) {
    const handle = handleOf(connection, fileHandleId);
    const part = Buffer.from(data).subarray(0, 1 << 20); // it may take less than it is given
    const { code, stderr } = await connection.sandbox.box.run(['dd', `of=${handle.path}`, 'oflag=seek_bytes', `seek=${handle.offset}`, 'conv=notrunc', 'status=none'],
        { stdin: part, cwd: connection.sandbox.box.home });
    if (code !== 0) throw fromWords(stderr.toString());
    handle.offset += part.length;
    return { bytesWritten: part.length };
}

async function fileSeek(connection, { fileHandleId, offset, whence }) {
    const handle = handleOf(connection, fileHandleId);
    const { size } = await connection.sandbox.box.stat(handle.path);
    handle.offset = Number(offset) + [0, handle.offset, size][whence];
    return { position: handle.offset };
}

export const methods = {
    readFile: async ({ sandbox: { box } }, { path }) => (await buffer((await box.readFile(path)).stream)).toString('base64'),
    readTextFile: async ({ sandbox: { box } }, { path }) => (await buffer((await box.readFile(path)).stream)).toString(),
    writeFile: write,
    writeTextFile: write,
    stat: ({ sandbox: { box } }, { path }) => status(box, path, true),
    lstat: ({ sandbox: { box } }, { path }) => status(box, path, false),
    readDir: async ({ sandbox: { box } }, { path }) => (await box.readdir(path)).map(({ name, type }) =>
        ({ name, isFile: type === 'file', isDirectory: type === 'directory', isSymlink: type === 'symlink' })),
    mkdir: async ({ sandbox: { box } }, { path, options = {} }) => {
        await box.mkdir(path, { parents: options.recursive, mode: options.mode });
        return null;
    },
    remove: async ({ sandbox: { box } }, { path, options = {} }) => {
        await box.remove(path, { recursive: options.recursive });
        return null;
    },
    rename: async ({ sandbox: { box } }, { oldPath, newPath }) => {
        await box.rename(oldPath, newPath);
        return null;
    },
    chmod: async ({ sandbox: { box } }, { path, mode }) => {
        await box.chmod(path, mode);
        return null;
    },
    copyFile: async ({ sandbox: { box } }, { fromPath, toPath }) => {
        await run(box, 'cp', '--', fromPath, toPath);
        return null;
    },
    symlink: async ({ sandbox: { box } }, { target, path }) => {
        await run(box, 'ln', '-sT', '--', target, path);
        return null;
    },
    realPath: async ({ sandbox: { box } }, { path }) => (await run(box, 'realpath', '-e', '--', path)).slice(0, -1),
    readLink: async ({ sandbox: { box } }, { path }) => (await run(box, 'readlink', '--', path)).slice(0, -1),
    makeTempDir: async ({ sandbox: { box } }) => (await run(box, 'mktemp', '-d')).slice(0, -1),
    open,
    create: (connection, { path }) => open(connection, { path, options: { write: true, create: true, truncate: true } }),
    fileRead,
    fileWrite,
    fileSeek,
    fileStat: (connection, { fileHandleId }) => status(connection.sandbox.box, handleOf(connection, fileHandleId).path, true),
    fileClose: (connection, { fileHandleId }) => {
        handleOf(connection, fileHandleId);
        delete connection.handles[fileHandleId];
        return null;
    },
};
