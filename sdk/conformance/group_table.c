/* What the loaded provider tells of itself, and what is refused before anything is sent to the vendor. */
#include "direct.h"
#include "live.h"
#include "tap.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK_MS = 5000, LONGEST_NAME = 38 };

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void check_required(const struct sandlot_provider *table)
{
    bool serves =
        SANDLOT_HAS(table, execute) && (table->execute || (SANDLOT_HAS(table, open_root) && table->open_root));

    tap_check(SANDLOT_HAS(table, get_or_create) && table->get_or_create && SANDLOT_HAS(table, delete_sandbox) &&
                  table->delete_sandbox && serves,
              "required functions", "get_or_create, delete_sandbox, and execute (or open_root)", "one of them is NULL",
              "Write the functions and put them into the table.");
    tap_check(table->parameter_count == 0 || (table->parameters && table->open), "open takes the parameters",
              "open is there where there are parameters", "it is NULL", "Use SANDLOT_TABLE and write PREFIX_open.");
}

static void check_capability(const struct kit *kit, const char *word, bool has)
{
    bool says = kit_has(kit, word);

    tap_check(says == has, say("capability %s", word), "note and table agree",
              says ? "the note has the word, the table lacks the function"
                   : "the table has it, the note lacks the word",
              "Correct `capabilities` in the metadata.");
}

/* What a note promises of commands, on a machine that allows the provider none. */
static bool promised(const struct kit *kit, const struct sandlot_provider *table, const char *word, bool has)
{
    return has || (!table->execute && kit_has(kit, word));
}

static void check_capabilities(const struct kit *kit, const struct sandlot_provider *table)
{
#define HAS_FUNCTION(function) (SANDLOT_HAS(table, function) && table->function)
    check_capability(kit, "list", HAS_FUNCTION(list));
    check_capability(kit, "upload", HAS_FUNCTION(upload));
    check_capability(kit, "download", HAS_FUNCTION(download));
    check_capability(kit, "files", HAS_FUNCTION(open_root));
    check_capability(kit, "pause", HAS_FUNCTION(pause) && HAS_FUNCTION(resume));
    check_capability(kit, "snapshot", HAS_FUNCTION(snapshot));
    check_capability(kit, "snapshot-base", HAS_FUNCTION(snapshot_with_base));
    check_capability(kit, "fork", HAS_FUNCTION(fork));
    check_capability(kit, "terminal", promised(kit, table, "terminal", HAS_FUNCTION(terminal)));
    check_capability(kit, "check", HAS_FUNCTION(check));
    check_capability(kit, "network-live", HAS_FUNCTION(set_network));
    check_capability(kit, "network-log", HAS_FUNCTION(network_log));
    check_capability(kit, "ports", HAS_FUNCTION(connect_port));
    check_capability(kit, "urls", HAS_FUNCTION(port_url));
    check_capability(kit, "changes", HAS_FUNCTION(changes));
    check_capability(kit, "volumes", HAS_FUNCTION(list_volumes) && HAS_FUNCTION(delete_volume));
    check_capability(kit, "streaming", promised(kit, table, "streaming", table->flags & SANDLOT_STREAMS_OUTPUT));
#undef HAS_FUNCTION
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* Is it named as secrets are? */
static bool sounds_secret(const char *name)
{
    static const char *const ends[] = {"key", "token", "secret", "password"};
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t end = strlen(ends[i]);

        if (length >= end && strcmp(name + length - end, ends[i]) == 0)
            return true;
    }
    return false;
}

static bool is_name(const char *name)
{
    size_t length = 0;

    while (isalnum((unsigned char)name[length]) || name[length] == '_')
        length++;
    return length > 0 && !name[length] && length <= LONGEST_NAME && !isdigit((unsigned char)name[0]);
}

/* What is wrong with it; "": nothing. */
static const char *parameter_problem(const struct kit *kit, const struct sandlot_parameter *parameter)
{
    if (!parameter->name || !is_name(parameter->name))
        return "its name is no C identifier of at most 38 bytes";
    if (parameter->kind < SANDLOT_PARAMETER_string || parameter->kind > SANDLOT_PARAMETER_table)
        return "its kind is none of provider.h";
    if (!parameter->default_text || !direct_value_fits(parameter->kind, parameter->default_text))
        return "its default is no value of its kind";
    if (!parameter->help || !*parameter->help || strchr(parameter->help, '\n'))
        return "its help is not one line";
    if (!note_value(kit->provider, say("parameter.%s", parameter->name)))
        return "the note does not have it";
    if (parameter->kind == SANDLOT_PARAMETER_string && sounds_secret(parameter->name) &&
        !(parameter->flags & SANDLOT_FLAG_secret))
        return "it sounds like a secret and is not declared as one";
    return "";
}

static void check_parameters(const struct kit *kit, const struct sandlot_provider *table)
{
    for (size_t i = 0; table->parameters && i < table->parameter_count; i++) {
        const struct sandlot_parameter *parameter = &table->parameters[i];
        const char *problem = parameter_problem(kit, parameter);

        tap_check(
            !*problem, say("parameter %s", parameter->name ? parameter->name : "without a name"),
            "an identifier, a kind, a default that fits, help, a line in the note, the flag secret where it is one",
            problem, "Correct its row in the list of SANDLOT_PARAMETERS.");
    }
}

