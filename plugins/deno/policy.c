#include "policy.h"

#include <sandlot/sdk/cleanup.h>

#include <stdlib.h>
#include <string.h>

static bool is_port_of_many(const struct sandlot_network_entry *entry)
{
    return entry->kind == SANDLOT_NETWORK_BELOW && entry->port;
}

/* The place of the length in an address alone, "198.51.100.7/32"; NULL: it is a name, or a network of several. */
static const char *single(const struct sandlot_network_entry *entry)
{
    const char *length = entry->kind == SANDLOT_NETWORK_CIDR ? strchr(entry->text, '/') : NULL;

    return length && strcmp(length, strchr(entry->text, ':') ? "/128" : "/32") == 0 ? length : NULL;
}

static bool is_several(const struct sandlot_network_entry *entry)
{
    return entry->kind == SANDLOT_NETWORK_CIDR && !single(entry);
}

enum sandlot_status policy_check(struct sandlot_call *call, const struct deno *deno,
                                 const struct sandlot_network *network)
{
    static const struct network_limits limits = {.service = "Deno"};
    const struct parameters *parameters = &deno->parameters;
    const bool limited = network && network->mode != SANDLOT_NETWORK_OPEN;
    enum sandlot_status status = network_exclude(call, network, "allow_net", parameter_is_said(parameters->allow_net));

    /* The hosts of secrets may be open by that alone. */
    if (status == SANDLOT_OK && limited)
        status = network_exclude(call, network, "secrets", parameter_is_said(parameters->secrets));
    if (status == SANDLOT_OK)
        status = network_check(call, &limits, network);
    if (status == SANDLOT_OK && network)
        status = network_refuse(call, limits.service, network, is_several,
                                "it lists hosts and single addresses alone; name those");
    if (status == SANDLOT_OK && network)
        status = network_refuse(call, limits.service, network, is_port_of_many,
                                "of a wildcard it knows no single port; name the hosts");
    return status;
}

static void add_port(struct json_builder *config, const char *host, unsigned int port)
{
    AUTO_FREE char *text = NULL;

    if (asprintf(&text, "%s:%u", host, port) < 0) {
        text = NULL;
        config->failed = true;
    }
    json_set_string(config, "allow_net[]", text);
}

/* As it stands in front of a port. */
static char *address_text(const struct sandlot_network_entry *entry, const char *length)
{
    const bool bracketed = strchr(entry->text, ':');
    char *text;

    return asprintf(&text, "%s%.*s%s", bracketed ? "[" : "", (int)(length - entry->text), entry->text,
                    bracketed ? "]" : "") < 0
               ? NULL
               : text;
}

/* A host without a port would be open on every port, so the two that are meant are said. */
static void add_entry(struct json_builder *config, const struct sandlot_network_entry *entry)
{
    const char *length = single(entry);
    AUTO_FREE char *text = length ? address_text(entry, length) : network_text(entry);

    if (!text) {
        config->failed = true;
    } else if (entry->kind == SANDLOT_NETWORK_BELOW) {
        json_set_string(config, "allow_net[]", text);
    } else if (entry->port) {
        add_port(config, text, entry->port);
    } else {
        add_port(config, text, 80);
        add_port(config, text, 443);
    }
}

void policy_set(struct json_builder *config, const struct sandlot_network *network)
{
    if (network->mode == SANDLOT_NETWORK_OPEN)
        return;
    json_set_array(config, "allow_net");
    for (size_t i = 0; i < network->entry_count; i++)
        add_entry(config, &network->entries[i]);
}
