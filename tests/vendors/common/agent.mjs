// Runs inside a box as its first process: starts commands and moves files, asked by the emulator over file descriptor 3.
// See box.mjs for what each operation means.

import { spawn } from 'node:child_process';
import { constants, closeSync, mkdirSync, openSync, unlinkSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { Incoming, Link } from './link.mjs';

const { O_CREAT, O_EXCL, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = constants;
const settings = JSON.parse(process.argv[2]);
const inputs = new Map(); // channel -> Incoming: what commands read and files are written from
const commands = new Map(); // channel -> process id
const QUIET_MS = 25;
const PIECE = 1 << 16;

// ---- pipes -----------------------------------------------------------------------------------------------------------

// Node.js gives children socket pairs, which cannot be opened again as /dev/stdout. Real services give pipes, so do we:
// named ones, made some at a time and unlinked once both ends are open.
const PIPES = '/run/agent/pipes';
const pipes = [];
let pipeNumber = 0;
let making = null;

function makePipes() {
    making ??= new Promise((resolve, reject) => {
        const names = Array.from({ length: 48 }, () => `${PIPES}/${pipeNumber++}`);
        spawn('mkfifo', names, { stdio: 'ignore' }).on('error', reject).on('exit', () => {
            pipes.push(...names);
            making = null;
            resolve();
        });
    });
    return making;
}

async function openPipe() {
    while (pipes.length === 0) await makePipes();
    const name = pipes.pop();
    if (pipes.length < 12) makePipes();
    const both = openSync(name, O_RDWR); // so that neither of the others waits for its opposite
    const ends = { reading: openSync(name, O_RDONLY), writing: openSync(name, O_WRONLY) };
    closeSync(both);
    unlinkSync(name);
    return ends;
}

// ---- commands --------------------------------------------------------------------------------------------------------

const nowhere = (name) => Object.assign(new Error(`${name}: no such file or directory`), { code: 'ENOENT' });

async function run({ channel, argv, cwd, env, merged, input, sudo }) {
    const folder = path.resolve(settings.home, cwd ?? '');
    if (!(await fs.stat(folder).catch(() => null))?.isDirectory()) throw Object.assign(nowhere(folder), { what: 'cwd' });
    const output = await openPipe();
    const error = merged ? output : await openPipe();
    const standardInput = input ? await openPipe() : null;
    const words = sudo ? ['unshare', '--user', '--map-root-user', '--', ...argv] : argv;
    const child = spawn(words[0], words.slice(1), {
        cwd: folder,
        env: { ...settings.environment, ...env },
        detached: true,
        stdio: [standardInput ? standardInput.reading : 'ignore', output.writing, error.writing],
    });
    for (const end of new Set([output.writing, error.writing, standardInput?.reading])) if (end) closeSync(end);
    const failure = await new Promise((resolve) => child.once('spawn', () => resolve(null)).once('error', resolve));
    if (failure) {
        for (const end of new Set([output.reading, error.reading, standardInput?.writing])) if (end) closeSync(end);
        throw failure.code === 'ENOENT' ? nowhere(words[0]) : failure;
    }
    commands.set(channel, child.pid);
    if (standardInput) feed(channel, standardInput.writing);
    const readers = [forward(channel, 1, output.reading)];
    if (!merged) readers.push(forward(channel, 2, error.reading));
    child.once('exit', (code, signal) => finish(channel, readers, code, signal));
    return { pid: child.pid };
}

/** Nobody reads this input any more: its writer must not wait. */
function ignore(channel) {
    const input = inputs.get(channel);
    if (!input || input.ended) {
        inputs.delete(channel);
        return;
    }
    link.credit(channel, 0, input.waiting);
    inputs.set(channel, { push: (bytes) => link.credit(channel, 0, bytes.length), end: () => inputs.delete(channel) });
}

/** Gives a command what comes for its standard input. */
async function feed(channel, descriptor) {
    const pipe = new net.Socket({ fd: descriptor, readable: false, writable: true });
    pipe.on('error', () => {});
    try {
        for await (const piece of inputs.get(channel)) {
            if (pipe.destroyed) continue;
            if (!pipe.write(piece)) {
                await new Promise((resolve) => pipe.once('drain', resolve).once('close', resolve));
            }
        }
    } finally {
        pipe.end();
        ignore(channel);
    }
}

/** Passes on what a command writes; done: at its end, quiet(): when nothing has come for a moment. */
function forward(channel, stream, descriptor) {
    const pipe = new net.Socket({ fd: descriptor, readable: true, writable: false });
    const reader = { last: performance.now(), sending: Promise.resolve(), done: null, ended: false };
    pipe.on('data', (chunk) => {
        reader.last = performance.now();
        const room = link.roomFor(channel, stream, chunk.length);
        if (!room) pipe.pause();
        reader.sending = reader.sending.then(() => link.data(channel, stream, chunk));
        if (!room) {
            reader.sending.then(() => {
                reader.last = performance.now();
                pipe.resume();
            });
        }
    });
    reader.done = new Promise((resolve) => pipe.on('error', () => {}).on('close', resolve))
        .then(() => reader.sending)
        .then(() => {
            reader.ended = true;
            link.end(channel, stream);
        });
    reader.quiet = async () => {
        while (!reader.ended) {
            const last = reader.last;
            const silent = performance.now() - last;
            if (silent < QUIET_MS || pipe.isPaused()) {
                await new Promise((resolve) => setTimeout(resolve, Math.max(1, QUIET_MS - silent)));
                continue;
            }
            // A busy loop is silent too: only after a look at the pipes is silence one of theirs.
            for (let look = 0; look < 2; look++) await new Promise((resolve) => setImmediate(resolve));
            if (reader.last === last) return;
        }
    };
    return reader;
}

/** A command has ended. What still holds its output need not have: so there are two moments. */
async function finish(channel, readers, code, signal) {
    const exited = performance.now();
    for (const reader of readers) reader.last = Math.max(reader.last, exited);
    const closed = Promise.all(readers.map((reader) => reader.done));
    await Promise.race([closed, Promise.all(readers.map((reader) => reader.quiet()))]);
    link.send({ event: 'exit', channel, code, signal });
    await closed;
    commands.delete(channel);
    link.send({ event: 'closed', channel });
}

function kill({ channel, signal, group }) {
    const pid = commands.get(channel);
    if (!pid) return { killed: false };
    try {
        process.kill(group ? -pid : pid, signal);
        return { killed: true };
    } catch {
        return { killed: false };
    }
}

// ---- files -----------------------------------------------------------------------------------------------------------

const at = (name) => path.resolve(settings.home, name);
const kinds = [['isFile', 'file'], ['isDirectory', 'directory'], ['isSymbolicLink', 'symlink'], ['isFIFO', 'fifo'], ['isSocket', 'socket']];

function described(status, more = {}) {
    const type = kinds.find(([question]) => status[question]())?.[1] ?? 'device';
    const { size, mode, uid, gid, mtimeMs } = status;
    return { type, size, mode: mode & 0o7777, uid, gid, mtimeMs, ...more };
}

async function stat({ name, follow }) {
    const status = await (follow ? fs.stat : fs.lstat)(at(name));
    const target = status.isSymbolicLink() ? { target: await fs.readlink(at(name)) } : {};
    return described(status, target);
}

async function list({ name }) {
    const entries = [];
    for (const entry of (await fs.readdir(at(name))).sort()) {
        const status = await fs.lstat(path.join(at(name), entry)).catch(() => null);
        if (status) entries.push(described(status, { name: entry }));
    }
    return { entries };
}

async function read({ channel, name, offset, length }) {
    const file = await fs.open(at(name), O_RDONLY | O_NONBLOCK);
    const status = await file.stat();
    const problem = status.isDirectory() ? 'EISDIR' : status.isFIFO() || status.isSocket() ? 'EINVAL' : null;
    if (problem) {
        await file.close();
        throw Object.assign(new Error(`${name}: ${problem}`), { code: problem });
    }
    sendFile(channel, file, offset ?? 0, length ?? Infinity);
    return { size: status.size, status: described(status) };
}

async function sendFile(channel, file, offset, length) {
    let failure = null;
    try {
        // A socket keeps what it was given until it is written, so each piece has memory of its own.
        for (let left = length; left > 0;) {
            const buffer = Buffer.allocUnsafeSlow(PIECE);
            const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, left), offset);
            if (bytesRead === 0) break;
            offset += bytesRead;
            left -= bytesRead;
            await link.data(channel, 0, buffer.subarray(0, bytesRead));
        }
    } catch (error) {
        failure = error;
    }
    await file.close();
    if (failure) link.send({ event: 'failed', channel, code: failure.code, message: failure.message });
    link.end(channel, 0);
}

