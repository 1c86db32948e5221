/* The public list of providers, and the one that the configuration prefers. */
#include "base/cleanup.h"
#include "base/error.h"
#include "session/readiness.h"

/* 1: go on; 0: the caller has enough; -1 with the error. */
static int tell(struct sandlot *sandlot, const struct registry_entry *entry,
                bool (*each)(void *context, const struct sandlot_listed_provider *provider), void *context,
                struct sandlot_error *error)
{
    AUTO_FREE char *problem = readiness_check(sandlot, entry, false);
    AUTO_FREE char *capabilities = registry_capability_words(entry);
    const struct sandlot_listed_provider provider = {.size = sizeof(provider),
                                                     .name = entry->name,
                                                     .source = registry_source_name(entry->source),
                                                     .description = entry->note.description,
                                                     .working_dir = entry->working_dir,
                                                     .package = entry->install_hint,
                                                     .capabilities = capabilities,
                                                     .problem = problem,
                                                     .supports_sandbox_id = entry->supports_sandbox_id,
                                                     .supports_snapshot_name = entry->supports_snapshot_name};

    if (!capabilities)
        return error_no_memory(error);
    return each(context, &provider) ? 1 : 0;
}

int sandlot_list_providers(struct sandlot *sandlot,
                           bool (*each)(void *context, const struct sandlot_listed_provider *provider), void *context,
                           struct sandlot_error *error)
{
    size_t count = 0;
    const struct registry_entry *const *entries = registry_entries_quietly(sandlot->registry, &count);
    int more = 1;

    for (size_t i = 0; i < count && more > 0; i++)
        if (entries[i]->winner)
            more = tell(sandlot, entries[i], each, context, error);
    return more < 0 ? -1 : 0;
}

const char *sandlot_default_provider(const struct sandlot *sandlot)
{
    return sandlot->config->default_provider;
}
