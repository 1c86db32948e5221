// `proxy_config`: what is let through, and what is added to requests.

import { isAddress, isName, isNetwork, matches, within } from '../common/outside.mjs';

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const isText = (value) => typeof value === 'string';
const isList = (value) => value === undefined || (Array.isArray(value) && value.every((one) => isName(one) || isNetwork(one) || isAddress(one) || one === '*'));
const isHeader = (value) => isObject(value) && isText(value.name) && ['plaintext', 'opaque', 'workspace_secret'].includes(value.type) && isText(value.value);
const isRule = (value) => isObject(value) && isText(value.name) && Array.isArray(value.match_hosts) && value.match_hosts.every(isText) && (value.headers ?? []).every(isHeader);

export function isProxy(value) {
    if (!isObject(value)) return false;
    const { access_control: control = {}, rules = [] } = value;
    if (!Object.keys(value).every((key) => ['access_control', 'rules', 'no_proxy', 'callbacks'].includes(key))) return false;
    return isObject(control) && isList(control.allow_list) && isList(control.deny_list) && !(control.allow_list && control.deny_list) && Array.isArray(rules) && rules.every(isRule);
}

/** As it is read back: of opaque headers only that they are set. */
export function shown(proxy) {
    if (!proxy?.rules) return proxy;
    const bare = ({ value, ...header }) => (header.type === 'opaque' ? { ...header, is_set: true } : { ...header, value });
    return { ...proxy, rules: proxy.rules.map((rule) => ({ ...rule, headers: (rule.headers ?? []).map(bare) })) };
}

export function wall({ access_control: { allow_list: allowed, deny_list: denied = [] } = {}, rules = [] } = {}) {
    const fits = (list, host) => list.some((entry) => entry === '*' || (isAddress(host) ? (isNetwork(entry) || isAddress(entry)) && within(entry, host) : matches(entry, host)));
    return {
        allows: ({ host }) => (allowed ? fits(allowed, host) : !fits(denied, host)),
        headers: ({ host }) => Object.fromEntries(rules.filter((rule) => fits(rule.match_hosts, host)).flatMap((rule) => rule.headers).map(({ name, value }) => [name.toLowerCase(), value])),
    };
}
