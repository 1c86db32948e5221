// The tools of a session. Commands run on a pseudo-terminal, which is what damages their output; what they leave behind is
// killed when the call ends. File tools know one folder only.

import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { failure, isBoolean, isText, listOf, oneOf, readBody, shaped } from './errors.mjs';
import { HOME } from './sessions.mjs';
import { event, exception } from './stream.mjs';

const AT_ONCE = Number(process.env.EMULATOR_AT_ONCE ?? 10); // calls of one session
const LONGEST_CALL_MS = Number(process.env.EMULATOR_CALL_MS ?? 15 * 60 * 1000);
const LONGEST_COMMAND = 128 * 1024; // one that is longer is never heard of again
const INITIAL = process.env.EMULATOR_INITIAL === '1'; // an event that nobody asked for comes first
const EXCEPTIONS = (process.env.EMULATOR_EXCEPTIONS ?? '').split(',').filter(Boolean); // of every other call, one after the other
const PARTS = Number(process.env.EMULATOR_PARTS ?? 1); // events that an output is spread over

const isBase64 = (value) => isText(value) && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value);
const ARGUMENTS = { command: isText, paths: listOf(isText), content: listOf(shaped({ path: isText, text: isText, blob: isBase64 })), directoryPath: isText,
    path: isText, taskId: isText, code: isText, language: oneOf('python', 'javascript', 'typescript'), clearContext: isBoolean,
    runtime: oneOf('python', 'nodejs', 'deno') };

const text = (words) => ({ type: 'text', text: words });
const done = (words) => ({ content: [text(words)], isError: false });
const refused = (words) => ({ content: [text(words)], isError: true });

// ---- commands

/** Ends everything that carries the mark of a call. */
async function sweep(box, mark) {
    const script = 'for f in $(grep -lxz "$1" /proc/[0-9]*/environ 2>/dev/null); do f=${f#/proc/}; kill -9 "${f%%/*}" 2>/dev/null; done; :';
    await box.run(['sh', '-c', script, 'sh', `GENESIS_CALL=${mark}`]).catch(() => {});
}

/** Runs a command on a terminal; {kill, done}, done with {output, code}. */
async function onTerminal(box, command, mark) {
    const pieces = [];
    const begun = Date.now();
    const running = await box.spawn({ argv: ['script', '-qec', command, '/dev/null'], cwd: HOME, merged: true,
        env: { SHELL: '/bin/sh', TERM: 'xterm-256color', GENESIS_CALL: mark }, onStdout: (bytes) => void pieces.push(bytes) });
    const end = async () => {
        const { code, signal } = await running.done;
        return { output: Buffer.concat(pieces).toString(), code: signal ? 137 : code, seconds: (Date.now() - begun) / 1000 };
    };
    return { kill: () => running.kill('SIGKILL'), done: end() };
}

function resultOf({ output, code, seconds }) {
    const bad = code !== 0;
    return { content: [text(output)], isError: bad,
        structuredContent: { stdout: bad ? '' : output, stderr: bad ? output : '', exitCode: code, executionTime: seconds } };
}

async function executeCommand({ box }, { command }, signal) {
    if (command === undefined) return refused('command is required');
    if (Buffer.byteLength(command) >= LONGEST_COMMAND) {
        await pause(LONGEST_CALL_MS, undefined, { signal }).catch(() => {});
        throw failure('InternalServerException', 'An internal error occurred');
    }
    const mark = randomUUID();
    const running = await onTerminal(box, command, mark);
    const limit = new AbortController();
    const late = pause(LONGEST_CALL_MS, null, { signal: limit.signal }).catch(() => null);
    const result = await Promise.race([running.done, late]);
    limit.abort();
    await sweep(box, mark);
    if (!result) throw failure('InternalServerException', 'The request took too long');
    return resultOf(result);
}

async function startCommandExecution(session, { command }) {
    if (command === undefined) return refused('command is required');
    const taskId = randomUUID();
    const running = await onTerminal(session.box, command, taskId);
    const task = { status: 'working', result: null, kill: running.kill };
    session.tasks.set(taskId, task);
    running.done.then((result) => Object.assign(task, { result, status: task.status === 'working' ? 'completed' : task.status }), () => {});
    return { content: [text(`Task ${taskId} submitted`)], structuredContent: { taskId, taskStatus: 'submitted' }, isError: false };
}

function taskOf(session, taskId) {
    const task = session.tasks.get(taskId);
    if (!task) throw failure('ValidationException', `Task ${taskId} not found`);
    return task;
}

async function getTask(session, { taskId }) {
    const { status, result } = taskOf(session, taskId);
    const shown = result && status === 'completed' ? resultOf(result) : { content: [text(`Task is ${status}`)], structuredContent: {}, isError: false };
    return { ...shown, structuredContent: { ...shown.structuredContent, taskId, taskStatus: status } };
}

async function stopTask(session, { taskId }) {
    const task = taskOf(session, taskId);
    if (task.status !== 'working') return refused(`Task is already ${task.status}`);
    task.status = 'canceled';
    await task.kill();
    await sweep(session.box, taskId);
    return { content: [text('Task canceled')], structuredContent: { taskId, taskStatus: 'canceled' }, isError: false };
}

