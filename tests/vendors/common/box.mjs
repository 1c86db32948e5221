// Boxes: what an emulated service runs its sandboxes in. Each is a set of bubblewrap namespaces without network, over a
// folder of its own, with the host's /usr read-only; an agent (agent/) inside runs commands and moves files, so
// background processes live on between commands. Boxes work for root and for ordinary users, and end with the emulator.
// EMULATOR_WITHOUT_PROC: there is nothing in their /proc.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { Link } from './link.mjs';
import * as outside from './outside.mjs';

const AGENT = path.join(import.meta.dirname, '../box-agent'); // of the build folder, which whoever copies this file puts there
const START_SECONDS = 120; // a busy machine may be slow
const boxes = new Set();
const snapshots = new Map(); // id -> folder
const copies = new Map(); // folder -> the end of all copying from it, before which it is not removed
let shop = null; // the folder of all boxes of this process

const folderOfAll = () => (shop ??= fs.mkdtempSync(path.join(os.tmpdir(), 'sandlot-boxes.')));
const error = (code, message, more = {}) => Object.assign(new Error(message), { code, ...more });

function finished(child) {
    return new Promise((resolve) => child.once('error', () => resolve(-1)).once('close', (code) => resolve(code)));
}

async function copyTree(from, to) {
    const copy = finished(spawn('cp', ['-a', '--reflink=auto', from, to], { stdio: 'ignore' }));
    const all = Promise.all([copies.get(from), copy]);
    copies.set(from, all);
    all.then(() => copies.get(from) === all && copies.delete(from));
    if (await copy !== 0) throw error('EIO', `cannot copy ${from}`);
}

async function removeTree(folder) {
    try {
        await fs.promises.rm(folder, { recursive: true, force: true });
    } catch {
        // an ordinary user cannot empty folders without the permission to write
        await finished(spawn('chmod', ['-R', 'u+rwX', folder], { stdio: 'ignore' }));
        await fs.promises.rm(folder, { recursive: true, force: true });
    }
}

// ---- the root folder -------------------------------------------------------------------------------------------------

const WRITABLE = ['home', 'root', 'workspace', 'vercel', 'mnt', 'opt', 'srv', 'var/tmp', 'var/lib', 'tmp'];
const FROM_HOST = ['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'ssl', 'localtime', 'mime.types', 'bash.bashrc', 'profile'];
const SYSTEM = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];

/** Folders and files of a new box, made on the host. */
function layOut(root, { name, uid, home, hostname }) {
    for (const folder of [...WRITABLE, 'usr', 'etc', 'proc', 'dev', 'run', 'sys']) {
        fs.mkdirSync(path.join(root, folder), { recursive: true });
    }
    fs.chmodSync(path.join(root, 'tmp'), 0o1777);
    fs.chmodSync(path.join(root, 'var/tmp'), 0o1777);
    fs.mkdirSync(path.join(root, home), { recursive: true });
    const etc = (file, text) => fs.writeFileSync(path.join(root, 'etc', file), text);
    const own = uid === 0 ? '' : `${name}:x:${uid}:${uid}::${home}:/bin/bash\n`;
    etc('passwd', `root:x:0:0:root:${uid === 0 ? home : '/root'}:/bin/bash\n${own}nobody:x:65534:65534::/:/usr/sbin/nologin\n`);
    etc('group', `root:x:0:\n${uid === 0 ? '' : `${name}:x:${uid}:\n`}nogroup:x:65534:\n`);
    etc('hostname', `${hostname}\n`);
    etc('hosts', `127.0.0.1 localhost ${hostname}\n`);
    for (const folder of SYSTEM) {
        const status = fs.lstatSync(`/${folder}`, { throwIfNoEntry: false });
        if (status?.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(`/${folder}`), path.join(root, folder));
        else if (status) fs.mkdirSync(path.join(root, folder));
    }
    for (const entry of FROM_HOST) mountPoint(root, entry);
    if (uid === 0) return;
    for (const folder of ['var/lib', 'opt', 'srv', 'mnt', 'root', 'home', 'var', 'etc', '.']) {
        fs.chmodSync(path.join(root, folder), folder === 'root' ? 0o500 : 0o555);
    }
}

function mountPoint(root, entry) {
    const status = fs.statSync(`/etc/${entry}`, { throwIfNoEntry: false });
    const place = path.join(root, 'etc', entry);
    if (status?.isDirectory()) fs.mkdirSync(place, { recursive: true });
    else if (status) fs.writeFileSync(place, '');
}

