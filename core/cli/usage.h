/* What is said of a command line that makes no sense, on standard error. */
#ifndef SANDLOT_CLI_USAGE_H
#define SANDLOT_CLI_USAGE_H

struct command;

/* Prints "sandlot: TEXT" and where to read more; returns the exit status 2. COMMAND may be NULL. */
int usage_error(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The short usage of a command line without a command. The exit status. */
int usage_without_command(void);

#endif
