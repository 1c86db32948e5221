/* Running one command in a box, from the provider's side. */
#ifndef SANDLOT_LOCAL_EXECUTE_H
#define SANDLOT_LOCAL_EXECUTE_H

#include "sandbox.h"

/* As `execute` of sandlot/provider.h. */
enum sandlot_status execute_command(struct sandbox *sandbox, struct sandlot_call *call,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

/*
 * The body of MESSAGE_RUN or MESSAGE_TERMINAL, to be freed: HEADER, HEADER_SIZE bytes that begin with a struct
 * run_request, which is filled in here, and the strings of COMMAND. VARIABLE is one more for its environment (NULL:
 * none). NULL with *STATUS, told to the host.
 */
char *execute_request(const struct sandbox *sandbox, struct sandlot_call *call, const struct sandlot_command *command,
                      const char *variable, void *header, size_t header_size, size_t *length,
                      enum sandlot_status *status);

/* Tells the host why no message could be exchanged with the box: RESULT says what became of it. */
enum sandlot_status execute_broken(const struct sandbox *sandbox, struct sandlot_call *call,
                                   enum protocol_result result);

/* When a wait for COMMAND, beginning now, has to end by itself: its own time limit is kept by the box's init. */
int64_t execute_time_limit(const struct sandlot_call *call, const struct sandlot_command *command);

/* What init says of a command that has ended, for the host. */
void execute_result(const struct run_result *from, struct sandlot_exit *to);

#endif
