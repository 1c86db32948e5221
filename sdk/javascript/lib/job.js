// A call of the library as a job: started, waited for by its descriptor in the event loop, cancelled, freed.
import { SandlotError } from './errors.js';
import { library } from './library.js';
import { Memory, textAt } from './memory.js';

const errorBytes = 16; // struct sandlot_error: a code and a message, and no size

/** Throws what a function of the library has filled in. */
function raise(error) {
    const c = library();
    const view = new DataView(error.buffer);
    const code = c.code_name(view.getInt32(0, true));
    const message = textAt(view.getBigUint64(8, true)) ?? 'it failed';
    c.error_clear(error);
    throw new SandlotError(code, message);
}

/** Calls START with an error to be filled in; what it returns, unless that is nothing. */
export function attempt(start) {
    const error = new Uint8Array(errorBytes);
    const made = start(error);
    if (!made) raise(error);
    return made;
}

function watch(job, signal) {
    const c = library();
    return new Promise((resolve) => {
        const cancel = () => c.job_cancel(job);
        const handle = c.koffi.node.poll(c.job_descriptor(job), { readable: true }, () => {
            handle.close();
            signal?.removeEventListener('abort', cancel);
            resolve();
        });
        if (signal?.aborted) cancel();
        signal?.addEventListener('abort', cancel);
    });
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

    /** START makes the job, FINISH what comes of it when it is done. */
    async run(start, finish, signal) {
        try {
            this.#job = attempt(start);
            await watch(this.#job, signal);
            return this.#end(finish, signal);
        } finally {
            if (this.#job) library().job_free(this.#job);
            this.memory.release();
        }
    }

    #end(finish, signal) {
        const error = new Uint8Array(errorBytes);
        const state = library().job_wait(this.#job, 0, error);
        if (this.#problem || (state !== 0 && signal?.aborted)) {
            library().error_clear(error);
            throw this.#problem ? this.#problem.thrown : signal.reason;
        }
        if (state !== 0) raise(error);
        return finish?.(this.#job);
    }
}
