// The route by the library: each call is a job, and the event loop watches its descriptor.
import fs from 'node:fs';
import { SandlotError } from './errors.js';
import { attempt, Call, nothing } from './job.js';
import { library } from './library.js';
import { copy, fieldsAt, fieldsOf, Memory, NULL, takeText, textAt, wordAt } from './memory.js';
import { NativeChanges } from './native_changes.js';
import { NativeNetwork, NativePorts } from './native_network.js';
import { NativeProcesses } from './native_processes.js';
import { Page, Result } from './results.js';
import { runtime } from './runtime.js';
import { checkCommand, milliseconds, octets, pairs } from './words.js';
import * as shapes from './shapes.js';
/**
 * @import { OpenOptions, Provider, Sandbox, ToolAnswer } from './index.js'
 * @import { Start } from './job.js'
 * @import { StructOf } from './layout.js'
 * @typedef {{ close(): Promise<void>, closeNow(): void }} Closing
 * @typedef {{ recursive?: boolean, signal?: AbortSignal }} TransferOptions
 */

/** @type {Set<NativeSession>} */
const open = new Set();

/** @type {(content: Buffer) => number} A descriptor that a command reads CONTENT from. */
function inputOf(content) {
    const fd = library().memfd_create('sandlot', 1);
    fs.writeSync(fd, content, 0, content.length, 0);
    return fd;
}

process.on('exit', () => {
    for (const session of open) if (!session.busy) session.closeNow();
});

export class NativeSession {
    busy = 0;
    /** @type {Set<Closing>} */
    #forwards = new Set();
    #closed = false;
    processes = new NativeProcesses(this);
    network = new NativeNetwork(this);
    ports = new NativePorts(this);
    changes = new NativeChanges(this);

    /** @param {OpenOptions} options */
    static async open({ provider, sandboxId, snapshot, setup, scope, parameters, keep, network, allow, volumes, name, configFile, progress, setupOutput, signal }) {
        const call = new Call();
        const { memory } = call;
        const options = memory.struct(shapes.sessionOptions, {
            provider: memory.text(provider),
            sandbox_id: memory.text(sandboxId),
            snapshot_name: memory.text(snapshot),
            setup_file: memory.text(setup),
            scope: memory.text(scope),
            parameters: memory.texts(pairs(parameters)),
            keep,
            network: memory.text(network),
            allow: memory.texts(allow),
            volumes: memory.texts(volumes),
            name: memory.text(name),
            setup_output: call.sink(library().bytes, setupOutput),
            progress: progress
                ? call.callback(library().progress, (_context, what, done, total) => progress(wordAt(what), Number(done), Number(total)))
                : NULL,
        });
        const host = runtime(configFile);
        /** @type {Start} */
        const start = (error) => library().submit_session_open(host, options.address, error);
        return new NativeSession(await call.run(start, (job) => library().job_session(job), signal));
    }

    /** @param {any} session */
    constructor(session) {
        this.session = session;
        this.id = wordAt(library().session_id(session));
        this.provider = wordAt(library().session_provider(session));
        this.workingDir = wordAt(library().session_working_dir(session));
        open.add(this);
    }

    get canExecute() {
        return library().session_can_execute(this.open());
    }

    detach() {
        attempt((error) => library().session_detach(this.open(), error) + 1);
    }

