// gRPC for emulated services: methods of a .proto file as routes of common/server.mjs, which then wants `http2: true`.
//
//   const { service, lookup } = await loadProto(new URL('service.proto', import.meta.url), 'emulated');
//   routes: grpcRoutes(service('Control'), '/acme.Sandboxes', { Delete: async (message, request) => ({}) }, { before })
//
// A handler gets the message (fields in snake_case, absent ones as their defaults; `has(message, field)` tells) and returns the
// answer; for a streaming method it gets an async iterator of messages, or is an async generator of answers. It throws GrpcError.
// A message with a field that the file does not have is refused: whoever sends it has a wrong number or a wrong type.

import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import protobuf from 'protobufjs';

export const code = { OK: 0, CANCELLED: 1, UNKNOWN: 2, INVALID_ARGUMENT: 3, DEADLINE_EXCEEDED: 4, NOT_FOUND: 5, ALREADY_EXISTS: 6,
    PERMISSION_DENIED: 7, RESOURCE_EXHAUSTED: 8, FAILED_PRECONDITION: 9, ABORTED: 10, OUT_OF_RANGE: 11, UNIMPLEMENTED: 12, INTERNAL: 13,
    UNAVAILABLE: 14, DATA_LOSS: 15, UNAUTHENTICATED: 16 };
const LONGEST = 100 << 20;

export class GrpcError extends Error {
    constructor(status, message, details) {
        super(message);
        Object.assign(this, { status, details });
    }
}

export function loadProto(url, name) {
    const root = protobuf.parse(readFileSync(url, 'utf8'), { keepCase: true }).root;
    root.resolveAll();
    return { service: (one) => root.lookupService(`${name}.${one}`), type: (one) => root.lookupType(`${name}.${one}`) };
}

export const has = (message, field) => Object.hasOwn(message, field);

// ---- messages --------------------------------------------------------------------------------------------------------

function frame(type, value) {
    const problem = type.verify(value);
    if (problem) throw new Error(`${type.name}: ${problem}`);
    const bytes = type.encode(type.create(value)).finish();
    const head = Buffer.alloc(5);
    head.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([head, bytes]);
}

function decode(type, bytes) {
    let message;
    try {
        message = type.decode(bytes);
    } catch (error) {
        throw new GrpcError(code.INTERNAL, `${type.name} cannot be read: ${error.message}`);
    }
    const again = type.encode(message).finish();
    if (again.length !== bytes.length) throw new GrpcError(code.INVALID_ARGUMENT, `${type.name} has fields that are not known`);
    return message;
}

/** The messages in STREAM. */
async function* messages(type, stream) {
    const pieces = [];
    let length = 0; // of the pieces
    let wanted = 5; // so many bytes make the next step
    for await (const piece of stream) {
        pieces.push(piece);
        length += piece.length;
        while (length >= wanted) {
            const bytes = Buffer.concat(pieces.splice(0));
            const size = bytes.readUInt32BE(1);
            if (bytes[0] !== 0) throw new GrpcError(code.UNIMPLEMENTED, 'compression was not agreed on');
            if (size > LONGEST) throw new GrpcError(code.RESOURCE_EXHAUSTED, 'the message is too long');
            wanted = 5 + size;
            const rest = bytes.subarray(length >= wanted ? wanted : 0);
            if (length >= wanted) {
                yield decode(type, bytes.subarray(5, wanted));
                wanted = 5;
            }
            pieces.push(rest);
            length = rest.length;
        }
    }
    if (length > 0) throw new GrpcError(code.INTERNAL, 'the request ends inside a message');
}

async function single(type, stream) {
    let only;
    let count = 0;
    for await (const message of messages(type, stream)) {
        only = message;
        count++;
    }
    if (count !== 1) throw new GrpcError(code.INTERNAL, `one message was expected, not ${count}`);
    return only;
}

// ---- answers ---------------------------------------------------------------------------------------------------------

const encodeText = (text) => [...Buffer.from(text)].map((byte) => (byte < 0x20 || byte > 0x7e || byte === 0x25
    ? `%${byte.toString(16).toUpperCase().padStart(2, '0')}` : String.fromCharCode(byte))).join('');

function verdict(failure) {
    if (!failure) return { 'grpc-status': '0' };
    const cut = ['ABORT_ERR', 'ERR_STREAM_PREMATURE_CLOSE'].includes(failure.code); // whoever asked has gone in the middle
    if (!(failure instanceof GrpcError) && !cut) console.error(failure); // a fault of the emulator itself
    const trailers = { 'grpc-status': String(failure.status ?? code.INTERNAL), 'grpc-message': encodeText(failure.message) };
    if (failure.details) trailers['grpc-status-details-bin'] = Buffer.from(failure.details).toString('base64').replace(/=+$/, '');
    return trailers;
}

const TYPE = { 'content-type': 'application/grpc' };

/** A failure before the first message: all in one block of headers. */
const refusal = (failure) => ({ status: 200, headers: { ...TYPE, ...verdict(failure) }, body: '', alone: true });

/** Answers of a generator; it fails as a status behind those that came before. */
function streamed(type, answers) {
    const trailers = { 'grpc-status': '0' };
    async function* frames() {
        try {
            for await (const answer of answers) yield frame(type, answer);
        } catch (failure) {
            Object.assign(trailers, verdict(failure));
        }
    }
    return { status: 200, headers: { ...TYPE }, stream: Readable.from(frames(), { objectMode: false }), trailers };
}

function checkRequest({ headers }) {
    if (!/^application\/grpc(\+proto)?$/.test(headers['content-type'] ?? '')) throw new GrpcError(code.INTERNAL, 'the content type is not application/grpc');
    if (headers.te !== 'trailers') throw new GrpcError(code.INTERNAL, 'te: trailers is missing');
    if (headers['grpc-timeout'] && !/^\d{1,8}[HMSmun]$/.test(headers['grpc-timeout'])) throw new GrpcError(code.INTERNAL, 'grpc-timeout is malformed');
}

/** Routes for SERVICE at PATH; `before(request, method)` throws GrpcErrors. Methods without a handler are UNIMPLEMENTED. */
export function grpcRoutes(service, path, handlers, { before = () => {} } = {}) {
    const routes = Object.entries(handlers).map(([name, handler]) => {
        const method = service.methods[name];
        if (!method) throw new Error(`no method ${name}`);
        const [input, output] = [method.resolvedRequestType, method.resolvedResponseType];
        return ['POST', `${path}/${name}`, async (request) => {
            try {
                checkRequest(request);
                await before(request, name);
                const message = method.requestStream ? messages(input, request.stream) : await single(input, request.stream);
                if (method.responseStream) return streamed(output, handler(message, request));
                return { status: 200, headers: { ...TYPE }, body: frame(output, await handler(message, request)), trailers: verdict() };
            } catch (failure) {
                if (request.signal.aborted) throw failure;
                return refusal(failure);
            }
        }];
    });
    return [...routes, ['POST', `${path}/:method`, (request) => refusal(new GrpcError(code.UNIMPLEMENTED, `no method ${request.params.method}`))]];
}
