// RBAC: a Role file says what its bearer may do, and nothing else.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { refusal } from './status.mjs';

const yaml = createRequire(path.join(import.meta.dirname, 'x.js'))('js-yaml');
const file = process.env.EMULATOR_ROLE ?? 'config/kubernetes-role.yaml';
const without = (process.env.EMULATOR_WITHOUT ?? '').split(',').filter(Boolean); // "verb resource": taken from the Role
const role = yaml.loadAll(fs.readFileSync(file, 'utf8')).find(({ kind }) => kind === 'Role');

/** Throws 403 unless the Role lets USER do VERB on RESOURCE ("pods", "pods/exec") of GROUP. */
export function demand(user, verb, group, resource, space) {
    const allowed = !without.includes(`${verb} ${resource}`) && role.rules.some((rule) =>
        rule.apiGroups.includes(group) && rule.resources.includes(resource) && rule.verbs.includes(verb));
    if (allowed) return;
    const plural = resource.split('/')[0];
    throw refusal('Forbidden', `${plural}${group ? `.${group}` : ''} is forbidden: User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" in the namespace "${space}"`);
}
