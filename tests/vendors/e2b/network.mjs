// What a sandbox may reach: lists of which those that allow go before those that deny, and headers that are added to requests.

import { apiError, isFlag, isObject, isText } from './errors.mjs';
import { covers, isAddress, isName, isNetwork, matches, within } from '../common/outside.mjs';

const EVERYTHING = '0.0.0.0/0';
const ALWAYS_DENIED = ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'];
const KEYS = ['allowOut', 'denyOut', 'allowPublicTraffic', 'maskRequestHost', 'rules', 'egressProxy', 'httpsPorts'];
const isList = (value) => Array.isArray(value) && value.every(isText);

export const isNetworkConfig = (value) => isObject(value) && Object.keys(value).every((key) => KEYS.includes(key)) && isEgress(value);
const isEgress = ({ allowOut, denyOut, rules }) => (allowOut === undefined || isList(allowOut)) && (denyOut === undefined || isList(denyOut)) && (rules === undefined || isObject(rules));

/** The fields of PUT /sandboxes/ID/network. */
export const CHANGE = { allowOut: isList, denyOut: isList, rules: isObject, egressProxy: isObject, allow_internet_access: isFlag };

const address = (entry) => isNetwork(entry) || isAddress(entry);

function checkRules({ rules = {}, allowOut = [] }) {
    if (Object.keys(rules).length > 10) throw apiError(400, 'too many rules: at most 10 hosts');
    for (const [host, list] of Object.entries(rules)) {
        if (host.includes('*') || !isName(host) || host.length > 128) throw apiError(400, `invalid host in rules: ${host}`);
        if (!Array.isArray(list) || list.length !== 1 || !isObject(list[0]?.transform?.headers)) throw apiError(400, `rules of ${host} must have one transform`);
        const headers = Object.entries(list[0].transform.headers);
        if (headers.length > 20 || headers.some(([name, value]) => name.length > 64 || !isText(value) || value.length > 2048)) throw apiError(400, `headers of ${host} are too long`);
        if (!allowOut.includes(host)) throw apiError(400, `${host} must also be in allowOut`);
    }
}

export function checkEgress({ allowOut = [], denyOut = [], rules, allow_internet_access: internet }) {
    for (const entry of denyOut) if (!address(entry)) throw apiError(400, `denyOut takes addresses only, not ${entry}`);
    for (const entry of allowOut) if (!address(entry) && !isName(entry) && entry !== '*') throw apiError(400, `invalid entry in allowOut: ${entry}`);
    const closed = denyOut.includes(EVERYTHING) || internet === false;
    if (!closed && allowOut.some((entry) => !address(entry))) throw apiError(400, 'allowOut with domains needs denyOut 0.0.0.0/0');
    checkRules({ rules, allowOut });
}

/** Of what was asked for, as outside.mjs wants it. */
export function wall({ allowOut = [], denyOut = [], rules = {}, allow_internet_access: internet }) {
    const denied = internet === false ? [EVERYTHING] : denyOut;
    return {
        allows: ({ host, port }) => {
            if (isAddress(host) && ALWAYS_DENIED.some((network) => within(network, host))) return false;
            if (isAddress(host) ? covers(allowOut.filter(address), host) : allowOut.includes(EVERYTHING) || ([80, 443].includes(port) && allowOut.some((entry) => matches(entry, host)))) return true;
            return isAddress(host) ? !denied.some((network) => within(network, host)) : !denied.includes(EVERYTHING);
        },
        headers: ({ host }) => Object.fromEntries(Object.entries(rules[host]?.[0].transform.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
    };
}
