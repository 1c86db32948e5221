// A terminal in a box: script(1) holds its other end.

import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

const word = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The number of the program and the name of its terminal, which they write down before the program begins. */
async function introduce(box, note, process) {
    let ended = false;
    process.done.then(() => (ended = true));
    while (!ended && !(await box.stat(note).catch(() => null))) await pause(5);
    const { stdout } = await box.run(['sh', '-c', 'cat "$0" && rm "$0"', note]);
    const [pid, name] = stdout.toString().split('\n');
    return { pid: Number(pid) || process.pid, name };
}

/**
 * Starts a command that leads a session of its own in a terminal of this size. As box.spawn, but onOutput gets what it shows,
 * write() types, signals reach the command alone, and resize({rows, cols}) tells it of another size.
 */
export async function openTerminal(box, { argv, cwd, env, sudo, rows, cols, onOutput }) {
    const note = `/run/agent/terminal-${randomBytes(8).toString('hex')}`;
    const line = `stty rows ${rows} cols ${cols}; { echo $$; tty; } >${note}.new; mv ${note}.new ${note}; exec ${argv.map(word).join(' ')}`;
    const outer = await box.spawn({ argv: ['script', '-qef', '-E', 'always', '-c', line, '/dev/null'], cwd, env, sudo, merged: true, stdin: 'pipe', onStdout: onOutput });
    const { pid, name } = await introduce(box, note, outer);
    let signal = null;
    const kill = async (one = 'SIGKILL') => {
        signal = one;
        await box.run(['sh', '-c', 'kill "-$0" "$1"', one.slice(3), `${pid}`]);
    };
    return {
        ...outer,
        pid,
        kill,
        done: outer.done.then(({ code }) => (signal && (code === null || code > 128) ? { code: null, signal } : { code, signal: null })),
        resize: (size) => box.run(['stty', '-F', name, 'rows', `${size.rows}`, 'cols', `${size.cols}`]),
    };
}
