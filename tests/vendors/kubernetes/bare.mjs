// A box that is only a folder of this machine: for the benchmark of fleets, where a thousand real ones would measure the machine
// instead of the client.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

let shop = null;
const running = new Set();
process.on('exit', () => {
    for (const child of running) try { process.kill(-child.pid, 'SIGKILL'); } catch { /* it has ended */ }
    if (shop) fs.rmSync(shop, { recursive: true, force: true });
});

export async function createBareBox({ environment = {} }) {
    shop ??= fs.mkdtempSync(path.join(os.tmpdir(), 'sandlot-fleet.'));
    const folder = fs.mkdtempSync(`${shop}/`);
    const own = new Set();
    return {
        async spawn({ argv, onStdout = () => {}, onStderr = () => {}, stdin = null }) {
            const words = argv.map((word) => word.replaceAll('/tmp/.sandlot-last-used', `${folder}/.sandlot-last-used`));
            const child = spawn(words[0], words.slice(1), { cwd: folder, detached: true, stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
                env: { PATH: process.env.PATH, FLEET_LOG: process.env.FLEET_LOG, ...environment, HOME: folder, TMPDIR: folder } });
            own.add(child);
            running.add(child);
            child.stdin?.on('error', () => {});
            child.stdout.on('data', onStdout);
            child.stderr.on('data', onStderr);
            const done = new Promise((resolve, reject) => child.on('error', reject).on('close', (code, signal) => resolve({ code, signal })));
            done.catch(() => {}).then(() => own.delete(child) && running.delete(child));
            return {
                pid: child.pid, done,
                write: async (bytes) => void child.stdin?.write(bytes),
                closeInput: async () => void child.stdin?.end(),
                kill: async (signal) => void process.kill(-child.pid, signal),
            };
        },
        async destroy() {
            for (const child of own) try { process.kill(-child.pid, 'SIGKILL'); } catch { /* it has ended */ }
            await fs.promises.rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
        },
    };
}
