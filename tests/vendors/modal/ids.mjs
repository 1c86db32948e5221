// Ids, tokens and results as the service makes them.

import { randomBytes, randomInt } from 'node:crypto';
import { code, GrpcError } from '../common/grpc.mjs';

const ALNUM = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const pick = (letters, count) => Array.from({ length: count }, () => letters[randomInt(letters.length)]).join('');

export const newId = (prefix) => `${prefix}-${pick(ALNUM, 22)}`;
export const newUlid = (prefix) => `${prefix}-01${pick(CROCKFORD, 24)}`;
export const isFirst = (id) => /^sb-[0-9A-Za-z]{22}$/.test(id);

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A JWT that nobody can check but whoever keeps it. */
export function newJwt(claims, lifeMs) {
    return `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ ...claims, exp: Math.ceil((Date.now() + lifeMs) / 1000) })}.${randomBytes(24).toString('base64url')}`;
}

export const outcome = { SUCCESS: 1, FAILURE: 2, TERMINATED: 3, TIMEOUT: 4, INIT_FAILURE: 5, IDLE_TIMEOUT: 7 };

export const refuse = {
    notFound: (text) => new GrpcError(code.NOT_FOUND, text),
    invalid: (text) => new GrpcError(code.INVALID_ARGUMENT, text),
    exists: (text) => new GrpcError(code.ALREADY_EXISTS, text),
    precondition: (text) => new GrpcError(code.FAILED_PRECONDITION, text),
    unavailable: (text) => new GrpcError(code.UNAVAILABLE, text),
    auth: (text) => new GrpcError(code.UNAUTHENTICATED, text),
    unimplemented: (text) => new GrpcError(code.UNIMPLEMENTED, text),
};

export const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
