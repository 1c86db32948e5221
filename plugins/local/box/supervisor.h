/*
 * One command. The supervisor is a process between init and the command's shell: descendants that lose their parents
 * become its children (PR_SET_CHILD_SUBREAPER), so that it can end all of them and none besides.
 */
#ifndef SANDLOT_LOCAL_SUPERVISOR_H
#define SANDLOT_LOCAL_SUPERVISOR_H

#include "../protocol.h"
#include "walls.h"

#include <stdatomic.h>

enum { PROFILE_VARIABLES = 96 };

/* What all commands of a box have in common. */
struct profile {
    const char *shell;
    const char *workspace;                      /* where a command starts that names no folder */
    int workspace_fd;                           /* that folder, where its path may not be walked; else -1 */
    const char *environment[PROFILE_VARIABLES]; /* what each command gets, ended by NULL */
    const char **image_environment; /* what comes before that and replaces it, ended by NULL; NULL: nothing */
    struct limits limits;
    int ruleset;   /* Landlock domain to be entered by each command; -1: init is in one already */
    int null_fd;   /* /dev/null */
    int signal_fd; /* of init, for SIGCHLD (and SIGTERM where init must die in order); works in a child for the child's
                    */
    int memory_events_fd; /* see box.h; -1: none */
};

/*
 * Runs the command of a MESSAGE_RUN or MESSAGE_TERMINAL, answers on CONNECTION, and exits. Called in a fork of init.
 * While it runs CONNECTION is its own: MESSAGE_KILL or the end of the connection end the command. With DONE_FD (-1:
 * none) it stays after the command, as long as something lives that this has started: it writes a byte there and leaves
 * CONNECTION to init. ANSWERED is set just before it tells the end.
 */
_Noreturn void supervisor_run(const struct profile *profile, int connection, int done_fd, struct received *message,
                              atomic_bool *answered);

/* Is the work that the command of MESSAGE leaves meant to go on? */
bool supervisor_stays(const struct received *message);

#endif
