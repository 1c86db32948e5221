// What boxes reach, and what they do not: an emulator gives each box the wall that its service would build, and all that a box
// dials goes through that.
//
// A box has no network. Its agent takes CONNECT at 127.0.0.1:3128 and asks the box's wall; behind that every name and address
// is a host that takes any request and answers "reached HOST:PORT". So in a box
//
//   curl -p -x 127.0.0.1:3128 http://a.example:443/
//
// stands for a TLS connection: what the service would read from its head, the wall gets in the clear.
//
//   box.wall = { allows: ({ host, port }) => true, headers: ({ host, port }) => ({ authorization: 'x' }) };
//
// `headers` may be left out: what the service adds to a request. Without a wall a box reaches everything. What has been reached,
// {host, port, headers}, is in `reached`, and at GET /__control/reached.

import net from 'node:net';

export const reached = [];

export const isAddress = (host) => net.isIP(host) !== 0;

/** "*.a.example" is every name below, and not the name itself. */
export const matches = (pattern, host) => pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));

/** Is ADDRESS in the network CIDR? A bare address is a network of its own. */
export function within(cidr, address) {
    const [network, length] = cidr.split('/');
    const family = net.isIPv6(network) ? 'ipv6' : 'ipv4';
    if (!isAddress(address) || (net.isIPv6(address) ? 'ipv6' : 'ipv4') !== family) return false;
    const list = new net.BlockList();
    list.addSubnet(network, Number(length ?? (family === 'ipv6' ? 128 : 32)), family);
    return list.check(address, family);
}

/** Is it a network with its length, as most services want it? */
export const isNetwork = (text) => /^[\da-f:.]+\/\d+$/i.test(text) && isAddress(text.split('/')[0]);

/** Is it a name, perhaps with "*." in front? */
export const isName = (text) => /^(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i.test(text) && !isAddress(text);

/** Of entries of any kind, the first that lets HOST through: names by their pattern, addresses by their network. */
export const covers = (entries, host) => entries.find((entry) => (isAddress(host) ? isNetwork(entry) || isAddress(entry) ? within(entry, host) : false : matches(entry, host)));

/** A box has dialled: may it? */
export const dial = (wall, { host, port }) => !wall || wall.allows({ host, port });

/** It has sent a request through what it was allowed. */
export function ask(wall, { host, port, headers }) {
    reached.push({ host, port, headers: { ...headers, ...wall?.headers?.({ host, port }) } });
}
