#include "cli/owner.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Does one of the "KEY=VALUE" in LIST set the key of ASSIGNMENT? */
static bool sets_key(const char *const *list, const char *assignment)
{
    size_t length = strcspn(assignment, "=") + 1;

    for (; *list; list++)
        if (strncmp(*list, assignment, length) == 0)
            return true;
    return false;
}

/* A path that the provider declares and that is gone: it was for the making, as a folder to begin with is. */
static bool is_stale(const struct registry_entry *entry, const char *assignment)
{
    size_t length = strcspn(assignment, "=");

    for (size_t i = 0; i < entry->note.parameter_count; i++) {
        const struct parameter_note *parameter = &entry->note.parameters[i];

        if (parameter->kind == SANDLOT_PARAMETER_path && strncmp(parameter->name, assignment, length) == 0 &&
            !parameter->name[length])
            return assignment[length] && access(assignment + length + 1, F_OK) < 0;
    }
    return false;
}

static int merge_parameters(struct owner *owner, const struct options *options, const struct registry_entry *entry,
                            struct sandlot_error *error)
{
    struct json_object *recorded = owner->record->parameters;
    size_t count = recorded ? json_object_array_length(recorded) : 0;
    size_t given = 0;
    size_t used = 0;

    while (options->parameters[given])
        given++;
    owner->parameters = calloc(count + given + 1, sizeof(*owner->parameters));
    if (!owner->parameters)
        return error_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        const char *assignment = json_object_get_string(json_object_array_get_idx(recorded, i));

        if (assignment && !sets_key(options->parameters, assignment) && !is_stale(entry, assignment))
            owner->parameters[used++] = assignment;
    }
    memcpy(owner->parameters + used, options->parameters, given * sizeof(*owner->parameters));
    return 0;
}

/* The configuration of the run that made the sandbox, where that was named with --config and is not ours. */
static int open_configuration(struct owner *owner, const struct options *options, struct sandlot_error *error)
{
    const char *file = owner->record->config_file;
    const struct config *config = owner->sandlot->config;

    if (!file || options->config_file || (config->file && strcmp(config->file, file) == 0))
        return 0;
    const struct sandlot_options request = {.size = sizeof(request), .config_file = file};

    owner->other = sandlot_open(&request, error);
    owner->sandlot = owner->other;
    if (owner->other)
        return 0;
    error_prefix(error, "the sandbox %s was made with another configuration: ", owner->record->id);
    return -1;
}

int owner_of_record(struct sandlot *sandlot, const struct options *options, struct ledger_record *record,
                    struct owner *owner, struct sandlot_error *error)
{
    *owner = (struct owner){.record = record, .provider = record->provider, .sandlot = sandlot};
    if (open_configuration(owner, options, error) < 0)
        return -1;
    const struct registry_entry *entry = registry_find(owner->sandlot->registry, record->provider, NULL);

    if (entry)
        return merge_parameters(owner, options, entry, error);
    return error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                     "the sandbox %s is one of '%s', a provider that is not there any more; install it again, or see "
                     "'sandlot gc --help' for --forget",
                     record->id, record->provider);
}

int owner_find(struct sandlot *sandlot, const struct options *options, const char *id, struct owner *owner,
               struct sandlot_error *error)
{
    struct ledger_record **records;
    struct ledger_record *found = NULL;
    size_t count;
    int result = 0;

    *owner = (struct owner){0};
    if (ledger_read(&records, &count, error) < 0)
        return -1;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (!records[i]->id || strcmp(records[i]->id, id) != 0)
            continue;
        if (found && strcmp(found->provider, records[i]->provider) != 0)
            result = error_set(error, SANDLOT_CODE_USAGE,
                               "there is a sandbox %s of '%s' and one of '%s'; name the provider with --sandbox NAME",
                               id, found->provider, records[i]->provider);
        ledger_record_free(found);
        found = TAKE(records[i]);
    }
    ledger_free_records(records, count);
    if (found && result == 0)
        return owner_of_record(sandlot, options, found, owner, error) < 0 ? -1 : 1;
    ledger_record_free(found);
    return result;
}

void owner_clear(struct owner *owner)
{
    ledger_record_free(owner->record);
    free(owner->parameters);
    sandlot_close(owner->other);
    *owner = (struct owner){0};
}

/* The known id that ID was meant to be: the one that it begins, or the one with the nearest spelling. */
static const char *near_id(const char *id, struct ledger_record *const *records, size_t count)
{
    AUTO_FREE const char **names = calloc(count + 1, sizeof(*names));
    size_t used = 0;

    for (size_t i = 0; names && i < count; i++) {
        if (!records[i]->id)
            continue;
        if (*id && strncmp(records[i]->id, id, strlen(id)) == 0)
            return records[i]->id;
        names[used++] = records[i]->id;
    }
    return names ? text_nearest(id, names, used) : NULL;
}

static void advise(const char *id, const char *more, struct sandlot_error *error)
{
    struct ledger_record **records = NULL;
    size_t count = 0;

    if (ledger_read(&records, &count, NULL) < 0)
        count = 0;
    const char *near = near_id(id, records, count);

    if (near && strcmp(near, id) != 0)
        error_append(error, "; did you mean %s?", near);
    else
        error_append(error, "; 'sandlot list --all' prints those there are%s", more);
    ledger_free_records(records, count);
}

void owner_advise(const char *id, struct sandlot_error *error)
{
    advise(id, ", and --sandbox NAME asks another provider", error);
}

void owner_advise_ledger(const char *id, struct sandlot_error *error)
{
    advise(id, "", error);
}
