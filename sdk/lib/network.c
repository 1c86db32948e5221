#include "text.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/network.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 8 };

const struct sandlot_network *network_asked(const struct sandlot_create *request)
{
    return SANDLOT_HAS(request, network) ? request->network : NULL;
}

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for the network's policy; free some");
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

bool network_is(const struct sandlot_network_entry *entry, int which)
{
    return (which & (entry->kind == SANDLOT_NETWORK_CIDR ? NETWORK_CIDRS : NETWORK_NAMES)) != 0;
}

size_t network_count(const struct sandlot_network *network, int which)
{
    size_t count = 0;

    for (size_t i = 0; i < network->entry_count; i++)
        count += network_is(&network->entries[i], which);
    return count;
}

char *network_text(const struct sandlot_network_entry *entry)
{
    char *text;

    return asprintf(&text, "%s%s", entry->kind == SANDLOT_NETWORK_BELOW ? "*." : "", entry->text) < 0 ? NULL : text;
}

void network_add(struct json_builder *body, const char *path, const struct sandlot_network *network, int which)
{
    AUTO_FREE char *each = NULL;

    json_set_array(body, path);
    if (asprintf(&each, "%s[]", path) < 0) {
        each = NULL;
        body->failed = true;
        return;
    }
    for (size_t i = 0; i < network->entry_count; i++) {
        AUTO_FREE char *text = network_text(&network->entries[i]);

        if (!text)
            body->failed = true;
        else if (network_is(&network->entries[i], which))
            json_set_string(body, each, text);
    }
}

char *network_join(const struct sandlot_network *network, int which, char separator)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    bool begun = false;

    if (!stream)
        return NULL;
    for (size_t i = 0; i < network->entry_count; i++) {
        const struct sandlot_network_entry *entry = &network->entries[i];

        if (!network_is(entry, which))
            continue;
        if (begun)
            fputc(separator, stream);
        fprintf(stream, "%s%s", entry->kind == SANDLOT_NETWORK_BELOW ? "*." : "", entry->text);
        begun = true;
    }
    return sdk_text_end(stream, &text, true);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void name_entry(FILE *stream, const struct sandlot_network_entry *entry)
{
    const bool bracketed = entry->port && strchr(entry->text, ':');

    fprintf(stream, "%s%s%s%s", bracketed ? "[" : "", entry->kind == SANDLOT_NETWORK_BELOW ? "*." : "", entry->text,
            bracketed ? "]" : "");
    if (entry->port)
        fprintf(stream, ":%u", entry->port);
}

/* The names of the entries of which CANNOT is true, of a few of many; "" if there are none. To be freed. */
static char *name_all(const struct sandlot_network *network, bool (*cannot)(const struct sandlot_network_entry *entry))
{
    char *text = NULL;
    size_t length = 0;
    size_t count = 0;
    FILE *stream = open_memstream(&text, &length);

    if (!stream)
        return NULL;
    for (size_t i = 0; i < network->entry_count; i++) {
        if (!cannot(&network->entries[i]) || count++ >= MOST_NAMED)
            continue;
        if (count > 1)
            fputs(", ", stream);
        name_entry(stream, &network->entries[i]);
    }
    if (count > MOST_NAMED)
        fprintf(stream, " and %zu more", count - MOST_NAMED);
    return sdk_text_end(stream, &text, true);
}

enum sandlot_status network_refuse(struct sandlot_call *call, const char *service,
                                   const struct sandlot_network *network,
                                   bool (*cannot)(const struct sandlot_network_entry *entry), const char *why)
{
    AUTO_FREE char *names = name_all(network, cannot);

    if (!names)
        return no_memory(call);
    return *names ? sandlot_fail(call, SANDLOT_UNSUPPORTED, "%s cannot hold %s: %s", service, names, why) : SANDLOT_OK;
}

static bool is_ipv6(const struct sandlot_network_entry *entry)
{
    return entry->kind == SANDLOT_NETWORK_CIDR && strchr(entry->text, ':');
}

static bool has_port(const struct sandlot_network_entry *entry)
{
    return entry->port != 0;
}

