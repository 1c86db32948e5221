// `network`: a mode, and rules of which the first that fits counts; and sources of credentials, which the team has.

import { isAddress, isNetwork, matches, within } from '../common/outside.mjs';
import { apiError, good, invalid, isObject, isText, isTexts, read } from './errors.mjs';

// ---- sources

const sources = new Map(); // name -> {row, values}

const shown = ({ row }) => row;
const sourceOf = ({ params: { name } }) => sources.get(name) ?? (() => { throw apiError(404, 'not_found', `credential source ${name} not found`); })();
const WRITTEN = { name: isText, resolverKind: (value) => value === 'static_headers', spec: (value) => isTexts(value?.staticHeaders?.values) };

async function createSource(request) {
    const { name, resolverKind, spec } = await read(request, WRITTEN);
    if (!name || !resolverKind || !spec) throw invalid('name, resolverKind and spec are required');
    if (sources.has(name)) throw apiError(409, 'conflict', `credential source ${name} already exists`);
    const now = new Date().toISOString();
    sources.set(name, { row: { name, resolverKind, currentVersion: 1, status: 'active', createdAt: now, updatedAt: now }, values: spec.staticHeaders.values });
    return good(shown(sources.get(name)), 201);
}

export const sourceRoutes = [
    ['GET', '/api/v1/credential-sources', () => good([...sources.values()].map(shown))],
    ['POST', '/api/v1/credential-sources', createSource],
    ['GET', '/api/v1/credential-sources/:name', (request) => good(shown(sourceOf(request)))],
    ['DELETE', '/api/v1/credential-sources/:name', (request) => {
        sources.delete(sourceOf(request).row.name);
        return good({ message: 'credential source deleted' });
    }],
];

export const sourceNames = () => [...sources.keys()];

// ---- policies

const isList = (value, right) => value === undefined || (Array.isArray(value) && value.length > 0 && value.every(right));
const isPort = (value) => isObject(value) && Number.isInteger(value.port) && (value.protocol === undefined || ['tcp', 'udp'].includes(value.protocol));
const isRule = (value) => isObject(value) && ['allow', 'deny'].includes(value.action) && (value.domains || value.cidrs || value.ports || value.appProtocols) &&
    isList(value.domains, isText) && isList(value.cidrs, isNetwork) && isList(value.ports, isPort);
const isBinding = (value) => isObject(value) && isText(value.ref) && sources.has(value.sourceRef) && value.projection?.type === 'http_headers' &&
    isList(value.projection.httpHeaders?.headers, ({ name, valueTemplate }) => isText(name) && isText(valueTemplate));
const isCredentialRule = (bindings) => (value) => isObject(value) && bindings.some(({ ref }) => ref === value.credentialRef) && value.protocol === 'https' &&
    value.tlsMode === 'terminate-reoriginate' && ['fail-closed', 'fail-open'].includes(value.failurePolicy) && isList(value.domains, isText) && isList(value.ports, isPort);
const isEgress = (value, bindings) => isObject(value) && Object.keys(value).every((key) => ['trafficRules', 'credentialRules'].includes(key)) &&
    (value.trafficRules ?? []).every(isRule) && (value.credentialRules ?? []).every(isCredentialRule(bindings));

export const isPolicy = (value) => isObject(value) && ['allow-all', 'block-all'].includes(value.mode) &&
    Object.keys(value).every((key) => ['mode', 'egress', 'credentialBindings'].includes(key)) &&
    (value.credentialBindings ?? []).every(isBinding) && (value.egress === undefined || isEgress(value.egress, value.credentialBindings ?? []));

/** A wildcard covers the name itself, too. */
const named = (pattern, host) => matches(pattern, host) || pattern === `*.${host}`;

const rendered = (template, values) => template.replace(/\{\{ *\.(\w+) *\}\}/g, (_, key) => values[key] ?? '');

/** What is added to a request that goes by TLS to HOST. */
function added({ egress, credentialBindings = [] }, { host, port }) {
    const rules = (egress?.credentialRules ?? []).filter(({ domains, ports }) => domains.some((domain) => named(domain, host)) && ports.some((one) => one.port === port));
    const bindings = rules.map(({ credentialRef }) => credentialBindings.find(({ ref }) => ref === credentialRef));
    return Object.fromEntries(bindings.flatMap(({ sourceRef, projection }) => projection.httpHeaders.headers.map(({ name, valueTemplate }) =>
        [name.toLowerCase(), rendered(valueTemplate, sources.get(sourceRef)?.values ?? {})])));
}

export function wall(policy = { mode: 'allow-all' }) {
    const { mode, egress } = policy;
    const fits = ({ domains, cidrs, ports }, { host, port }) => (!domains || (!isAddress(host) && domains.some((domain) => named(domain, host)))) &&
        (!cidrs || (isAddress(host) && cidrs.some((cidr) => within(cidr, host)))) && (!ports || ports.some((one) => port >= one.port && port <= (one.endPort ?? one.port)));
    return { allows: (place) => ((egress?.trafficRules ?? []).find((rule) => fits(rule, place))?.action ?? (mode === 'allow-all' ? 'allow' : 'deny')) === 'allow',
        headers: (place) => added(policy, place) };
}
