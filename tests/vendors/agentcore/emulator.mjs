// An emulator of the data plane of Amazon Bedrock AgentCore's code interpreter.
//
// EMULATOR_REGION: the region that it stands for. EMULATOR_PAGE: the longest page of a list. EMULATOR_SECOND_MS: shorter seconds of
// lifetimes. EMULATOR_MOST: sessions at a time. EMULATOR_STOP_ENDED: what stopping a session that has ended leads to: the name of an
// exception, or 200. EMULATOR_HOME: the folder of commands and file tools. EMULATOR_AT_ONCE: calls that a session takes at a time.
// EMULATOR_CALL_MS: the longest call. EMULATOR_INITIAL=1: an event comes before the result. EMULATOR_PARTS: events of one result.
// EMULATOR_EXCEPTIONS: names of exceptions, with which every other call ends until they are used up.

import { createEmulator } from '../common/server.mjs';
import { Sessions, sessionRoutes } from './sessions.mjs';
import { verify } from './signature.mjs';
import { toolRoutes } from './tools.mjs';

const LARGEST_BODY = 100 * 1000 * 1000;
const REGION = process.env.EMULATOR_REGION ?? 'us-west-2';
const sessions = new Sessions();

await createEmulator({
    name: 'agentcore',
    before: async (request) => {
        request.bytes = await request.body(LARGEST_BODY);
        verify(request, REGION);
    },
    routes: [...sessionRoutes(sessions), ...toolRoutes(sessions)],
    state: () => ({
        sandboxes: sessions.live().map((session) => ({ id: session.sessionId, ...sessions.show(session), tasks: session.tasks.size })),
        ended: [...sessions.all.values()].filter(({ status }) => status !== 'READY').map(({ sessionId }) => sessionId),
        made: sessions.made,
    }),
});
