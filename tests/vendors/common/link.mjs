// The emulator's end of the wire to the agent in a box, whose own is agent/link.h: frames of eight bytes of header (length,
// kind, stream, channel) and a payload. Messages are JSON; data flows under a window per stream, so that who reads slowly
// slows its writer down and nobody else, and memory stays small.

const HEADER = 8;
const WINDOW = 1 << 20;
const LONGEST = 1 << 16;
const MESSAGE = 1, DATA = 2, END = 3, CREDIT = 4;

const key = (channel, stream) => channel * 4 + stream;

export class Link {
    #socket;
    #handlers;
    #rest = Buffer.alloc(0);
    #windows = new Map(); // per stream that we write: {left, waiting: [resolve]}
    #closed = false;

    /** HANDLERS: message(object), data(channel, stream, buffer), end(channel, stream), closed(). */
    constructor(socket, handlers) {
        this.#socket = socket;
        this.#handlers = handlers;
        socket.on('data', (chunk) => this.#take(chunk));
        socket.on('error', () => {});
        socket.on('close', () => {
            this.#closed = true;
            for (const window of this.#windows.values()) window.waiting.splice(0).forEach((resolve) => resolve());
            handlers.closed?.();
        });
    }

    send(message) {
        const payload = Buffer.from(JSON.stringify(message));
        this.#frame(MESSAGE, 0, 0, payload);
    }

    /** Sends bytes of a stream, as far as the other side has room; resolves when all have been given away. */
    async data(channel, stream, bytes) {
        const window = this.#window(channel, stream);
        for (let at = 0; at < bytes.length && !this.#closed;) {
            if (window.left === 0) {
                await new Promise((resolve) => window.waiting.push(resolve));
                continue;
            }
            const length = Math.min(bytes.length - at, window.left, LONGEST);
            window.left -= length;
            this.#frame(DATA, stream, channel, bytes.subarray(at, at + length));
            at += length;
        }
    }

    end(channel, stream) {
        this.#windows.delete(key(channel, stream));
        this.#frame(END, stream, channel, Buffer.alloc(0));
    }

    /** Tells the writer of a stream that LENGTH of its bytes have been used. */
    credit(channel, stream, length) {
        if (length === 0) return;
        const payload = Buffer.alloc(4);
        payload.writeUInt32LE(length);
        this.#frame(CREDIT, stream, channel, payload);
    }

    close() {
        this.#socket.destroy();
    }

    #window(channel, stream) {
        const name = key(channel, stream);
        let window = this.#windows.get(name);
        if (!window) this.#windows.set(name, (window = { left: WINDOW, waiting: [] }));
        return window;
    }

    #frame(kind, stream, channel, payload) {
        if (this.#closed) return;
        const header = Buffer.alloc(HEADER);
        header.writeUIntLE(payload.length, 0, 3);
        header[3] = kind * 16 + stream;
        header.writeUInt32LE(channel, 4);
        this.#socket.cork();
        this.#socket.write(header);
        if (payload.length > 0) this.#socket.write(payload);
        this.#socket.uncork();
    }

    #take(chunk) {
        const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
        let at = 0;
        while (bytes.length - at >= HEADER) {
            const length = bytes.readUIntLE(at, 3);
            if (bytes.length - at - HEADER < length) break;
            const kind = bytes[at + 3] >> 4, stream = bytes[at + 3] & 15, channel = bytes.readUInt32LE(at + 4);
            at += HEADER;
            this.#dispatch(kind, stream, channel, bytes.subarray(at, at + length));
            at += length;
        }
        this.#rest = bytes.subarray(at);
    }

    #dispatch(kind, stream, channel, payload) {
        if (kind === MESSAGE) this.#handlers.message(JSON.parse(payload.toString()));
        if (kind === DATA) this.#handlers.data(channel, stream, payload);
        if (kind === END) this.#handlers.end(channel, stream);
        if (kind === CREDIT) {
            const window = this.#windows.get(key(channel, stream));
            if (!window) return;
            window.left += payload.readUInt32LE(0);
            window.waiting.splice(0).forEach((resolve) => resolve());
        }
    }
}
