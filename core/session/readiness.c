#include "session/readiness.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "loader/loader.h"

#include <stdlib.h>
#include <string.h>

/* What is known by what is declared: runs no code of the provider. */
static char *declared_problem(const struct registry_entry *entry, const struct environment *environment)
{
    if (entry->problem)
        return strdup(entry->problem);
    AUTO_FREE char *dependency = registry_missing_dependency(entry);

    if (dependency && entry->install_hint && !strstr(dependency, entry->install_hint))
        return text_format("%s; install the package %s", dependency, entry->install_hint);
    if (dependency)
        return TAKE(dependency);
    AUTO_FREE char *credentials = registry_missing_credentials(entry, environment);

    return credentials ? text_format("credentials are missing: set %s", credentials) : NULL;
}

/* Warns of what the configuration says wrongly, judged by the declaration in the note. */
static void warn_of_parameters(const struct sandlot *sandlot, const struct registry_entry *entry)
{
    const size_t count = entry->note.parameter_count;
    AUTO_FREE struct sandlot_parameter *rows = calloc(count + 1, sizeof(*rows));
    const struct sandlot_provider declared = {
        .size = sizeof(declared), .name = entry->name, .parameters = rows, .parameter_count = count};
    struct sandlot_error error = {0};

    for (size_t i = 0; rows && i < count; i++) {
        const struct parameter_note *note = &entry->note.parameters[i];

        rows[i] = (struct sandlot_parameter){sizeof(*rows), note->name,         note->kind,
                                             note->flags,   note->default_text, note->help};
    }
    if (rows)
        parameters_free(parameters_bind(&declared, entry->config, sandlot->config->file, NULL, true, &error));
    sandlot_error_clear(&error);
}

char *readiness_check(const struct sandlot *sandlot, const struct registry_entry *entry, bool named)
{
    const struct environment *environment = sandlot->environment;
    char *problem = declared_problem(entry, environment);
    struct sandlot_error error = {0};

    if (problem || !(entry->note.capabilities & CAPABILITY_CHECK) || !(named || provider_is_builtin(entry))) {
        if (entry->config && entry->note.name)
            warn_of_parameters(sandlot, entry);
        return problem;
    }
    if (provider_check(entry, environment, sandlot->config->file, &error) < 0)
        problem = strdup(error.message);
    sandlot_error_clear(&error);
    return problem;
}

int readiness_check_credentials(const struct provider *provider, struct sandlot_error *error)
{
    AUTO_FREE char *missing = registry_missing_credentials(provider->entry, provider->environment);

    if (missing)
        return error_set(error, SANDLOT_CODE_AUTH, "%s: credentials are missing: set %s", provider->entry->name,
                         missing);
    return 0;
}
