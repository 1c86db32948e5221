// Compiled, never run: the types by hand fit the code that uses them, and what the framework wants of a backend.
import type { SandboxBackendProtocolV2 } from 'deepagents';
import { listProviders, Sandbox, SandlotError } from 'sandlot';
import { SandlotSandbox } from 'sandlot/deepagents';

const backend: SandboxBackendProtocolV2 = await SandlotSandbox.open({ provider: 'local', timeout: null });
const box: Sandbox = await Sandbox.open({ network: 'off', route: 'command', signal: AbortSignal.timeout(1000) });
const text: string = (await box.execute('true', { output: (piece: Buffer) => void piece })).text;
const next: number | null = (await box.read('a', { offset: 1 })).nextOffset;
const names: string[] = (await listProviders()).map(({ name }) => name);
const code: string = new SandlotError('usage', 'why').code;

// @ts-expect-error a path is wanted
await box.read();
// @ts-expect-error there is no such route
await Sandbox.open({ route: 'other' });

export { backend, code, names, next, text };
