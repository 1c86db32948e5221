// `networkPolicy`: as it is sent, as it is read back, and what a sandbox reaches with it.

import { covers, isAddress, isName, isNetwork, matches, within } from '../common/outside.mjs';
import { isObject, isText } from './errors.mjs';

const isHosts = (value) => Array.isArray(value) && value.every((host) => isText(host) && (host === '*' || isName(host)));
const isRule = (rule) => isObject(rule) && Array.isArray(rule.transform) && rule.transform.every((one) => isObject(one.headers) && Object.values(one.headers).every(isText));
const isRules = (value) => isObject(value) && isHosts(Object.keys(value)) && Object.values(value).every((rules) => Array.isArray(rules) && rules.every(isRule));
const isNetworks = (value) => value === undefined || (Array.isArray(value) && value.every((network) => isText(network) && isNetwork(network)));
const only = (value, ...keys) => Object.keys(value).every((key) => keys.includes(key));

export function isPolicy(value) {
    if (!isObject(value)) return false;
    if (value.mode !== undefined) return ['allow-all', 'deny-all'].includes(value.mode) && only(value, 'mode');
    const { allow, subnets = {} } = value;
    return only(value, 'allow', 'subnets') && (allow === undefined || isHosts(allow) || isRules(allow)) && isObject(subnets) && only(subnets, 'allow', 'deny') &&
        isNetworks(subnets.allow) && isNetworks(subnets.deny);
}

const rulesOf = ({ allow = [] }) => (Array.isArray(allow) ? Object.fromEntries(allow.map((host) => [host, []])) : allow);
const headersOf = (rules) => Object.fromEntries(rules.flatMap((rule) => rule.transform).flatMap(({ headers }) => Object.entries(headers)));

/** Read back it is another form, and without the values of headers. */
export function shown(policy) {
    if (!policy || policy.mode) return policy;
    const rules = rulesOf(policy);
    return { mode: 'custom', allowedDomains: Object.keys(rules), allowedCIDRs: policy.subnets?.allow ?? [], deniedCIDRs: policy.subnets?.deny ?? [],
        injectionRules: Object.entries(rules).filter(([, list]) => list.length > 0).map(([domain, list]) => ({ domain, headerNames: Object.keys(headersOf(list)) })) };
}

/** Hosts are known by the name in TLS: so on every port but that of plain HTTP. What an address opens goes past their rules. */
export function wall(policy) {
    if (!policy || policy.mode === 'allow-all') return null;
    if (policy.mode === 'deny-all') return { allows: () => false };
    const rules = rulesOf(policy), { allow = [], deny = [] } = policy.subnets ?? {};
    const everything = Object.hasOwn(rules, '*');
    return {
        allows: ({ host, port }) => {
            if (isAddress(host)) return !deny.some((network) => within(network, host)) && covers(allow, host) !== undefined;
            return allow.includes('0.0.0.0/0') || (port !== 80 && (everything || Object.keys(rules).some((pattern) => matches(pattern, host))));
        },
        headers: ({ host, port }) => (port === 80 || allow.includes('0.0.0.0/0') ? {} : Object.fromEntries(Object.entries(headersOf(rules[host] ?? [])).map(([name, value]) => [name.toLowerCase(), value]))),
    };
}
