// Descriptors in the event loop: it watches one, an epoll(7) of all that are waited for. A handle of the loop's own for each would cost more
// system calls than the work that is waited for.
import { library } from './library.js';

const [add, readableOnce] = [1, 0x40000001]; // EPOLL_CTL_ADD; EPOLLIN | EPOLLONESHOT
const [eventBytes, dataAt] = process.arch === 'x64' ? [12, 4] : [16, 8]; // of struct epoll_event
const most = 64;
const events = Buffer.alloc(most * eventBytes);
const event = Buffer.alloc(eventBytes);
/** @type {Map<number, () => void>} */
const waiting = new Map();
let epoll = -1;
/** @type {any} */
let handle;

function tell() {
    const count = library().epoll_wait(epoll, events, most, 0);
    for (let at = 0; at < count; at++) {
        const descriptor = events.readInt32LE(at * eventBytes + dataAt);
        waiting.get(descriptor)?.();
        waiting.delete(descriptor);
    }
    if (!waiting.size) handle.unref();
}

/** @type {(descriptor: number) => Promise<void>} Resolves when DESCRIPTOR, which nobody else waits for, is readable; the process lives until then. */
export function readable(descriptor) {
    const c = library();
    if (!handle) {
        epoll = c.epoll_create1(0x80000); // EPOLL_CLOEXEC
        handle = c.koffi.node.poll(epoll, { readable: true }, tell);
    }
    event.writeUInt32LE(readableOnce, 0);
    event.writeInt32LE(descriptor, dataAt);
    return new Promise((resolve, reject) => {
        if (c.epoll_ctl(epoll, add, descriptor, event) < 0) return reject(new Error('cannot wait for a job: epoll_ctl failed'));
        if (!waiting.size) handle.ref();
        waiting.set(descriptor, resolve);
    });
}
