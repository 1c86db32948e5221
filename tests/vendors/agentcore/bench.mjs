// What the official SDK does, one operation per process. See ../README.md. Its file tools reach one folder only and no more than
// 100 MB at a time, so files move in pieces, from and to their place by a command.
import * as agentcore from '@aws-sdk/client-bedrock-agentcore';
import { open } from 'node:fs/promises';

const PIECE = 48 << 20;
const [operation, endpoint, ...words] = process.argv.slice(2);
const client = new agentcore.BedrockAgentCoreClient({ endpoint, region: 'us-west-2' });
const send = (name, input) => client.send(new agentcore[`${name}Command`]({ codeInterpreterIdentifier: 'aws.codeinterpreter.v1', ...input }));
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

async function attach(sessionId) {
    const { status } = await send('GetCodeInterpreterSession', { sessionId });
    if (status !== 'READY') throw new Error(status);
    return sessionId;
}

async function tool(sessionId, name, wanted) {
    const { stream } = await send('InvokeCodeInterpreter', { sessionId, name, arguments: wanted });
    let last;
    for await (const event of stream) last = event.result ?? last;
    if (last.isError) throw new Error(last.content[0].text);
    return last;
}

const run = (id, command) => tool(id, 'executeCommand', { command });

async function exec(id) {
    const { structuredContent } = await run(id, 'echo done');
    if (!structuredContent.stdout.includes('done')) throw new Error(structuredContent.stdout);
}

async function upload(id, local, remote) {
    const file = await open(local);
    let count = 0;
    for (; ; count++) {
        const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(PIECE), position: count * PIECE });
        if (bytesRead === 0 && count > 0) break;
        await tool(id, 'writeFiles', { content: [{ path: `moving/${count}`, blob: buffer.subarray(0, bytesRead) }] });
        if (bytesRead < PIECE) {
            count++;
            break;
        }
    }
    await file.close();
    const pieces = Array.from({ length: count }, (_, i) => `moving/${i}`).join(' ');
    await run(id, `mkdir -p "$(dirname ${quoted(remote)})" && cat ${pieces} >${quoted(remote)} && rm -r moving`);
}

async function download(id, remote, local) {
    const { structuredContent } = await run(id, `rm -rf moving && mkdir moving && split -a 3 -d -b ${PIECE} ${quoted(remote)} moving/ && ls moving`);
    const file = await open(local, 'w');
    for (const name of structuredContent.stdout.trim().split(/\s+/)) {
        const { content: [{ resource }] } = await tool(id, 'readFiles', { paths: [`moving/${name}`] });
        await file.write(resource.blob ?? Buffer.from(resource.text));
    }
    await file.close();
}

const operations = {
    create: async () => console.log((await send('StartCodeInterpreterSession', { sessionTimeoutSeconds: 900 })).sessionId),
    exec: async (id) => exec(await attach(id)),
    upload: async (id, local, remote) => upload(await attach(id), local, remote),
    download: async (id, remote, local) => download(await attach(id), remote, local),
    cycle: async () => {
        const { sessionId } = await send('StartCodeInterpreterSession', { sessionTimeoutSeconds: 900 });
        await exec(await attach(sessionId)); // whoever keeps to the states looks at them first
        await send('StopCodeInterpreterSession', { sessionId });
    },
    list: async () => {
        const { items } = await send('ListCodeInterpreterSessions', { status: 'READY', maxResults: 100 });
        if (items.some(({ sessionId }) => !sessionId)) throw new Error('no id');
    },
    delete: async (sessionId) => send('StopCodeInterpreterSession', { sessionId }),
};
await operations[operation](...words);
