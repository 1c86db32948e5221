// Answers, errors and bodies as the service has them.

import { HttpError } from '../common/server.mjs';

export const good = (data, status = 200) => ({ status, json: { success: true, data } });
export const apiError = (status, code, message, headers) => new HttpError(status, { success: false, error: { code, message } }, headers);
export const invalid = (message) => apiError(400, 'invalid_request', message);

export const isText = (value) => typeof value === 'string';
export const isSeconds = (value) => Number.isSafeInteger(value) && value >= 0;
export const isFlag = (value) => typeof value === 'boolean';
export const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
export const isTexts = (value) => isObject(value) && Object.values(value).every(isText);

/** VALUE must be an object of these FIELDS, {name: check}, and no others. */
export function checked(value, fields, where = 'body') {
    if (!isObject(value)) throw invalid(`${where}: an object is expected`);
    for (const [name, one] of Object.entries(value)) {
        if (!Object.hasOwn(fields, name)) throw invalid(`${where}: unknown field ${name}`);
        if (!fields[name](one)) throw invalid(`${where}: ${name} is not valid`);
    }
    return value;
}

/** The JSON body; `optional`: none at all is as good as an empty one. */
export async function read(request, fields, { optional = false } = {}) {
    const bytes = await request.body();
    if (bytes.length === 0 && optional) return {};
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw invalid('Content-Type must be application/json');
    let body;
    try {
        body = JSON.parse(bytes.toString());
    } catch {
        throw invalid('invalid JSON');
    }
    return checked(body, fields);
}

/** The query must have nothing but these names. */
export function checkQuery(request, ...allowed) {
    for (const name of request.query.keys()) if (!allowed.includes(name)) throw invalid(`unknown query parameter ${name}`);
}
