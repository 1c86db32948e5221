/* The transport over pipes: one message per line, in from one descriptor, out to another. */
#ifndef SANDLOT_SERVER_STDIO_H
#define SANDLOT_SERVER_STDIO_H

#include "server/server.h"

struct stdio_options {
    int input_fd;
    int output_fd;
    int stop_fd;             /* readable once a signal asks for the end */
    int64_t idle_timeout_ms; /* 0: none */
};

enum stdio_end {
    STDIO_INPUT_ENDED, /* the usual end: the client has closed the pipe */
    STDIO_STOPPED,     /* by STOP_FD */
    STDIO_BROKEN,      /* nobody reads the output any more */
    STDIO_IDLE,
    STDIO_ORPHANED /* the parent has gone, and nobody else spoke */
};

/* Serves until one of the ends, then stops the server and frees it. *LEFT: the sandbox could not be deleted. *STUCK: a
 * call did not end; its thread still runs, so the process must go without freeing anything more. */
enum stdio_end stdio_serve(struct server *server, const struct stdio_options *options, bool *left, bool *stuck);

#endif
