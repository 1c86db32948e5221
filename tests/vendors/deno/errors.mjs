// Errors as the service words them: of its two APIs, and of a sandbox as they travel in JSON-RPC.

import { randomBytes } from 'node:crypto';
import { HttpError } from '../common/server.mjs';

export const failure = (status, code, message, headers = {}) =>
    new HttpError(status, { code, message }, { 'x-deno-trace-id': randomBytes(8).toString('hex'), ...headers });

const CLASSES = { ENOENT: ['NotFound', 'No such file or directory', 2], EACCES: ['PermissionDenied', 'Permission denied', 13],
    EPERM: ['PermissionDenied', 'Operation not permitted', 1], EISDIR: ['IsADirectory', 'Is a directory', 21],
    ENOTDIR: ['NotADirectory', 'Not a directory', 20], EEXIST: ['AlreadyExists', 'File exists', 17], ELOOP: ['FilesystemLoop', 'Too many levels', 40],
    EROFS: ['Error', 'Read-only file system', 30], ENOTEMPTY: ['Error', 'Directory not empty', 39], ENAMETOOLONG: ['Error', 'File name too long', 36],
    ENOSPC: ['Error', 'No space left on device', 28], EBADF: ['BadResource', 'Bad resource ID', 9] };

/** A failure of the sandbox: the `error` of a result. */
export function remoteError(problem, doing = '') {
    const [constructorName, words, number] = CLASSES[problem.code] ?? ['Error', problem.message];
    const message = number ? `${words} (os error ${number})${doing ? `: ${doing}` : ''}` : words;
    return { constructorName, message, code: problem.code ?? null, name: constructorName, stack: null, cause: null };
}

/** A failure of the protocol: the `error` of a JSON-RPC answer. */
export class RpcFailure extends Error {
    constructor(code, message) {
        super(message);
        this.rpc = code;
    }
}
