// Options of the command `sandlot`.
import { SandlotError } from './errors.js';

/** None where there is no VALUE. */
export const option = (name, value) => (value === undefined || value === null ? [] : [name, String(value)]);

export const each = (name, values) => (values ?? []).flatMap((value) => [name, value]);

/** What is wanted cannot be said to the command. */
export const needsLibrary = (what) => new SandlotError('usage', `${what} needs the library: install koffi`);
