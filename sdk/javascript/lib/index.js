export { SandlotError } from './errors.js';
export { defaultProvider, listProviders, Sandbox, Sandboxes, tools } from './sandbox.js';
