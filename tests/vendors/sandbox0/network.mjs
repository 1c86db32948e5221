// `network`: a mode, and rules of which the first that fits counts.

import { isAddress, isNetwork, matches, within } from '../common/outside.mjs';
import { isObject, isText } from './errors.mjs';

const isList = (value, right) => value === undefined || (Array.isArray(value) && value.length > 0 && value.every(right));
const isPort = (value) => isObject(value) && Number.isInteger(value.port) && (value.protocol === undefined || ['tcp', 'udp'].includes(value.protocol));
const isRule = (value) => isObject(value) && ['allow', 'deny'].includes(value.action) && (value.domains || value.cidrs || value.ports || value.appProtocols) &&
    isList(value.domains, isText) && isList(value.cidrs, isNetwork) && isList(value.ports, isPort);

export const isPolicy = (value) => isObject(value) && ['allow-all', 'block-all'].includes(value.mode) &&
    Object.keys(value).every((key) => ['mode', 'egress', 'credentialBindings'].includes(key)) &&
    (value.egress === undefined || (isObject(value.egress) && (value.egress.trafficRules ?? []).every(isRule)));

/** A wildcard covers the name itself, too. */
const named = (pattern, host) => matches(pattern, host) || pattern === `*.${host}`;

export function wall({ mode, egress } = { mode: 'allow-all' }) {
    const fits = ({ domains, cidrs, ports }, { host, port }) => (!domains || (!isAddress(host) && domains.some((domain) => named(domain, host)))) &&
        (!cidrs || (isAddress(host) && cidrs.some((cidr) => within(cidr, host)))) && (!ports || ports.some((one) => port >= one.port && port <= (one.endPort ?? one.port)));
    return { allows: (place) => ((egress?.trafficRules ?? []).find((rule) => fits(rule, place))?.action ?? (mode === 'allow-all' ? 'allow' : 'deny')) === 'allow' };
}
