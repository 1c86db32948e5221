/* The words of a command line, parsed and checked as far as that goes without looking at anything else. */
#ifndef SANDLOT_CLI_OPTIONS_H
#define SANDLOT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One bit per option: what a command takes, and what was given. */
enum option {
    OPTION_SANDBOX = 1 << 0,
    OPTION_SANDBOX_ID = 1 << 1,
    OPTION_SNAPSHOT_NAME = 1 << 2,
    OPTION_SETUP = 1 << 3,
    OPTION_SCOPE = 1 << 4,
    OPTION_PARAM = 1 << 5,
    OPTION_CONFIG = 1 << 6,
    OPTION_JSON = 1 << 7,
    OPTION_QUIET = 1 << 8,
    OPTION_VERBOSE = 1 << 9,
    OPTION_HELP = 1 << 10,
    OPTION_VERSION = 1 << 11,
    OPTION_TIMEOUT = 1 << 12,
    OPTION_CWD = 1 << 13,
    OPTION_ENV = 1 << 14,
    OPTION_STDIN = 1 << 15,
    OPTION_ALL = 1 << 16
};

/* Taken by every command. `--sandbox` and `--param` are among them, so that a script may put them before any command.
 */
#define OPTIONS_COMMON                                                                                           \
    (OPTION_SANDBOX | OPTION_PARAM | OPTION_CONFIG | OPTION_JSON | OPTION_QUIET | OPTION_VERBOSE | OPTION_HELP | \
     OPTION_VERSION)
/* Taken by commands that make a sandbox. */
#define OPTIONS_CREATE (OPTION_SNAPSHOT_NAME | OPTION_SETUP | OPTION_SCOPE)

struct command;

/* Texts point into argv. */
struct options {
    const struct command *command; /* NULL: none was given */
    uint32_t given;                /* of enum option */
    const char *sandbox;           /* NULL with OPTION_SANDBOX given: the bare option */
    const char *sandbox_id;
    const char *snapshot_name;
    const char *setup_file;
    const char *scope;
    const char *config_file;
    const char **parameters; /* "KEY=VALUE", ended by NULL */
    int verbosity;           /* -1 quiet, 0, 1, 2 */
    bool json;
    int64_t timeout_ms; /* as struct sandlot_execution has it */
    const char *cwd;
    const char **environment; /* "NAME=value", ended by NULL */
    char **arguments;         /* ended by NULL */
    size_t argument_count;
};

/* Parses the command line. 0; or the exit status 2, after the complaint has been printed. To be cleared in any case. */
int options_parse(int argc, char **argv, struct options *options);

void options_clear(struct options *options);

/* Prints "sandlot: TEXT" and where to read more on standard error; returns the exit status 2. COMMAND may be NULL. */
int usage_error(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