// ---- files

/** Where a file tool finds NAME: below its folder, whatever it begins with. */
function inFolder(name) {
    const whole = path.join(HOME, name);
    if (!whole.startsWith(`${HOME}/`)) throw Object.assign(new Error(`Path is outside of the working directory: ${name}`), { code: 'EACCES' });
    return whole;
}

async function writeFiles({ box }, { content }) {
    if (!content?.length) return refused('content is required');
    for (const file of content) {
        if (file.path === undefined || (file.text === undefined) === (file.blob === undefined)) throw failure('ValidationException', 'content: one of text and blob');
    }
    for (const file of content) {
        try {
            await box.writeFile(inFolder(file.path), Buffer.from(file.text ?? file.blob, file.text === undefined ? 'base64' : 'utf8'), { parents: true });
        } catch (problem) {
            return refused(`Error writing file ${file.path}: ${problem.code}`);
        }
    }
    return done(`Successfully wrote all ${content.length} files`);
}

async function readFiles({ box }, { paths }) {
    if (!paths?.length) return refused('paths is required');
    const blocks = [];
    for (const name of paths) {
        try {
            const { stream } = await box.readFile(inFolder(name));
            const bytes = Buffer.concat(await stream.toArray());
            const plain = bytes.toString();
            const uri = `file:///${path.relative(HOME, inFolder(name))}`;
            const known = Buffer.from(plain).equals(bytes) && !plain.includes('\0');
            blocks.push({ type: 'resource', resource: known ? { type: 'text', uri, mimeType: 'text/plain', text: plain }
                : { type: 'blob', uri, mimeType: 'application/octet-stream', blob: bytes.toString('base64') } });
        } catch (problem) {
            return refused(`Error reading file ${name}: ${problem.code}`);
        }
    }
    return { content: blocks, isError: false };
}

async function listFiles({ box }, { directoryPath = '' }) {
    try {
        const entries = await box.readdir(directoryPath === '' ? HOME : inFolder(directoryPath));
        return { content: entries.map(({ name, type }) => ({ type: 'resource_link', name, uri: `file:///${path.join(directoryPath, name)}`, mimeType: 'text/plain',
            description: type === 'directory' ? 'Directory' : 'File' })), isError: false };
    } catch (problem) {
        return refused(`Error listing ${directoryPath}: ${problem.code}`);
    }
}

async function removeFiles({ box }, { paths }) {
    if (!paths?.length) return refused('paths is required');
    for (const name of paths) {
        try {
            await box.remove(inFolder(name), { recursive: true });
        } catch (problem) {
            return refused(`Error removing ${name}: ${problem.code}`);
        }
    }
    return done('Successfully removed files');
}

// ---- calls

const TOOLS = { executeCommand, startCommandExecution, getTask, stopTask, writeFiles, readFiles, listFiles, removeFiles };

/** A result as events: one, or its output in parts. */
function events(result) {
    const first = INITIAL ? [event('initial-response', {})] : [];
    const output = result.structuredContent?.stdout;
    if (PARTS === 1 || !output) return [...first, event('result', result)];
    const size = Math.ceil(output.length / PARTS);
    return [...first, ...Array.from({ length: PARTS }, (_, i) => {
        const stdout = output.slice(i * size, (i + 1) * size);
        return event('result', { ...result, content: [text(stdout)], structuredContent: { ...result.structuredContent, stdout } });
    })];
}

let calls = 0;

async function call(session, tool, wanted, signal) {
    if (calls++ % 2 === 1 && EXCEPTIONS.length > 0) throw failure(EXCEPTIONS.shift(), 'a fault on demand');
    if (session.busy >= AT_ONCE) throw failure('ServiceQuotaExceededException', `At most ${AT_ONCE} tools may run in a session at the same time`);
    session.busy++;
    try {
        return Buffer.concat(events(await tool(session, wanted, signal)));
    } catch (problem) {
        if (problem.exception) return exception(problem.exception, problem.body);
        if (problem.code === 'ESTOPPED' || session.status !== 'READY') return exception('ResourceNotFoundException', { message: 'The session has ended' });
        throw problem;
    } finally {
        session.busy--;
    }
}

export function toolRoutes(sessions) {
    return [['POST', '/code-interpreters/:interpreter/tools/invoke', async (request) => {
        const { name, arguments: wanted = {} } = readBody(request, { name: oneOf('executeCode', ...Object.keys(TOOLS)), arguments: shaped(ARGUMENTS) }, ['name']);
        const id = request.headers['x-amzn-code-interpreter-session-id'];
        const session = sessions.ready(request.params.interpreter, id);
        const headers = { 'content-type': 'application/vnd.amazon.eventstream', 'x-amzn-code-interpreter-session-id': id };
        let body;
        try {
            body = await call(session, TOOLS[name], wanted, request.signal);
        } catch (problem) {
            if (!problem.exception) throw problem;
            body = exception(problem.exception, problem.body);
        }
        return { headers, body };
    }]];
}
