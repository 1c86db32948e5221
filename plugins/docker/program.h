/* One program that the engine starts in a container: what commands and terminals have in common. */
#ifndef SANDLOT_DOCKER_PROGRAM_H
#define SANDLOT_DOCKER_PROGRAM_H

#include "sandbox.h"

#include <sandlot/sdk/http_upgrade.h>
#include <sandlot/sdk/random.h>

enum { PROGRAM_MARK = 32 };

struct program {
    struct sandlot_call *call;
    struct sandbox *sandbox;
    const struct sandlot_command *command;
    bool terminal;
    const char *term;            /* value for TERM; NULL: none */
    char mark[PROGRAM_MARK + 1]; /* by which all that it starts is found */
    char *exec;                  /* the engine's id of it, to be freed; NULL: it was not made */
    struct http_upgrade *stream;
};

/* Has it made: nothing runs yet. WORDS: the program and its arguments. */
enum sandlot_status program_make(struct program *program, const char *const *words, size_t count);

/* Starts it. */
enum sandlot_status program_start(struct program *program);

/* Ends at once all that it has started, also when the call is over. False: the engine did not take that. */
bool program_end(const struct program *program);

/* The same for one whose connection was cut, and fails with that. */
enum sandlot_status program_end_cut(const struct program *program);

/* Its time is over: ends all that it has started by SIGTERM, and by SIGKILL two seconds later. Fails if the engine does
 * not take that, for then it may still run. */
enum sandlot_status program_end_gently(const struct program *program);

/* Looks until it has ended. *RUNNING: it has not. */
enum sandlot_status program_code(struct program *program, bool *running, int *code);

void program_clear(struct program *program);

#endif
