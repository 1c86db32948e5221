// One WebSocket to a sandbox: JSON-RPC both ways, byte streams as notifications, and bare pings. What the SDK's own schema
// does not take is refused.

import { Readable } from 'node:stream';
import * as zod from '../node_modules/@deno/sandbox/node_modules/zod/index.js';
import * as schema from '../node_modules/@deno/sandbox/esm/schema.js';
import { RpcFailure, remoteError } from './errors.mjs';
import { methods as files } from './files.mjs';
import { methods as processes } from './processes.mjs';
import { methods as exposing } from './sandboxes.mjs';

const WAITING = 2 << 20; // unsent bytes at which a command is made to wait
const METHODS = { ...files, ...processes, ...exposing };
const STREAM = '$sandbox.stream.';

export class Connection {
    handles = [];
    processes = new Map();
    spawned = 0;
    reads = 0;
    #streams = new Map(); // of the client: id -> Readable
    #cancelled = new Set(); // of ours
    #next = 0;

    constructor(socket, sandbox) {
        this.socket = socket;
        this.sandbox = sandbox;
        socket.on('message', (bytes, binary) => {
            if (binary) socket.close(1003, 'text only');
            else if (bytes.toString() === 'ping') this.#pong();
            else this.#take(bytes.toString());
        });
        socket.on('close', () => {
            for (const stream of this.#streams.values()) stream.destroy(Object.assign(new Error('the connection was closed'), { code: 'EPIPE' }));
        });
    }

    #pong() {
        this.sandbox.pings++;
        this.socket.send('pong');
    }

    #take(text) {
        let message;
        try {
            message = JSON.parse(text);
        } catch {
            return this.socket.close(4000, 'Invalid JSON');
        }
        if (message?.jsonrpc !== '2.0' || typeof message.method !== 'string') return this.socket.close(4001, 'Invalid message');
        if (message.id === undefined) this.#notified(message.method, message.params);
        else this.#answer(message);
    }

    #send(message) {
        if (this.socket.readyState === 1) this.socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
    }

    async #answer({ id, method, params }) {
        try {
            this.#send({ id, result: { ok: await this.#call(method, params) } });
        } catch (problem) {
            if (problem.rpc) this.#send({ id, error: { code: problem.rpc, message: problem.message } });
            else this.#send({ id, result: { error: remoteError(problem, `${method} '${params?.path ?? params?.command ?? ''}'`) } });
        }
    }

    #call(method, params) {
        const known = schema.sandboxServiceSchema[method];
        if (!known || !METHODS[method]) throw new RpcFailure(-32601, `no method ${method}`);
        const read = zod.safeDecode(known.input, params);
        if (!read.success) throw new RpcFailure(-32602, read.error.message);
        return METHODS[method](this, read.data);
    }

    // ---- streams of the client

    #begin(id) {
        const stream = new Readable({ highWaterMark: 1 << 20, read: () => this.socket.resume() });
        stream.on('error', () => {}); // whoever reads it hears of that; it may be nobody yet
        this.#streams.set(id, stream);
    }

    #notified(method, params) {
        const action = method.startsWith(STREAM) ? method.slice(STREAM.length) : '';
        const stream = this.#streams.get(params?.streamId);
        if (action === 'cancel') return void this.#cancelled.add(params.streamId);
        if (action === 'start' && !stream) return this.#begin(params.streamId);
        if (!stream || !['enqueue', 'end', 'error'].includes(action)) return this.socket.close(4001, `unexpected ${method}`);
        if (action === 'enqueue') {
            const { data } = zod.decode(schema.streamEnqueueSchema, params);
            if (!stream.destroyed && !stream.push(data) && stream.claimed) this.socket.pause();
            return;
        }
        if (action === 'end') stream.push(null);
        else stream.destroy(new Error('the client gave up'));
    }

    take(id) {
        const stream = this.#streams.get(id);
        if (!stream || stream.claimed) throw new RpcFailure(-32602, `no stream ${id}`);
        stream.on('close', () => this.socket.resume()).on('error', () => {});
        return Object.assign(stream, { claimed: true });
    }

    // ---- ours

    newStream() {
        const id = this.#next++;
        let started = false;
        const notify = (action, more) => this.#send({ method: `${STREAM}${action}`, params: { streamId: id, ...more } });
        const start = () => {
            if (!started) notify('start');
            started = true;
        };
        return { id, start,
            send: async (bytes) => {
                if (this.#cancelled.has(id)) return;
                start();
                notify('enqueue', { data: bytes.toString('base64') });
                while (this.socket.bufferedAmount > WAITING && this.socket.readyState === 1) await new Promise((resolve) => setTimeout(resolve, 2));
            },
            end: () => {
                start();
                notify('end');
            } };
    }
}
