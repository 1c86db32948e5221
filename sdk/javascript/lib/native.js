// The route by the library: each call is a job, and the event loop watches its descriptor.
import fs from 'node:fs';
import { attempt, Call } from './job.js';
import { library } from './library.js';
import { copy, fieldsAt, fieldsOf, Memory, NULL, textAt } from './memory.js';
import * as shapes from './shapes.js';

const runtimes = new Map();
const open = new Set();

/* Of this process, by configuration; it stays until the process ends. */
function runtime(configFile) {
    const key = configFile ?? '';
    if (!runtimes.has(key)) {
        const memory = new Memory();
        const options = memory.struct(shapes.options, { config_file: memory.text(configFile) });
        runtimes.set(key, attempt((error) => library().open(options.address, error)));
        memory.release();
    }
    return runtimes.get(key);
}

const pairs = (values) => values && Object.entries(values).map(([name, value]) => `${name}=${value}`);
const milliseconds = (seconds) => (seconds === null ? -1 : Math.max(1, Math.round(seconds * 1000)));

/** A descriptor that a command reads CONTENT from. */
function inputOf(content) {
    const fd = library().memfd_create('sandlot', 1);
    fs.writeSync(fd, content, 0, content.length, 0);
    return fd;
}

process.on('exit', () => {
    for (const session of open) if (!session.busy) library().session_close(session.session, null);
});

export class NativeSession {
    busy = 0;

    static async open({ provider, sandboxId, snapshot, setup, scope, parameters, keep, network, allow, volumes, configFile, progress, signal }) {
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

    async close() {
        open.delete(this);
        await new Call().run((error) => library().submit_session_close(this.session, error));
    }

    async #run(call, start, finish, signal) {
        this.busy++;
        try {
            return await call.run(start, finish, signal);
        } finally {
            this.busy--;
        }
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
            return await this.#run(call, start, (job) => this.#result(job), signal);
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
        return this.#run(call, start, () => this.#page(page), signal);
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
        return this.#run(call, (error) => library().submit_write_file(this.session, request.address, error), undefined, signal);
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
        return this.#run(call, start, () => Number(count[0]), signal);
    }

    remove(path, { signal }) {
        const call = new Call();
        const request = call.memory.struct(shapes.remove, { path: call.memory.text(path) });
        return this.#run(call, (error) => library().submit_remove_file(this.session, request.address, error), undefined, signal);
    }

    #collect(call, shape, names, list, make) {
        const receive = (_context, item) => (list.push(make(...fieldsAt(shape, item, ...names))), true);
        return call.callback(library().each, receive, false);
    }

    ls(path, { signal }) {
        const call = new Call();
        const request = call.memory.struct(shapes.ls, { path: call.memory.text(path) });
        const entries = [];
        const make = (name, isDirectory, size, modified) => ({ path: textAt(name), isDirectory, size, modifiedAt: new Date(modified) });
        const each = this.#collect(call, shapes.entry, ['path', 'is_dir', 'bytes', 'modified_at_ms'], entries, make);
        const start = (error) => library().submit_list_directory(this.session, request.address, each, null, error);
        return this.#run(call, start, () => entries, signal);
    }

    glob(pattern, path, { directories = false, signal }) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.glob, { pattern: memory.text(pattern), path: memory.text(path), directories });
        const entries = [];
        const truncated = new Uint8Array(8);
        const make = (name, isDirectory) => ({ path: textAt(name), isDirectory });
        const each = this.#collect(call, shapes.entry, ['path', 'is_dir'], entries, make);
        const start = (error) => library().submit_find_files(this.session, request.address, each, null, memory.at(truncated), error);
        return this.#run(call, start, () => ({ entries, truncated: truncated[0] !== 0 }), signal);
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
        const matches = [];
        const truncated = new Uint8Array(8);
        const make = (name, line, found, length) => ({ path: textAt(name), line, text: copy(found, length).toString() });
        const each = this.#collect(call, shapes.match, ['path', 'line', 'text', 'text_length'], matches, make);
        const start = (error) => library().submit_search_files(this.session, request.address, each, null, memory.at(truncated), error);
        return this.#run(call, start, () => ({ matches, truncated: truncated[0] !== 0 }), signal);
    }

    upload(path, content, { signal }) {
        const call = new Call();
        const { memory } = call;
        const bytes = Buffer.from(content);
        const request = memory.struct(shapes.uploadBytes, { path: memory.text(path), content: memory.at(bytes), content_length: bytes.length });
        const start = (error) => library().submit_upload_from_memory(this.session, request.address, error);
        return this.#run(call, start, undefined, signal);
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
        return this.#run(call, start, finish, signal);
    }

    #transfer(submit, path, local, { recursive = false, signal }) {
        const call = new Call();
        const { memory } = call;
        const item = memory.struct(shapes.transferItem, { path: memory.text(path), local_path: memory.text(local), fd: -1 });
        const request = memory.struct(shapes.transfer, { items: item.address, count: 1, recursive });
        return this.#run(call, (error) => submit(this.session, request.address, error), undefined, signal);
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