async function write({ channel, name, mode, parents, exclusive, append }) {
    const wanted = at(name);
    try {
        if (parents) await fs.mkdir(path.dirname(wanted), { recursive: true });
        const flags = O_WRONLY | O_CREAT | O_NONBLOCK | (append ? constants.O_APPEND : O_TRUNC) | (exclusive ? O_EXCL : 0);
        const file = await fs.open(wanted, flags, mode ?? 0o644);
        let written = 0;
        try {
            for await (const piece of inputs.get(channel)) {
                for (let done = 0; done < piece.length;) {
                    const { bytesWritten } = await file.write(piece, done);
                    done += bytesWritten;
                }
                written += piece.length;
            }
            if (mode !== undefined) await file.chmod(mode);
        } finally {
            await file.close();
        }
        return { written };
    } finally {
        ignore(channel);
    }
}

const operations = {
    run, kill, stat, list, read, write,
    mkdir: async ({ name, parents, mode }) => void (await fs.mkdir(at(name), { recursive: parents, mode })),
    remove: async ({ name, recursive }) => void (await (recursive ? fs.rm(at(name), { recursive }) : removeOne(at(name)))),
    rename: async ({ name, to }) => void (await fs.rename(at(name), at(to))),
    chmod: async ({ name, mode }) => void (await fs.chmod(at(name), mode)),
    freeze: () => void everyone('SIGSTOP'),
    thaw: () => void everyone('SIGCONT'),
};

