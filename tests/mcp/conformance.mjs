// conformance.mjs FOLDER REVISION: judges what the conformance suite has written for one revision. Every scenario is
// listed here: one that a new version of the suite adds has to be thought about.
import { readFileSync, readdirSync } from 'node:fs'
import { check, done } from './harness.mjs'

const [folder, revision] = process.argv.slice(2)

const fixture = 'needs a tool of the suite’s own server (test_*), which an agent should not be offered'
const noResources = 'resources are not offered'
const noPrompts = 'prompts are not offered'
const input = 'needs a tool that asks the client for input'
const tasks = 'an optional extension that is not offered'

// Where these do not hold the check that fails is named, so that all others in the scenario count.
const exceptions = {
    'server-stateless': {
        'sep-2575-server-rejects-undeclared-capability': fixture,
        'sep-2575-missing-capability-http-400': fixture,
        'sep-2575-http-server-no-independent-requests-on-stream': fixture,
        'sep-2575-server-no-log-without-loglevel': fixture
    },
    caching: {
        'sep-2549-prompts-list-caching-hints': noPrompts,
        'sep-2549-resources-list-caching-hints': noResources,
        'sep-2549-resources-templates-list-caching-hints': noResources
    }
}

const whole = [
    'server-initialize', 'server-session-lifecycle', 'server-stateless', 'ping', 'tools-list', 'server-sse-polling',
    'server-sse-multiple-streams', 'dns-rebinding-protection', 'caching', 'http-header-validation',
    'sep-2164-resource-not-found', 'tasks-status-notifications', 'input-required-result-missing-input-response',
    'input-required-result-unsupported-methods', 'input-required-result-ignore-extra-params',
    'input-required-result-validate-input'
]

// In these only the form of the messages is looked at.
const others = [
    [/^tools-call-|^elicitation-|^json-schema-/, fixture],
    [/^http-custom-header-/, 'no tool has arguments that travel in header fields'],
    [/^logging-/, 'log messages go to standard error'],
    [/^completion-/, 'arguments are not completed'],
    [/^resources-/, noResources],
    [/^prompts-/, noPrompts],
    [/^input-required-/, input],
    [/^tasks-/, tasks]
]

const required = {
    '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'],
    '2026-07-28': ['server-stateless', 'tools-list', 'dns-rebinding-protection', 'caching', 'http-header-validation']
}

const failuresOf = checks => checks.filter(one => one.status === 'FAILURE')
const seen = []

for (const name of readdirSync(folder).sort()) {
    const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
    const checks = JSON.parse(readFileSync(`${folder}/${name}/checks.json`, 'utf8'))
    const reason = others.find(([pattern]) => pattern.test(scenario))?.[1]

    seen.push(scenario)
    if (whole.includes(scenario)) {
        const failed = failuresOf(checks).filter(one => !exceptions[scenario]?.[one.id])
        const passed = checks.filter(one => one.status === 'SUCCESS').length
        check(`${revision}: ${scenario} (${passed} checks)`, failed.length === 0, failed)
    } else if (reason) {
        const failed = failuresOf(checks).filter(one => one.id.startsWith('wire-schema'))
        check(`${revision}: ${scenario}, only the form of messages: ${reason}`, failed.length === 0, failed)
    } else {
        check(`${revision}: ${scenario}`, false, 'a scenario that nobody has thought about')
    }
}
for (const scenario of required[revision])
    check(`${revision}: ${scenario} was run`, seen.includes(scenario), seen)
done()
