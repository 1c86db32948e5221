/* The words of a command line, parsed and checked as far as that goes without looking at anything else. */
#ifndef SANDLOT_CLI_OPTIONS_H
#define SANDLOT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One bit per option: what a command takes, and what was given. There are more than 64. */
__extension__ typedef unsigned __int128 option_set;
#define OPTION_BIT(number) ((option_set)1 << (number))
#define OPTION_SANDBOX OPTION_BIT(0)
#define OPTION_SANDBOX_ID OPTION_BIT(1)
#define OPTION_SNAPSHOT_NAME OPTION_BIT(2)
#define OPTION_SETUP OPTION_BIT(3)
#define OPTION_SCOPE OPTION_BIT(4)
#define OPTION_PARAM OPTION_BIT(5)
#define OPTION_CONFIG OPTION_BIT(6)
#define OPTION_JSON OPTION_BIT(7)
#define OPTION_QUIET OPTION_BIT(8)
#define OPTION_VERBOSE OPTION_BIT(9)
#define OPTION_HELP OPTION_BIT(10)
#define OPTION_VERSION OPTION_BIT(11)
#define OPTION_TIMEOUT OPTION_BIT(12)
#define OPTION_CWD OPTION_BIT(13)
#define OPTION_ENV OPTION_BIT(14)
#define OPTION_STDIN OPTION_BIT(15)
#define OPTION_ALL OPTION_BIT(16)
#define OPTION_OFFSET OPTION_BIT(17)
#define OPTION_LIMIT OPTION_BIT(18)
#define OPTION_OLD OPTION_BIT(19)
#define OPTION_NEW OPTION_BIT(20)
#define OPTION_REPLACE_ALL OPTION_BIT(21)
#define OPTION_GLOB OPTION_BIT(22)
#define OPTION_MAX_COUNT OPTION_BIT(23)
#define OPTION_DIRS OPTION_BIT(24)
#define OPTION_RECURSIVE OPTION_BIT(25)
#define OPTION_CREATE_MODE OPTION_BIT(26)
#define OPTION_IDLE_TIMEOUT OPTION_BIT(27)
#define OPTION_MAX_RESULT_BYTES OPTION_BIT(28)
#define OPTION_PRINT_CONFIG OPTION_BIT(29)
#define OPTION_HTTP OPTION_BIT(30)
#define OPTION_PORT_FILE OPTION_BIT(31)
#define OPTION_TOKEN_FILE OPTION_BIT(32)
#define OPTION_ALLOW_ORIGIN OPTION_BIT(33)
#define OPTION_NO_AUTH OPTION_BIT(34)
#define OPTION_LANGUAGE OPTION_BIT(35)
#define OPTION_DIRECTORY OPTION_BIT(36)
#define OPTION_SYSTEM OPTION_BIT(37)
#define OPTION_REPLACE OPTION_BIT(38)
#define OPTION_IF_EXISTS OPTION_BIT(39)
#define OPTION_FORGET OPTION_BIT(40)
#define OPTION_MAX_BYTES OPTION_BIT(41)
#define OPTION_NETWORK OPTION_BIT(42)
#define OPTION_ALLOW OPTION_BIT(43)
#define OPTION_FOLLOW OPTION_BIT(44)
#define OPTION_DENIED OPTION_BIT(45)
#define OPTION_DETACH OPTION_BIT(46)
#define OPTION_STDIN_OPEN OPTION_BIT(47)
#define OPTION_LOG_LIMIT OPTION_BIT(48)
#define OPTION_FROM OPTION_BIT(49)
#define OPTION_TAIL OPTION_BIT(50)
#define OPTION_SIGNAL OPTION_BIT(51)
#define OPTION_GRACE OPTION_BIT(52)
#define OPTION_CLOSE OPTION_BIT(53)
#define OPTION_ADDRESS OPTION_BIT(54)
#define OPTION_URL OPTION_BIT(55)
#define OPTION_SHOW_TOKEN OPTION_BIT(56)
#define OPTION_NAME OPTION_BIT(57)
#define OPTION_EXCLUDE OPTION_BIT(58)
#define OPTION_STAT OPTION_BIT(59)
#define OPTION_FORMAT OPTION_BIT(60)
#define OPTION_OUTPUT OPTION_BIT(61)
#define OPTION_DRY_RUN OPTION_BIT(62)
#define OPTION_RISKY OPTION_BIT(63)
#define OPTION_FORCE OPTION_BIT(64)
#define OPTION_VOLUME OPTION_BIT(65)
#define OPTION_WITH_BASE OPTION_BIT(66)

/* Taken by every command. `--sandbox` and `--param` are among them, so that a script may put them before any command.
 */
#define OPTIONS_COMMON                                                                                           \
    (OPTION_SANDBOX | OPTION_PARAM | OPTION_CONFIG | OPTION_JSON | OPTION_QUIET | OPTION_VERBOSE | OPTION_HELP | \
     OPTION_VERSION)
/* Taken by commands that make a sandbox. */
#define OPTIONS_CREATE \
    (OPTION_SNAPSHOT_NAME | OPTION_SETUP | OPTION_SCOPE | OPTION_NETWORK | OPTION_ALLOW | OPTION_VOLUME)

struct command;

/* Texts point into argv. */
struct options {
    const struct command *command; /* NULL: none was given */
    option_set given;              /* of OPTION_... */
    option_set brief;              /* of those, what was written as one letter */
    const char *sandbox;           /* NULL with OPTION_SANDBOX given: the bare option */
    const char *sandbox_id;
    const char *snapshot_name;
    const char *setup_file;
    const char *scope;
    const char *name; /* NULL: none was given */
    const char *config_file;
    const char **parameters; /* "KEY=VALUE", ended by NULL */
    int verbosity;           /* -1 quiet, 0, 1, 2 */
    bool json;
    int64_t timeout_ms; /* as struct sandlot_execution has it */
    const char *cwd;
    const char **environment; /* "NAME=value", ended by NULL */
    int64_t offset;
    int64_t limit;
    uint64_t max_count;
    uint64_t max_bytes;
    uint64_t log_bytes; /* 0: the library's */
    int64_t from;       /* byte of a log */
    int64_t tail;       /* lines of it */
    const char *signal; /* NULL: TERM, then KILL */
    int64_t grace_ms;   /* 0: the library's */
    const char *old_string;
    const char *new_string;
    const char *glob;
    bool create_at_start;
    int64_t idle_timeout_ms;  /* 0: none */
    size_t max_result_bytes;  /* 0: the library's limit */
    const char *print_config; /* the host whose configuration is wanted */
    const char *http;         /* where to listen; NULL with OPTION_HTTP given: the bare option */
    const char *port_file;
    const char *address; /* where to listen, of `port` */
    const char *token_file;
    const char **origins; /* ended by NULL */
    const char *language;
    const char *directory;
    const char **forgotten; /* ids, ended by NULL */
    const char *network;    /* a mode */
    const char **allowed;   /* entries, ended by NULL */
    const char **volumes;   /* "NAME:/path[:ro]", ended by NULL */
    const char **excluded;  /* globs, ended by NULL */
    const char **force;     /* paths, ended by NULL */
    const char *format;     /* of an export */
    const char *output;     /* its file */
    char **arguments;       /* ended by NULL */
    size_t argument_count;
    char **ids; /* that took the place of names, ended by NULL */
};

/* Parses the command line. 0; or the exit status 2, after the complaint has been printed. To be cleared in any case. */
int options_parse(int argc, char **argv, struct options *options);

void options_clear(struct options *options);

#endif
