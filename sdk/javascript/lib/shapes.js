// The structs of sandlot.h that are used, field by field.
import { layout } from './layout.js';

export const options = layout({ config_file: 'pointer', no_environment_files: 'boolean', message: 'pointer', message_context: 'pointer' });
export const sessionOptions = layout({
    provider: 'pointer',
    sandbox_id: 'pointer',
    snapshot_name: 'pointer',
    setup_file: 'pointer',
    scope: 'pointer',
    parameters: 'pointer',
    keep: 'boolean',
    cancellation: 'pointer',
    progress: 'pointer',
    setup_output: 'pointer',
    context: 'pointer',
    network: 'pointer',
    allow: 'pointer',
    name: 'pointer',
    volumes: 'pointer',
});
export const execution = layout({
    command: 'pointer',
    timeout_ms: 'long',
    working_dir: 'pointer',
    environment: 'pointer',
    has_input: 'boolean',
    input_fd: 'int',
    output_limit: 'long',
    output: 'pointer',
    context: 'pointer',
    cancellation: 'pointer',
});
export const result = layout({
    has_exit_code: 'boolean',
    exit_code: 'int',
    timed_out: 'boolean',
    truncated: 'boolean',
    output: 'pointer',
    output_length: 'long',
    output_total: 'long',
});
export const read = layout({ path: 'pointer', offset: 'long', has_limit: 'boolean', limit: 'long', cancellation: 'pointer' });
export const page = layout({
    content: 'pointer',
    content_length: 'long',
    binary: 'boolean',
    empty: 'boolean',
    no_lines_requested: 'boolean',
    truncated: 'boolean',
    lossy: 'boolean',
    start_line: 'long',
    end_line: 'long',
    total_lines: 'long',
    next_offset: 'long',
    line_truncated: 'long',
});
export const write = layout({ path: 'pointer', content: 'pointer', content_length: 'long', cancellation: 'pointer' });
export const edit = layout({
    path: 'pointer',
    old_string: 'pointer',
    old_length: 'long',
    new_string: 'pointer',
    new_length: 'long',
    replace_all: 'boolean',
    cancellation: 'pointer',
});
export const ls = layout({ path: 'pointer', cancellation: 'pointer' });
export const remove = ls;
export const glob = layout({ pattern: 'pointer', path: 'pointer', directories: 'boolean', cancellation: 'pointer' });
export const grep = layout({
    pattern: 'pointer',
    pattern_length: 'long',
    path: 'pointer',
    glob: 'pointer',
    max_count: 'long',
    cancellation: 'pointer',
});
export const entry = layout({ path: 'pointer', is_dir: 'boolean', is_symlink: 'boolean', bytes: 'long', modified_at_ms: 'long' });
export const match = layout({ path: 'pointer', line: 'long', text: 'pointer', text_length: 'long' });
export const transferItem = layout({ path: 'pointer', local_path: 'pointer', fd: 'int', mode: 'int' });
export const transfer = layout({
    items: 'pointer',
    count: 'long',
    recursive: 'boolean',
    done: 'pointer',
    progress: 'pointer',
    context: 'pointer',
    cancellation: 'pointer',
    max_bytes: 'long',
});
export const uploadBytes = layout({ path: 'pointer', content: 'pointer', content_length: 'long', mode: 'int', cancellation: 'pointer' });
export const downloadBytes = layout({ path: 'pointer', max_bytes: 'long', cancellation: 'pointer' });
export const bytes = layout({ content: 'pointer', length: 'long' });
export const listedProvider = layout({
    name: 'pointer',
    source: 'pointer',
    description: 'pointer',
    working_dir: 'pointer',
    package: 'pointer',
    capabilities: 'pointer',
    problem: 'pointer',
    supports_sandbox_id: 'boolean',
    supports_snapshot_name: 'boolean',
});
export const start = layout({
    command: 'pointer',
    working_dir: 'pointer',
    environment: 'pointer',
    timeout_ms: 'long',
    log_bytes: 'long',
    has_input: 'boolean',
    separate_errors: 'boolean',
    cancellation: 'pointer',
});
export const process = layout({
    id: 'name',
    state: 'int',
    has_exit_code: 'boolean',
    timed_out: 'boolean',
    input_open: 'boolean',
    separate_errors: 'boolean',
    exit_code: 'int',
    started_at_ms: 'long',
    ended_at_ms: 'long',
    output_first: 'long',
    output_total: 'long',
    errors_first: 'long',
    errors_total: 'long',
    command: 'pointer',
});
export const follow = layout({
    id: 'pointer',
    from: 'long',
    most: 'long',
    wait_ms: 'long',
    errors: 'boolean',
    first_news: 'boolean',
    output: 'pointer',
    context: 'pointer',
    cancellation: 'pointer',
});
export const signal = layout({
    id: 'pointer',
    name: 'pointer',
    grace_ms: 'long',
    cancellation: 'pointer',
});
export const terminal = layout({
    command: 'pointer',
    working_dir: 'pointer',
    environment: 'pointer',
    term: 'pointer',
    input_fd: 'int',
    resized_fd: 'int',
    window: 'pointer',
    output: 'pointer',
    context: 'pointer',
    cancellation: 'pointer',
});
export const toolCall = layout({
    name: 'pointer',
    arguments: 'pointer',
    maximum_bytes: 'long',
    output: 'pointer',
    context: 'pointer',
    cancellation: 'pointer',
});
export const toolAnswer = layout({
    is_error: 'boolean',
    content: 'pointer',
    meta: 'pointer',
});
export const change = layout({
    path: 'pointer',
    type: 'pointer',
    kind: 'int',
    old_mode: 'int',
    new_mode: 'int',
    old_bytes: 'long',
    new_bytes: 'long',
    link_target: 'pointer',
    risk: 'pointer',
    binary: 'boolean',
    conflict: 'boolean',
});
export const changesRequest = layout({
    paths: 'pointer',
    force: 'pointer',
    folder: 'pointer',
    allow_risky: 'boolean',
    dry_run: 'boolean',
    cancellation: 'pointer',
});
export const networkState = layout({
    mode: 'pointer',
    allow: 'pointer',
    credential_hosts: 'pointer',
    credential_headers: 'pointer',
    source: 'pointer',
    note: 'pointer',
    broken: 'boolean',
});
export const networkChange = layout({
    mode: 'pointer',
    allow: 'pointer',
    deny: 'pointer',
    cancellation: 'pointer',
});
export const networkEvent = layout({
    number: 'long',
    at_ms: 'long',
    allowed: 'boolean',
    port: 'short',
    host: 'pointer',
    rule: 'pointer',
    reason: 'pointer',
    bytes_in: 'long',
    bytes_out: 'long',
    duration_ms: 'long',
});
export const forward = layout({
    port: 'short',
    local_port: 'short',
    address: 'pointer',
    connection: 'pointer',
    context: 'pointer',
});
export const portUrl = layout({
    url: 'pointer',
    header: 'pointer',
    expires_at_ms: 'long',
    is_public: 'boolean',
});
export const target = layout({
    provider: 'pointer',
    parameters: 'pointer',
    cancellation: 'pointer',
});
export const volumeState = layout({
    name: 'pointer',
    has_bytes: 'boolean',
    bytes: 'long',
    limit_bytes: 'long',
    writers: 'int',
    readers: 'int',
    used_at_ms: 'long',
});
export const listedSandbox = layout({
    id: 'pointer',
    provider: 'pointer',
    state: 'pointer',
    created_at_ms: 'long',
    mine: 'boolean',
});
