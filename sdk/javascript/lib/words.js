// Values of JavaScript as the library and the command take them, and theirs as this package hands them out.
import { SandlotError } from './errors.js';

/** @type {(command: unknown, timeout: unknown) => void} What is no text would be run as its name, 0 seconds be taken for some. */
export const checkCommand = (command, timeout) => {
    if (typeof command !== 'string') throw new SandlotError('usage', `the command is to be a text, not ${typeof command}`);
    if (timeout !== null && !(typeof timeout === 'number' && timeout > 0))
        throw new SandlotError('usage', `timeout is a number of seconds above 0, or null for none, not ${timeout}`);
};

/** @type {(values: Record<string, unknown> | undefined) => string[] | undefined} NAME=value for each. */
export const pairs = (values) => values && Object.entries(values).map(([name, value]) => `${name}=${value}`);

/** @type {(content: string | Uint8Array) => Buffer} A copy of its bytes, all of them: `Buffer.from` takes one of each element, and none of a DataView. */
export const octets = (content) =>
    Buffer.from(ArrayBuffer.isView(content) ? Buffer.from(content.buffer, content.byteOffset, content.byteLength) : content);

/** @type {(what: string, value: number, least: number, most: number) => void} Of any other number the library would be given what fits. */
export const checkNumber = (what, value, least, most) => {
    if (!Number.isInteger(value) || value < least || value > most)
        throw new SandlotError('usage', `'${value}': ${what} is a number from ${least} to ${most}`);
};

/** @type {(seconds: number | null) => number} null: without end. */
export const milliseconds = (seconds) => (seconds === null ? -1 : Math.max(1, Math.round(seconds * 1000)));

/** @type {(value: string | number | null | undefined) => Date | null} 0 and null: unknown, or not yet. */
export const time = (value) => (value ? new Date(value) : null);