    /** The session, for a call that does not wait. */
    open() {
        if (this.#closed) throw new SandlotError('usage', 'the sandbox is closed');
        return this.session;
    }

    /**
     * A forwarding, which ends before the session.
     * @template {Closing} F
     * @param {F} forward
     */
    keep(forward) {
        this.#forwards.add(forward);
        return forward;
    }

    /** @param {Closing} forward */
    forget(forward) {
        this.#forwards.delete(forward);
    }

    /** At the end of the process. */
    closeNow() {
        for (const forward of this.#forwards) forward.closeNow();
        library().session_close(this.session, null);
    }

    async close() {
        open.delete(this);
        this.#closed = true;
        await Promise.all([...this.#forwards].map((forward) => forward.close()));
        await new Call().run((error) => library().submit_session_close(this.session, error), nothing);
    }

    /**
     * @template T
     * @param {Call} call
     * @param {Start} start
     * @param {(job: any) => T} finish
     * @param {AbortSignal} [signal]
     */
    async run(call, start, finish, signal) {
        this.open();
        this.busy++;
        try {
            return await call.run(start, finish, signal);
        } finally {
            this.busy--;
        }
    }

    /** @type {Sandbox['terminal']} */
    terminal(input, output, { command, window, resized = -1, workingDir, environment, term, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        /** @type {(window: () => [number, number]) => (_context: any, ...places: any[]) => void} */
        const measure = (window) => (_context, ...places) => {
            const size = window();
            places.forEach((place, at) => library().memcpy(place, Uint16Array.of(size[at]), 2));
        };
        const request = memory.struct(shapes.terminal, {
            ...{ command: memory.text(command), working_dir: memory.text(workingDir), term: memory.text(term) },
            ...{ environment: memory.texts(pairs(environment)), input_fd: input, resized_fd: resized },
            window: window ? call.callback(library().window, measure(window)) : NULL,
            output: call.sink(library().output, output),
        });
        const code = new Int32Array(1);
        /** @type {Start} */
        const start = (error) => library().submit_run_terminal(this.session, request.address, memory.at(code), error);
        return this.run(call, start, () => (code[0] < 0 ? null : code[0]), signal);
    }

    /** @type {Sandbox['tool']} */
    tool(name, given, { maximumBytes = 0, output, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.toolCall, {
            ...{ name: memory.text(name), arguments: memory.text(JSON.stringify(given)), maximum_bytes: maximumBytes },
            output: call.sink(library().bytes, output),
        });
        const answer = memory.struct(shapes.toolAnswer);
        const finish = () => {
            const { is_error: isError, content, meta } = fieldsOf(answer);
            /** @type {ToolAnswer} */
            const told = { content: JSON.parse(wordAt(content)), meta: JSON.parse(textAt(meta) ?? '{}'), isError };
            library().tool_answer_clear(answer.address);
            return told;
        };
        return this.run(call, (error) => library().submit_tool(this.session, request.address, answer.address, error), finish, signal);
    }

    /** @type {Sandbox['execute']} */
    async execute(command, { timeout = 1800, workingDir, environment, input, output, outputLimit = 0, signal } = {}) {
        checkCommand(command, timeout);
        const call = new Call();
        const { memory } = call;
        const fd = input === undefined ? -1 : inputOf(octets(input));
        const request = memory.struct(shapes.execution, {
            command: memory.text(command),
            timeout_ms: milliseconds(timeout),
            working_dir: memory.text(workingDir),
            environment: memory.texts(pairs(environment)),
            has_input: fd >= 0,
            input_fd: fd,
            output_limit: outputLimit,
            output: call.sink(library().output, output),
        });
        /** @type {Start} */
        const start = (error) => library().submit_execute(this.session, request.address, error);
        try {
            return await this.run(call, start, (job) => this.#result(job), signal);
        } finally {
            if (fd >= 0) fs.closeSync(fd);
        }
    }

    /** @param {any} job */
    #result(job) {
        const memory = new Memory();
        const result = memory.struct(shapes.result);
        library().job_result(job, result.address);
        const told = fieldsOf(result);
        const output = copy(told.output, told.output_length);
        library().result_clear(result.address);
        const { has_exit_code: isKnown, exit_code: exitCode, timed_out: timedOut, truncated } = told;
        return new Result({ exitCode: isKnown ? exitCode : null, output, timedOut, truncated });
    }

    /** @type {Sandbox['read']} */
    read(path, { offset = 0, limit, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.read, { path: memory.text(path), offset, has_limit: limit !== undefined, limit });
        const page = memory.struct(shapes.page);
        /** @type {Start} */
        const start = (error) => library().submit_read_file(this.session, request.address, page.address, error);
        return this.run(call, start, () => this.#page(fieldsOf(page), page.address), signal);
    }

    /**
     * @param {StructOf<typeof shapes.page>} told
     * @param {bigint} address
     */
    #page(told, address) {
        const content = copy(told.content, told.content_length);
        library().page_clear(address);
        const { binary, truncated, start_line: startLine, end_line: endLine, total_lines: total, next_offset: next } = told;
        return new Page({ content, binary, truncated, startLine, endLine, totalLines: total < 0 ? null : total, nextOffset: next < 0 ? null : next });
    }

    /** @type {Sandbox['write']} */
    write(path, content, { signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const bytes = octets(content);
        const request = memory.struct(shapes.write, { path: memory.text(path), content: memory.at(bytes), content_length: bytes.length });
        return this.run(call, (error) => library().submit_write_file(this.session, request.address, error), nothing, signal);
    }

    /** @type {Sandbox['edit']} */
    edit(path, before, after, { replaceAll = false, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const [from, to] = [Buffer.from(before), Buffer.from(after)];
        const request = memory.struct(shapes.edit, {
            path: memory.text(path),
            old_string: memory.at(from),
            old_length: from.length,
            new_string: memory.at(to),
            new_length: to.length,
            replace_all: replaceAll,
        });
        const count = new BigUint64Array(1);
        /** @type {Start} */
        const start = (error) => library().submit_edit_file(this.session, request.address, memory.at(count), error);
        return this.run(call, start, () => Number(count[0]), signal);
    }

    /** @type {Sandbox['remove']} */
    remove(path, { signal } = {}) {
        const call = new Call();
        const request = call.memory.struct(shapes.remove, { path: call.memory.text(path) });
        return this.run(call, (error) => library().submit_remove_file(this.session, request.address, error), nothing, signal);
    }

    /** @type {Sandbox['ls']} */
    ls(path, { signal } = {}) {
        const call = new Call();
        const request = call.memory.struct(shapes.ls, { path: call.memory.text(path) });
        const { list: entries, each } = call.collect(shapes.entry, (told) => ({
            ...{ path: wordAt(told.path), isDirectory: told.is_dir },
            ...{ size: told.bytes, modifiedAt: new Date(told.modified_at_ms) },
        }));
        /** @type {Start} */
        const start = (error) => library().submit_list_directory(this.session, request.address, each, null, error);
        return this.run(call, start, () => entries, signal);
    }

    /** @type {Sandbox['glob']} */
    glob(pattern, path, { directories = false, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.glob, { pattern: memory.text(pattern), path: memory.text(path), directories });
        const truncated = new Uint8Array(8);
        const { list: entries, each } = call.collect(shapes.entry, (told) => ({ path: wordAt(told.path), isDirectory: told.is_dir }));
        /** @type {Start} */
        const start = (error) => library().submit_find_files(this.session, request.address, each, null, memory.at(truncated), error);
        return this.run(call, start, () => ({ entries, truncated: truncated[0] !== 0 }), signal);
    }

    /** @type {Sandbox['grep']} */
    grep(text, path, { glob, maxCount = 0, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const wanted = Buffer.from(text);
        const request = memory.struct(shapes.grep, {
            pattern: memory.at(wanted),
            pattern_length: wanted.length,
            path: memory.text(path),
            glob: memory.text(glob),
            max_count: maxCount,
        });
        const truncated = new Uint8Array(8);
        const { list: matches, each } = call.collect(shapes.match, (told) => ({
            ...{ path: wordAt(told.path), line: told.line },
            text: copy(told.text, told.text_length).toString(),
        }));
        /** @type {Start} */
        const start = (error) => library().submit_search_files(this.session, request.address, each, null, memory.at(truncated), error);
        return this.run(call, start, () => ({ matches, truncated: truncated[0] !== 0 }), signal);
    }

    /** @type {Sandbox['upload']} */
    upload(path, content, { signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const bytes = octets(content);
        const request = memory.struct(shapes.uploadBytes, { path: memory.text(path), content: memory.at(bytes), content_length: bytes.length });
        /** @type {Start} */
        const start = (error) => library().submit_upload_from_memory(this.session, request.address, error);
        return this.run(call, start, nothing, signal);
    }

    /** @type {Sandbox['download']} */
    download(path, { signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.downloadBytes, { path: memory.text(path) });
        const bytes = memory.struct(shapes.bytes);
        /** @type {Start} */
        const start = (error) => library().submit_download_to_memory(this.session, request.address, bytes.address, error);
        const finish = () => {
            const { content, length } = fieldsOf(bytes);
            const kept = copy(content, length);
            library().bytes_clear(bytes.address);
            return kept;
        };
        return this.run(call, start, finish, signal);
    }

    /** @type {(submit: any, path: string, local: string, options?: TransferOptions) => Promise<void>} */
    #transfer(submit, path, local, { recursive = false, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const item = memory.struct(shapes.transferItem, { path: memory.text(path), local_path: memory.text(local), fd: -1 });
        const request = memory.struct(shapes.transfer, { items: item.address, count: 1, recursive });
        return this.run(call, (error) => submit(this.session, request.address, error), nothing, signal);
    }

    /** @type {Sandbox['uploadFile']} */
    uploadFile(local, path, options) {
        return this.#transfer(library().submit_upload, path, local, options);
    }

    /** @type {Sandbox['downloadFile']} */
    downloadFile(path, local, options) {
        return this.#transfer(library().submit_download, path, local, options);
    }
}

/** @type {(configFile?: string) => Provider[]} The providers that there are. */
export function nativeProviders(configFile) {
    const memory = new Memory();
    /** @type {Provider[]} */
    const providers = [];
    const each = memory.callback(library().each, (_context, item) => {
        const { name, source, description, problem } = fieldsAt(shapes.listedProvider, item);
        providers.push({ name: wordAt(name), source: wordAt(source), description: textAt(description), problem: textAt(problem) });
        return true;
    });
    try {
        attempt((error) => library().list_providers(runtime(configFile), each, null, error) + 1);
    } finally {
        memory.release();
    }
    return providers;
}

/** @type {(configFile?: string) => string | null} What the configuration names as the provider to use; null: nothing. */
export function nativeDefault(configFile) {
    return textAt(library().default_provider(runtime(configFile)));
}

/** @param {boolean} execute The tools for agents, as a model takes them, with that which runs commands or without. */
export function nativeTools(execute) {
    return JSON.parse(takeText(library().tools(execute)));
}
