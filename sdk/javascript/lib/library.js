// The functions of libsandlot.so by koffi, which not every program has installed: then there is no library here.
import { createRequire } from 'node:module';
import path from 'node:path';
import { codeOf } from './errors.js';
/** @typedef {Record<string, any>} Library  what C has, for which nobody has types */

const pointers = [
    'submit_session_open(sandlot, options, error)',
    'submit_session_close(session, error)',
    'submit_execute(session, request, error)',
    'submit_read_file(session, request, page, error)',
    'submit_write_file(session, request, error)',
    'submit_edit_file(session, request, occurrences, error)',
    'submit_remove_file(session, request, error)',
    'submit_list_directory(session, request, each, context, error)',
    'submit_find_files(session, request, each, context, truncated, error)',
    'submit_search_files(session, request, each, context, truncated, error)',
    'submit_upload(session, request, error)',
    'submit_download(session, request, error)',
    'submit_upload_from_memory(session, request, error)',
    'submit_download_to_memory(session, request, bytes, error)',
    'submit_start_process(session, request, id, error)',
    'submit_list_processes(session, each, context, error)',
    'submit_follow_process(session, request, next, process, error)',
    'submit_signal_process(session, request, error)',
    'submit_write_process(session, id, bytes, length: size_t, close: bool, taken, error)',
    'submit_run_terminal(session, request, exit_code, error)',
    'submit_tool(session, call, answer, error)',
    'submit_import(session, folder, exclude, error)',
    'submit_list_changes(session, request, each, context, error)',
    'submit_export_changes(session, request, format: int, fd: int, error)',
    'submit_apply_changes(session, request, each, context, error)',
    'submit_show_network(session, tell, context, error)',
    'submit_change_network(session, change, error)',
    'submit_read_network_log(session, after: uint64_t, each, context, error)',
    'submit_port_url(session, port: uint16_t, ttl_ms: int64_t, url, error)',
    'submit_list(sandlot, target, each, context, error)',
    'submit_delete(sandlot, target, id, error)',
    'submit_pause(sandlot, target, id, error)',
    'submit_resume(sandlot, target, id, error)',
    'submit_snapshot(sandlot, target, id, name, replace: bool, use, error)',
    'submit_snapshot_with_base(sandlot, target, id, name, replace: bool, use, error)',
    'submit_list_snapshots(sandlot, target, each, context, error)',
    'submit_delete_snapshot(sandlot, target, name, error)',
    'submit_list_volumes(sandlot, target, each, context, error)',
    'submit_delete_volume(sandlot, target, name, error)',
    'submit_fork(sandlot, target, id, new_id, error)',
    'submit_collect_garbage(sandlot, each, context, error)',
    'forward_open(session, request, error)',
    'tools(execute: bool)',
    'default_provider(sandlot)',
    'open(options, error)',
    'job_session(job)',
];
const texts = ['session_id', 'session_provider', 'session_working_dir'];
const clearing = [
    ...['error_clear', 'result_clear', 'page_clear', 'bytes_clear', 'process_clear', 'tool_answer_clear', 'port_url_clear'],
    ...['job_cancel', 'job_free', 'forward_close'],
];
const asking = ['session_can_execute', 'can_change_network', 'has_network_log'];

/**
 * A parameter is a pointer where no other type is said.
 * @type {(library: Library, signature: string) => [string, any]}
 */
function pointerFunction(library, signature) {
    const [name, parameters] = signature.slice(0, -1).split('(');
    const types = parameters.split(', ').map((parameter) => parameter.split(': ')[1] ?? 'void *');
    return [name, library.func(`sandlot_${name}`, 'void *', types)];
}

/** @type {() => Library | null} Where koffi may be: beside this package, or, where that is a link to a folder elsewhere, in the program's own packages. */
function loadKoffi() {
    for (const from of [import.meta.url, path.join(process.cwd(), 'package.json'), process.argv[1] ?? import.meta.url]) {
        try {
            return createRequire(from)('koffi');
        } catch (problem) {
            if (codeOf(problem) !== 'MODULE_NOT_FOUND') throw problem;
        }
    }
    return null;
}

