// Errors and bodies as the control API has them.

import { HttpError } from '../common/server.mjs';

export const apiError = (code, message, headers) => new HttpError(code, { code, message }, headers);
const invalid = (message) => apiError(400, `validation error: ${message}`);

export const isText = (value) => typeof value === 'string';
export const isSeconds = (value) => Number.isInteger(value) && Math.abs(value) < 2 ** 31;
export const isFlag = (value) => typeof value === 'boolean';
export const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
export const isTexts = (value) => isObject(value) && Object.values(value).every(isText);

/** The JSON body with these FIELDS, {name: check}, and no others; those that are REQUIRED must be there. */
export async function read(request, fields, required = []) {
    const bytes = await request.body();
    if (bytes.length === 0 && required.length === 0) return {};
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw invalid('header Content-Type has unexpected value');
    let body;
    try {
        body = JSON.parse(bytes.toString());
    } catch {
        throw invalid('failed to decode the request body');
    }
    if (!isObject(body)) throw invalid('value must be an object');
    for (const [name, value] of Object.entries(body)) {
        if (!fields[name]) throw invalid(`property "${name}" is unsupported`);
        if (!fields[name](value)) throw invalid(`error at "/${name}": value has the wrong type`);
    }
    for (const name of required) if (body[name] === undefined) throw invalid(`property "${name}" is missing`);
    return body;
}

/** The query must have nothing but these names. */
export function checkQuery(request, ...allowed) {
    for (const name of request.query.keys()) if (!allowed.includes(name)) throw invalid(`query parameter ${name} is unknown`);
}

/** The page of ITEMS that the query asks for: a bare array, and the way on in a header. */
export function page(request, items, longest, mark = '') {
    const limit = Number(request.query.get('limit') ?? 100);
    if (!Number.isInteger(limit) || limit < 1 || limit > 100) throw invalid('parameter "limit" in query: must be 1 to 100');
    const token = request.query.get('nextToken');
    const at = token === null ? 0 : Number(new RegExp(`^${mark}(\\d+)$`).exec(Buffer.from(token, 'base64url').toString())?.[1] ?? NaN);
    if (!Number.isInteger(at)) throw apiError(400, 'Invalid next token');
    const end = at + Math.min(limit, longest);
    const headers = end < items.length ? { 'x-next-token': Buffer.from(`${mark}${end}`).toString('base64url') } : {};
    return { json: items.slice(at, end), headers };
}