/** Command line of bwrap. */
function sealed(root, { uid, hostname, mounts }) {
    const words = ['--unshare-all', '--unshare-user', '--die-with-parent', '--new-session', '--uid', `${uid}`, '--gid', `${uid}`,
        '--hostname', hostname, uid === 0 ? '--cap-add' : '--cap-drop', 'ALL', '--bind', root, '/', '--ro-bind', '/usr', '/usr'];
    for (const folder of SYSTEM) {
        if (fs.lstatSync(`/${folder}`, { throwIfNoEntry: false })?.isDirectory()) words.push('--ro-bind', `/${folder}`, `/${folder}`);
    }
    for (const entry of FROM_HOST) words.push('--ro-bind-try', fs.existsSync(`/etc/${entry}`) ? fs.realpathSync(`/etc/${entry}`) : `/etc/${entry}`, `/etc/${entry}`);
    for (const { source, target, readOnly } of mounts) words.push(readOnly ? '--ro-bind' : '--bind', source, target);
    return [...words, ...(process.env.EMULATOR_WITHOUT_PROC ? ['--tmpfs', '/proc'] : ['--proc', '/proc']), '--dev', '/dev', '--tmpfs', '/run',
        '--ro-bind', AGENT, '/run/agent/agent', '--ro-bind', process.execPath, '/run/agent/node']; // Node.js is for what is tested in boxes
}

// ---- a box -----------------------------------------------------------------------------------------------------------

class Box {
    id = randomBytes(8).toString('hex');
    frozen = false;
    wall = null; // what it may reach, see outside.mjs
    #settings;
    #folder;
    #root;
    #child = null;
    #ended = null;
    #link = null;
    #number = 0;
    #answers = new Map(); // id -> {resolve, reject}
    #channels = new Map(); // channel -> what takes its frames
    #destroyed = false;