/** @type {(koffi: Library, library: Library) => Library} */
function describe(koffi, library) {
    /** @type {Library} */
    const functions = Object.fromEntries(pointers.map((signature) => pointerFunction(library, signature)));
    for (const name of texts) functions[name] = library.func(`sandlot_${name}`, 'void *', ['void *']);
    for (const name of clearing) functions[name] = library.func(`sandlot_${name}`, 'void', ['void *']);
    for (const name of asking) functions[name] = library.func(`sandlot_${name}`, 'bool', ['void *']);
    const c = koffi.load(null);
    /** @type {(result: string, ...parameters: string[]) => unknown} */
    const callback = (result, ...parameters) => koffi.pointer(koffi.proto(result, parameters)); // without a name, which two copies of this package would both claim
    return {
        ...functions,
        version: library.func('sandlot_version', 'str', []),
        code_name: library.func('sandlot_code_name', 'str', ['int']),
        job_descriptor: library.func('sandlot_job_descriptor', 'int', ['void *']),
        job_wait: library.func('sandlot_job_wait', 'int', ['void *', 'int', 'void *']),
        job_result: library.func('sandlot_job_result', 'int', ['void *', 'void *']),
        session_close: library.func('sandlot_session_close', 'int', ['void *', 'void *']),
        session_detach: library.func('sandlot_session_detach', 'int', ['void *', 'void *']),
        forward_port: library.func('sandlot_forward_port', 'uint16_t', ['void *']),
        list_providers: library.func('sandlot_list_providers', 'int', ['void *', 'void *', 'void *', 'void *']),
        koffi,
        output: callback('bool', 'void *', 'void *', 'size_t'),
        each: callback('bool', 'void *', 'void *'),
        bytes: callback('void', 'void *', 'void *', 'size_t'),
        log: callback('bool', 'void *', 'uint64_t', 'void *', 'size_t'),
        applied: callback('bool', 'void *', 'void *', 'void *'),
        tell: callback('void', 'void *', 'void *'),
        window: callback('void', 'void *', 'void *', 'void *'),
        leftover: callback('void', 'void *', 'void *', 'void *', 'void *'),
        progress: callback('void', 'void *', 'void *', 'uint64_t', 'uint64_t'),
        free: c.func('void free(void *memory)'),
        memcpy: c.func('void *memcpy(void *to, void *from, size_t length)'),
        strlen: c.func('size_t strlen(void *text)'),
        memfd_create: c.func('int memfd_create(str name, unsigned int flags)'),
        epoll_create1: c.func('int epoll_create1(int flags)'),
        epoll_ctl: c.func('int epoll_ctl(int epoll, int operation, int descriptor, void *event)'),
        epoll_wait: c.func('int epoll_wait(int epoll, void *events, int most, int timeout)'),
    };
}

/** @type {() => { library: Library, missing?: undefined } | { missing: string }} */
function load() {
    const koffi = loadKoffi();
    if (!koffi) return { missing: 'the package koffi is not installed: npm install koffi' };
    const name = process.env.SANDLOT_LIBRARY || 'libsandlot.so.0';
    try {
        return { library: describe(koffi, koffi.load(name)) };
    } catch (problem) {
        return { missing: `${name} cannot be used (${problem instanceof Error ? problem.message : problem}); install Sandlot, or set SANDLOT_LIBRARY to where it is` };
    }
}

/** @type {ReturnType<typeof load> | undefined} */
let loaded;

/** Why there is no library; null where there is one. */
export function whyNot() {
    loaded ??= load();
    return loaded.missing ?? null;
}

/** The library, where whyNot says nothing. */
export function library() {
    const { library } = /** @type {{ library: Library }} */ (loaded);
    return library;
}
