// Options of the command `sandlot`.
import { SandlotError } from './errors.js';

/** @type {(name: string, value: string | number | null | undefined) => string[]} None where there is no VALUE. In one word with its name, so that a value like "-q" is no option. */
export const option = (name, value) => (value === undefined || value === null ? [] : [`${name}=${value}`]);

/** @type {(name: string, values: string[] | undefined) => string[]} */
export const each = (name, values) => (values ?? []).map((value) => `${name}=${value}`);

/** @type {(what: string) => SandlotError} What is wanted cannot be said to the command. */
export const needsLibrary = (what) => new SandlotError('usage', `${what} needs the library: install koffi`);
