// A call of the library as a job: started, waited for by its descriptor in the event loop, cancelled, freed.
import { SandlotError } from './errors.js';
import { zeroed } from './layout.js';
import { library } from './library.js';
import { copy, fieldsAt, Memory, textAt } from './memory.js';
import { readable } from './watch.js';
/**
 * @import { Fields, Shape, Struct } from './layout.js'
 * @import { Address } from './memory.js'
 * @typedef {(error: Buffer) => any} Start  makes a job, or fills in why there is none
 */

const errorBytes = 16; // struct sandlot_error: a code and a message, and no size
const error = zeroed(errorBytes); // for what does not wait; between two calls it is empty
const running = 1; // SANDLOT_JOB_RUNNING
const turns = 16; // in which a small call of a box on this machine has ended: being woken by a descriptor costs as much
const unturned = 8; // so many calls that have ended at once may follow each other before everybody else has a turn
let inRow = 0;

/** @type {(bytes: Buffer) => SandlotError} What a struct sandlot_error says that is BYTES. */
function errorIn(bytes) {
    return new SandlotError(library().code_name(bytes.readInt32LE()), textAt(bytes.readBigUInt64LE(8)) ?? 'it failed');
}

/** @type {(address: Address) => SandlotError | null} The error that C shows at ADDRESS, which stays C's; null for NULL. */
export function errorAt(address) {
    return address ? errorIn(copy(address, errorBytes)) : null;
}

/** @type {() => never} Throws what a function of the library has filled in. */
function raise() {
    const problem = errorIn(error);
    library().error_clear(error);
    throw problem;
}

/** @type {(start: Start) => any} Calls START with an error to be filled in; what it returns, unless that is nothing. */
export function attempt(start) {
    const made = start(error);
    if (!made) raise();
    return made;
}

/** The fruit of a call that has none. */
export function nothing() {}

/** The event loop goes round once. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** @type {(job: any) => Promise<boolean>} Whether JOB ends within a few turns of the event loop. */
async function endsSoon(job) {
    const hasEnded = () => library().job_wait(job, 0, null) !== running;
    if (hasEnded() && ++inRow < unturned) return true;
    inRow = 0;
    for (let n = 0; n < turns; n++) {
        await turn();
        if (hasEnded()) return true;
    }
    return false;
}

/** @type {(job: any, signal?: AbortSignal) => Promise<void>} Resolves when JOB has ended, which an abort of SIGNAL asks of it. */
async function ended(job, signal) {
    const cancel = () => library().job_cancel(job);
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel);
    try {
        if (!(await endsSoon(job))) await readable(library().job_descriptor(job));
    } finally {
        signal?.removeEventListener('abort', cancel);
    }
}

export class Call {
    memory = new Memory();
    /** @type {any} */
    #job = null;
    /** @type {{ thrown: unknown } | null} */
    #problem = null;

    /**
     * A callback, whose first exception ends the call and is thrown in its place.
     * @param {unknown} type
     * @param {(...values: any[]) => unknown} called
     * @param {boolean} [otherwise]
     */
    callback(type, called, otherwise) {
        return this.memory.callback(type, (...values) => {
            if (this.#problem) return otherwise;
            try {
                return called(...values);
            } catch (problem) {
                this.#problem = { thrown: problem };
                if (this.#job) library().job_cancel(this.#job);
                return otherwise;
            }
        });
    }

    /**
     * A callback that gets bytes as they come, for SINK; NULL for none.
     * @param {unknown} type
     * @param {((piece: Buffer) => void) | undefined} sink
     */
    sink(type, sink) {
        if (!sink) return 0n;
        return this.callback(type, (_context, bytes, length) => (sink(copy(bytes, length)), true), false);
    }

    /**
     * A callback that gets structs of SHAPE, of which MAKE makes something: a list of that.
     * @template {Fields} F
     * @template T
     * @param {Shape<F>} shape
     * @param {(told: Struct<F>) => T} make
     */
    collect(shape, make, type = library().each) {
        /** @type {T[]} */
        const list = [];
        const each = this.callback(type, (_context, item) => (list.push(make(fieldsAt(shape, item))), true), false);
        return { list, each };
    }

    /**
     * START makes the job, FINISH what comes of it when it is done.
     * @template T
     * @param {Start} start
     * @param {(job: any) => T} finish
     * @param {AbortSignal} [signal]
     */
    async run(start, finish, signal) {
        try {
            /* A job may be over before it could be cancelled. */
            signal?.throwIfAborted();
            this.#job = attempt(start);
            await ended(this.#job, signal);
            return this.#end(finish, signal);
        } finally {
            if (this.#job) library().job_free(this.#job);
            this.memory.release();
        }
    }

    /**
     * @template T
     * @param {(job: any) => T} finish
     * @param {AbortSignal} [signal]
     */
    #end(finish, signal) {
        const state = library().job_wait(this.#job, 0, error);
        if (this.#problem || (state !== 0 && signal?.aborted)) {
            library().error_clear(error);
            throw this.#problem ? this.#problem.thrown : signal?.reason;
        }
        if (state !== 0) raise();
        return finish(this.#job);
    }
}
