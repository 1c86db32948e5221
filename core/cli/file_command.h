/* What the commands that work on files of a sandbox have in common: sandbox, work, cleaning up, answer. */
#ifndef SANDLOT_CLI_FILE_COMMAND_H
#define SANDLOT_CLI_FILE_COMMAND_H

#include "cli/context.h"

#include <json-c/json.h>
#include <stddef.h>

/* What a command has to say once it is done: an object with --json, else text. */
struct answer {
    struct json_object *object; /* also told when the work failed, with the error in it; NULL: just the error */
    char *text;                 /* to be freed */
    size_t length;
    bool told;    /* people have been told already what failed */
    bool changed; /* something in the sandbox was */
};

/* Bytes of a text: what is more is cut visibly, with the way to the rest. With --json nothing is. */
enum { ANSWER_MAXIMUM = 80000 };

/* Does the work with INPUT, what the command read or checked before. 0 with the answer filled, or -1 with the error. */
typedef int (*file_work)(const struct context *context, struct sandlot_session *session, const void *input,
                         struct answer *answer, struct sandlot_error *error);

/* Opens the sandbox, does the WORK, closes the sandbox, prints the answer. The exit status. */
int file_command(const struct options *options, file_work work, const void *input);

/* Takes TEXT, LENGTH bytes of the caller's (NULL: out of memory), as the answer, with a line end behind it. 0 or -1. */
int answer_with_bytes(struct answer *answer, char *text, size_t length, struct sandlot_error *error);

/* The same for a C string. */
int answer_with_text(struct answer *answer, char *text, struct sandlot_error *error);

/* The same for an object, whose reference is taken over. */
int answer_with_object(struct answer *answer, struct json_object *object, struct sandlot_error *error);

/* "path" into OBJECT, and "path_base64" where the path is not UTF-8. */
void json_add_path(struct json_object *object, const char *path);

/* All of standard input, at most MAXIMUM bytes, with NUL after the end; to be freed. Read before there is a sandbox.
 * NULL with *STATUS, the exit status after the complaint. */
char *read_standard_input(const struct options *options, size_t maximum, size_t *length, int *status);

#endif
