#include "cli/options.h"

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/hints.h"
#include "cli/usage.h"

#include <sandlot/sandlot.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    LONGEST_TIMEOUT_S = 3600,
    LONGEST_IDLE_S = 30 * 24 * 3600,
    LONGEST_GRACE_S = 600,
    MOST_LOG_MIB = 1024,
    LEAST_RESULT_BYTES = 2048,
    MOST_RESULT_BYTES = 1000000
};

enum value { VALUE_NONE, VALUE_REQUIRED, VALUE_OPTIONAL };

static const struct rule {
    const char *name;
    option_set option;
    enum value value;
} rules[] = {
    {"--sandbox", OPTION_SANDBOX, VALUE_OPTIONAL},
    {"--sandbox-id", OPTION_SANDBOX_ID, VALUE_REQUIRED},
    {"--sandbox-snapshot-name", OPTION_SNAPSHOT_NAME, VALUE_REQUIRED},
    {"--sandbox-setup", OPTION_SETUP, VALUE_REQUIRED},
    {"--scope", OPTION_SCOPE, VALUE_REQUIRED},
    {"--name", OPTION_NAME, VALUE_REQUIRED},
    {"--param", OPTION_PARAM, VALUE_REQUIRED},
    {"--config", OPTION_CONFIG, VALUE_REQUIRED},
    {"--json", OPTION_JSON, VALUE_NONE},
    {"-q", OPTION_QUIET, VALUE_NONE},
    {"-v", OPTION_VERBOSE, VALUE_NONE},
    {"-vv", OPTION_VERBOSE, VALUE_NONE},
    {"--help", OPTION_HELP, VALUE_NONE},
    {"-h", OPTION_HELP, VALUE_NONE},
    {"--version", OPTION_VERSION, VALUE_NONE},
    {"--timeout", OPTION_TIMEOUT, VALUE_REQUIRED},
    {"--cwd", OPTION_CWD, VALUE_REQUIRED},
    {"--env", OPTION_ENV, VALUE_REQUIRED},
    {"-e", OPTION_ENV, VALUE_REQUIRED},
    {"--stdin", OPTION_STDIN, VALUE_NONE},
    {"--all", OPTION_ALL, VALUE_NONE},
    {"--offset", OPTION_OFFSET, VALUE_REQUIRED},
    {"--limit", OPTION_LIMIT, VALUE_REQUIRED},
    {"--old", OPTION_OLD, VALUE_REQUIRED},
    {"--new", OPTION_NEW, VALUE_REQUIRED},
    {"--replace-all", OPTION_REPLACE_ALL, VALUE_NONE},
    {"--glob", OPTION_GLOB, VALUE_REQUIRED},
    {"--max-count", OPTION_MAX_COUNT, VALUE_REQUIRED},
    {"--dirs", OPTION_DIRS, VALUE_NONE},
    {"-r", OPTION_RECURSIVE, VALUE_NONE},
    {"--create", OPTION_CREATE_MODE, VALUE_REQUIRED},
    {"--idle-timeout", OPTION_IDLE_TIMEOUT, VALUE_REQUIRED},
    {"--max-result-bytes", OPTION_MAX_RESULT_BYTES, VALUE_REQUIRED},
    {"--print-config", OPTION_PRINT_CONFIG, VALUE_REQUIRED},
    {"--http", OPTION_HTTP, VALUE_OPTIONAL},
    {"--port-file", OPTION_PORT_FILE, VALUE_REQUIRED},
    {"--token-file", OPTION_TOKEN_FILE, VALUE_REQUIRED},
    {"--allow-origin", OPTION_ALLOW_ORIGIN, VALUE_REQUIRED},
    {"--no-auth", OPTION_NO_AUTH, VALUE_NONE},
    {"--language", OPTION_LANGUAGE, VALUE_REQUIRED},
    {"--directory", OPTION_DIRECTORY, VALUE_REQUIRED},
    {"--system", OPTION_SYSTEM, VALUE_NONE},
    {"--replace", OPTION_REPLACE, VALUE_NONE},
    {"--with-base", OPTION_WITH_BASE, VALUE_NONE},
    {"--if-exists", OPTION_IF_EXISTS, VALUE_NONE},
    {"--forget", OPTION_FORGET, VALUE_REQUIRED},
    {"--max-bytes", OPTION_MAX_BYTES, VALUE_REQUIRED},
    {"--network", OPTION_NETWORK, VALUE_REQUIRED},
    {"--allow", OPTION_ALLOW, VALUE_REQUIRED},
    {"--follow", OPTION_FOLLOW, VALUE_NONE},
    {"-f", OPTION_FOLLOW, VALUE_NONE},
    {"--denied", OPTION_DENIED, VALUE_NONE},
    {"--detach", OPTION_DETACH, VALUE_NONE},
    {"-d", OPTION_DETACH, VALUE_NONE},
    {"--stdin-open", OPTION_STDIN_OPEN, VALUE_NONE},
    {"--log-limit", OPTION_LOG_LIMIT, VALUE_REQUIRED},
    {"--from", OPTION_FROM, VALUE_REQUIRED},
    {"--tail", OPTION_TAIL, VALUE_REQUIRED},
    {"--signal", OPTION_SIGNAL, VALUE_REQUIRED},
    {"--grace", OPTION_GRACE, VALUE_REQUIRED},
    {"--close", OPTION_CLOSE, VALUE_NONE},
    {"--address", OPTION_ADDRESS, VALUE_REQUIRED},
    {"--url", OPTION_URL, VALUE_NONE},
    {"--show-token", OPTION_SHOW_TOKEN, VALUE_NONE},
    {"--exclude", OPTION_EXCLUDE, VALUE_REQUIRED},
    {"--stat", OPTION_STAT, VALUE_NONE},
    {"--format", OPTION_FORMAT, VALUE_REQUIRED},
    {"--output", OPTION_OUTPUT, VALUE_REQUIRED},
    {"--dry-run", OPTION_DRY_RUN, VALUE_NONE},
    {"--risky", OPTION_RISKY, VALUE_NONE},
    {"--force", OPTION_FORCE, VALUE_REQUIRED},
    {"--volume", OPTION_VOLUME, VALUE_REQUIRED},
};

