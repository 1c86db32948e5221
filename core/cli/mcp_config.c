#include "cli/mcp_config.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/output.h"
#include "server/config_snippets.h"

#include <string.h>

/* Texts of its own, ended by NULL. */
struct words {
    char **texts;
    size_t count;
    bool no_memory;
};

static void words_clear(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->texts[i]);
    free(words->texts);
}

/* Takes WORD over; NULL counts as out of memory. */
static void add_word(struct words *words, char *word)
{
    char **grown = word ? realloc(words->texts, (words->count + 2) * sizeof(*grown)) : NULL;

    if (!grown) {
        words->no_memory = true;
        free(word);
        return;
    }
    words->texts = grown;
    words->texts[words->count++] = word;
    words->texts[words->count] = NULL;
}

static void add_option(struct words *words, const char *name, const char *value)
{
    if (!value)
        return;
    add_word(words, strdup(name));
    add_word(words, strdup(value));
}

/* Hosts start their servers wherever they are themselves, so no path may be relative. */
static void add_path_option(struct words *words, const char *name, const char *path)
{
    if (!path)
        return;
    add_word(words, strdup(name));
    add_word(words, path_absolute(path, NULL));
}

static bool is_path(const struct registry_entry *entry, const char *assignment)
{
    size_t length = strcspn(assignment, "=");

    for (size_t i = 0; entry && i < entry->note.parameter_count; i++) {
        const struct parameter_note *parameter = &entry->note.parameters[i];

        if (strlen(parameter->name) == length && memcmp(parameter->name, assignment, length) == 0)
            return parameter->kind == SANDLOT_PARAMETER_path;
    }
    return false;
}

static void add_parameter(struct words *words, const struct registry_entry *entry, const char *assignment)
{
    size_t length = strcspn(assignment, "=") + 1;

    add_word(words, strdup("--param"));
    if (!is_path(entry, assignment) || !assignment[length]) {
        add_word(words, strdup(assignment));
        return;
    }
    AUTO_FREE char *path = path_absolute(assignment + length, NULL);

    add_word(words, path ? text_format("%.*s%s", (int)length, assignment, path) : NULL);
}

/* The command line that starts the same server again. */
static void add_arguments(struct words *words, const struct context *context, const struct registry_entry *entry)
{
    const struct options *options = context->options;
    AUTO_FREE char *idle = text_format("%lld", (long long)(options->idle_timeout_ms / 1000));
    AUTO_FREE char *bytes = text_format("%zu", options->max_result_bytes);

    add_word(words, strdup("mcp"));
    add_option(words, "--sandbox", options->given & OPTION_SANDBOX ? context->provider : NULL);
    add_option(words, "--sandbox-id", options->sandbox_id);
    add_option(words, "--sandbox-snapshot-name", options->snapshot_name);
    add_path_option(words, "--sandbox-setup", options->setup_file);
    add_option(words, "--scope", options->scope);
    add_option(words, "--network", options->network);
    for (size_t i = 0; options->allowed[i]; i++)
        add_option(words, "--allow", options->allowed[i]);
    for (size_t i = 0; options->volumes[i]; i++)
        add_option(words, "--volume", options->volumes[i]);
    add_path_option(words, "--config", options->config_file);
    for (size_t i = 0; options->parameters[i]; i++)
        add_parameter(words, entry, options->parameters[i]);
    add_option(words, "--create", options->create_at_start ? "start" : NULL);
    add_option(words, "--idle-timeout", options->idle_timeout_ms ? idle : NULL);
    add_option(words, "--max-result-bytes", options->max_result_bytes ? bytes : NULL);
}

/* The names of the variables with the provider's credentials. */
static void add_variables(struct words *words, const struct registry_entry *entry)
{
    const char *at = entry && entry->note.credentials ? entry->note.credentials : "";

    for (size_t length; *(at += strspn(at, "| \t")); at += length) {
        length = strcspn(at, "| \t");
        add_word(words, strndup(at, length));
    }
}

int mcp_print_config(const struct context *context)
{
    static const char *const none[] = {NULL};
    const struct registry_entry *entry = registry_find(context->sandlot->registry, context->provider, NULL);
    AUTO_FREE char *program = realpath("/proc/self/exe", NULL);
    CLEANUP(words_clear) struct words arguments = {0};
    CLEANUP(words_clear) struct words variables = {0};

    add_arguments(&arguments, context, entry);
    add_variables(&variables, entry);
    AUTO_FREE char *text = arguments.no_memory || variables.no_memory
                               ? NULL
                               : config_snippet(context->options->print_config, program ? program : "sandlot",
                                                (const char *const *)arguments.texts,
                                                variables.texts ? (const char *const *)variables.texts : none);

    if (text)
        output_write(text, strlen(text));
    return output_status(text ? 0 : 1);
}
