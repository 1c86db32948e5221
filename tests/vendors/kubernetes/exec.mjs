// pods/exec over WebSocket: v5.channel.k8s.io and v4.channel.k8s.io, as an API server and a kubelet speak them.

import { EventEmitter, once } from 'node:events';
import { clearTimeout, setTimeout as setTimer } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import { boxOf } from './pods.mjs';
import { refusal, statusObject } from './status.mjs';

const PIECE = 32 * 1024;
const INPUT = 0, OUTPUT = 1, ERROR = 2, STATUS = 3, RESIZE = 4, CLOSE = 255;
const own = (process.env.EMULATOR_PROTOCOLS ?? 'v5.channel.k8s.io,v4.channel.k8s.io').split(',');

/** The newest that both know; for server.mjs. */
export const choose = (offered) => own.find((name) => offered.has(name)) ?? false;

const success = { metadata: {}, status: 'Success' };
const ended = (code) => (code === 0 ? success : {
    metadata: {}, status: 'Failure', reason: 'NonZeroExitCode', message: `command terminated with non-zero exit code: exit status ${code}`,
    details: { causes: [{ reason: 'ExitCode', message: `${code}` }] },
});
const neverRan = (message) => statusObject('InternalError', `Internal error occurred: error executing command in container: ${message}`);
const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15, SIGPIPE: 13 };

function check(pod, query) {
    const flag = (name) => query.get(name) === 'true' || query.get(name) === '1';
    const words = query.getAll('command');
    const wanted = query.get('container');
    const names = pod.spec.containers.map(({ name }) => name);
    if (words.length === 0) throw refusal('BadRequest', 'you must specify at least 1 command for exec');
    if (!flag('stdin') && !flag('stdout') && !flag('stderr')) throw refusal('BadRequest', 'you must specify at least 1 of stdin, stdout, stderr');
    if (wanted && !names.includes(wanted)) throw refusal('BadRequest', `container ${wanted} is not valid for pod ${pod.metadata.name}`);
    if (!wanted && names.length > 1) throw refusal('BadRequest', `a container name must be specified for pod ${pod.metadata.name}, choose one of: [${names.join(' ')}]`);
    if (!pod.spec.nodeName) throw refusal('BadRequest', `pod ${pod.metadata.name} does not have a host assigned`);
    if (['Succeeded', 'Failed'].includes(pod.status.phase)) throw refusal('BadRequest', `cannot exec into a container in a completed pod; current phase is ${pod.status.phase}`);
    return { words, stdin: flag('stdin'), stdout: flag('stdout'), stderr: flag('stderr') && !flag('tty'), tty: flag('tty') };
}

/** What a client sends, to a command that may not be there yet. */
function listen(socket, state, half) {
    socket.on('message', (message, binary) => {
        if (!binary || message.length === 0) return;
        const rest = message.subarray(1);
        if (message[0] === INPUT && rest.length > 0) state.queue = state.queue.then(() => state.command?.write(rest)).catch(() => {});
        else if (message[0] === CLOSE && half && rest[0] === INPUT) state.queue = state.queue.then(() => state.command?.closeInput()).catch(() => {});
        else if (message[0] === RESIZE) state.resizes.push(JSON.parse(rest.toString()));
    });
    // Who goes away ends the input, and never the command.
    socket.on('close', () => (state.queue = state.queue.then(() => state.command?.closeInput()).catch(() => {})));
}

function sender(socket) {
    return (channel, bytes) => new Promise((resolve) => {
        if (socket.readyState !== socket.OPEN) return resolve();
        socket.send(Buffer.concat([Buffer.of(channel), bytes]), { binary: true }, () => resolve());
    });
}

async function sendAll(send, channel, bytes) {
    for (let from = 0; from < bytes.length; from += PIECE) await send(channel, bytes.subarray(from, from + PIECE));
}

const endings = new EventEmitter();

/** EMULATOR_LATE_EXEC: a busy node begins a command that was given up only once the next one has ended. */
async function late(socket) {
    const gone = once(socket, 'close').then(() => true);
    if (await Promise.race([gone, setTimeout(100, false)])) await Promise.race([once(endings, 'ended'), setTimeout(10000)]);
}

/** EMULATOR_IDLE_MS: what stands before the API server forgets connections on which the client has sent nothing for so long. */
function forgotten(socket) {
    const limit = Number(process.env.EMULATOR_IDLE_MS ?? 0);
    if (!limit) return;
    const timer = setTimer(() => socket.terminate(), limit);
    for (const event of ['message', 'ping']) socket.on(event, () => timer.refresh());
    socket.on('close', () => clearTimeout(timer));
}

export const terminals = []; // the sizes that terminals were given, for tests

export async function exec(pod, request, accept) {
    const wanted = check(pod, request.query);
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
    const protocol = own.find((name) => offered.includes(name));
    if (!protocol) throw refusal('Forbidden', '');
    const box = boxOf(pod);
    if (!box && protocol.startsWith('v4')) throw refusal('InternalError', `unable to upgrade connection: container not found ("${pod.spec.containers[0].name}")`);
    const ready = Promise.withResolvers();
    const state = { command: null, queue: ready.promise, resizes: [] };
    const socket = await accept();
    forgotten(socket);
    const send = sender(socket);
    listen(socket, state, protocol.startsWith('v5'));
    await send(wanted.stdout ? OUTPUT : wanted.stderr ? ERROR : STATUS, Buffer.alloc(0));
    const words = wanted.tty ? ['script', '-qec', wanted.words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' '), '/dev/null'] : wanted.words;
    let status;
    try {
        if (!box) throw new Error(`container not found ("${pod.spec.containers[0].name}")`);
        if (process.env.EMULATOR_LATE_EXEC) await late(socket);
        state.command = await box.spawn({
            argv: words, cwd: pod.spec.containers[0].workingDir, stdin: 'pipe',
            onStdout: (bytes) => (wanted.stdout ? sendAll(send, OUTPUT, bytes) : undefined),
            onStderr: (bytes) => (wanted.stderr ? sendAll(send, ERROR, bytes) : undefined),
        });
        if (!wanted.stdin) await state.command.closeInput();
        ready.resolve();
        const { code, signal } = await state.command.done;
        status = ended(code ?? 128 + (SIGNALS[signal] ?? 9));
    } catch (failure) {
        ready.resolve();
        status = failure.code === 'ENOENT' ? neverRan(`exec: "${wanted.words[0]}": executable file not found in $PATH`) : neverRan(failure.message);
    }
    endings.emit('ended');
    if (wanted.tty) terminals.push(...state.resizes);
    await send(STATUS, Buffer.from(JSON.stringify(status)));
    socket.close(1000);
}
