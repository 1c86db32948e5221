// A call of the library as a job: started, waited for by its descriptor in the event loop, cancelled, freed.
import { SandlotError } from './errors.js';
import { zeroed } from './layout.js';
import { library } from './library.js';
import { copy, fieldsAt, Memory, textAt } from './memory.js';
import { readable } from './watch.js';

const errorBytes = 16; // struct sandlot_error: a code and a message, and no size

/** What a struct sandlot_error says that is BYTES. */
function errorIn(bytes) {
    return new SandlotError(library().code_name(bytes.readInt32LE()), textAt(bytes.readBigUInt64LE(8)) ?? 'it failed');
}

/** The error that C shows at ADDRESS, which stays C's; null for NULL. */
export function errorAt(address) {
    return address ? errorIn(copy(address, errorBytes)) : null;
}

/** Throws what a function of the library has filled in. */
function raise(error) {
    const problem = errorIn(error);
    library().error_clear(error);
    throw problem;
}

/** Calls START with an error to be filled in; what it returns, unless that is nothing. */
export function attempt(start) {
    const error = zeroed(errorBytes);
    const made = start(error);
    if (!made) raise(error);
    return made;
}

/** Resolves when JOB has ended, which an abort of SIGNAL asks of it. */
async function ended(job, signal) {
    const cancel = () => library().job_cancel(job);
    const end = readable(library().job_descriptor(job));
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel);
    try {
        await end;
    } finally {
        signal?.removeEventListener('abort', cancel);
    }
}

export class Call {
    memory = new Memory();
    #job = null;
    #problem = null;

    /** A callback, whose first exception ends the call and is thrown in its place. */
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

    /** A callback that gets structs of SHAPE, whose fields NAMES MAKE makes something of: a list of that. */
    collect(shape, names, make, type = library().each) {
        const list = [];
        const receive = (_context, item) => (list.push(make(...fieldsAt(shape, item, ...names))), true);
        return { list, each: this.callback(type, receive, false) };
    }

    /** START makes the job, FINISH what comes of it when it is done. */
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

    #end(finish, signal) {
        const error = zeroed(errorBytes);
        const state = library().job_wait(this.#job, 0, error);
        if (this.#problem || (state !== 0 && signal?.aborted)) {
            library().error_clear(error);
            throw this.#problem ? this.#problem.thrown : signal.reason;
        }
        if (state !== 0) raise(error);
        return finish?.(this.#job);
    }
}
