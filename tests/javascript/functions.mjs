// Every function of sandlot.h and its counterpart here, in the library's own binding and in the types: one that is new there fails until it
// has a line. functions.mjs HEADER TYPES prints a line for run.sh.
import fs from 'node:fs';
import * as sandlot from 'sandlot';

const held = []; // something that is done inside of every call, or, of jobs and cancelling, by the event loop and `signal`
const box = {
    execute: ['execute'], read_file: ['read'], write_file: ['write'], edit_file: ['edit'], remove_file: ['remove'], list_directory: ['ls'],
    find_files: ['glob'], search_files: ['grep'], upload: ['uploadFile'], download: ['downloadFile'], upload_from_memory: ['upload'],
    download_to_memory: ['download'], run_terminal: ['terminal'], session_open: ['open'], session_close: ['close'],
};
const groups = {
    start_process: ['Processes', 'start'], list_processes: ['Processes', 'list'], follow_process: ['Processes', 'follow', 'log', 'wait'],
    signal_process: ['Processes', 'signal'], write_process: ['Processes', 'write'], import: ['Changes', 'importFolder'], list_changes: ['Changes', 'list'],
    export_changes: ['Changes', 'export'], apply_changes: ['Changes', 'apply'], show_network: ['Network', 'show'], change_network: ['Network', 'change'],
    read_network_log: ['Network', 'log'], port_url: ['Ports', 'url'], list: ['Sandboxes', 'list'], delete: ['Sandboxes', 'delete'],
    pause: ['Sandboxes', 'pause'], resume: ['Sandboxes', 'resume'], snapshot: ['Sandboxes', 'snapshot'],
    snapshot_with_base: ['Sandboxes', 'snapshot'], list_snapshots: ['Sandboxes', 'snapshots'],
    delete_snapshot: ['Sandboxes', 'deleteSnapshot'], fork: ['Sandboxes', 'fork'],
    list_volumes: ['Sandboxes', 'volumes'], delete_volume: ['Sandboxes', 'deleteVolume'], collect_garbage: ['Sandboxes', 'collectGarbage'],
};
const alone = {
    call_tool: ['Sandbox', 'tool'], submit_tool: ['Sandbox', 'tool'], can_change_network: ['Network', 'canChange'], has_network_log: ['Network', 'hasLog'],
    forward_open: ['Ports', 'forward'], forward_port: ['Forward', 'port'], forward_close: ['Forward', 'close'], session_id: ['Sandbox', 'id'],
    session_provider: ['Sandbox', 'provider'], session_working_dir: ['Sandbox', 'workingDir'], session_detach: ['Sandbox', 'detach'],
    session_can_execute: ['Sandbox', 'canExecute'], tools: ['', 'tools'], list_providers: ['', 'listProviders'], default_provider: ['', 'defaultProvider'],
    code_name: ['', 'SandlotError'],
    version: held, open: held, close: held, error_clear: held, result_clear: held, process_clear: held, page_clear: held, bytes_clear: held,
    tool_answer_clear: held, port_url_clear: held, cancellation_new: held, cancel: held, cancellation_free: held, job_descriptor: held,
    job_notify: held, job_cancel: held, job_wait: held, job_session: held, job_result: held, job_free: held,
    forward_descriptor: held, // a connection tells when the sandbox has gone
};

const [header, types] = process.argv.slice(2).map((file) => fs.readFileSync(file, 'utf8'));
const declared = new Set([...header.matchAll(/^SANDLOT_API[^;(]*?\bsandlot_(\w+)\(/gm)].map((found) => found[1]));
const known = new Map(Object.entries(alone));
for (const [name, words] of Object.entries(box)) for (const form of ['', 'submit_']) known.set(form + name, ['Sandbox', ...words]);
for (const [name, words] of Object.entries(groups)) for (const form of ['', 'submit_']) known.set(form + name, words);

function missing([kind, ...names]) {
    if (!kind) return names.filter((name) => !(name in sandlot));
    const body = new RegExp(`^export (?:interface|declare class) ${kind} \\{\n(.*?)^\\}`, 'ms').exec(types)?.[1] ?? '';
    return names.filter((name) => !new RegExp(`^ {4}(?:readonly |static )?${name}[(:]`, 'm').test(body)).map((name) => `${kind}.${name}`);
}

const without = [...declared].filter((name) => !known.has(name));
const gone = [...known.keys()].filter((name) => !declared.has(name));
const absent = [...known.values()].filter((words) => words.length).flatMap(missing);
const good = declared.size > 90 && !without.length && !gone.length && !absent.length;
console.log(good ? 'ok' : 'not ok', 'every function of sandlot.h has its counterpart in JavaScript');
if (!good) console.log(`    without: ${without}; not in sandlot.h: ${gone}; not here: ${absent}`);
process.exitCode = good ? 0 : 1;
