/* One program from its start to its end, for process.c. */
#ifndef SANDLOT_SDK_PROCESS_CHILD_H
#define SANDLOT_SDK_PROCESS_CHILD_H

#include <sandlot/sdk/process.h>
#include <sys/types.h>

/* The descriptors are this side's ends of the pipes and -1 where there is none; they do not block. */
struct sdk_child {
    pid_t pid;
    int exited; /* a pidfd: readable once the program has ended */
    int report; /* ends when the program runs, or says why it does not */
    int input;
    int output;
    int errors;
};

/* Starts it. In any case to be closed afterwards. */
enum sandlot_status sdk_child_start(struct sandlot_call *call, const struct process_options *options,
                                    struct sdk_child *child);

/* Reads the report, which is closed then. Not SANDLOT_OK: the program never ran, and why has been said. */
enum sandlot_status sdk_child_report(struct sandlot_call *call, const struct process_options *options,
                                     struct sdk_child *child);

/* Asks the program and its process group to end. */
void sdk_child_terminate(const struct sdk_child *child);

/* Kills everything that is left of its session. While the program has not been waited for, its number is nobody else's.
 */
void sdk_child_kill(const struct sdk_child *child);

/* The exit code of a program that has ended, as struct sandlot_exit has it. */
int sdk_child_wait(struct sdk_child *child);

/* Closes what is open. NULL is no child. */
void sdk_child_close(struct sdk_child *child);

/* The name of the program without its folder. */
const char *sdk_program_name(const struct process_options *options);

#endif
