#include "session/creation.h"

#include "base/error.h"
#include "session/names.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct ledger_record *creation_write_intent(const struct creation_wish *wish, struct sandlot_error *error)
{
    const struct provider *provider = wish->provider;
    const struct config *config = wish->sandlot->config;
    struct ledger_record *record = ledger_record_new(provider->entry->name);
    int64_t hard_ttl_ms = parameters_hard_ttl_ms(provider->parameters);

    if (!record) {
        error_no_memory(error);
        return NULL;
    }
    record->scope = wish->scope ? strdup(wish->scope) : NULL;
    record->config_file = wish->sandlot->explicit_config && config->file ? strdup(config->file) : NULL;
    record->parameters = parameters_recordable(&provider->table, wish->parameters);
    record->network = json_object_get(wish->network);
    record->durable = !(provider->table.flags & SANDLOT_ENDS_WITH_POWER);
    record->expires_at_ms = hard_ttl_ms ? record->created_at_ms + hard_ttl_ms : 0;
    record->name = wish->name ? strdup(wish->name) : NULL;
    if ((record->name ? names_write_record(record, wish->cancel_fd, error) : ledger_write(record, error)) == 0)
        return record;
    ledger_record_free(record);
    return NULL;
}

bool creation_may_have_happened(enum sandlot_status status)
{
    return status == SANDLOT_UNAVAILABLE || status == SANDLOT_TIMEOUT || status == SANDLOT_CANCELLED ||
           status == SANDLOT_INTERNAL || status == SANDLOT_OK;
}

static char *utc_text(int64_t utc_ms)
{
    time_t seconds = (time_t)(utc_ms / 1000);
    struct tm parts;
    char text[32];

    gmtime_r(&seconds, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H-%M-%SZ", &parts);
    return strdup(text);
}

void creation_make(struct creation *creation, const struct ledger_record *record, const struct provider *provider,
                   const struct sandlot_network *network)
{
    char *created = utc_text(record->created_at_ms);

    *creation = (struct creation){.created = created,
                                  .labels = {{"sandlot", "1"},
                                             {"sandlot-run", record->label},
                                             {"sandlot-host", record->host ? record->host : ""},
                                             {"sandlot-created", created ? created : ""},
                                             {"sandlot-scope", record->scope}}};
    creation->request = (struct sandlot_create){.size = sizeof(creation->request),
                                                .run_label = record->label,
                                                .labels = creation->labels,
                                                .label_count = record->scope ? 5 : 4,
                                                .idle_ttl_ms = parameters_idle_ttl_ms(provider->parameters),
                                                .hard_ttl_ms = parameters_hard_ttl_ms(provider->parameters),
                                                .network = network};
}

void creation_clear(struct creation *creation)
{
    free(creation->created);
    creation->created = NULL;
}
