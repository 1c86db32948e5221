// What a sandbox may reach: all, nothing, or what is on a list of networks and one of domains.

import { covers, isAddress, isName, isNetwork, matches } from '../common/outside.mjs';
import { refuse } from './ids.mjs';

export const OPEN = 1, BLOCKED = 2, ALLOWLIST = 3;

export function check(network) {
    if (!network || ![OPEN, BLOCKED, ALLOWLIST].includes(network.network_access_type)) throw refuse.invalid('network_access is missing');
    const { allowed_cidrs: networks, allowed_domains: domains, network_access_type: kind } = network;
    for (const cidr of networks) if (!isNetwork(cidr) || cidr.includes(':')) throw refuse.invalid(`${cidr} is no CIDR`);
    for (const domain of domains) if (domain !== '*' && !isName(domain)) throw refuse.invalid(`${domain} is no domain`);
    if (kind !== ALLOWLIST && networks.length + domains.length > 0) throw refuse.invalid('lists are for ALLOWLIST alone');
}

export function wall({ network_access_type: kind, allowed_cidrs: networks, allowed_domains: domains }) {
    if (kind === OPEN) return null;
    return { allows: ({ host }) => kind === ALLOWLIST && (isAddress(host) ? covers(networks, host) !== undefined : domains.some((domain) => domain === '*' || matches(domain, host))) };
}
