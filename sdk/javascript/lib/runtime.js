// The library's runtimes, which stay until the process ends: one for each configuration.
import { attempt } from './job.js';
import { library } from './library.js';
import { Memory } from './memory.js';
import * as shapes from './shapes.js';

/** @type {Map<string | null, any>} */
const runtimes = new Map();

/** @param {string} [configFile] */
export function runtime(configFile) {
    const key = configFile ?? null; // '' is no file, and refused by the library
    if (!runtimes.has(key)) {
        const memory = new Memory();
        const options = memory.struct(shapes.options, { config_file: memory.text(configFile) });
        runtimes.set(key, attempt((error) => library().open(options.address, error)));
        memory.release();
    }
    return runtimes.get(key);
}
