// Network policies: things of the account, which a devbox is made with.

import { isAddress, isName, isNetwork, matches, within } from '../common/outside.mjs';
import { newId } from './devboxes.mjs';
import { checkQuery, failure, isFlag, isText, isTextList, isWhole, oneOf, page, read } from './errors.mjs';

const PORT = { port: isWhole, end_port: isWhole, protocol: oneOf('TCP', 'UDP') };
const isNetworks = (value) => Array.isArray(value) && value.every((one) => isText(one?.cidr) && isNetwork(one.cidr) && !one.cidr.includes(':') &&
    (one.ports ?? []).every((port) => Object.entries(port).every(([name, wanted]) => PORT[name]?.(wanted))));
const isHosts = (value) => isTextList(value) && value.every(isName);
const EGRESS = { allow_all: isFlag, allow_devbox_to_devbox: isFlag, allow_agent_gateway: isFlag, allow_mcp_gateway: isFlag, allow_runloop_mirrors: isFlag,
    allowed_hostnames: isHosts, allowed_cidrs: isNetworks };
const POLICY = { ...EGRESS, name: isText, description: isText };

export class Policies {
    all = new Map();

    show = ({ id, name, description, create_time_ms, update_time_ms, egress }) => ({ id, name, description, create_time_ms, update_time_ms, egress });

    get(id) {
        const policy = this.all.get(id);
        if (!policy) throw failure(404, `Network policy ${id} not found`);
        return policy;
    }

    async create(request) {
        const { name, description = null, ...egress } = await read(request, POLICY, ['name']);
        if ([...this.all.values()].some((one) => one.name === name)) throw failure(400, `A network policy named ${name} exists`);
        const defaults = Object.fromEntries(Object.keys(EGRESS).map((key) => [key, key.startsWith('allowed') ? [] : false]));
        const policy = { id: newId('np'), name, description, create_time_ms: Date.now(), update_time_ms: Date.now(), egress: { ...defaults, ...egress } };
        this.all.set(policy.id, policy);
        return { json: this.show(policy) };
    }

    list(request) {
        checkQuery(request, 'id', 'name', 'limit', 'starting_after', 'include_total_count');
        const name = request.query.get('name');
        return page(request, [...this.all.values()].reverse().filter((one) => !name || one.name.includes(name)), 'network_policies', this.show);
    }

    async remove(request) {
        const policy = this.get(request.params.id);
        this.all.delete(policy.id);
        return { json: this.show(policy) };
    }

    /** What a devbox with policy ID reaches. */
    wall(id) {
        if (id === undefined) return null;
        const { allow_all: everything, allowed_hostnames: names, allowed_cidrs: networks } = this.get(id).egress;
        const opens = ({ ports }, port) => !ports?.length || ports.some((one) => port >= one.port && port <= (one.end_port ?? one.port));
        return { allows: ({ host, port }) => everything || (isAddress(host) ? networks.some((one) => within(one.cidr, host) && opens(one, port)) : names.some((name) => matches(name, host))) };
    }

    routes() {
        return [
            ['POST', '/v1/network-policies', (request) => this.create(request)],
            ['GET', '/v1/network-policies', (request) => this.list(request)],
            ['GET', '/v1/network-policies/:id', (request) => ({ json: this.show(this.get(request.params.id)) })],
            ['POST', '/v1/network-policies/:id/delete', (request) => this.remove(request)],
        ];
    }
}