enum { RULE_COUNT = sizeof(rules) / sizeof(rules[0]) };

/* The walk through argv. */
struct parser {
    int argc;
    char **argv;
    int next;
    bool only_arguments; /* no options any more */
    struct options *options;
    size_t parameter_count;
    size_t environment_count;
    size_t origin_count;
    size_t forgotten_count;
    size_t allowed_count;
    size_t excluded_count;
    size_t force_count;
    size_t volume_count;
};

/* The rule whose name is the first LENGTH bytes of WORD. */
static const struct rule *find_rule(const char *word, size_t length)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (strlen(rules[i].name) == length && memcmp(rules[i].name, word, length) == 0)
            return &rules[i];
    return NULL;
}

static int unknown_option(const struct parser *parser, const char *word, size_t length)
{
    const char *names[RULE_COUNT];
    AUTO_FREE char *name = strndup(word, length);

    for (size_t i = 0; i < RULE_COUNT; i++)
        names[i] = rules[i].name;
    const char *nearest = name && length > 2 ? text_nearest(name, names, RULE_COUNT) : NULL;
    const char *hint = name ? hint_for(name) : NULL;

    if (hint)
        return usage_error(parser->options->command, "there is no option %s; %s", name, hint);
    if (nearest)
        return usage_error(parser->options->command, "there is no option %s; did you mean %s?", name, nearest);
    return usage_error(parser->options->command,
                       "there is no option %s; an argument that begins with '-' goes behind --", name ? name : word);
}

