// Values of JavaScript as the library and the command take them, and theirs as this package hands them out.

/** NAME=value for each. */
export const pairs = (values) => values && Object.entries(values).map(([name, value]) => `${name}=${value}`);

/** null: without end. */
export const milliseconds = (seconds) => (seconds === null ? -1 : Math.max(1, Math.round(seconds * 1000)));

/** 0 and null: unknown, or not yet. */
export const time = (value) => (value ? new Date(value) : null);

/** VALUE with its bytes NAME as `text` too, made when it is asked for; bytes that are no UTF-8 become U+FFFD. */
export const inText = (value, name) => Object.defineProperty(value, 'text', { get: () => value[name].toString() });
