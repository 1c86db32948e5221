// The program for files that is in every sandbox: what it is asked is one argument of JSON, what it cannot do it says on its
// standard error in JSON. Here it is no program but a process in name only.

import { PassThrough } from 'node:stream';

export const FS_TOOLS = '/__modal/.bin/modal-sandbox-fs-tools';
const READ_MAXIMUM = 5e9;
const KINDS = { ENOENT: 'NotFound', EISDIR: 'IsDirectory', ENOTDIR: 'NotDirectory', EACCES: 'PermissionDenied', EPERM: 'PermissionDenied', EEXIST: 'PathAlreadyExists', ENOTEMPTY: 'DirectoryNotEmpty' };

const entry = (path, { type, size, mode, uid, gid, mtimeMs, target }) => ({
    name: path.split('/').pop(), path, type, size, mode: mode & 0o7777, permissions: (mode & 0o7777).toString(8).padStart(4, '0'), owner: uid === 0 ? 'root' : String(uid),
    group: gid === 0 ? 'root' : String(gid), modified_time: Math.floor((mtimeMs ?? 0) / 1000), ...(target ? { symlink_target: target } : {}),
});

const operations = {
    WriteFile: async (box, { path }, input) => box.writeFile(path, input, { parents: true }),
    ReadFile: async (box, { path }, _, out) => {
        const { stream, size } = await box.readFile(path);
        if (size > READ_MAXIMUM) throw Object.assign(new Error('too large'), { kind: 'FileTooLarge' });
        for await (const piece of stream) out(piece);
    },
    ListFiles: async (box, { path }, _, out) => {
        const names = (await box.readdir(path)).map((one) => one.name ?? one).sort();
        const entries = await Promise.all(names.map(async (name) => entry(`${path.replace(/\/$/, '')}/${name}`, await box.stat(`${path}/${name}`, { follow: false }))));
        out(Buffer.from(JSON.stringify(entries)));
    },
    Stat: async (box, { path }, _, out) => out(Buffer.from(JSON.stringify(entry(path, await box.stat(path, { follow: false }))))),
    MakeDirectory: async (box, { path, parents }) => box.mkdir(path, { parents }),
    Remove: async (box, { path, recursive }) => box.remove(path, { recursive }),
};

export function runFsTool(box, words, { onStdout, onStderr }) {
    const input = new PassThrough();
    const work = async () => {
        try {
            const [[name, settings]] = Object.entries(JSON.parse(words[0]));
            if (!settings.path?.startsWith('/')) throw Object.assign(new Error('the path is not absolute'), { kind: 'InvalidPath' });
            await operations[name](box, settings, input, onStdout);
            return { code: 0 };
        } catch (error) {
            input.resume();
            onStderr(Buffer.from(JSON.stringify({ error_kind: error.kind ?? KINDS[error.code] ?? 'Io', message: error.message, detail: '' })));
            return { code: 1 };
        }
    };
    const done = work();
    return { done, closed: done, kill: () => input.destroy(), closeInput: () => input.end(),
        write: (bytes) => (input.write(bytes) ? undefined : new Promise((resolve) => input.once('drain', resolve))) };
}
