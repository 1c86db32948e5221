/*
 * Records of sandboxes that were left on purpose and have ended by themselves since: their time was over, or the
 * machine was switched off. Only a provider of this machine can say that for sure; what a vendor does not list may
 * belong to other credentials, and its record stays until the sandbox's hard lifetime is over.
 */
#include "session/session.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MS = 30 * 1000 };

/* The ids that a provider lists. */
struct ids {
    char **items;
    size_t count;
    bool incomplete; /* memory ran out on the way */
};

static enum sandlot_status add(void *context, const struct sandlot_listed *sandbox)
{
    struct ids *ids = context;
    char **grown = realloc(ids->items, (ids->count + 1) * sizeof(*grown));
    char *id = strdup(sandbox->id);

    if (grown)
        ids->items = grown;
    if (!grown || !id) {
        free(id);
        ids->incomplete = true;
        return SANDLOT_EXHAUSTED;
    }
    grown[ids->count++] = id;
    return SANDLOT_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void forget_unlisted(const struct provider *provider, struct ledger_record **records, size_t count,
                            const struct ids *ids)
{
    for (size_t i = 0; i < count; i++) {
        const struct ledger_record *record = records[i];

        if (!record->kept || !record->id || strcmp(record->provider, provider->entry->name) != 0 ||
            (ids->count && bsearch(&record->id, ids->items, ids->count, sizeof(*ids->items), by_text)))
            continue;
        if (ledger_remove(record->label, NULL) == 0)
            log_info("%s: sandbox %s has ended; the ledger forgets it", provider->entry->name, record->id);
    }
}

static void look_at(struct provider *provider, struct ledger_record **records, size_t count, int cancel_fd)
{
    struct ids ids = {0};

    /* A listing that failed or ran out of memory says nothing about what is missing in it. */
    if ((provider->table.flags & SANDLOT_ENDS_WITH_POWER) && provider->table.list &&
        session_list_at_provider(provider, add, &ids, sandlot_now_ms() + LIST_MS, cancel_fd, NULL) == 0 &&
        !ids.incomplete) {
        if (ids.count)
            qsort(ids.items, ids.count, sizeof(*ids.items), by_text);
        forget_unlisted(provider, records, count, &ids);
    }
    for (size_t i = 0; i < ids.count; i++)
        free(ids.items[i]);
    free(ids.items);
}

/* Is there a record of this provider before number I? Then it was looked at already. */
static bool is_repeated(struct ledger_record *const *records, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (records[j]->kept && strcmp(records[j]->provider, records[i]->provider) == 0)
            return true;
    return false;
}

void session_forget_ended(struct sandlot *sandlot, struct ledger_record **records, size_t count, int cancel_fd)
{
    for (size_t i = 0; i < count; i++) {
        if (!records[i]->kept || is_repeated(records, i))
            continue;
        struct provider *provider = runtime_load(sandlot, records[i]->provider, NULL, true, NULL);

        if (provider)
            look_at(provider, records, count, cancel_fd);
        provider_unload(provider);
    }
}
