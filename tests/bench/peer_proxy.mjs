// The proxy of @anthropic-ai/sandbox-runtime alone, without a box around it, as network.py measures it beside ours.
//
//   peer_proxy.mjs PACKAGE ADDED UPSTREAM_CA
//
// It lets through localhost, and opens TLS to the port ADDED of that, where it adds a header. Prints its port and the file of its authority.
import { readFileSync } from 'node:fs';

const [, , folder, added, upstream] = process.argv;
const { createHttpProxyServer } = await import(`${folder}/dist/sandbox/http-proxy.js`);
const { createMitmCA } = await import(`${folder}/dist/sandbox/mitm-ca.js`);
const authority = createMitmCA({});

const server = createHttpProxyServer({
    filter: (port, host) => host === 'localhost',
    mitmCA: authority,
    shouldTerminateTLS: (host, port) => port === Number(added),
    mutateHeaders: (headers) => { headers['x-key'] = process.env.KEY; },
    tlsTerminateUpstreamCA: readFileSync(upstream),
});
server.listen(0, '127.0.0.1', () => console.log(`${server.address().port} ${authority.certPath}`));
