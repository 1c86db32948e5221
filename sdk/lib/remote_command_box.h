/* The shell text that remote_command.c sends: constant but for the variables that stand before it. */
#ifndef SANDLOT_SDK_REMOTE_COMMAND_BOX_H
#define SANDLOT_SDK_REMOTE_COMMAND_BOX_H

/* At the very beginning of every script. */
extern const char remote_box_prologue[];

/* Functions of every script: what it says, where the job lies. */
extern const char remote_box_common[];

/* What both the scripts and the supervisor need; as the assignment of a variable. */
extern const char remote_box_tools[];

/* The supervisor of a job, which outlives the script; as the assignment of a variable. */
extern const char remote_box_supervisor[];

/* Starts the job that the variables describe. */
extern const char remote_box_start[];

/* Hands out what the job has printed, and its end. */
extern const char remote_box_watch[];

/* The last lines. A script that arrived in part only has defined functions and done nothing. */
extern const char remote_box_run[];
extern const char remote_box_kill[];

#endif
