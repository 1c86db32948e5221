#include "cli/options.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/command.h"

#include <sandlot/sandlot.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_TIMEOUT_S = 3600, USAGE_STATUS = 2 };

enum value { VALUE_NONE, VALUE_REQUIRED, VALUE_OPTIONAL };

static const struct rule {
    const char *name;
    enum option option;
    enum value value;
} rules[] = {
    {"--sandbox", OPTION_SANDBOX, VALUE_OPTIONAL},
    {"--sandbox-id", OPTION_SANDBOX_ID, VALUE_REQUIRED},
    {"--sandbox-snapshot-name", OPTION_SNAPSHOT_NAME, VALUE_REQUIRED},
    {"--sandbox-setup", OPTION_SETUP, VALUE_REQUIRED},
    {"--scope", OPTION_SCOPE, VALUE_REQUIRED},
    {"--param", OPTION_PARAM, VALUE_REQUIRED},
    {"--config", OPTION_CONFIG, VALUE_REQUIRED},
    {"--json", OPTION_JSON, VALUE_NONE},
    {"-q", OPTION_QUIET, VALUE_NONE},
    {"-v", OPTION_VERBOSE, VALUE_NONE},
    {"-vv", OPTION_VERBOSE, VALUE_NONE},
    {"--help", OPTION_HELP, VALUE_NONE},
    {"--version", OPTION_VERSION, VALUE_NONE},
    {"--timeout", OPTION_TIMEOUT, VALUE_REQUIRED},
    {"--cwd", OPTION_CWD, VALUE_REQUIRED},
    {"--env", OPTION_ENV, VALUE_REQUIRED},
    {"--stdin", OPTION_STDIN, VALUE_NONE},
    {"--all", OPTION_ALL, VALUE_NONE},
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
};

int usage_error(const struct command *command, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *raw = text_format_v(format, arguments);
    va_end(arguments);
    AUTO_FREE char *line = raw ? text_visible(raw) : NULL;

    fprintf(stderr, "sandlot: %s\n", line ? line : "out of memory");
    fprintf(stderr, "Try 'sandlot %s%s--help' for more.\n", command ? command->name : "", command ? " " : "");
    return USAGE_STATUS;
}

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

    if (!text_parse_integer(value, &seconds))
        return usage_error(options->command, "--timeout takes whole seconds from 0 (no limit) to %d, not '%s'",
                           LONGEST_TIMEOUT_S, value);
    if (seconds < 0)
        return usage_error(options->command, "--timeout must not be negative; use 0 for no limit");
    if (seconds > LONGEST_TIMEOUT_S)
        return usage_error(options->command, "--timeout is at most %d seconds; use 0 for no limit", LONGEST_TIMEOUT_S);
    options->timeout_ms = seconds ? seconds * 1000 : SANDLOT_NO_TIMEOUT;
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

static int apply_value(struct parser *parser, const struct rule *rule, const char *value)
{
    struct options *options = parser->options;

    options->given |= rule->option;
    switch (rule->option) {
    case OPTION_SANDBOX:
        return set_text(parser, rule, value, &options->sandbox);
    case OPTION_SANDBOX_ID:
        return set_text(parser, rule, value, &options->sandbox_id);
    case OPTION_SNAPSHOT_NAME:
        return set_text(parser, rule, value, &options->snapshot_name);
    case OPTION_SETUP:
        return set_text(parser, rule, value, &options->setup_file);
    case OPTION_SCOPE:
        return set_text(parser, rule, value, &options->scope);
    case OPTION_CONFIG:
        return set_text(parser, rule, value, &options->config_file);
    case OPTION_CWD:
        return set_text(parser, rule, value, &options->cwd);
    case OPTION_PARAM:
        return add_parameter(parser, value);
    case OPTION_ENV:
        return add_variable(parser, value);
    case OPTION_TIMEOUT:
        return set_timeout(options, value);
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
    if (nearest)
        return usage_error(NULL, "there is no command '%s'; did you mean '%s'?", word, nearest);
    return usage_error(NULL, "there is no command '%s'; 'sandlot help' lists those there are", word);
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
    options->arguments[options->argument_count++] = word;
    if (options->command->passes_words)
        parser->only_arguments = true;
    return 0;
}

/* The name of the first option in the set. */
static const char *option_name(uint32_t set)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rules[i].option & set)
            return rules[i].name;
    return "";
}

static int check_conflicts(const struct options *options)
{
    const struct command *command = options->command;
    uint32_t strange = options->given & ~command->options;

    if ((options->given & OPTION_SANDBOX_ID) && (options->given & OPTION_SNAPSHOT_NAME))
        return usage_error(command, "--sandbox-snapshot-name is for a new sandbox and cannot go with --sandbox-id");
    if ((options->given & OPTION_SANDBOX_ID) && (options->given & OPTION_SCOPE))
        return usage_error(command, "--scope finds the sandbox by its key and cannot go with --sandbox-id");
    if (strange)
        return usage_error(command, "'sandlot %s' takes no %s", command->name, option_name(strange));
    if (options->argument_count < command->minimum && swallowed_command(options))
        return usage_error(command, "%s; the word '%s' after --sandbox was taken as the name of a provider",
                           command->missing, options->sandbox);
    if (options->argument_count < command->minimum)
        return usage_error(command, "%s", command->missing);
    if (options->argument_count > command->maximum)
        return usage_error(command, "'sandlot %s' takes no argument '%s'", command->name,
                           options->arguments[command->maximum]);
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
    return help_without_command();
}

int options_parse(int argc, char **argv, struct options *options)
{
    size_t room = (size_t)argc + 1;

    *options = (struct options){.timeout_ms = SANDLOT_DEFAULT_TIMEOUT_MS,
                                .parameters = calloc(room, sizeof(*options->parameters)),
                                .environment = calloc(room, sizeof(*options->environment)),
                                .arguments = calloc(room, sizeof(*options->arguments))};
    if (!options->parameters || !options->environment || !options->arguments)
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
    free(options->arguments);
}
