#include "cli/names.h"

#include "base/cleanup.h"
#include "cli/command.h"
#include "session/names.h"

#include <stdlib.h>
#include <string.h>

char *names_to_id(const struct options *options, const char *text)
{
    struct ledger_record *record = names_find(text);
    bool is_meant = record && (!options->sandbox || strcmp(options->sandbox, record->provider) == 0);
    char *id = is_meant ? TAKE(record->id) : NULL;

    ledger_record_free(record);
    return id;
}

void names_to_ids(struct options *options)
{
    size_t found = 0;

    if (options->sandbox_id && (options->ids[found] = names_to_id(options, options->sandbox_id)))
        options->sandbox_id = options->ids[found++];
    for (size_t i = 0; i < options->argument_count && i < options->command->ids; i++)
        if ((options->ids[found] = names_to_id(options, options->arguments[i])))
            options->arguments[i] = options->ids[found++];
}
