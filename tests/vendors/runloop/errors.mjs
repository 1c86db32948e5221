// Errors and closed request schemas.

import { HttpError } from '../common/server.mjs';

export const failure = (status, message, headers = {}) => new HttpError(status, { message }, headers);

export const isText = (value) => typeof value === 'string';
export const isWhole = (value) => Number.isSafeInteger(value) && value >= 0;
export const isFlag = (value) => typeof value === 'boolean';
export const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
export const isTexts = (value) => isObject(value) && Object.values(value).every(isText);
export const isTextList = (value) => Array.isArray(value) && value.every(isText);
export const oneOf = (...words) => (value) => words.includes(value);

/** The fields of VALUE must be among FIELDS and pass their checks; null is as good as absent. */
export function check(value, fields, where = 'body') {
    if (!isObject(value)) throw failure(400, `${where}: must be an object`);
    for (const [name, one] of Object.entries(value)) {
        if (!Object.hasOwn(fields, name)) throw failure(400, `${where}.${name}: unrecognized field, additional properties are not allowed`);
        if (one === null) continue;
        if (isObject(fields[name])) check(one, fields[name], `${where}.${name}`);
        else if (!fields[name](one)) throw failure(400, `${where}.${name}: invalid value`);
    }
}

/** The body of a request, as FIELDS allow; nothing where there is none. */
export async function read(request, fields, required = []) {
    const bytes = await request.body();
    let body = {};
    if (bytes.length > 0) {
        if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw failure(415, 'Content-Type must be application/json');
        try {
            body = JSON.parse(bytes.toString());
        } catch {
            throw failure(400, 'Malformed JSON');
        }
    }
    check(body, fields);
    for (const name of required) if (body[name] === undefined || body[name] === null) throw failure(400, `body.${name}: required`);
    return body;
}

/** The parameters of the query must be among NAMES (texts, or expressions). */
export function checkQuery(request, ...names) {
    for (const name of request.query.keys()) {
        if (!names.some((known) => (isText(known) ? known === name : known.test(name)))) throw failure(400, `query: unknown parameter ${name}`);
    }
}

const LONGEST_PAGE = Number(process.env.EMULATOR_PAGE ?? 5000);

/** A page of ALL, which begins with the newest. */
export function page(request, all, name, show) {
    const limit = Number(request.query.get('limit') ?? 20);
    if (!Number.isInteger(limit) || limit < 1 || limit > 5000) throw failure(400, 'limit must be from 1 to 5000');
    const after = request.query.get('starting_after');
    const at = after === null ? 0 : all.findIndex((one) => one.id === after) + 1;
    if (after !== null && at === 0) throw failure(400, `starting_after: there is no ${after}`);
    const end = at + Math.min(limit, LONGEST_PAGE);
    const total = request.query.get('include_total_count') === 'false' ? null : all.length;
    return { json: { [name]: all.slice(at, end).map(show), has_more: end < all.length, total_count: total } };
}
