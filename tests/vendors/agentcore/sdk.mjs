// The vendor's own SDK against the emulator: what it can do with the real service it must be able to do here.

import * as agentcore from '@aws-sdk/client-bedrock-agentcore';
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { KEYS } from './signature.mjs';
import * as cases from '../common/cases.mjs';
import { same, test } from '../common/cases.mjs';

const [url] = process.argv.slice(2);
const [keyId, temporary, expired] = KEYS.keys();
const credentialsOf = (id) => ({ accessKeyId: id, secretAccessKey: KEYS.get(id).secret, sessionToken: KEYS.get(id).token });
const connect = (credentials, more = {}) => new agentcore.BedrockAgentCoreClient({ endpoint: url, region: 'us-west-2', credentials, maxAttempts: 1, ...more });
const client = connect(credentialsOf(keyId));
const codeInterpreterIdentifier = 'aws.codeinterpreter.v1';
const refused = (work, pattern) =>
    cases.refused(work, (failure) => pattern.test(`${failure.$metadata?.httpStatusCode ?? ''} ${failure.name} ${failure.message}`));

const send = (operation, input, by = client) => by.send(new agentcore[`${operation}Command`]({ codeInterpreterIdentifier, ...input }));
const start = (input, by) => send('StartCodeInterpreterSession', input, by);
const get = (sessionId) => send('GetCodeInterpreterSession', { sessionId });
const list = (input) => send('ListCodeInterpreterSessions', input);
const stop = (sessionId, more) => send('StopCodeInterpreterSession', { sessionId, ...more });

/** The results of a tool; an exception in the stream is thrown. */
async function tool(sessionId, name, wanted, more) {
    const { stream } = await send('InvokeCodeInterpreter', { sessionId, name, arguments: wanted, ...more });
    const results = [];
    for await (const event of stream) if (event.result) results.push(event.result);
    same(results.length, 1);
    return results[0];
}

const blob = randomBytes(300000);
let id;

await test('start', async () => {
    const session = await start({ name: 'one', sessionTimeoutSeconds: 600 });
    id = session.sessionId;
    same([/^[0-9A-Z]{26}$/.test(id), session.codeInterpreterIdentifier, session.createdAt instanceof Date], [true, codeInterpreterIdentifier, true]);
});
await test('get', async () => {
    const { name, status, sessionTimeoutSeconds } = await get(id);
    same([name, status, sessionTimeoutSeconds], ['one', 'READY', 600]);
});
await test('the same token starts one session', async () => {
    const clientToken = randomUUID();
    const [first, second] = [await start({ name: 'two', clientToken }), await start({ name: 'two', clientToken })];
    same(first.sessionId, second.sessionId);
    await refused(() => start({ name: 'three', clientToken }), /400 ValidationException/);
    await stop(first.sessionId);
});
await test('temporary credentials', async () => void (await stop((await start({}, connect(credentialsOf(temporary)))).sessionId)));
await test('a custom interpreter, by id and by ARN', async () => {
    for (const own of ['own-AbC123dEfG', 'arn:aws:bedrock-agentcore:us-west-2:123456789012:code-interpreter-custom/own-AbC123dEfG']) {
        const { sessionId } = await start({ codeInterpreterIdentifier: own });
        await refused(() => get(sessionId), /404 ResourceNotFoundException/);
        await send('StopCodeInterpreterSession', { codeInterpreterIdentifier: own, sessionId });
    }
});
await test('no such interpreter', () => refused(() => start({ codeInterpreterIdentifier: 'nobody-0123456789' }), /404 ResourceNotFoundException/));
await test('a wrong secret', () => refused(() => start({}, connect({ ...credentialsOf(keyId), secretAccessKey: 'wrong' })), /403 InvalidSignatureException/));
await test('a wrong key', () => refused(() => start({}, connect({ accessKeyId: 'AKIDWRONG', secretAccessKey: 'wrong' })), /403 UnrecognizedClientException/));
await test('an expired token', () => refused(() => start({}, connect(credentialsOf(expired))), /403 ExpiredTokenException/));
await test('another region', () => refused(() => start({}, connect(credentialsOf(keyId), { region: 'eu-central-1' })), /403 InvalidSignatureException/));
await test('a clock that is wrong', () => refused(() => start({}, connect(credentialsOf(keyId), { systemClockOffset: 3600000 })), /403 InvalidSignatureException.*not yet current/));
await test('too long a lifetime', () => refused(() => start({ sessionTimeoutSeconds: 28801 }), /400 ValidationException/));