static bool valid_variable(const char *assignment)
{
    size_t length = strspn(assignment, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

    return length > 0 && assignment[length] == '=' && !(assignment[0] >= '0' && assignment[0] <= '9');
}

static int set_timeout(struct options *options, const char *value)
{
    int64_t seconds;

    if (text_parse_integer(value, &seconds) && seconds < 0)
        return usage_error(options->command, "--timeout must not be negative; use 0 for no limit");
    if (!duration_parse(value, &seconds))
        return usage_error(
            options->command,
            "--timeout takes whole seconds from 0 (no limit) to %d, or a time such as 90s, 5m or 1h, not "
            "'%s'",
            LONGEST_TIMEOUT_S, value);
    if (seconds > LONGEST_TIMEOUT_S)
        return usage_error(options->command, "--timeout is at most %d seconds; use 0 for no limit", LONGEST_TIMEOUT_S);
    options->timeout_ms = seconds ? seconds * 1000 : SANDLOT_NO_TIMEOUT;
    return 0;
}

static int set_number(const struct options *options, const struct rule *rule, const char *value, int64_t *number)
{
    if (text_parse_integer(value, number))
        return 0;
    return usage_error(options->command, "%s takes a whole number, not '%s'", rule->name, value);
}

static int set_max_count(struct options *options, const struct rule *rule, const char *value)
{
    int64_t number;
    int status = set_number(options, rule, value, &number);

    if (status == 0 && number < 1)
        return usage_error(options->command, "--max-count is at least 1; leave it out for all matches");
    options->max_count = status == 0 ? (uint64_t)number : 0;
    return status;
}

static int set_max_bytes(struct options *options, const char *value)
{
    static const char units[] = "KMG";
    const size_t digits = strspn(value, "0123456789");
    const char *unit = value[digits] ? strchr(units, value[digits]) : NULL;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    int64_t number = 0;
    AUTO_FREE char *text = strndup(value, digits);
    bool right = text && text_parse_integer(text, &number) && number > 0 && number <= INT64_MAX >> shift &&
                 (!value[digits] || (unit && !value[digits + 1]));

    options->max_bytes = (uint64_t)number << shift;
    return right
               ? 0
               : usage_error(options->command,
                             "--max-bytes takes a whole number of bytes from 1, or one of units of 1024 such as 500K, "
                             "20M or 2G, not '%s'",
                             value);
}

static int set_log_limit(struct options *options, const char *value)
{
    int64_t mib;

    if (!text_parse_integer(value, &mib) || mib < 1 || mib > MOST_LOG_MIB)
        return usage_error(options->command, "--log-limit takes a whole number of MiB from 1 to %d, not '%s'",
                           MOST_LOG_MIB, value);
    options->log_bytes = (uint64_t)mib << 20;
    return 0;
}

static int set_tail(struct options *options, const struct rule *rule, const char *value)
{
    int status = set_number(options, rule, value, &options->tail);

    return status == 0 && options->tail < 0 ? usage_error(options->command, "--tail takes a number of lines from 0")
                                            : status;
}

static int set_grace(struct options *options, const char *value)
{
    int64_t seconds;

    if (!duration_parse(value, &seconds) || seconds < 1 || seconds > LONGEST_GRACE_S)
        return usage_error(options->command,
                           "--grace takes whole seconds from 1 to %d, or a time such as 30s, not '%s'", LONGEST_GRACE_S,
                           value);
    options->grace_ms = seconds * 1000;
    return 0;
}

/* "TERM", "SIGTERM" or "term". */
static int set_signal(struct options *options, const char *value)
{
    static const char *const names[] = {"TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "STOP", "CONT", "KILL"};
    const char *name = strncasecmp(value, "SIG", 3) == 0 ? value + 3 : value;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(names[i], name) == 0)
            options->signal = names[i];
    return options->signal ? 0
                           : usage_error(options->command,
                                         "--signal takes TERM, INT, HUP, QUIT, USR1, USR2, STOP, CONT or KILL, not "
                                         "'%s'",
                                         value);
}

static int set_create_mode(struct options *options, const char *value)
{
    options->create_at_start = strcmp(value, "start") == 0;
    if (options->create_at_start || strcmp(value, "lazy") == 0)
        return 0;
    return usage_error(options->command, "--create takes lazy or start, not '%s'", value);
}

static int set_idle_timeout(struct options *options, const char *value)
{
    int64_t seconds;

    if (!duration_parse(value, &seconds) || seconds > LONGEST_IDLE_S)
        return usage_error(
            options->command,
            "--idle-timeout takes whole seconds from 0 (no limit) to %d, or a time such as 90s, 5m or 1h, "
            "not '%s'",
            LONGEST_IDLE_S, value);
    options->idle_timeout_ms = seconds * 1000;
    return 0;
}

static int set_max_result_bytes(struct options *options, const char *value)
{
    int64_t bytes;

    if (!text_parse_integer(value, &bytes) || bytes < LEAST_RESULT_BYTES || bytes > MOST_RESULT_BYTES)
        return usage_error(options->command, "--max-result-bytes takes a whole number from %d to %d, not '%s'",
                           LEAST_RESULT_BYTES, MOST_RESULT_BYTES, value);
    options->max_result_bytes = (size_t)bytes;
    return 0;
}

static int add_parameter(struct parser *parser, const char *value)
{
    const char *equals = strchr(value, '=');

    if (!equals || equals == value)
        return usage_error(parser->options->command, "--param takes KEY=VALUE, not '%.*s'",
                           equals ? (int)(equals - value) + 1 : (int)strlen(value), value);
    parser->options->parameters[parser->parameter_count++] = value;
    return 0;
}

static int add_variable(struct parser *parser, const char *value)
{
    /* The value may be a secret: only what stands before the "=" is shown. */
    if (!valid_variable(value))
        return usage_error(parser->options->command,
                           "--env takes NAME=VALUE, where NAME is letters, digits and underscores; '%.*s' is not",
                           (int)strcspn(value, "="), value);
    parser->options->environment[parser->environment_count++] = value;
    return 0;
}

static int add_origin(struct parser *parser, const char *value)
{
    const char *host = strncmp(value, "http://", 7) == 0    ? value + 7
                       : strncmp(value, "https://", 8) == 0 ? value + 8
                                                            : "";

    if (!*host || strpbrk(host, "/?#@ "))
        return usage_error(parser->options->command,
                           "--allow-origin takes what a browser sends, such as https://app.example.com, not '%s'",
                           value);
    parser->options->origins[parser->origin_count++] = value;
    return 0;
}

static void set_verbosity(struct options *options, const char *name)
{
    int more = strcmp(name, "-vv") == 0 ? 2 : 1;
    int base = options->verbosity < 0 ? 0 : options->verbosity;

    options->verbosity = base + more > 2 ? 2 : base + more;
}

static int set_text(struct parser *parser, const struct rule *rule, const char *value, const char **text)
{
    if (!*value)
        return usage_error(parser->options->command, "the value of %s is empty", rule->name);
    *text = value;
    return 0;
}

/* An option without a value. */
static int apply_flag(struct parser *parser, const struct rule *rule)
{
    struct options *options = parser->options;

    options->given |= rule->option;
    if (rule->option == OPTION_SANDBOX)
        options->sandbox = NULL; /* bare: the configured default, whatever was said before */
    else if (rule->option == OPTION_JSON)
        options->json = true;
    else if (rule->option == OPTION_QUIET)
        options->verbosity = -1;
    else if (rule->option == OPTION_VERBOSE)
        set_verbosity(options, rule->name);
    return 0; /* of the others the bit says it all */
}

/* Where the value of OPTION stays as it is given; NULL: it is more than a word. */
static const char **word_of(struct options *options, option_set option)
{
    switch (option) {
    case OPTION_SANDBOX:
        return &options->sandbox;
    case OPTION_SANDBOX_ID:
        return &options->sandbox_id;
    case OPTION_SNAPSHOT_NAME:
        return &options->snapshot_name;
    case OPTION_SETUP:
        return &options->setup_file;
    case OPTION_SCOPE:
        return &options->scope;
    case OPTION_NAME:
        return &options->name;
    case OPTION_CONFIG:
        return &options->config_file;
    case OPTION_CWD:
        return &options->cwd;
    case OPTION_GLOB:
        return &options->glob;
    case OPTION_PRINT_CONFIG:
        return &options->print_config;
    case OPTION_HTTP:
        return &options->http;
    case OPTION_PORT_FILE:
        return &options->port_file;
    case OPTION_ADDRESS:
        return &options->address;
    case OPTION_TOKEN_FILE:
        return &options->token_file;
    case OPTION_NETWORK:
        return &options->network;
    case OPTION_LANGUAGE:
        return &options->language;
    case OPTION_DIRECTORY:
        return &options->directory;
    case OPTION_FORMAT:
        return &options->format;
    case OPTION_OUTPUT:
        return &options->output;
    default:
        return NULL;
    }
}

static int apply_value(struct parser *parser, const struct rule *rule, const char *value)
{
    struct options *options = parser->options;
    const char **word = word_of(options, rule->option);

    options->given |= rule->option;
    if (word)
        return set_text(parser, rule, value, word);
    switch (rule->option) {
    case OPTION_PARAM:
        return add_parameter(parser, value);
    case OPTION_ENV:
        return add_variable(parser, value);
    case OPTION_TIMEOUT:
        return set_timeout(options, value);
    case OPTION_OFFSET:
        return set_number(options, rule, value, &options->offset);
    case OPTION_LIMIT:
        return set_number(options, rule, value, &options->limit);
    case OPTION_MAX_COUNT:
        return set_max_count(options, rule, value);
    case OPTION_MAX_BYTES:
        return set_max_bytes(options, value);
    case OPTION_LOG_LIMIT:
        return set_log_limit(options, value);
    case OPTION_FROM:
        return set_number(options, rule, value, &options->from);
    case OPTION_TAIL:
        return set_tail(options, rule, value);
    case OPTION_SIGNAL:
        return set_signal(options, value);
    case OPTION_GRACE:
        return set_grace(options, value);
    case OPTION_OLD:
        options->old_string = value; /* "" is for a file that is empty */
        return 0;
    case OPTION_NEW:
        options->new_string = value;
        return 0;
    case OPTION_CREATE_MODE:
        return set_create_mode(options, value);
    case OPTION_IDLE_TIMEOUT:
        return set_idle_timeout(options, value);
    case OPTION_MAX_RESULT_BYTES:
        return set_max_result_bytes(options, value);
    case OPTION_ALLOW_ORIGIN:
        return add_origin(parser, value);
    case OPTION_FORGET:
        return set_text(parser, rule, value, &options->forgotten[parser->forgotten_count++]);
    case OPTION_ALLOW:
        options->allowed[parser->allowed_count++] = value; /* an empty one is refused with the others */
        return 0;
    case OPTION_VOLUME:
        options->volumes[parser->volume_count++] = value; /* the same */
        return 0;
    case OPTION_EXCLUDE:
        return set_text(parser, rule, value, &options->excluded[parser->excluded_count++]);
    case OPTION_FORCE:
        return set_text(parser, rule, value, &options->force[parser->force_count++]);
    default:
        return 0;
    }
}

/* One word that begins with "-", and its value from behind "=" or from the next word. */
static int parse_option(struct parser *parser, const char *word)
{
    size_t length = strcspn(word, "=");
    const struct rule *rule = find_rule(word, length);
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    const char *following = parser->next < parser->argc ? parser->argv[parser->next] : NULL;

    if (!rule)
        return unknown_option(parser, word, length);
    if (rule->name[1] != '-')
        parser->options->brief |= rule->option;
    if (rule->value == VALUE_NONE && value)
        return usage_error(parser->options->command, "%s takes no value", rule->name);
    if (rule->value == VALUE_OPTIONAL && !value && following && *following != '-') {
        value = following;
        parser->next++;
    }
    if (rule->value == VALUE_REQUIRED && !value) {
        /* A value may begin with "-", but an option in its place is a value forgotten. */
        if (!following || strcmp(following, "--") == 0 || find_rule(following, strcspn(following, "=")))
            return usage_error(parser->options->command, "%s needs a value", rule->name);
        value = following;
        parser->next++;
    }
    return value ? apply_value(parser, rule, value) : apply_flag(parser, rule);
}

/* The hint for a `--sandbox` that swallowed the command. */
static const char *swallowed_command(const struct options *options)
{
    return options->sandbox && command_find(options->sandbox) ? options->sandbox : NULL;
}

static int find_command(struct options *options, const char *word)
{
    options->command = command_find(word);
    if (options->command)
        return 0;
    const char *swallowed = swallowed_command(options);
    const char *nearest = command_nearest(word);

    if (swallowed)
        return usage_error(
            NULL,
            "there is no command '%s'; the word '%s' after --sandbox was taken as the name of a provider, "
            "so write --sandbox=NAME, or put a bare --sandbox behind the command",
            word, swallowed);
    if (hint_for(word))
        return usage_error(NULL, "there is no command '%s'; %s", word, hint_for(word));
    if (nearest)
        return usage_error(NULL, "there is no command '%s'; did you mean '%s'?", word, nearest);
    return usage_error(NULL, "there is no command '%s'; 'sandlot help' lists those there are", word);
}

/* The second word of a command in two words. */
static int find_subcommand(struct parser *parser, const char *word)
{
    struct options *options = parser->options;
    const struct command *group = options->command;
    const struct command *command = command_find_below(group, word);
    const char *nearest = command ? NULL : command_nearest_below(group, word);

    if (!command)
        return usage_error(group, "there is no command '%s %s'%s%s%s", group->name, word,
                           nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    options->command = command;
    parser->only_arguments = command->passes_words;
    return 0;
}

static int parse_word(struct parser *parser)
{
    struct options *options = parser->options;
    char *word = parser->argv[parser->next++];

    if (!parser->only_arguments && strcmp(word, "--") == 0) {
        /* Before the command it ends nothing but the value of a bare --sandbox. */
        parser->only_arguments = options->command != NULL;
        return 0;
    }
    if (!parser->only_arguments && word[0] == '-' && word[1])
        return parse_option(parser, word);
    if (!options->command)
        return find_command(options, word);
    if (options->command->below)
        return find_subcommand(parser, word);
    options->arguments[options->argument_count++] = word;
    if (options->command->passes_words)
        parser->only_arguments = true;
    return 0;
}

/* The name of the first option in the set. */
static const char *option_name(option_set set)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rules[i].option & set)
            return rules[i].name;
    return "";
}

