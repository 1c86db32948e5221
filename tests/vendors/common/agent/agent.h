/* Runs inside a box as its first process: starts commands and moves files, asked by the emulator over file descriptor
 * 3. See ../box.mjs for what each operation means. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "link.h"

#include <json-c/json.h>
#include <sys/queue.h>

LIST_HEAD(inputs, input);
LIST_HEAD(commands, command);
LIST_HEAD(visitors, visitor);

struct agent {
    struct link link;
    int poll;
    int nothing; /* what commands without an input read */
    const char *home;
    struct json_object *environment; /* of every command */
    struct inputs inputs;
    struct commands commands;
    struct watch outside;
    struct visitors visitors;
    int64_t dialled; /* so many times */
};

/* ---- messages (agent.c) ---- */

/* NULL where MESSAGE has none */
const char *text_of(struct json_object *message, const char *key);
int64_t number_of(struct json_object *message, const char *key, int64_t otherwise);
/* It is there, and not false. */
bool is_set(struct json_object *message, const char *key);
uint32_t channel_of(struct json_object *message);
/* The path in MESSAGE, from the home folder on and without "." and ".."; lives as long as MESSAGE. */
const char *path_of(struct agent *agent, struct json_object *message, const char *key);

/* Both answer MESSAGE once. RESULT is taken; NULL: an empty one. */
void answer(struct agent *agent, struct json_object *message, struct json_object *result);
/* WHAT may be NULL. */
__attribute__((format(printf, 5, 6))) void refuse(struct agent *agent, struct json_object *message, const char *code,
                                                  const char *what, const char *text, ...);
/* With the name of errno, as Node.js says it. */
void refuse_errno(struct agent *agent, struct json_object *message, const char *call, const char *path);
const char *code_of(int number);
struct json_object *event_of(const char *event, uint32_t channel);

/* ---- what commands read and files are written from (inputs.c) ---- */

struct input {
    LIST_ENTRY(input) entry;
    struct agent *agent;
    uint32_t channel;
    void (*take)(struct input *input, const char *bytes, size_t length);
    /* BROKEN: its source broke, so, or NULL */
    void (*end)(struct input *input, const char *broken);
    struct watch watch;          /* the pipe or the file */
    struct bytes waiting;        /* for a pipe that is full */
    bool ended;                  /* its source */
    struct json_object *message; /* of a file, to be answered */
    int64_t written;
};

/* One that is thrown away, until somebody sets its functions. */
struct input *input_begin(struct agent *agent, uint32_t channel);
/* NULL where there is none */
struct input *input_of(struct agent *agent, uint32_t channel);
/* Writes to the pipe FD what comes. */
void input_feed(struct input *input, int fd);
/* Nobody reads it any more: its writer must not wait. Closes what it was written to. */
void input_ignore(struct input *input);
void input_forget(struct input *input);

/* ---- operations: each answers MESSAGE, now or later ---- */

void commands_run(struct agent *agent, struct json_object *message);
void commands_kill(struct agent *agent, struct json_object *message);
void files_stat(struct agent *agent, struct json_object *message);
void files_list(struct agent *agent, struct json_object *message);
void files_read(struct agent *agent, struct json_object *message);
void files_write(struct agent *agent, struct json_object *message);
void files_mkdir(struct agent *agent, struct json_object *message);
void files_remove(struct agent *agent, struct json_object *message);
void files_rename(struct agent *agent, struct json_object *message);
void files_chmod(struct agent *agent, struct json_object *message);

/* Says which commands have ended; in how many milliseconds it wants to look again, or -1. */
int commands_settle(struct agent *agent);

/* ---- the way out (outside.c) ---- */

/* Serves CONNECT on 127.0.0.1:3128. */
bool outside_begin(struct agent *agent);
/* The answer to an event "dial". */
void outside_dialled(struct agent *agent, struct json_object *message);

#endif