static bool lacks_required(const struct kit *kit, const struct sandlot_provider *table)
{
    for (size_t i = 0; i < table->parameter_count; i++) {
        const struct sandlot_parameter *parameter = &table->parameters[i];
        bool is_given = false;

        for (const char **at = kit->parameters; *at; at++)
            is_given |= strncmp(*at, say("%s=", parameter->name), strlen(parameter->name) + 1) == 0;
        if ((parameter->flags & SANDLOT_FLAG_required) && !is_given && !*parameter->default_text)
            return true;
    }
    return false;
}

static void check_open(const struct kit *kit, struct direct *direct)
{
    if (lacks_required(kit, direct->table)) {
        tap_skip("open and close", "a required parameter is missing: give it with --param");
        return;
    }
    for (int round = 0; round < 2; round++) {
        enum sandlot_status status = direct_open(direct, NULL);

        if (!tap_check(
                status == SANDLOT_OK, round == 0 ? "open and close" : "open and close again", "ok",
                say("%s: %s", status_name(status), direct->message),
                "open takes the parameters and sends nothing; leave complaints to the functions that need more."))
            return;
        direct_close(direct);
    }
}

static void check_table(const struct kit *kit)
{
    static struct direct direct;
    const struct sandlot_provider *table;

    if (!tap_check(direct_load(kit, &direct), "the entry function gives a table", "a table", direct.message,
                   "Return the address of a const struct sandlot_provider."))
        return;
    table = direct.table;
    tap_check(table->name && strcmp(table->name, kit->provider->name) == 0, "the table's name", kit->provider->name,
              table->name ? table->name : "NULL", "Begin the table with SANDLOT_TABLE of the same prefix.");
    const char *abi = say("%u.%u", table->abi_major, table->abi_minor);
    const char *noted = note_value(kit->provider, "abi");

    tap_check(noted && strcmp(abi, noted) == 0, "the table's ABI", noted ? noted : "that of the note", abi,
              "Build all of it with one provider.h.");
    check_required(table);
    check_capabilities(kit, table);
    check_parameters(kit, table);
    check_open(kit, &direct);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

/* Tries to make a sandbox with one more PARAMETER. */
static void refuses(const struct live *live, const char *name, const char *parameter)
{
    const char *parameters[] = {parameter, NULL};
    struct sandlot_session_options options = live_options(live);
    struct sandlot_error error = {0};

    options.parameters = parameters;
    struct sandlot_session *session = live_open(live, &options, &error);

    tap_check(!session && error.code == SANDLOT_CODE_USAGE, name, say("the error usage for --param %s", parameter),
              session ? "a sandbox was made" : error_shown(&error), "Declare parameters with SANDLOT_PARAMETERS.");
    if (session)
        live_close(session, true, NULL);
    sandlot_error_clear(&error);
}

static const char *typed_parameter(const struct kit *kit)
{
    for (size_t i = 0; i < kit->provider->key_count; i++) {
        const struct note_key *key = &kit->provider->keys[i];

        if (key->value && strncmp(key->key, "parameter.", 10) == 0 &&
            (strncmp(key->value, "integer ", 8) == 0 || strncmp(key->value, "boolean ", 8) == 0 ||
             strncmp(key->value, "float ", 6) == 0))
            return say("%s=neither-number-nor-truth", key->key + 10);
    }
    return "start_timeout_s=neither-number-nor-truth"; /* every provider has that */
}

static void clear_credentials(const struct kit *kit)
{
    const char *credentials = note_value(kit->provider, "credentials");
    char name[128];

    for (const char *at = credentials; at && *at; at += strcspn(at, " |")) {
        at += strspn(at, " |");
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, " |"), at);
        unsetenv(name);
        unsetenv(say("SANDLOT_%s", name));
    }
}

/* Both ways: the host looks before it calls, and the provider has to say it too. */
static void check_without_credentials(const struct kit *kit)
{
    static struct direct direct;
    struct live live;
    struct sandlot_error error = {0};
    char name[128];
    const char *value;

    if (!kit_credential(kit, 0, name, sizeof(name), &value)) {
        tap_skip("without credentials", "none are declared");
        return;
    }
    clear_credentials(kit);
    if (!live_begin(&live, kit, false))
        return;
    double begin = milliseconds();
    struct sandlot_session *session = live_create(&live, &error);
    double ms = milliseconds() - begin;

    tap_check(
        !session && error.code == SANDLOT_CODE_AUTH && error.message && strstr(error.message, name) && ms < QUICK_MS,
        "without credentials", say("the error auth that names %s, within %d s", name, QUICK_MS / 1000),
        session ? "a sandbox was made" : error_shown(&error), "Declare what is needed as credentials in the metadata.");
    if (session)
        live_close(session, true, NULL);
    sandlot_error_clear(&error);
    live_end(&live);
    if (!direct_load(kit, &direct) || lacks_required(kit, direct.table) || direct_open(&direct, NULL) != SANDLOT_OK)
        return;
    enum sandlot_status status = direct_create(&direct, "no-credentials");

    tap_check(status == SANDLOT_AUTH && *direct.message, "the provider itself, without credentials",
              "get_or_create fails with auth and a sentence", say("%s: %s", status_name(status), direct.message),
              "Look the variables up with host->environment, and fail with SANDLOT_AUTH when one is missing.");
    if (*direct.id)
        direct_delete(&direct, direct.id);
    direct_close(&direct);
}

void group_table(const struct kit *kit)
{
    struct live live;

    check_table(kit);
    if (!live_begin(&live, kit, false))
        return;
    refuses(&live, "an unknown parameter is refused", "no_such_parameter=1");
    refuses(&live, "a value of the wrong type is refused", typed_parameter(kit));
    live_end(&live);
    check_without_credentials(kit);
}