/* The last one that is allowed, and the first one that is not, are named: the list is cut between them. */
static enum sandlot_status check_number(struct sandlot_call *call, const char *service,
                                        const struct sandlot_network *network, int which, size_t most)
{
    size_t count = 0;

    for (size_t i = 0; most && i < network->entry_count; i++) {
        if (!network_is(&network->entries[i], which) || count++ < most)
            continue;
        AUTO_FREE char *text = network_text(&network->entries[i]);

        return text ? sandlot_fail(call, SANDLOT_UNSUPPORTED,
                                   "%s holds no more than %zu of the %zu %s that were asked for; %s is the first that "
                                   "is too much",
                                   service, most, network_count(network, which),
                                   which == NETWORK_NAMES ? "names" : "addresses and networks", text)
                    : no_memory(call);
    }
    return SANDLOT_OK;
}

static enum sandlot_status check_credentials(struct sandlot_call *call, const struct network_limits *limits,
                                             const struct sandlot_network *network)
{
    size_t hosts = 0;

    for (size_t i = 0; i < network->credential_count; i++) {
        const struct sandlot_network_credential *one = &network->credentials[i];

        if (one->placeholder_name || one->plain)
            return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                                "%s sets the header of a credential by itself, over TLS alone: leave `%s` of the "
                                "credential for %s out",
                                limits->service, one->plain ? "plain" : "placeholder", one->host);
        hosts += network_begins_host(network, i);
        if (limits->most_credential_hosts && hosts > limits->most_credential_hosts)
            return sandlot_fail(
                call, SANDLOT_UNSUPPORTED,
                "%s holds credentials for no more than %zu of the hosts; %s is the first that is too much",
                limits->service, limits->most_credential_hosts, one->host);
    }
    if (network->credential_count && network->trusted_file)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "%s takes no authorities of your own for the credential for %s; leave upstream_ca out",
                            limits->service, network->credentials[0].host);
    return SANDLOT_OK;
}

enum sandlot_status network_check(struct sandlot_call *call, const struct network_limits *limits,
                                  const struct sandlot_network *network)
{
    enum sandlot_status status = SANDLOT_OK;

    if (!network)
        return SANDLOT_OK;
    if (limits->never_off && network->mode == SANDLOT_NETWORK_OFF)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED, "%s %s; allow the hosts that it needs", limits->service,
                            limits->never_off);
    if (limits->no_ipv6)
        status =
            network_refuse(call, limits->service, network, is_ipv6, "there only IPv4 is known to hold; leave it out");
    if (status == SANDLOT_OK && limits->no_ports)
        status = network_refuse(call, limits->service, network, has_port,
                                "it cannot open one port alone; leave the port out, which opens what the host has");
    if (status == SANDLOT_OK)
        status = check_number(call, limits->service, network, NETWORK_NAMES, limits->most_names);
    if (status == SANDLOT_OK)
        status = check_number(call, limits->service, network, NETWORK_CIDRS, limits->most_networks);
    return status == SANDLOT_OK ? check_credentials(call, limits, network) : status;
}

enum sandlot_status network_exclude(struct sandlot_call *call, const struct sandlot_network *network,
                                    const char *parameter, bool is_said)
{
    if (!network || !is_said)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                        "the parameter %s and a network policy (--network, --allow, [network]) exclude each other; "
                        "leave one out",
                        parameter);
}

enum sandlot_status network_refuse_fork(struct sandlot_call *call, const char *service,
                                        const struct sandlot_create *request)
{
    if (!network_asked(request))
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "%s takes no network policy for a fork, and it is to have one from its first moment on; make a "
                        "snapshot, and a sandbox from that",
                        service);
}

enum sandlot_status network_refuse_change(struct sandlot_call *call, const char *service, bool has_credentials)
{
    if (!has_credentials)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "%s would forget the credentials of this sandbox with the change; create another sandbox with "
                        "the policy that it is to have",
                        service);
}

/* ---- credentials ------------------------------------------------------------------------------------------------- */

bool network_begins_host(const struct sandlot_network *network, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(network->credentials[i].host, network->credentials[index].host) == 0)
            return false;
    return true;
}

bool network_lists(const struct sandlot_network *network, const char *host)
{
    for (size_t i = 0; i < network->entry_count; i++)
        if (network->entries[i].kind == SANDLOT_NETWORK_HOST && strcmp(network->entries[i].text, host) == 0)
            return true;
    return false;
}

struct json_object *network_headers(const struct sandlot_network *network, const char *host)
{
    struct json_builder headers = {0};

    json_set_object(&headers, "");
    for (size_t i = 0; i < network->credential_count; i++)
        if (strcmp(network->credentials[i].host, host) == 0)
            json_set_member(&headers, "", network->credentials[i].header, network->credentials[i].value);
    if (!headers.failed)
        return headers.root;
    json_object_put(headers.root);
    return NULL;
}
