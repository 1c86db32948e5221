// Errors and bodies as the service has them.

import { HttpError } from '../common/server.mjs';

export const apiError = (status, code, message) => new HttpError(status, { error: { code, message } });
export const badRequest = (message) => apiError(400, 'bad_request', message);

export const isText = (value) => typeof value === 'string';
export const isInteger = (value) => Number.isSafeInteger(value) && value >= 0;
export const isFlag = (value) => typeof value === 'boolean';
export const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
export const isTexts = (value) => isObject(value) && Object.values(value).every(isText);

/** The JSON body with these FIELDS, {name: check}, and no others; those that are REQUIRED must be there. */
export async function read(request, fields, required = []) {
    const bytes = await request.body();
    if (bytes.length === 0 && required.length === 0) return {};
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw badRequest('Content-Type must be application/json');
    let body;
    try {
        body = JSON.parse(bytes.toString());
    } catch {
        throw badRequest('Invalid JSON');
    }
    if (!isObject(body)) throw badRequest('Invalid request: should be object');
    for (const [name, value] of Object.entries(body)) {
        if (!fields[name]) throw badRequest(`Invalid request: should NOT have additional property \`${name}\`.`);
        if (!fields[name](value)) throw badRequest(`Invalid request: \`${name}\` is not valid.`);
    }
    for (const name of required) if (body[name] === undefined) throw badRequest(`Invalid request: missing required property \`${name}\`.`);
    return body;
}

/** The query must have nothing but these names. */
export function checkQuery(request, ...allowed) {
    for (const name of request.query.keys()) {
        if (name !== 'teamId' && !allowed.includes(name)) throw badRequest(`Invalid request: unknown query parameter \`${name}\`.`);
    }
}

/** A page of ITEMS, newest first, as lists give them under KEY. */
export function page(request, key, items, longest) {
    const { query } = request;
    const limit = Number(query.get('limit') ?? 20);
    if (!Number.isInteger(limit) || limit < 1 || limit > 50) throw badRequest('Invalid request: `limit` should be <= 50 and >= 1.');
    const cursor = query.get('cursor');
    const at = cursor === null ? 0 : Number(/^at:(\d+)$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1] ?? NaN);
    if (!Number.isInteger(at)) throw badRequest('Invalid request: `cursor` is not valid.');
    const size = Math.min(limit, longest);
    const shown = items.slice(at, at + size);
    const next = at + size < items.length ? Buffer.from(`at:${at + size}`).toString('base64url') : null;
    return { json: { [key]: shown, pagination: { count: shown.length, next } } };
}
