// What a sandbox may reach: all, nothing, or what is on a list of networks and a list of domains.

import { covers, isAddress, isNetwork, matches } from '../common/outside.mjs';
import { apiError } from './errors.mjs';

const MOST = 10;
const words = (list) => (list ? list.split(',').map((word) => word.trim()) : []);

function check(list, what, right) {
    if (list.length > MOST) throw apiError(400, `${what} has more than ${MOST} entries`);
    for (const entry of list) if (!right(entry)) throw apiError(400, `${what}: ${entry} is invalid`);
}

export function checkLists({ networkAllowList, domainAllowList }) {
    check(words(networkAllowList), 'networkAllowList', (entry) => isNetwork(entry) && !entry.includes(':'));
    check(words(domainAllowList), 'domainAllowList', (entry) => /^(\*\.)?([a-z0-9-]+\.)+[a-z]+$/i.test(entry));
}

export function wall({ networkBlockAll, networkAllowList, domainAllowList }) {
    const networks = words(networkAllowList), domains = words(domainAllowList);
    if (networkBlockAll) return { allows: () => false };
    if (networks.length + domains.length === 0) return null;
    return { allows: ({ host }) => (isAddress(host) ? covers(networks, host) !== undefined : domains.some((domain) => matches(domain, host))) };
}

/** What is absent stays, and what is empty goes. */
export function changeNetwork(sandbox, { networkBlockAll: block, networkAllowList: networks, domainAllowList: domains }) {
    if (block === undefined && networks === undefined && domains === undefined) throw apiError(400, 'At least one of the settings must be given');
    checkLists({ networkAllowList: networks, domainAllowList: domains });
    if (block !== undefined) Object.assign(sandbox, { networkBlockAll: block, networkAllowList: undefined });
    if (networks !== undefined) Object.assign(sandbox, { networkAllowList: networks, networkBlockAll: networks ? false : sandbox.networkBlockAll });
    if (domains !== undefined) sandbox.domainAllowList = domains;
    if (sandbox.box) sandbox.box.wall = wall(sandbox);
}
