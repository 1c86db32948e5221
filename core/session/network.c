#include "session/network.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>

enum { MOST_NAMED = 8 };

/* What a kind of wish is called, and the capability that it needs. */
static const struct {
    enum capability needs;
    const char *name;
} kinds[] = {
    {CAPABILITY_NETWORK_OFF, "no network at all (off)"},
    {CAPABILITY_NETWORK_OPEN, "every host (open)"},
    {CAPABILITY_NETWORK_HOSTS, "hosts by name"},
    {CAPABILITY_NETWORK_PORTS, "single ports of a host"},
    {CAPABILITY_NETWORK_CIDRS, "addresses"},
    {CAPABILITY_NETWORK_CREDENTIALS, "credentials"},
};

/* The wishes that cannot be held, as they are named to people. */
struct refused {
    char *text;
    size_t count;
};

static void refuse(struct refused *refused, const char *what, const char *name)
{
    if (refused->count++ < MOST_NAMED)
        text_append(&refused->text, "%s%s%s", refused->text ? ", " : "", what, name);
}

static void check_entries(uint32_t able, const struct network_policy *policy, struct refused *refused)
{
    for (size_t i = 0; i < policy->entry_count; i++) {
        const struct network_entry *entry = &policy->entries[i];
        uint32_t needs = entry->kind == SANDLOT_NETWORK_CIDR ? CAPABILITY_NETWORK_CIDRS : CAPABILITY_NETWORK_HOSTS;
        AUTO_FREE char *text = network_entry_text(entry->kind, entry->text, entry->port);

        needs |= entry->port ? CAPABILITY_NETWORK_PORTS : 0;
        if (needs & ~able)
            refuse(refused, "", text ? text : entry->text);
    }
}

/* What the provider could do instead, to be freed. */
static char *abilities(uint32_t able)
{
    char *text = NULL;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (able & kinds[i].needs)
            text_append(&text, "%s%s", text ? ", " : "", kinds[i].name);
    return text;
}

static int tell(const struct registry_entry *entry, const struct network_policy *policy, struct refused *refused,
                struct sandlot_error *error)
{
    AUTO_FREE char *text = TAKE(refused->text);
    AUTO_FREE char *able = abilities(entry->note.capabilities);
    AUTO_FREE char *more =
        refused->count > MOST_NAMED ? text_format(" and %zu more", refused->count - MOST_NAMED) : NULL;

    return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                     "%s cannot hold what %s asks of the network: %s%s; nothing was made. %s%s", entry->name,
                     policy->source ? policy->source : "this change", text ? text : "out of memory", more ? more : "",
                     able ? "It can hold: " : "It can hold no policy; leave it out there, or use another provider",
                     able ? able : "");
}

int session_network_check(const struct registry_entry *entry, const struct network_policy *policy,
                          struct sandlot_error *error)
{
    uint32_t able = entry->note.capabilities;
    struct refused refused = {0};

    if (policy->mode == SANDLOT_NETWORK_OFF && !(able & CAPABILITY_NETWORK_OFF))
        refuse(&refused, "", kinds[0].name);
    if (policy->mode == SANDLOT_NETWORK_OPEN && !(able & CAPABILITY_NETWORK_OPEN))
        refuse(&refused, "", kinds[1].name);
    check_entries(able, policy, &refused);
    for (size_t i = 0; i < policy->credential_count; i++)
        if (!(able & CAPABILITY_NETWORK_CREDENTIALS))
            refuse(&refused, "the credential for ", policy->credentials[i].host);
    return refused.count ? tell(entry, policy, &refused, error) : 0;
}
