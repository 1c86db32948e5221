// The tunnel of a sandbox: yamux, the side that is spoken to, over a WebSocket. Each stream begins with a version and a port, is
// answered with one byte, and then is a connection to that port of the box. What breaks yamux's rules ends the session.

const HEAD = 12, WINDOW = 256 << 10;
const DATA = 0, ROOM = 1, PING = 2, GOODBYE = 3;
const OPEN = 1, ANSWER = 2, END = 4, RESET = 8;
const VERSION = Number(process.env.EMULATOR_TUNNEL_VERSION ?? 1), FORBIDDEN = 22; // a port that nobody may reach
const OK = 0, NOT_ALLOWED = 1, OTHER_VERSION = 3;
const PING_MS = Number(process.env.EMULATOR_PING_MS ?? 30000);
const WAITING = 1 << 20; // unsent bytes at which a server in the box is made to wait

export const pings = { answered: 0 };

// Runs in the box: connects, says how that went (0 or 2), and carries bytes; either side may end before the other.
const BRIDGE = `const socket = require('net').connect({ port: Number(process.argv[1]), host: '127.0.0.1', allowHalfOpen: true });
const say = (byte) => process.stdout.write(Buffer.of(byte));
let status = 2;
socket.on('error', () => process.stdout.write(status === 2 ? Buffer.of(2) : '', () => process.exit(0)));
socket.on('connect', () => { say(status = 0); process.stdin.pipe(socket); socket.pipe(process.stdout); });`;

class Stream {
    head = Buffer.alloc(0);
    maySend = WINDOW;
    mayCome = WINDOW;
    ended = false; // by the client
    over = false; // by the server
    waiting = []; // for room, or for the connection

    constructor(session, id) {
        Object.assign(this, { session, id });
    }

    async take(bytes) {
        if (this.bridge) await (await this.bridge).write(bytes);
        else await this.begin(bytes);
        this.mayCome += bytes.length;
        this.session.send(ROOM, 0, this.id, bytes.length);
    }

    async begin(bytes) {
        this.head = Buffer.concat([this.head, bytes]);
        if (this.head.length < 3) return;
        const [version, port, rest] = [this.head[0], this.head.readUInt16BE(1), this.head.subarray(3)];
        if (version !== VERSION) return this.refuse(OTHER_VERSION);
        if (port === FORBIDDEN) return this.refuse(NOT_ALLOWED);
        this.bridge = this.session.box.spawn({ argv: ['/run/agent/node', '-e', BRIDGE, String(port)], stdin: 'pipe', onStdout: (piece) => this.pass(piece) });
        const bridge = await this.bridge;
        bridge.done.then(() => this.end(), () => this.end());
        if (rest.length > 0) await bridge.write(rest);
    }

    refuse(status) {
        this.bridge = Promise.resolve({ write() {}, closeInput() {}, kill: async () => {} });
        this.session.send(DATA, 0, this.id, Buffer.of(status));
        this.end();
    }

    /** To the client, as it has room. */
    async pass(bytes) {
        while (bytes.length > 0 && !this.session.closed) {
            while (this.maySend === 0 && !this.session.closed) await new Promise((resolve) => this.waiting.push(resolve));
            const piece = bytes.subarray(0, Math.min(this.maySend, 32 << 10));
            this.maySend -= piece.length;
            this.session.send(DATA, 0, this.id, piece);
            await this.session.drained();
            bytes = bytes.subarray(piece.length);
        }
    }

    wake() {
        for (const resolve of this.waiting.splice(0)) resolve();
    }

    end() {
        if (!this.over) this.session.send(ROOM, END, this.id, 0);
        this.over = true;
    }

    async endOfClient() {
        await (await this.bridge)?.closeInput();
    }

    async close() {
        this.wake();
        await (await this.bridge)?.kill().catch(() => {});
    }
}

class Session {
    streams = new Map();
    bytes = Buffer.alloc(0);
    closed = false;
    unanswered = 0;

    constructor(socket, box) {
        Object.assign(this, { socket, box });
        this.timer = setInterval(() => this.ping(), PING_MS);
        socket.on('close', () => this.close());
    }

    send(kind, flags, stream, body) {
        const head = Buffer.alloc(HEAD);
        head[1] = kind;
        head.writeUInt16BE(flags, 2);
        head.writeUInt32BE(stream, 4);
        head.writeUInt32BE(kind === DATA ? body.length : body, 8);
        if (this.socket.readyState === 1) this.socket.send(kind === DATA ? Buffer.concat([head, body]) : head);
    }

    async drained() {
        while (this.socket.bufferedAmount > WAITING && !this.closed) await new Promise((resolve) => setTimeout(resolve, 5));
    }

    /** Who does not answer for long is not there. */
    ping() {
        if (this.unanswered > 100) return this.fail('no answer to a ping');
        this.unanswered++;
        this.send(PING, OPEN, 0, this.unanswered);
    }

    fail(why) {
        this.send(GOODBYE, 0, 0, 1);
        this.socket.close(1002, why);
    }

    close() {
        this.closed = true;
        clearInterval(this.timer);
        for (const stream of this.streams.values()) stream.close();
    }

    /** All whole frames of what has come. */
    take(bytes) {
        this.bytes = Buffer.concat([this.bytes, bytes]);
        while (this.bytes.length >= HEAD) {
            const [version, kind, flags, id, length] = [this.bytes[0], this.bytes[1], this.bytes.readUInt16BE(2), this.bytes.readUInt32BE(4), this.bytes.readUInt32BE(8)];
            const size = HEAD + (kind === DATA ? length : 0);
            if (this.bytes.length < size) return;
            const body = this.bytes.subarray(HEAD, size);
            this.bytes = this.bytes.subarray(size);
            if (version !== 0 || kind > GOODBYE) return this.fail('no frame');
            if (kind === PING) this.answered(flags, length);
            else if (kind !== GOODBYE) this.frame(kind, flags, id, length, body);
        }
    }

    answered(flags, value) {
        if (flags & OPEN) return this.send(PING, ANSWER, 0, value);
        this.unanswered = 0;
        pings.answered++;
    }

    frame(kind, flags, id, length, body) {
        let stream = this.streams.get(id);
        if (flags & OPEN) {
            if (stream || id % 2 === 0) return this.fail('no new stream');
            this.streams.set(id, stream = new Stream(this, id));
            this.send(ROOM, ANSWER, id, 0);
        }
        if (!stream || body.length > stream.mayCome || (body.length > 0 && stream.ended)) return this.fail('no such stream, no room, or after the end');
        stream.mayCome -= body.length;
        stream.ended ||= (flags & END) !== 0;
        if (flags & RESET) return void stream.close();
        if (kind === ROOM) {
            stream.maySend += length;
            stream.wake();
        }
        // What comes is written in its order, without making the others wait.
        stream.turn = (stream.turn ?? Promise.resolve()).then(async () => {
            if (body.length > 0) await stream.take(body);
            if (flags & END) await stream.endOfClient();
        }).catch((problem) => {
            if (!this.closed && problem.code !== 'ESTOPPED') stream.end();
        });
    }
}

export function serveTunnel(socket, box) {
    const session = new Session(socket, box);
    socket.on('message', (bytes, binary) => (binary ? session.take(bytes) : session.fail('text')));
}
