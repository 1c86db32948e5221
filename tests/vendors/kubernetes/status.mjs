// What an API server answers when it refuses: a Status object.

import { HttpError } from '../common/server.mjs';

const CODES = {
    BadRequest: 400, Unauthorized: 401, Forbidden: 403, NotFound: 404, MethodNotAllowed: 405, AlreadyExists: 409, Conflict: 409,
    Expired: 410, UnsupportedMediaType: 415, Invalid: 422, InternalError: 500,
};

export const statusObject = (reason, message, details = {}) => ({
    kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code: CODES[reason],
});

export const refusal = (reason, message, details) => new HttpError(CODES[reason], statusObject(reason, message, details));

/** 422: what of FIELD is wrong */
export const invalid = (kind, name, field, message) => refusal('Invalid', `${kind} "${name}" is invalid: ${field}: ${message}`,
    { name, kind, causes: [{ reason: 'FieldValueInvalid', message, field }] });
