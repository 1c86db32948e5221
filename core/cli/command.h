/* The commands: what each is called, takes and does. One file per command; this is the table's shape. */
#ifndef SANDLOT_CLI_COMMAND_H
#define SANDLOT_CLI_COMMAND_H

#include "cli/options.h"

#include <stddef.h>
#include <stdint.h>

/* What `plugin new` can write a project in. */
#define PLUGIN_LANGUAGES "c, c++ or rust"

struct command {
    const char *name;
    const char *summary;   /* for the overview */
    const char *arguments; /* for the usage line */
    const char *help;      /* what it does, its own options, examples */
    option_set options;    /* the options that it takes, of OPTION_... */
    size_t minimum;        /* fewest arguments */
    size_t maximum;        /* most arguments */
    const char *missing;   /* the complaint about too few arguments */
    size_t ids;            /* so many of its first arguments are ids of sandboxes, or names */
    bool passes_words;     /* everything after its first argument belongs to somebody else */
    bool hidden;           /* for ourselves: not in the help */
    bool no_provider;      /* --sandbox and --param are taken, as everywhere, but mean nothing to it */
    int (*run)(const struct options *options);
    const struct command *below; /* for the first of two words: the commands that the second one names, with both words
                                    as their names; NULL: one word is all */
    size_t below_count;
};

/* All commands, in the order of the overview. */
const struct command *commands(size_t *count);

/* The command of that name, NULL if there is none. */
const struct command *command_find(const char *name);

/* The name nearest to a mistyped one, NULL if none is near. */
const char *command_nearest(const char *name);

/* The same for the second word WORD of a command in two words, whose first is GROUP. */
const struct command *command_find_below(const struct command *group, const char *word);
const char *command_nearest_below(const struct command *group, const char *word);

/* Each runs one command and returns the exit status. */
int command_exec(const struct options *options);
int command_ps(const struct options *options);
int command_logs(const struct options *options);
int command_wait(const struct options *options);
int command_kill(const struct options *options);
int command_input(const struct options *options);
int command_shell(const struct options *options);
int command_create(const struct options *options);
int command_list(const struct options *options);
int command_delete(const struct options *options);
int command_pause(const struct options *options);
int command_resume(const struct options *options);
int command_fork(const struct options *options);
int command_snapshot(const struct options *options);
int command_snapshots(const struct options *options);
int command_snapshots_delete(const struct options *options);
int command_volumes(const struct options *options);
int command_volumes_delete(const struct options *options);
int command_mcp(const struct options *options);
int command_mcp_watch(const struct options *options);
int command_gc(const struct options *options);
int command_providers(const struct options *options);
int command_doctor(const struct options *options);
int command_read(const struct options *options);
int command_write(const struct options *options);
int command_edit(const struct options *options);
int command_ls(const struct options *options);
int command_grep(const struct options *options);
int command_glob(const struct options *options);
int command_rm(const struct options *options);
int command_upload(const struct options *options);
int command_download(const struct options *options);
int command_cp(const struct options *options);
int command_port(const struct options *options);
int command_import(const struct options *options);
int command_diff(const struct options *options);
int command_export(const struct options *options);
int command_apply(const struct options *options);
int command_network(const struct options *options);
int command_network_show(const struct options *options);
int command_network_allow(const struct options *options);
int command_network_deny(const struct options *options);
int command_network_mode(const struct options *options);
int command_network_log(const struct options *options);
int command_network_sets(const struct options *options);
int command_version(const struct options *options);
int command_plugin(const struct options *options);
int command_plugin_new(const struct options *options);
int command_plugin_check(const struct options *options);
int command_plugin_install(const struct options *options);
int command_plugin_remove(const struct options *options);
int command_plugin_list(const struct options *options);
int command_help(const struct options *options);

/* The help text of COMMAND, or the overview for NULL, on standard output. The exit status. */
int help_print(const struct command *command);

#endif