await test('a command on a terminal', async () => {
    const { structuredContent: { stdout, stderr, exitCode }, isError, content } = await tool(id, 'executeCommand', { command: 'echo out; echo err >&2; pwd; test -t 1 && id -un' });
    same([stdout, stderr, exitCode, isError], ['out\r\nerr\r\n/opt/amazon/genesis1p-tools/var\r\ngenesis1ptools\r\n', '', 0, false]);
    same(content[0].text, stdout);
});
await test('one that fails', async () => {
    const { structuredContent, isError } = await tool(id, 'executeCommand', { command: 'echo out; exit 3' });
    same([structuredContent.stdout, structuredContent.stderr, structuredContent.exitCode, isError], ['', 'out\r\n', 3, true]);
});
await test('each has a shell of its own', async () => {
    await tool(id, 'executeCommand', { command: 'cd /tmp; export A=1' });
    same((await tool(id, 'executeCommand', { command: 'pwd; echo "$A"' })).structuredContent.stdout, '/opt/amazon/genesis1p-tools/var\r\n\r\n');
});
await test('what is left behind is killed', async () => {
    await tool(id, 'executeCommand', { command: 'nohup setsid sleep 77.7 >/dev/null 2>&1 & sleep 0.2' });
    same((await tool(id, 'executeCommand', { command: "grep -lxz '[7]7.7' /proc/[0-9]*/cmdline 2>/dev/null | wc -l" })).structuredContent.stdout, '0\r\n');
});
await test('no command at all', async () => {
    const { isError, structuredContent } = await tool(id, 'executeCommand', {});
    same([isError, structuredContent], [true, undefined]);
});
await test('a task', async () => {
    const { structuredContent: { taskId, taskStatus } } = await tool(id, 'startCommandExecution', { command: 'sleep 0.3; echo late; exit 2' });
    same(taskStatus, 'submitted');
    same((await tool(id, 'getTask', { taskId })).structuredContent.taskStatus, 'working');
    await pause(800);
    const { structuredContent } = await tool(id, 'getTask', { taskId });
    same([structuredContent.taskStatus, structuredContent.stderr, structuredContent.exitCode], ['completed', 'late\r\n', 2]);
    same((await tool(id, 'stopTask', { taskId })).isError, true);
});
await test('a task that is stopped', async () => {
    const { structuredContent: { taskId } } = await tool(id, 'startCommandExecution', { command: 'sleep 78.8' });
    await tool(id, 'stopTask', { taskId });
    same((await tool(id, 'getTask', { taskId })).structuredContent.taskStatus, 'canceled');
});
await test('files', async () => {
    const { content, isError } = await tool(id, 'writeFiles', { content: [{ path: 'a/text', text: 'ä\n' }, { path: 'blob', blob }] });
    same([content[0].text, isError], ['Successfully wrote all 2 files', false]);
    const { content: [one, other] } = await tool(id, 'readFiles', { paths: ['a/text', 'blob'] });
    same([one.resource.text, one.resource.uri], ['ä\n', 'file:///a/text']);
    same(Buffer.from(other.resource.blob).equals(blob), true);
});
await test('an absolute path goes below the folder', async () => {
    await tool(id, 'writeFiles', { content: [{ path: '/tmp/x', text: 'x' }] });
    same((await tool(id, 'executeCommand', { command: 'ls /tmp/x 2>/dev/null; cat tmp/x' })).structuredContent.stdout, 'x');
});
await test('no path leads out of it', async () => same((await tool(id, 'writeFiles', { content: [{ path: '../x', text: 'x' }] })).isError, true));
await test('a missing file', async () => same((await tool(id, 'readFiles', { paths: ['nothing'] })).isError, true));
await test('list and remove', async () => {
    const named = async () => (await tool(id, 'listFiles', { directoryPath: 'a' })).content.map(({ name }) => name);
    same(await named(), ['text']);
    await tool(id, 'removeFiles', { paths: ['a/text'] });
    same(await named(), []);
});
await test('all pages of a list', async () => {
    const others = await Promise.all([1, 2, 3].map(() => start({})));
    const found = [];
    let nextToken;
    do {
        const page = await list({ maxResults: 2, status: 'READY', nextToken });
        found.push(...page.items.map(({ sessionId }) => sessionId));
        ({ nextToken } = page);
    } while (nextToken);
    same(found.length, 4);
    await Promise.all(others.map(({ sessionId }) => stop(sessionId)));
    same((await list({ status: 'READY' })).items.length, 1);
    same((await list({})).items.some(({ status }) => status === 'TERMINATED'), true);
});
await test('stop', async () => void (await stop(id, { clientToken: randomUUID() })));
await test('what has ended can still be looked at', async () => same((await get(id)).status, 'TERMINATED'));
await test('but not used', () => refused(() => tool(id, 'executeCommand', { command: 'true' }), /ResourceNotFoundException/));
await test('stop again', () => refused(() => stop(id), /404 ResourceNotFoundException/));
await test('an unknown session', () => refused(() => get('01ABCDEFGHJKMNPQRSTVWXYZ00'), /404 ResourceNotFoundException/));
cases.finish();
