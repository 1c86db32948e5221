export { SandlotError } from './errors.js';
export { listProviders, Sandbox } from './sandbox.js';
