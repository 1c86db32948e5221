// The route by the library: each call is a job, and the event loop watches its descriptor.
import fs from 'node:fs';
import { SandlotError } from './errors.js';
import { attempt, Call } from './job.js';
import { library } from './library.js';
import { copy, fieldsAt, fieldsOf, Memory, NULL, takeText, textAt } from './memory.js';
import { NativeChanges } from './native_changes.js';
import { NativeNetwork, NativePorts } from './native_network.js';
import { NativeProcesses } from './native_processes.js';
import { runtime } from './runtime.js';
import { milliseconds, pairs } from './words.js';
import * as shapes from './shapes.js';

const open = new Set();

/** A descriptor that a command reads CONTENT from. */
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
    #forwards = new Set();
    #closed = false;
    processes = new NativeProcesses(this);
    network = new NativeNetwork(this);
    ports = new NativePorts(this);
    changes = new NativeChanges(this);

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
            setup_output: setupOutput
                ? call.callback(library().bytes, (_context, bytes, length) => setupOutput(copy(bytes, Number(length))))
                : NULL,
            progress: progress
                ? call.callback(library().progress, (_context, what, done, total) => progress(textAt(what), Number(done), Number(total)))
                : NULL,
        });
        const host = runtime(configFile);
        const start = (error) => library().submit_session_open(host, options.address, error);
        return new NativeSession(await call.run(start, (job) => library().job_session(job), signal));
    }

    constructor(session) {
        this.session = session;
        this.id = textAt(library().session_id(session));
        this.provider = textAt(library().session_provider(session));
        this.workingDir = textAt(library().session_working_dir(session));
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

    /** A forwarding, which ends before the session. */
    keep(forward) {
        this.#forwards.add(forward);
        return forward;
    }

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
        await new Call().run((error) => library().submit_session_close(this.session, error));
    }

    async run(call, start, finish, signal) {
        this.open();
        this.busy++;
        try {
            return await call.run(start, finish, signal);
        } finally {
            this.busy--;
        }
    }

    terminal(input, output, { command, window, resized = -1, workingDir, environment, term, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const measure = (_context, rows, columns) => {
            const size = window();
            [rows, columns].forEach((address, at) => library().memcpy(address, Uint16Array.of(size[at]), 2));
        };
        const request = memory.struct(shapes.terminal, {
            ...{ command: memory.text(command), working_dir: memory.text(workingDir), term: memory.text(term) },
            ...{ environment: memory.texts(pairs(environment)), input_fd: input, resized_fd: resized },
            window: window ? call.callback(library().window, measure) : NULL,
            output: call.callback(library().output, (_context, bytes, length) => (output(copy(bytes, Number(length))), true), false),
        });
        const code = new Int32Array(1);
        const start = (error) => library().submit_run_terminal(this.session, request.address, memory.at(code), error);
        return this.run(call, start, () => (code[0] < 0 ? null : code[0]), signal);
    }

    tool(name, given, { maximumBytes = 0, output, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.toolCall, {
            ...{ name: memory.text(name), arguments: memory.text(JSON.stringify(given)), maximum_bytes: maximumBytes },
            output: output ? call.callback(library().bytes, (_context, bytes, length) => output(copy(bytes, Number(length)))) : NULL,
        });
        const answer = memory.struct(shapes.toolAnswer);
        const finish = () => {
            const [isError, content, meta] = fieldsOf(answer, 'is_error', 'content', 'meta');
            const told = { content: JSON.parse(textAt(content)), meta: JSON.parse(textAt(meta) ?? '{}'), isError };
            library().tool_answer_clear(answer.address);
            return told;
        };
        return this.run(call, (error) => library().submit_tool(this.session, request.address, answer.address, error), finish, signal);
    }

    async execute(command, { timeout = 1800, workingDir, environment, input, output, outputLimit = 0, signal }) {
        const call = new Call();
        const { memory } = call;
        const fd = input === undefined ? -1 : inputOf(Buffer.from(input));
        const request = memory.struct(shapes.execution, {
            command: memory.text(command),
            timeout_ms: milliseconds(timeout),
            working_dir: memory.text(workingDir),
            environment: memory.texts(pairs(environment)),
            has_input: fd >= 0,
            input_fd: fd,
            output_limit: outputLimit,
            output: output ? call.callback(library().output, (_context, bytes, length) => (output(copy(bytes, Number(length))), true), false) : NULL,
        });
        const start = (error) => library().submit_execute(this.session, request.address, error);
        try {
            return await this.run(call, start, (job) => this.#result(job), signal);
        } finally {
            if (fd >= 0) fs.closeSync(fd);
        }
    }

    #result(job) {
        const memory = new Memory();
        const result = memory.struct(shapes.result);
        library().job_result(job, result.address);
        const names = ['has_exit_code', 'exit_code', 'timed_out', 'truncated', 'output', 'output_length'];
        const [known, exitCode, timedOut, truncated, output, length] = fieldsOf(result, ...names);
        const kept = copy(output, length);
        library().result_clear(result.address);
        return { exitCode: known ? exitCode : null, output: kept, timedOut, truncated };
    }

    read(path, { offset = 0, limit, signal }) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.read, { path: memory.text(path), offset, has_limit: limit !== undefined, limit });
        const page = memory.struct(shapes.page);
        const start = (error) => library().submit_read_file(this.session, request.address, page.address, error);
        return this.run(call, start, () => this.#page(page), signal);
    }

    #page(page) {
        const names = ['content', 'content_length', 'binary', 'truncated', 'start_line', 'end_line', 'total_lines', 'next_offset'];
        const [content, length, binary, truncated, startLine, endLine, total, next] = fieldsOf(page, ...names);
        const kept = copy(content, length);
        library().page_clear(page.address);
        const [totalLines, nextOffset] = [total, next].map((number) => (number < 0 ? null : number));
        return { content: kept, binary, truncated, startLine, endLine, totalLines, nextOffset };
    }

    write(path, content, { signal }) {
        const call = new Call();
        const { memory } = call;
        const bytes = Buffer.from(content);
        const request = memory.struct(shapes.write, { path: memory.text(path), content: memory.at(bytes), content_length: bytes.length });
        return this.run(call, (error) => library().submit_write_file(this.session, request.address, error), undefined, signal);
    }

    edit(path, before, after, { replaceAll = false, signal }) {
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
        const start = (error) => library().submit_edit_file(this.session, request.address, memory.at(count), error);
        return this.run(call, start, () => Number(count[0]), signal);
    }

    remove(path, { signal }) {
        const call = new Call();
        const request = call.memory.struct(shapes.remove, { path: call.memory.text(path) });
        return this.run(call, (error) => library().submit_remove_file(this.session, request.address, error), undefined, signal);
    }

    ls(path, { signal }) {
        const call = new Call();
        const request = call.memory.struct(shapes.ls, { path: call.memory.text(path) });
        const make = (name, isDirectory, size, modified) => ({ path: textAt(name), isDirectory, size, modifiedAt: new Date(modified) });
        const { list: entries, each } = call.collect(shapes.entry, ['path', 'is_dir', 'bytes', 'modified_at_ms'], make);
        const start = (error) => library().submit_list_directory(this.session, request.address, each, null, error);
        return this.run(call, start, () => entries, signal);
    }

    glob(pattern, path, { directories = false, signal }) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.glob, { pattern: memory.text(pattern), path: memory.text(path), directories });
        const truncated = new Uint8Array(8);
        const make = (name, isDirectory) => ({ path: textAt(name), isDirectory });
        const { list: entries, each } = call.collect(shapes.entry, ['path', 'is_dir'], make);
        const start = (error) => library().submit_find_files(this.session, request.address, each, null, memory.at(truncated), error);
        return this.run(call, start, () => ({ entries, truncated: truncated[0] !== 0 }), signal);
    }

    grep(text, path, { glob, maxCount = 0, signal }) {
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
        const make = (name, line, found, length) => ({ path: textAt(name), line, text: copy(found, length).toString() });
        const { list: matches, each } = call.collect(shapes.match, ['path', 'line', 'text', 'text_length'], make);
        const start = (error) => library().submit_search_files(this.session, request.address, each, null, memory.at(truncated), error);
        return this.run(call, start, () => ({ matches, truncated: truncated[0] !== 0 }), signal);
    }

    upload(path, content, { signal }) {
        const call = new Call();
        const { memory } = call;
        const bytes = Buffer.from(content);
        const request = memory.struct(shapes.uploadBytes, { path: memory.text(path), content: memory.at(bytes), content_length: bytes.length });
        const start = (error) => library().submit_upload_from_memory(this.session, request.address, error);
        return this.run(call, start, undefined, signal);
    }

    download(path, { signal }) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.downloadBytes, { path: memory.text(path) });
        const bytes = memory.struct(shapes.bytes);
        const start = (error) => library().submit_download_to_memory(this.session, request.address, bytes.address, error);
        const finish = () => {
            const kept = copy(...fieldsOf(bytes, 'content', 'length'));
            library().bytes_clear(bytes.address);
            return kept;
        };
        return this.run(call, start, finish, signal);
    }

    #transfer(submit, path, local, { recursive = false, signal }) {
        const call = new Call();
        const { memory } = call;
        const item = memory.struct(shapes.transferItem, { path: memory.text(path), local_path: memory.text(local), fd: -1 });
        const request = memory.struct(shapes.transfer, { items: item.address, count: 1, recursive });
        return this.run(call, (error) => submit(this.session, request.address, error), undefined, signal);
    }

    uploadFile(local, path, options) {
        return this.#transfer(library().submit_upload, path, local, options);
    }

    downloadFile(path, local, options) {
        return this.#transfer(library().submit_download, path, local, options);
    }
}

/** The providers that there are. */
export function nativeProviders(configFile) {
    const memory = new Memory();
    const providers = [];
    const names = ['name', 'source', 'description', 'problem'];
    const each = memory.callback(library().each, (_context, item) => {
        const [name, source, description, problem] = fieldsAt(shapes.listedProvider, item, ...names).map(textAt);
        providers.push({ name, source, description, problem });
        return true;
    });
    try {
        attempt((error) => library().list_providers(runtime(configFile), each, null, error) + 1);
    } finally {
        memory.release();
    }
    return providers;
}

/** What the configuration names as the provider to use; null: nothing. */
export function nativeDefault(configFile) {
    return textAt(library().default_provider(runtime(configFile)));
}

/** The tools for agents, as a model takes them. */
export function nativeTools(execute) {
    return JSON.parse(takeText([library().tools(execute)]));
}
