// The shapes in which Daytona's servers tell errors.

import http from '../common/http.mjs';
import { HttpError } from '../common/server.mjs';

/** Of the control API. */
export function apiError(status, message, path = '', headers = {}) {
    return new HttpError(status, { path, timestamp: new Date().toISOString(), statusCode: status, error: http.STATUS_CODES[status], message }, headers);
}

const body = (status, code, message, request) =>
    ({ statusCode: status, message, code, timestamp: new Date().toISOString(), path: request.path, method: request.method });

/** Of the proxy, which is another program than the daemon behind it. */
export const proxyError = (status, code, message, request) => new HttpError(status, body(status, code, message, request));

/** Of the daemon in the sandbox. */
export const daemonBody = (status, code, message, request) => ({ ...body(status, code, message, request), source: 'DAYTONA_DAEMON' });
export const daemonError = (status, code, message, request) => new HttpError(status, daemonBody(status, code, message, request));
