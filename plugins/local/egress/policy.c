#include "policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL_BITS = 128, MAPPED_BITS = 96, LINE_SIZE = 320 };

const char policy_not_listed[] = "not on the list";
const char policy_other_port[] = "not on the list with this port";
const char policy_tls_only[] = "port 443 takes TLS alone";

static bool read_network(char *text, struct policy_entry *entry)
{
    char *slash = strchr(text, '/');
    unsigned long bits = 0;
    char *end = NULL;

    if (slash) {
        *slash = '\0';
        bits = strtoul(slash + 1, &end, 10);
        if (end == slash + 1 || *end)
            return false;
    }
    if (!address_parse(text, &entry->host.address))
        return false;
    const unsigned first = address_is_version_4(&entry->host.address) ? MAPPED_BITS : 0;

    entry->host.is_address = true;
    address_format(&entry->host.address, entry->host.name);
    if (slash && bits > ALL_BITS - first)
        return false;
    entry->bits = (uint8_t)(slash ? first + bits : ALL_BITS);
    return true;
}

static bool read_entry(const char *line, struct policy_entry *entry)
{
    char word[12];
    char text[HOST_SIZE + 8];
    unsigned port;
    char beyond;

    if (sscanf(line, "%11s %261s %u%c", word, text, &port, &beyond) != 3 || port > UINT16_MAX)
        return false;
    entry->port = (uint16_t)port;
    entry->kind = strcmp(word, "below") == 0                                     ? POLICY_BELOW
                  : strcmp(word, "host") == 0 || strcmp(word, "credential") == 0 ? POLICY_HOST
                                                                                 : POLICY_NETWORK;
    if (entry->kind == POLICY_NETWORK)
        return strcmp(word, "network") == 0 && read_network(text, entry);
    return host_parse(text, strlen(text), &entry->host) && !entry->host.is_address;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (const char *at = text; (at = strchr(at, '\n')); at++)
        count++;
    return count;
}

static bool read_entries(const char *text, struct policy *policy)
{
    for (const char *end; *text; text = end + 1) {
        char line[LINE_SIZE];

        end = strchr(text, '\n');
        if (!end || (size_t)(end - text) >= sizeof(line))
            return false;
        snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
        if (!read_entry(line, &policy->entries[policy->count]))
            return false;
        policy->count++;
    }
    return true;
}

bool policy_read(const char *text, struct policy *policy)
{
    const size_t lines = count_lines(text);

    *policy = (struct policy){.open = strcmp(text, POLICY_OPEN) == 0};
    if (!*text || policy->open)
        return true;
    if (lines > POLICY_ENTRIES)
        return false;
    policy->entries = calloc(lines ? lines : 1, sizeof(*policy->entries));
    if (policy->entries && read_entries(text, policy))
        return true;
    policy_clear(policy);
    return false;
}

void policy_clear(struct policy *policy)
{
    free(policy->entries);
    *policy = (struct policy){.open = false};
}

static bool is_below(const char *name, const char *parent)
{
    const size_t length = strlen(name);
    const size_t tail = strlen(parent);

    return length > tail + 1 && name[length - tail - 1] == '.' && strcmp(name + length - tail, parent) == 0;
}

/* Version 4 lies within version 6 here, but who lists ::/1 has listed none of it. */
static bool covers(const struct policy_entry *entry, const address *value)
{
    return entry->kind == POLICY_NETWORK && address_is_version_4(value) == address_is_version_4(&entry->host.address) &&
           address_in(value, &entry->host.address, entry->bits);
}

static bool names(const struct policy_entry *entry, const struct host *host)
{
    switch (entry->kind) {
    case POLICY_HOST:
        return host_equals(&entry->host, host);
    case POLICY_BELOW:
        return !host->is_address && is_below(host->name, entry->host.name);
    case POLICY_NETWORK:
        return host->is_address && covers(entry, &host->address);
    case POLICY_ALL:
        return true;
    }
    return false;
}

static bool opens(const struct policy_entry *entry, uint16_t port)
{
    return entry->port ? entry->port == port : port == PORT_HTTP || port == PORT_HTTPS;
}

const struct policy_entry *policy_find(const struct policy *policy, const struct host *host, uint16_t port,
                                       const char **reason)
{
    static const struct policy_entry all = {.kind = POLICY_ALL};

    *reason = policy_not_listed;
    if (policy->open)
        return &all;
    for (size_t i = 0; i < policy->count; i++) {
        if (!names(&policy->entries[i], host))
            continue;
        if (opens(&policy->entries[i], port))
            return &policy->entries[i];
        *reason = policy_other_port;
    }
    return NULL;
}

bool policy_names(const struct policy *policy, const struct host *host)
{
    for (size_t i = 0; i < policy->count; i++)
        if (policy->entries[i].kind != POLICY_NETWORK && names(&policy->entries[i], host))
            return true;
    return false;
}

bool policy_admits(const struct policy *policy, const address *value, enum address_class class, uint16_t port)
{
    if (class == ADDRESS_PUBLIC || policy->open)
        return class <= ADDRESS_PRIVATE;
    for (size_t i = 0; i < policy->count; i++) {
        const struct policy_entry *entry = &policy->entries[i];

        if (!covers(entry, value) || !opens(entry, port))
            continue;
        if (class == ADDRESS_PRIVATE || (entry->bits == ALL_BITS && entry->port))
            return true;
    }
    return false;
}

void policy_rule(const struct policy_entry *entry, char rule[RULE_SIZE])
{
    const unsigned first = entry->host.is_address && address_is_version_4(&entry->host.address) ? MAPPED_BITS : 0;
    const bool bracket = entry->port && entry->host.is_address && !first;
    char bits[8] = "";
    char port[8] = "";

    if (entry->kind == POLICY_NETWORK && entry->bits < ALL_BITS)
        snprintf(bits, sizeof(bits), "/%u", entry->bits - first);
    if (entry->port)
        snprintf(port, sizeof(port), ":%u", entry->port);
    snprintf(rule, RULE_SIZE, "%s%s%s%s%s%s", entry->kind == POLICY_BELOW ? "*." : "", bracket ? "[" : "",
             entry->kind == POLICY_ALL ? "open" : entry->host.name, bits, bracket ? "]" : "", port);
}
