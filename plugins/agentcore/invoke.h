/* A tool of a session, and the events that it answers with. */
#ifndef SANDLOT_AGENTCORE_INVOKE_H
#define SANDLOT_AGENTCORE_INVOKE_H

#include "sandbox.h"

/* How a tool is used. */
struct invocation {
    const char *body; /* JSON: name and arguments */
    size_t length;
    int64_t longest_ms;                /* that the tool takes */
    bool urgent;                       /* after a cancellation; all is over soon */
    const struct sandlot_sink *output; /* what it prints, with the line ends of a terminal; NULL: not wanted */
};

/* What came of it. */
struct invoked {
    bool refused;    /* it was taken, but failed */
    bool structured; /* there was a result of a command */
    bool crowded;    /* not taken: too many tools are in use in the session */
    char said[400];  /* about the failure, as one line */
};

/*
 * Uses a tool. SANDLOT_OK: it has answered. Every other status has been told to the call. SANDLOT_UNAVAILABLE: no
 * answer, or none that is whole; the tool may have been used.
 */
enum sandlot_status invoke(struct sandlot_call *call, struct sandbox *sandbox, const struct invocation *invocation,
                           struct invoked *invoked);

/* The same a few times, for what may be used twice. A tool that refused is SANDLOT_INTERNAL, with WHAT it should have
 * done. */
enum sandlot_status invoke_surely(struct sandlot_call *call, struct sandbox *sandbox,
                                  const struct invocation *invocation, const char *what);

/* The body for a tool that takes one text, to be freed; NULL when out of memory. */
char *invoke_body(const char *tool, const char *argument, const char *text, size_t *length);

#endif
