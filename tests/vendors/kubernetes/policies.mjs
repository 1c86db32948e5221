// NetworkPolicies, as a cluster takes them and one with a network plugin enforces them: the union of what each allows.

import { isAddress, isNetwork, within } from '../common/outside.mjs';
import { invalid } from './status.mjs';

const bits = (network) => Number(network.split('/')[1]);

function checkBlock(name, { cidr, except = [] }) {
    if (!isNetwork(cidr ?? '')) throw invalid('NetworkPolicy', name, 'spec.egress[0].to[0].ipBlock.cidr', 'must be a valid CIDR value');
    for (const hole of except) {
        if (!isNetwork(hole) || !within(cidr, hole.split('/')[0]) || bits(hole) <= bits(cidr)) {
            throw invalid('NetworkPolicy', name, 'spec.egress[0].to[0].ipBlock.except[0]', 'must be a strict subset of `cidr`');
        }
    }
}

function check({ metadata: { name }, spec }) {
    for (const { to = [], ports = [] } of spec.egress ?? []) {
        for (const { ipBlock } of to) checkBlock(name, ipBlock ?? {});
        for (const { port } of ports) if (!(Number.isInteger(port) && port > 0 && port < 65536)) throw invalid('NetworkPolicy', name, 'spec.egress[0].ports[0].port', 'must be between 1 and 65535');
    }
}

export function createPolicy(policies, space, policy) {
    check(policy);
    return policies.create(space, policy);
}

export function replacePolicy(policies, space, name, policy) {
    check(policy);
    return policies.replace(space, name, policy);
}

const inBlock = ({ cidr, except = [] }, host) => isAddress(host) && within(cidr, host) && !except.some((hole) => within(hole, host));
const fits = (own, port) => (own.protocol ?? 'TCP') === 'TCP' && own.port === port;

/** May POD dial that? Without a policy of its direction, anything. */
export function lets(policies, { metadata: { namespace, labels = {} } }, { host, port }) {
    const chosen = ({ matchLabels = {} }) => Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
    const own = [...policies.objects.values()].filter(({ metadata, spec }) => metadata.namespace === namespace && spec.policyTypes?.includes('Egress') && chosen(spec.podSelector ?? {}));
    return own.length === 0 || own.flatMap(({ spec }) => spec.egress ?? []).some(({ to = [], ports = [] }) =>
        (to.length === 0 || to.some(({ ipBlock }) => inBlock(ipBlock, host))) && (ports.length === 0 || ports.some((one) => fits(one, port))));
}

/** What POD owns goes with it. */
export function collect(policies, { metadata: { uid } }) {
    for (const policy of policies.objects.values()) if (policy.metadata.ownerReferences?.some((owner) => owner.uid === uid)) policies.remove(policy);
}
