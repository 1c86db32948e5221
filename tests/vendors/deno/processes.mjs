// Commands of a sandbox. Their output goes out as streams; in which order the answer, the streams and the end of the command
// are told is not fixed, so it differs from one command to the next.

import os from 'node:os';

const later = () => new Promise((resolve) => setTimeout(resolve, 30));

async function spawn(connection, { command, args = [], env = {}, clearEnv = false, cwd, stdinStreamId, stdout, stderr }) {
    const { sandbox, processes } = connection;
    const turn = connection.spawned++;
    const streams = [stdout, stderr].map((mode) => (mode === 'piped' ? connection.newStream() : null));
    const argv = clearEnv ? ['env', '-i', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), command, ...args] : [command, ...args];
    if (turn % 2 === 1) for (const stream of streams) stream?.start(); // before the answer that names them
    const running = await sandbox.box.spawn({ argv, cwd: cwd ?? sandbox.box.home, env: clearEnv ? {} : { ...sandbox.environment, ...env },
        stdin: stdinStreamId === undefined ? null : connection.take(stdinStreamId),
        onStdout: (bytes) => streams[0]?.send(bytes), onStderr: (bytes) => streams[1]?.send(bytes) });
    processes.set(running.pid, Object.assign(running, { turn }));
    running.closed.then(async () => {
        if (turn % 4 >= 2) await later(); // after the end was told
        for (const stream of streams) stream?.end();
    });
    return { pid: running.pid, stdoutStreamId: streams[0]?.id ?? null, stderrStreamId: streams[1]?.id ?? null };
}

async function processWait({ processes }, { pid }) {
    const running = processes.get(pid);
    if (!running) throw Object.assign(new Error(`no process ${pid}`), { code: 'ENOENT' });
    const { code, signal } = await running.done;
    running.ended = true;
    if (running.turn % 4 < 2) await later();
    return { success: code === 0, code: signal ? 128 + os.constants.signals[signal] : code, signal: signal ?? null, oom: null };
}

/** Only the process itself. */
async function processKill({ processes }, { pid, signal = 'SIGTERM' }) {
    const running = processes.get(pid);
    if (!running || running.ended) throw Object.assign(new Error(`no process ${pid}`), { code: 'ENOENT' });
    await running.kill(signal, false);
    return null;
}

export const methods = {
    spawn,
    processWait,
    processKill,
    envGet: ({ sandbox }, { key }) => sandbox.environment[key] ?? null,
    envSet: ({ sandbox }, { key, value }) => {
        sandbox.environment[key] = value;
        return null;
    },
    envDelete: ({ sandbox }, { key }) => {
        delete sandbox.environment[key];
        return null;
    },
    envToObject: ({ sandbox }) => sandbox.environment,
};
