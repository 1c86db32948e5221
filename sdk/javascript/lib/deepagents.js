// A backend for deepagents, which recognises it by its shape (`id`, `execute`): nothing of deepagents is needed here.
import { isUtf8 } from 'node:buffer';
import { SandlotError } from './errors.js';
import { binaryType } from './media.js';
import { Sandbox } from './sandbox.js';
/**
 * @import * as Api from './deepagents.js'
 * @import { OpenOptions, Sandbox as Box } from './index.js'
 */

/** @type {Record<string, Api.FileError>} The four codes that the framework knows for single files, for those of ours. Others are no fate of a file, and are thrown. */
const fileErrors = {
    file_not_found: 'file_not_found',
    path_not_found: 'file_not_found',
    permission_denied: 'permission_denied',
    is_directory: 'is_directory',
    not_a_file: 'is_directory',
    invalid_path: 'invalid_path',
    not_a_directory: 'invalid_path',
};

/** @type {Record<string, string>} What the framework looks for in a message, where ours has other words. */
const phrases = { not_a_directory: 'not a directory', multiple_occurrences: 'multiple times' };

/** @type {(problem: SandlotError) => string} */
function explain({ code, message }) {
    const phrase = phrases[code];
    return phrase && !message.includes(phrase) ? `${message} (${phrase})` : message;
}

/**
 * What ANSWER makes; or { error }, for the model, who can mend it.
 * @template T
 * @param {() => Promise<T>} answer
 * @returns {Promise<T | { error: string }>}
 */
async function told(answer) {
    try {
        return await answer();
    } catch (problem) {
        if (!(problem instanceof SandlotError)) throw problem;
        return { error: explain(problem) };
    }
}

/** @type {(move: () => Promise<unknown>) => Promise<Api.FileError | null>} */
async function fileError(move) {
    try {
        await move();
        return null;
    } catch (problem) {
        if (!(problem instanceof SandlotError) || !fileErrors[problem.code]) throw problem;
        return fileErrors[problem.code];
    }
}

/** @type {(entry: { path: string, isDirectory: boolean }) => Api.FileInfo} */
const shown = ({ path, isDirectory }) => ({ path: isDirectory ? `${path}/` : path, is_dir: isDirectory });

/** @type {(at: Date) => { modified_at?: string }} Nothing of a time that the calendar does not have: a box can give its files any. */
const changed = (at) => (Number.isNaN(at.getTime()) ? {} : { modified_at: at.toISOString() });

/** @implements {Api.SandlotSandbox} */
export class SandlotSandbox {
    #box;
    #timeout;

    /** @param {Box} box @param {{ timeout?: number | null }} options */
    constructor(box, { timeout = 1800 } = {}) {
        this.#box = box;
        this.#timeout = timeout;
    }

    /** @param {OpenOptions & { timeout?: number | null }} options */
    static async open(options = {}) {
        return new SandlotSandbox(await Sandbox.open(options), options);
    }

    get id() {
        return this.#box.id;
    }

    get box() {
        return this.#box;
    }

    close() {
        return this.#box.close();
    }

    [Symbol.asyncDispose]() {
        return this.close();
    }

    /** @type {Api.SandlotSandbox['execute']} */
    async execute(command) {
        const answer = await told(() => this.#box.execute(command, { timeout: this.#timeout }));
        if ('error' in answer) return { output: `Error: ${answer.error}`, exitCode: null, truncated: false };
        return { output: answer.text, exitCode: answer.exitCode, truncated: answer.truncated };
    }

    /** @type {Api.SandlotSandbox['read']} */
    read(path, offset = 0, limit = 500) {
        return told(async () => {
            const page = await this.#box.read(path, { offset, limit });
            if (page.binary) return { content: new Uint8Array(page.content), mimeType: binaryType(path) };
            const { text: content, startLine, endLine, totalLines, nextOffset } = page;
            const lines = startLine > 0 && totalLines !== null ? { startLine, endLine, totalLines } : {};
            return { content, mimeType: 'text/plain', ...lines, ...(nextOffset !== null && nextOffset === endLine ? { nextOffset } : {}) };
        });
    }

    /** @type {Api.SandlotSandbox['readRaw']} */
    readRaw(path) {
        return told(async () => {
            const bytes = await this.#box.download(path);
            const isText = isUtf8(bytes) && !bytes.includes(0);
            const now = new Date().toISOString();
            const [content, mimeType] = isText ? [bytes.toString(), 'text/plain'] : [new Uint8Array(bytes), binaryType(path)];
            return { data: { content, mimeType, created_at: now, modified_at: now } };
        });
    }

    /** @type {Api.SandlotSandbox['write']} */
    write(path, content) {
        return told(async () => {
            await this.#box.write(path, content);
            return { path };
        });
    }

    /** @type {Api.SandlotSandbox['edit']} */
    edit(path, before, after, replaceAll = false) {
        return told(async () => ({ path, occurrences: await this.#box.edit(path, before, after, { replaceAll }) }));
    }

    /** @type {Api.SandlotSandbox['delete']} */
    delete(path) {
        return told(async () => {
            await this.#box.remove(path);
            return { path };
        });
    }

    /** @type {Api.SandlotSandbox['ls']} */
    ls(path) {
        return told(async () => {
            const entries = await this.#box.ls(path);
            return { files: entries.map((entry) => ({ ...shown(entry), size: entry.size, ...changed(entry.modifiedAt) })) };
        });
    }

    /** @type {Api.SandlotSandbox['glob']} */
    glob(pattern, path) {
        return told(async () => ({ files: (await this.#box.glob(pattern, path)).entries.map(shown) }));
    }

    /** @type {Api.SandlotSandbox['grep']} */
    grep(text, path, glob, maxCount) {
        return told(() => this.#box.grep(text, path ?? undefined, { glob: glob ?? undefined, maxCount: maxCount ?? 0 }));
    }

    /** @type {Api.SandlotSandbox['uploadFiles']} */
    uploadFiles(files) {
        /** @type {(file: [string, Uint8Array]) => Promise<{ path: string, error: Api.FileError | null }>} */
        const upload = async ([path, content]) => ({ path, error: await fileError(() => this.#box.upload(path, content)) });
        return Promise.all(files.map(upload));
    }

    /** @type {Api.SandlotSandbox['downloadFiles']} */
    downloadFiles(paths) {
        /** @type {(path: string) => Promise<{ path: string, content: Uint8Array | null, error: Api.FileError | null }>} */
        const download = async (path) => {
            /** @type {Uint8Array | null} */
            let content = null;
            const error = await fileError(async () => (content = new Uint8Array(await this.#box.download(path))));
            return { path, content, error };
        };
        return Promise.all(paths.map(download));
    }
}