async function removeOne(name) {
    await ((await fs.lstat(name)).isDirectory() ? fs.rmdir(name) : fs.unlink(name));
}

function everyone(signal) {
    try {
        process.kill(-1, signal); // all but this process and the box's init
    } catch {
        // nobody else is there
    }
}

// ---- the outside -----------------------------------------------------------------------------------------------------

// What commands dial by CONNECT is asked of the box's wall, which is the emulator's: see outside.mjs.
const PROXY_PORT = 3128;
const dialling = new Map(); // number -> what takes the answer
let dialled = 0;

/** The head of a request, without its end. */
async function readHead(socket) {
    let text = '';
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
        text += chunk.toString('latin1');
        if (text.includes('\r\n\r\n')) break;
    }
    return text.split('\r\n\r\n', 1)[0].split('\r\n');
}

async function serveOutside(socket) {
    socket.on('error', () => {});
    const [, host, port] = /^CONNECT \[?([^\]\s]+?)\]?:(\d+) /.exec((await readHead(socket))[0] ?? '') ?? [];
    if (!host) return socket.end('HTTP/1.1 405 Method Not Allowed\r\n\r\n');
    const number = ++dialled;
    const allowed = await new Promise((resolve) => {
        dialling.set(number, resolve);
        link.send({ event: 'dial', number, host, port: Number(port) });
    });
    if (!allowed) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    socket.write('HTTP/1.1 200 Connected\r\n\r\n');
    const headers = Object.fromEntries((await readHead(socket)).slice(1).map((line) => [line.split(':', 1)[0].toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]));
    link.send({ event: 'ask', host, port: Number(port), headers });
    const text = `reached ${host}:${port}\n`;
    return socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`);
}

// ---- the link --------------------------------------------------------------------------------------------------------

async function answer(message) {
    const { id, operation, channel } = message;
    if (message.input) inputs.set(channel, new Incoming((length) => link.credit(channel, 0, length)));
    try {
        link.send({ id, result: (await operations[operation](message)) ?? {} });
    } catch (error) {
        ignore(channel);
        link.send({ id, error: { code: error.code ?? 'EIO', message: error.message, what: error.what } });
    }
}

// The emulator may end a stream early because its own source broke: then a file stays as short as it is.
function take(message) {
    if (message.event === 'dialled') {
        dialling.get(message.number)(message.allowed);
        dialling.delete(message.number);
    } else if (message.event === 'broken') {
        inputs.get(message.channel)?.end(Object.assign(new Error(message.message), { code: 'ECONNRESET' }));
    } else {
        answer(message);
    }
}

mkdirSync(PIPES, { recursive: true });
process.umask(0o022);
const link = new Link(new net.Socket({ fd: 3, readable: true, writable: true }), {
    message: take,
    data: (channel, stream, bytes) => inputs.get(channel)?.push(bytes),
    end: (channel) => inputs.get(channel)?.end(),
    closed: () => process.kill(process.pid, 'SIGKILL'), // an exit would wait for a read of a pipe that nobody writes to
});
makePipes();
net.createServer((socket) => serveOutside(socket).catch(() => socket.destroy())).listen(PROXY_PORT, '127.0.0.1', () => link.send({ event: 'ready' }));
