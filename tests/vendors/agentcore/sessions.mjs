// Sessions of code interpreters: their records, their ends, and the boxes behind them.

import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createBox } from '../common/box.mjs';
import { checkQuery, failure, isObject, isText, listOf, matching, oneOf, readBody, shaped, within } from './errors.mjs';

export const HOME = process.env.EMULATOR_HOME ?? '/opt/amazon/genesis1p-tools/var';
const MACHINE = { user: 'user', name: 'genesis1ptools', home: HOME, hostname: 'localhost' };
const START_MS = 10;
const SECOND_MS = Number(process.env.EMULATOR_SECOND_MS ?? 1000); // of lifetimes
const MOST = Number(process.env.EMULATOR_MOST ?? 1000);
const LONGEST_PAGE = Number(process.env.EMULATOR_PAGE ?? 100);
const STOP_ENDED = process.env.EMULATOR_STOP_ENDED ?? 'ResourceNotFoundException'; // what stopping a session that has ended leads to
const INTERPRETERS = ['aws.codeinterpreter.v1', 'own-AbC123dEfG', 'arn:aws:bedrock-agentcore:us-west-2:123456789012:code-interpreter-custom/own-AbC123dEfG'];

const isToken = matching(/^(?=.{33,256}$)[a-zA-Z0-9](-*[a-zA-Z0-9])*$/);
const START = { name: matching(/^.{1,100}$/s), sessionTimeoutSeconds: within(1, 28800), clientToken: isToken,
    certificates: listOf(shaped({ location: isObject })), filesystemConfigurations: listOf(isObject) };
const LIST = { maxResults: within(1, 100), nextToken: matching(/^\S{1,2048}$/), status: oneOf('READY', 'TERMINATED') };

/** Looks like a ULID: the time, then chance. */
function newId() {
    const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
    let time = Date.now();
    let id = '';
    for (let i = 0; i < 10; i++, time = Math.floor(time / 32)) id = digits[time % 32] + id;
    for (const byte of randomBytes(16)) id += digits[byte % 32];
    return id;
}

export class Sessions {
    all = new Map(); // id -> record with box
    tokens = new Map(); // clientToken -> {wanted, session}
    made = 0;
    #spare; // a machine that waits for its session, as the service has many: starting one is not what a client takes

    constructor() {
        this.#spare = createBox(MACHINE);
        setInterval(() => this.#tick(), Math.min(200, SECOND_MS)).unref();
    }

    get(interpreter, id) {
        if (!isText(id) || !/^[0-9a-zA-Z]{1,40}$/.test(id)) throw failure('ValidationException', 'sessionId: invalid value');
        const session = this.all.get(id);
        if (!session || session.codeInterpreterIdentifier !== interpreter) throw failure('ResourceNotFoundException', `Session ${id} not found`);
        return session;
    }

    /** A session for tools. */
    ready(interpreter, id) {
        const session = this.get(interpreter, id);
        if (session.status !== 'READY' || !session.box) throw failure('ResourceNotFoundException', `Session ${id} is not available: it has been terminated`);
        return session;
    }

    live() {
        return [...this.all.values()].filter(({ status }) => status === 'READY');
    }

    show({ box, tasks, busy, clientToken, certificates, filesystemConfigurations, ...shown }) {
        return shown;
    }

    async start(interpreter, wanted) {
        const known = this.tokens.get(wanted.clientToken);
        if (known && known.wanted !== JSON.stringify(wanted)) {
            throw failure('ValidationException', 'The client token was used with other parameters', { reason: 'IdempotentParameterMismatchException' });
        }
        if (known) return known.session;
        if (this.live().length >= MOST) throw failure('ServiceQuotaExceededException', `Maximum number of active sessions (${MOST}) reached`);
        const starting = this.#make(interpreter, wanted);
        if (wanted.clientToken) this.tokens.set(wanted.clientToken, { wanted: JSON.stringify(wanted), session: starting });
        return starting;
    }

    async #make(interpreter, wanted) {
        const now = new Date().toISOString();
        const session = { sessionTimeoutSeconds: 900, ...wanted, codeInterpreterIdentifier: interpreter, sessionId: newId(), status: 'READY', createdAt: now,
            lastUpdatedAt: now, box: null, tasks: new Map(), busy: 0 };
        this.all.set(session.sessionId, session);
        this.made++;
        const spare = this.#spare;
        this.#spare = createBox(MACHINE);
        await pause(START_MS);
        const box = await spare;
        if (session.status !== 'READY') await box.destroy();
        else session.box = box;
        return session;
    }

    async stop(session) {
        session.status = 'TERMINATED';
        session.lastUpdatedAt = new Date().toISOString();
        await session.box?.destroy();
    }

    #tick() {
        for (const session of this.live()) {
            if (Date.now() - Date.parse(session.createdAt) > session.sessionTimeoutSeconds * SECOND_MS) this.stop(session);
        }
    }
}

function pageOf(all, { maxResults = 10, nextToken }) {
    const at = nextToken === undefined ? 0 : Number(Buffer.from(nextToken, 'base64').toString().replace(/^page-/, ''));
    if (!Number.isInteger(at) || at < 1 && nextToken !== undefined) throw failure('ValidationException', 'nextToken: invalid value');
    const end = at + Math.min(maxResults, LONGEST_PAGE);
    return { items: all.slice(at, end), ...(end < all.length ? { nextToken: Buffer.from(`page-${end}`).toString('base64') } : {}) };
}

export function sessionRoutes(sessions) {
    const interpreterOf = (request) => {
        if (!INTERPRETERS.includes(request.params.interpreter)) throw failure('ResourceNotFoundException', `Code interpreter ${request.params.interpreter} not found`);
        return request.params.interpreter;
    };
    const brief = ({ codeInterpreterIdentifier, sessionId, createdAt }) => ({ codeInterpreterIdentifier, sessionId, createdAt });
    return [
        ['PUT', '/code-interpreters/:interpreter/sessions/start', async (request) => {
            checkQuery(request);
            return { json: brief(await sessions.start(interpreterOf(request), readBody(request, START))) };
        }],
        ['GET', '/code-interpreters/:interpreter/sessions/get', (request) => {
            checkQuery(request, 'sessionId');
            const { lastUpdatedAt, ...shown } = sessions.show(sessions.get(interpreterOf(request), request.query.get('sessionId')));
            return { json: shown };
        }],
        ['POST', '/code-interpreters/:interpreter/sessions/list', (request) => {
            checkQuery(request);
            const wanted = readBody(request, LIST);
            const interpreter = interpreterOf(request);
            const all = [...sessions.all.values()].reverse()
                .filter(({ status, codeInterpreterIdentifier }) => codeInterpreterIdentifier === interpreter && (!wanted.status || status === wanted.status))
                .map((session) => {
                    const { sessionTimeoutSeconds, ...item } = sessions.show(session);
                    return item;
                });
            return { json: pageOf(all, wanted) };
        }],
        ['PUT', '/code-interpreters/:interpreter/sessions/stop', async (request) => {
            checkQuery(request, 'sessionId');
            readBody(request, { clientToken: isToken });
            const session = sessions.get(interpreterOf(request), request.query.get('sessionId'));
            if (session.status !== 'READY' && STOP_ENDED !== '200') throw failure(STOP_ENDED, `Session ${session.sessionId} has been terminated`);
            if (session.status === 'READY') await sessions.stop(session);
            const { codeInterpreterIdentifier, sessionId, lastUpdatedAt } = session;
            return { json: { codeInterpreterIdentifier, sessionId, lastUpdatedAt } };
        }],
    ];
}
