// Verifies Signature Version 4 by computing it anew from what has arrived.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { failure } from './errors.mjs';

const SERVICE = 'bedrock-agentcore';
const SKEW_MS = 5 * 60 * 1000;
export const KEYS = new Map([
    ['AKIDEMULATED00000001', { secret: 'emulated/secret+key0123456789abcdefghijk' }],
    ['ASIAEMULATED00000002', { secret: 'emulated/temporary+key0123456789abcdefgh', token: 'emulated-session-token/with+odd=characters==' }],
    ['ASIAEMULATED00000003', { secret: 'emulated/expired+key0123456789abcdefghij', token: 'emulated-expired-token', expired: true }],
]);

const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');
const seal = (key, text) => createHmac('sha256', key).update(text).digest();
const escape = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

function canonicalQuery(query) {
    const pairs = query.split('&').filter(Boolean).map((pair) => {
        const [name, value = ''] = pair.split(/=(.*)/s);
        return [escape(decodeURIComponent(name)), escape(decodeURIComponent(value))];
    });
    return pairs.sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : x > y ? 1 : 0)).map((pair) => pair.join('=')).join('&');
}

/** name -> value, of headers that came several times joined by commas */
function allHeaders(raw) {
    const headers = new Map();
    for (let i = 0; i < raw.rawHeaders.length; i += 2) {
        const name = raw.rawHeaders[i].toLowerCase();
        const value = raw.rawHeaders[i + 1].trim().replace(/[ \t]+/g, ' ');
        headers.set(name, headers.has(name) ? `${headers.get(name)},${value}` : value);
    }
    return headers;
}

function readAuthorization(value) {
    const parts = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/.exec(value);
    if (!parts) throw failure('IncompleteSignatureException', `Authorization header is malformed: ${value.slice(0, 40)}`);
    const [, keyId, day, region, service, names, signature] = parts;
    return { keyId, day, region, service, names: names.split(';'), signature };
}

function checkNames(names, headers) {
    if (names.join() !== [...names].sort().join()) throw failure('InvalidSignatureException', 'SignedHeaders is not sorted');
    const needed = [...headers.keys()].filter((name) => name === 'host' || name === 'content-type' || name.startsWith('x-amz-'));
    for (const name of needed) if (!names.includes(name)) throw failure('InvalidSignatureException', `${name} must be signed`);
    for (const name of names) if (!headers.has(name)) throw failure('InvalidSignatureException', `${name} is signed, but was not sent`);
}

function checkTime(stamp, day) {
    const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp ?? '');
    if (!parts || !stamp.startsWith(day)) throw failure('IncompleteSignatureException', "Date must be in ISO-8601 'basic format'");
    const [year, month, date, hour, minute, second] = parts.slice(1).map(Number);
    const late = Date.now() - Date.UTC(year, month - 1, date, hour, minute, second);
    if (late > SKEW_MS) throw failure('InvalidSignatureException', `Signature expired: ${stamp} is now earlier than the earliest time allowed (5 min.)`);
    if (late < -SKEW_MS) throw failure('InvalidSignatureException', `Signature not yet current: ${stamp} is still later than the latest time allowed (5 min.)`);
}

/** Throws unless REQUEST, with .bytes, was signed for REGION by somebody known. */
export function verify(request, region) {
    const headers = allHeaders(request.raw);
    if (!headers.has('authorization')) throw failure('MissingAuthenticationTokenException', 'Missing Authentication Token');
    const said = readAuthorization(headers.get('authorization'));
    const key = KEYS.get(said.keyId);
    if (!key) throw failure('UnrecognizedClientException', 'The security token included in the request is invalid.');
    if (key.expired) throw failure('ExpiredTokenException', 'The security token included in the request is expired');
    if (headers.get('x-amz-security-token') !== key.token) throw failure('UnrecognizedClientException', 'The security token included in the request is invalid.');
    if (said.region !== region) throw failure('InvalidSignatureException', `Credential should be scoped to a valid region, not '${said.region}'.`);
    if (said.service !== SERVICE) throw failure('InvalidSignatureException', `Credential should be scoped to correct service: '${SERVICE}'.`);
    checkNames(said.names, headers);
    checkTime(headers.get('x-amz-date'), said.day);
    const payload = hash(request.bytes);
    if ((headers.get('x-amz-content-sha256') ?? payload) !== payload) throw failure('InvalidSignatureException', 'x-amz-content-sha256 does not match the body');
    const [path, query = ''] = request.raw.url.split(/\?(.*)/s);
    const canonical = [request.method, path.split('/').map(escape).join('/'), canonicalQuery(query), ...said.names.map((name) => `${name}:${headers.get(name)}`),
        '', said.names.join(';'), payload].join('\n');
    const scope = [said.day, said.region, said.service, 'aws4_request'];
    const text = ['AWS4-HMAC-SHA256', headers.get('x-amz-date'), scope.join('/'), hash(canonical)].join('\n');
    const signature = seal(scope.reduce(seal, `AWS4${key.secret}`), text);
    if (!timingSafeEqual(signature, Buffer.from(said.signature, 'hex'))) {
        throw failure('InvalidSignatureException', 'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.');
    }
}
