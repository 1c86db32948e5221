// Errors as the service tells them, and the check of requests against its model.

import { randomUUID } from 'node:crypto';
import { HttpError } from '../common/server.mjs';

const STATUS = { ValidationException: 400, SerializationException: 400, IncompleteSignatureException: 400, ServiceQuotaExceededException: 402,
    AccessDeniedException: 403, UnrecognizedClientException: 403, InvalidSignatureException: 403, MissingAuthenticationTokenException: 403,
    ExpiredTokenException: 403, ResourceNotFoundException: 404, ConflictException: 409, ThrottlingException: 429, InternalServerException: 500 };

/** An error of the model; thrown before the answer has begun it is one of HTTP, later an event (see `asEvent`). */
export function failure(name, message, more = {}) {
    const headers = { 'x-amzn-errortype': `${name}:http://internal.amazon.com/coral/`, 'x-amzn-requestid': randomUUID() };
    return Object.assign(new HttpError(STATUS[name], { message, ...more }, headers), { exception: name });
}

export const isText = (value) => typeof value === 'string';
export const isWhole = Number.isInteger;
export const isBoolean = (value) => typeof value === 'boolean';
export const listOf = (check) => (value) => Array.isArray(value) && value.every(check);
export const oneOf = (...values) => (value) => values.includes(value);
export const within = (least, most) => (value) => isWhole(value) && value >= least && value <= most;
export const matching = (pattern) => (value) => isText(value) && pattern.test(value);
export const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
export const shaped = (fields) => (value) => isObject(value) && Object.entries(value).every(([name, one]) => fields[name]?.(one));

function invalid(name) {
    const text = `1 validation error detected: Value at '${name}' failed to satisfy constraint`;
    return failure('ValidationException', text, { reason: 'FieldValidationFailed', fieldList: [{ name, message: 'invalid value' }] });
}

/** VALUE must have the members that FIELDS allow, and those that are REQUIRED. */
export function check(value, fields, required = []) {
    if (!isObject(value)) throw failure('SerializationException', 'Start of structure or map found where not expected.');
    for (const [name, one] of Object.entries(value)) if (!Object.hasOwn(fields, name) || !fields[name](one)) throw invalid(name);
    for (const name of required) if (value[name] === undefined) throw invalid(name);
    return value;
}

/** The body of a request, which was read for its signature. */
export function readBody(request, fields, required) {
    if (!/^application\/json$/.test(request.headers['content-type'] ?? '')) throw failure('SerializationException', 'Content-Type must be application/json');
    let body;
    try {
        body = JSON.parse(request.bytes.toString());
    } catch {
        throw failure('SerializationException', 'Unable to parse the request body');
    }
    return check(body, fields, required);
}

export function checkQuery(request, ...names) {
    for (const name of request.query.keys()) if (!names.includes(name)) throw failure('ValidationException', `unknown parameter ${name}`);
}
