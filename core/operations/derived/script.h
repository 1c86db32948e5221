/*
 * Shell scripts for the sandbox, run by whatever its commands run in: bash, dash or the shell of BusyBox. A script is
 * ASCII but for quoted words that are UTF-8, and speaks through a frame (frame.h).
 *
 * Every script begins with a prologue that sets LC_ALL=C, set -f and the usual IFS, sends standard error to
 * /dev/null, opens the frame and defines
 *
 *   s_word NAME VALUE   a record with a short ASCII value without ";": a number, a word
 *   s_data NAME         a record with the bytes of standard input, and their number, so that a loss is noticed; it
 *                       holds them in memory
 *   s_flow NAME         the same, any amount and without the number: what is sent must show by itself that it is whole
 *   s_need TOOL...      ends the script with missing_tool if there is no such command; in a name that is none, but says
 *                       what a tool lacks, "_" stands for a blank: stat_with_-c
 *   s_fail REASON       ends the script with an error: an errno name in lower case ("enoent"), or "kind" for
 *                       file_error_kind, or "damaged" when what was sent to the sandbox is not what arrived
 *   s_reason MESSAGE    the same, the errno being that of which a program spoke
 *   s_gone              ends the script because $f is not there, with what else lies in its directory
 *   s_end               ends the script well; it must be the last command of every script
 *   s_clean             does nothing; a script that makes temporary files puts a function that removes them in its
 *                       place. It is called at the end in any case, signals included
 *
 * Its own variables begin with s_.
 */
#ifndef SANDLOT_OPERATIONS_DERIVED_SCRIPT_H
#define SANDLOT_OPERATIONS_DERIVED_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Many vendors pass a command as one argument, which Linux limits to 128 KiB; some put words of theirs around it.
     */
    SCRIPT_BUDGET = 100 * 1000,
    SCRIPT_MARK = 24
};

struct script {
    char *text; /* NULL when out of memory */
    size_t length;
    size_t capacity;
    char mark[SCRIPT_MARK + 1]; /* of its frame: hex digits, random */
    uint32_t flags;             /* of the command that runs it, enum sandlot_command_flag */
};

/* Begins with the prologue. To be cleared in any case. That there was no memory shows in script_fits and frame_run. */
void script_init(struct script *script);
void script_clear(struct script *script);

/* Adds TEXT as it is. */
void script_add(struct script *script, const char *text);
void script_format(struct script *script, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds "NAME=VALUE" and a newline, for any bytes. */
void script_set(struct script *script, const char *name, const char *value);

/* Adds a word in quotes: the format for which printf(1) prints exactly these bytes. */
void script_quote_format(struct script *script, const void *bytes, size_t length);

/* The length of that word without its quotes. */
size_t script_print_cost(const void *bytes, size_t length);

/* Adds a simple command, without newline, that prints exactly these bytes: printf(1), which is a builtin. */
void script_print(struct script *script, const void *bytes, size_t length);

/* Can the script be run as one command? */
bool script_fits(const struct script *script);

#endif