/* The same as it was written. */
static const char *written_name(const struct options *options, option_set set)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rules[i].option & set & options->brief && rules[i].name[1] != '-')
            return rules[i].name;
    return option_name(set);
}

/* What means nothing without --http. */
#define OPTIONS_HTTP (OPTION_PORT_FILE | OPTION_TOKEN_FILE | OPTION_ALLOW_ORIGIN | OPTION_NO_AUTH)

static int check_conflicts(const struct options *options)
{
    const struct command *command = options->command;
    option_set strange = options->given & ~command->options;

    if ((options->given & OPTION_SANDBOX_ID) && (options->given & OPTION_SNAPSHOT_NAME))
        return usage_error(command, "--sandbox-snapshot-name is for a new sandbox and cannot go with --sandbox-id");
    if ((options->given & OPTION_SANDBOX_ID) && (options->given & OPTION_SCOPE))
        return usage_error(command, "--scope finds the sandbox by its key and cannot go with --sandbox-id");
    if ((options->given & OPTION_SANDBOX_ID) && (options->given & (OPTION_NETWORK | OPTION_ALLOW)))
        return usage_error(command, "%s is for a new sandbox; change a living one with 'sandlot network'",
                           option_name(options->given & (OPTION_NETWORK | OPTION_ALLOW)));
    if ((options->given & OPTION_SANDBOX_ID) && (options->given & OPTION_VOLUME))
        return usage_error(command, "--volume is for a new sandbox; a living one keeps what it has");
    if ((options->given & OPTIONS_HTTP) && !(options->given & OPTION_HTTP))
        return usage_error(command, "%s goes with --http only", option_name(options->given & OPTIONS_HTTP));
    if ((options->given & OPTION_TOKEN_FILE) && (options->given & OPTION_NO_AUTH))
        return usage_error(command, "--token-file and --no-auth contradict each other");
    if (strange)
        return usage_error(command, "'sandlot %s' takes no %s", command->name, written_name(options, strange));
    if (options->argument_count < command->minimum && swallowed_command(options))
        return usage_error(command, "%s; the word '%s' after --sandbox was taken as the name of a provider",
                           command->missing, options->sandbox);
    if (options->argument_count < command->minimum)
        return usage_error(command, "%s", command->missing);
    if (options->argument_count > command->maximum)
        return usage_error(
            command, "'sandlot %s' takes no argument '%s'%s", command->name, options->arguments[command->maximum],
            (command->options & ~options->given) & OPTION_SANDBOX_ID ? "; which sandbox is said by --sandbox-id ID"
                                                                     : "");
    return 0;
}

