// Compiled, never run: the types by hand fit the code that uses them, and what the framework wants of a backend.
import type { SandboxBackendProtocolV2 } from 'deepagents';
import { listProviders, Sandbox, Sandboxes, SandlotError } from 'sandlot';
import { SandlotSandbox } from 'sandlot/deepagents';

const backend: SandboxBackendProtocolV2 = await SandlotSandbox.open({ provider: 'local', timeout: null });
const box: Sandbox = await Sandbox.open({ network: 'off', route: 'command', signal: AbortSignal.timeout(1000) });
const text: string = (await box.execute('true', { output: (piece: Buffer) => void piece })).text;
const next: number | null = (await box.read('a', { offset: 1 })).nextOffset;
const names: string[] = (await listProviders()).map(({ name }) => name);
const code: string = new SandlotError('usage', 'why').code;

for await (const piece of box.processes.follow(await box.processes.start('true', { input: true }))) void (piece satisfies Buffer);
const mode: 'off' | 'allow' | 'open' | null = (await box.network.show()).mode;
const port: number = (await box.ports.forward(80)).port;
const risks: (string | null)[] = (await box.changes.apply(['a'], { dryRun: true })).map(({ risk }) => risk);
await using own: Sandbox = await Sandbox.open();
const ends: AsyncDisposable[] = [own, await own.ports.forward(80), new SandlotSandbox(own)];
const fork: string = await new Sandboxes({ provider: 'docker', parameters: { cpus: 2 } }).fork(box.id);

// @ts-expect-error a path is wanted
await box.read();
// @ts-expect-error there is no such route
await Sandbox.open({ route: 'other' });

export { backend, code, ends, fork, mode, names, next, port, risks, text };
