/* What to write into the configuration of a host, so that it starts this server. */
#ifndef SANDLOT_SERVER_CONFIG_SNIPPETS_H
#define SANDLOT_SERVER_CONFIG_SNIPPETS_H

#include <stdbool.h>

/* "claude, codex, cursor, vscode or langchain" */
#define CONFIG_SNIPPET_HOSTS "claude, codex, cursor, vscode or langchain"

bool config_snippet_exists(const char *host);

/*
 * The text for HOST: start PROGRAM with ARGUMENTS (ended by NULL) and pass the VARIABLES (names, ended by NULL) of the
 * user's environment on, which most hosts do not by themselves. To be freed; NULL when out of memory.
 */
char *config_snippet(const char *host, const char *program, const char *const *arguments, const char *const *variables);

#endif
