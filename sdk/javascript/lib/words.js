// Values of JavaScript as the library and the command take them, and theirs as this package hands them out.

/** @type {(values: Record<string, unknown> | undefined) => string[] | undefined} NAME=value for each. */
export const pairs = (values) => values && Object.entries(values).map(([name, value]) => `${name}=${value}`);

/** @type {(seconds: number | null) => number} null: without end. */
export const milliseconds = (seconds) => (seconds === null ? -1 : Math.max(1, Math.round(seconds * 1000)));

/** @type {(value: string | number | null | undefined) => Date | null} 0 and null: unknown, or not yet. */
export const time = (value) => (value ? new Date(value) : null);