    constructor({ home, mounts = [], environment = {}, user = 'root', name = user === 'root' ? 'root' : 'user', uid = user === 'root' ? 0 : 1000, hostname }) {
        home ??= uid === 0 ? '/root' : `/home/${name}`;
        this.#settings = { home, name, uid, mounts, hostname: hostname ?? `box-${this.id.slice(0, 8)}`, environment: {
            PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: home, USER: name, LOGNAME: name,
            SHELL: '/bin/bash', ...environment } };
        this.#folder = path.join(folderOfAll(), this.id);
        this.#root = path.join(this.#folder, 'root');
    }

    get home() { return this.#settings.home; }
    get running() { return this.#child !== null; }

    async lay(from) {
        fs.mkdirSync(this.#folder);
        if (from === undefined) {
            fs.mkdirSync(this.#root);
            layOut(this.#root, this.#settings);
        } else {
            const source = snapshots.get(from);
            if (!source) throw error('ENOENT', `no snapshot ${from}`);
            await copyTree(source, this.#root);
        }
        boxes.add(this);
    }

    /** Starts the processes of a box that was stopped; its files are as they were left. */
    async start() {
        if (this.#destroyed) throw error('ENXIO', 'the box is destroyed');
        if (this.#child) return;
        const { home, environment } = this.#settings;
        const child = spawn('bwrap', [...sealed(this.#root, this.#settings), '--chdir', '/', '--', '/run/agent/agent', JSON.stringify({ home, environment })], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'], env: environment });
        let complaint = '';
        child.stderr.on('data', (chunk) => { if (complaint.length < 4096) complaint += chunk; });
        child.on('error', (failure) => (complaint += failure.message));
        this.#child = child;
        this.#ended = finished(child);
        let timer;
        const ready = new Promise((resolve, reject) => {
            timer = setTimeout(() => reject(error('ETIMEDOUT', `the box did not start: ${complaint}`)), START_SECONDS * 1000);
            this.#link = new Link(child.stdio[3], {
                message: (message) => {
                    if (message.event === 'ready') resolve();
                    else if (message.event === 'dial') this.#link.send({ event: 'dialled', number: message.number, allowed: outside.dial(this.wall, message) });
                    else if (message.event === 'ask') outside.ask(this.wall, message);
                    else this.#message(message);
                },
                data: (channel, stream, bytes) => this.#channels.get(channel)?.data(stream, bytes),
                end: (channel, stream) => this.#channels.get(channel)?.end(stream),
                closed: () => this.#ended.then(() => {
                    if (this.#child === child) this.#lost();
                    reject(error('EIO', `the box did not start: ${complaint.trim()}`));
                }),
            });
        });
        try {
            await ready;
        } catch (failure) {
            await this.stop();
            throw failure;
        } finally {
            clearTimeout(timer);
        }
    }

    /** Ends all processes; the files stay. */
    async stop() {
        const child = this.#child;
        if (!child) return;
        child.kill('SIGKILL'); // the namespace's init dies with it, and with that everybody
        this.#link.close(); // unless it has not come so far as to wish for that: then the agent has its end from here
        await this.#ended;
        if (this.#child === child) this.#lost();
    }

    #lost() {
        this.#child = null;
        this.frozen = false;
        const gone = error('ESTOPPED', 'the box was stopped');
        for (const { reject } of this.#answers.values()) reject(gone);
        this.#answers.clear();
        for (const channel of this.#channels.values()) channel.gone(gone);
        this.#channels.clear();
    }

    async destroy() {
        if (this.#destroyed) return;
        this.#destroyed = true;
        await this.stop();
        boxes.delete(this);
        await copies.get(this.#root);
        await removeTree(this.#folder);
    }

    /** Copies the files; createBox({from: id}) begins with them. Meanwhile no command runs: a file that it takes away would be missed. */
    async snapshot() {
        const id = randomBytes(8).toString('hex');
        const folder = path.join(folderOfAll(), `snapshot-${id}`);
        const runs = this.running && !this.frozen;
        const stopped = () => {}; // so that nothing runs any more
        if (runs) await this.freeze().catch(stopped);
        try {
            await copyTree(this.#root, folder);
        } finally {
            if (runs) await this.thaw().catch(stopped);
        }
        snapshots.set(id, folder);
        return id;
    }

    async freeze() {
        await this.#ask('freeze');
        this.frozen = true;
    }

    async thaw() {
        await this.#ask('thaw');
        this.frozen = false;
    }

    // ---- commands

    /**
     * Starts a command in a session of its own. Rejects with code ENOENT where there is no such program or, with .what
     * "cwd", folder. onStdout and onStderr may return a promise: the command waits while it is pending. `sudo`: as root of a
     * nested namespace, in a box of an ordinary user.
     *
     * {pid, kill(signal, group), write(buffer), closeInput(), done, closed}: done, {code, signal}, resolves when the
     * command has ended and what it wrote has been passed on; closed when nobody holds its output any more.
     */
    async spawn({ argv, cwd, env, onStdout = () => {}, onStderr = () => {}, merged = false, stdin = null, sudo = false }) {
        const channel = ++this.#number;
        const done = Promise.withResolvers(), closed = Promise.withResolvers();
        done.promise.catch(() => {});
        closed.promise.catch(() => {});
        const streams = [null, this.#consumer(channel, 1, onStdout), this.#consumer(channel, 2, onStderr)];
        this.#channels.set(channel, {
            data: (stream, bytes) => streams[stream].push(bytes),
            end: () => {},
            exit: ({ code, signal }) => Promise.all(streams.slice(1).map((stream) => stream.idle())).then(() => done.resolve({ code, signal })),
            closed: () => {
                this.#channels.delete(channel);
                Promise.all(streams.slice(1).map((stream) => stream.idle())).then(() => closed.resolve());
            },
            gone: () => {
                done.resolve({ code: null, signal: 'SIGKILL' });
                closed.resolve();
            },
        });
        let pid;
        try {
            ({ pid } = await this.#ask('run', { channel, argv, cwd, env, merged, sudo, input: stdin !== null }));
        } catch (failure) {
            this.#channels.delete(channel);
            throw failure;
        }
        if (stdin instanceof Readable || Buffer.isBuffer(stdin)) this.#feed(channel, stdin);
        return {
            pid,
            kill: (signal = 'SIGKILL', group = true) => this.#ask('kill', { channel, signal, group }),
            write: (bytes) => this.#link.data(channel, 0, Buffer.from(bytes)),
            closeInput: () => this.#link.end(channel, 0),
            done: done.promise,
            closed: closed.promise,
        };
    }

    /** Hands pieces to CALL one after the other. */
    #consumer(channel, stream, call) {
        let last = Promise.resolve();
        return {
            push: (bytes) => {
                const piece = Buffer.from(bytes);
                last = last.then(() => call(piece)).catch(() => {}).then(() => this.#link.credit(channel, stream, piece.length));
            },
            idle: () => last,
        };
    }

    /** Runs a command to its end: {code, signal, stdout, stderr}, for emulators' own needs. */
    async run(argv, options = {}) {
        const out = [], err = [];
        const command = await this.spawn({ argv, onStdout: (bytes) => void out.push(bytes), onStderr: (bytes) => void err.push(bytes), ...options });
        const result = await command.done;
        return { ...result, stdout: Buffer.concat(out), stderr: Buffer.concat(err) };
    }

    async #feed(channel, source) {
        try {
            if (source instanceof Readable) {
                for await (const piece of source) await this.#link.data(channel, 0, Buffer.from(piece));
            } else {
                await this.#link.data(channel, 0, Buffer.from(source));
            }
            this.#link.end(channel, 0);
        } catch (failure) {
            this.#link.send({ event: 'broken', channel, message: failure.message });
        }
    }

    // ---- files: relative paths begin at home; errors have the system's code: ENOENT, EISDIR, ENOTDIR, EACCES, EEXIST...

    /** {stream, size, status}; of the file's bytes, or of `length` from `offset` */
    async readFile(name, { offset, length } = {}) {
        const channel = ++this.#number;
        let failure = null;
        let owed = 0;
        const repay = () => {
            this.#link.credit(channel, 0, owed);
            owed = 0;
        };
        const forget = () => this.#channels.delete(channel);
        const stream = new Readable({
            highWaterMark: 1 << 18,
            read: repay,
            destroy: (problem, callback) => {
                // The agent is let go on into the void: there is no way to call a read back.
                if (this.#channels.has(channel)) {
                    this.#channels.set(channel, { data: (_, bytes) => this.#link.credit(channel, 0, bytes.length), end: forget, gone: forget });
                    repay();
                }
                callback(problem);
            },
        });
        stream.on('error', () => {}); // whoever reads it hears of that; it may be nobody any more
        this.#channels.set(channel, {
            data: (_, bytes) => {
                owed += bytes.length;
                if (stream.push(bytes)) repay();
            },
            failed: (problem) => (failure = error(problem.code, problem.message)),
            end: () => {
                forget();
                if (failure) stream.destroy(failure);
                else stream.push(null);
            },
            gone: (problem) => stream.destroy(problem),
        });
        try {
            const { size, status } = await this.#ask('read', { channel, name, offset, length });
            return { stream, size, status };
        } catch (problem) {
            forget();
            throw problem;
        }
    }

    /** The bytes written. When the source breaks, the file stays as far as it came. */
    async writeFile(name, source, { mode, parents = false, exclusive = false, append = false } = {}) {
        const channel = ++this.#number;
        const answer = this.#ask('write', { channel, name, mode, parents, exclusive, append, input: true });
        // Should the file not open, nobody gives credit: the source must not wait for it.
        const feeding = this.#feed(channel, source);
        const { written } = await answer;
        await feeding;
        return written;
    }

    /** {type, size, mode, uid, gid, mtimeMs, target?} */
    stat(name, { follow = true } = {}) { return this.#ask('stat', { name, follow }); }
    /** the entries, sorted: as stat without following, and .name */
    async readdir(name) { return (await this.#ask('list', { name })).entries; }
    mkdir(name, { parents = false, mode } = {}) { return this.#ask('mkdir', { name, parents, mode }); }
    remove(name, { recursive = false } = {}) { return this.#ask('remove', { name, recursive }); }
    rename(name, to) { return this.#ask('rename', { name, to }); }
    chmod(name, mode) { return this.#ask('chmod', { name, mode }); }

    // ---- the agent

    #ask(operation, more = {}) {
        if (!this.#child) return Promise.reject(error('ESTOPPED', 'the box is not running'));
        const id = ++this.#number;
        return new Promise((resolve, reject) => {
            this.#answers.set(id, { resolve, reject });
            this.#link.send({ ...more, id, operation });
        });
    }

    #message({ id, event, channel, result, error: failure, ...more }) {
        if (event) {
            this.#channels.get(channel)?.[event]?.(more);
            return;
        }
        const waiting = this.#answers.get(id);
        this.#answers.delete(id);
        if (failure) waiting?.reject(error(failure.code, failure.message, { what: failure.what }));
        else waiting?.resolve(result);
    }
}

/**
 * A running box. `user`: "root" (root of its namespace, may write anywhere but the host's parts) or "user" (writes below its
 * home, /workspace, /vercel and the temporary folders); `name`, `uid`: of that user; `home`; `environment`: of every command;
 * `hostname`; `from`: a snapshot; `mounts`: folders of the machine, as {source, target, readOnly}.
 */
export async function createBox({ from, ...settings } = {}) {
    const box = new Box(settings);
    try {
        await box.lay(from);
        await box.start();
    } catch (failure) {
        await box.destroy();
        throw failure;
    }
    return box;
}

export async function deleteSnapshot(id) {
    const folder = snapshots.get(id);
    snapshots.delete(id);
    if (folder) {
        await copies.get(folder);
        await removeTree(folder);
    }
    return folder !== undefined;
}

export async function destroyAll() {
    await Promise.all([...boxes].map((box) => box.destroy()).concat(...copies.values()));
    if (shop) await removeTree(shop);
    shop = null;
    snapshots.clear();
}
