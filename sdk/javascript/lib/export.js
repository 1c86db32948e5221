// Where changes are exported to: a file that is there under its name only when all of it is.
import fs from 'node:fs/promises';
import path from 'node:path';
import { SandlotError } from './errors.js';

const formats = ['patch', 'tar'];

/**
 * The number that the library has for FORMAT.
 * @param {string} format
 */
export function formatNumber(format) {
    if (formats.includes(format)) return formats.indexOf(format);
    throw new SandlotError('usage', `there is no format '${format}'; 'patch' and 'tar' are those there are`);
}

/**
 * WRITE makes a file in a new folder beside LOCAL, which becomes LOCAL.
 * @param {string} local
 * @param {(beside: string) => Promise<unknown>} write
 */
export async function newFile(local, write) {
    const folder = await fs.mkdtemp(path.join(path.dirname(path.resolve(local)), '.sandlot-'));
    try {
        const beside = path.join(folder, 'content');
        await write(beside);
        await fs.rename(beside, local);
    } finally {
        await fs.rm(folder, { recursive: true, force: true });
    }
}