static int check(const struct options *options)
{
    if (options->given & (OPTION_HELP | OPTION_VERSION))
        return 0;
    if (options->command)
        return check_conflicts(options);
    const char *swallowed = swallowed_command(options);

    if (swallowed)
        return usage_error(NULL,
                           "no command: the word '%s' after --sandbox was taken as the name of a provider, so write "
                           "--sandbox=NAME, or put a bare --sandbox behind the command",
                           swallowed);
    return usage_without_command();
}

int options_parse(int argc, char **argv, struct options *options)
{
    size_t room = (size_t)argc + 1;

    *options = (struct options){.timeout_ms = SANDLOT_DEFAULT_TIMEOUT_MS,
                                .parameters = calloc(room, sizeof(*options->parameters)),
                                .environment = calloc(room, sizeof(*options->environment)),
                                .origins = calloc(room, sizeof(*options->origins)),
                                .forgotten = calloc(room, sizeof(*options->forgotten)),
                                .allowed = calloc(room, sizeof(*options->allowed)),
                                .arguments = calloc(room, sizeof(*options->arguments)),
                                .ids = calloc(room, sizeof(*options->ids)),
                                .excluded = calloc(room, sizeof(*options->excluded)),
                                .force = calloc(room, sizeof(*options->force)),
                                .volumes = calloc(room, sizeof(*options->volumes))};
    if (!options->ids || !options->parameters || !options->environment || !options->origins || !options->forgotten ||
        !options->allowed || !options->excluded || !options->force || !options->volumes || !options->arguments)
        return usage_error(NULL, "out of memory");
    struct parser parser = {.argc = argc, .argv = argv, .next = 1, .options = options};

    while (parser.next < argc) {
        int status = parse_word(&parser);

        if (status)
            return status;
    }
    return check(options);
}

void options_clear(struct options *options)
{
    free(options->parameters);
    free(options->environment);
    free(options->origins);
    free(options->forgotten);
    free(options->allowed);
    free(options->excluded);
    free(options->force);
    free(options->volumes);
    free(options->arguments);
    for (char **id = options->ids; id && *id; id++)
        free(*id);
    free(options->ids);
}
