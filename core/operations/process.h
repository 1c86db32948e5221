/*
 * Background processes: what the two routes to what is known of them have in common. The folder in the sandbox is
 * described in derived/process_box.sh; what it says is believed no further than its bounds.
 */
#ifndef SANDLOT_OPERATIONS_PROCESS_H
#define SANDLOT_OPERATIONS_PROCESS_H

#include "operations/files.h"

#include <sandlot/sandlot.h>

enum {
    PROCESS_TOKEN = 32,     /* hex digits of a request to start */
    PROCESS_COMMAND = 4096, /* bytes of a command that are shown */
    PROCESS_MOST = 1000,    /* folders of processes that are looked at */
    PROCESS_PLACES = 3
};

/* Where the folder of processes may be; HOME is a fourth where only commands reach the files. */
extern const char *const process_places[PROCESS_PLACES];
#define PROCESS_FOLDER ".sandlot-processes"

/* What is wanted of one process. */
struct process_look {
    uint64_t number;
    const char *id;    /* as the caller gave it, for messages */
    bool log;          /* its output too; else nothing but its state */
    bool errors;       /* the log of standard error */
    int64_t from;      /* as in struct sandlot_follow */
    uint64_t most;     /* bytes handed out at most, not 0 */
    int64_t hold_ms;   /* how long to wait for bytes or its end, where there are none */
    bool with_command; /* process.command is wanted */
    bool (*output)(void *context, uint64_t offset, const void *bytes, size_t length); /* false: stop */
    void *context;
};

struct process_sight {
    struct sandlot_process process; /* as it was before the log was read */
    uint64_t next;                  /* with log: the byte to go on with */
    uint64_t handed;                /* bytes that output got */
    bool stopped;                   /* output wanted no more */
};

/* Each returns 0, or -1 with the error. */
struct process_route {
    /* In any order, at most PROCESS_MOST. Each process is the receiver's to clear. */
    int (*list)(const struct file_call *call, bool (*each)(void *context, struct sandlot_process *process),
                void *context, struct sandlot_error *error);
    /* SIGHT->process is to be cleared in any case. */
    int (*look)(const struct file_call *call, const struct process_look *look, struct process_sight *sight,
                struct sandlot_error *error);
};

extern const struct process_route native_processes;  /* native/process.c */
extern const struct process_route derived_processes; /* derived/process.c */

/* ---- what scripts do, on both routes (derived/process_change.c) ---- */

struct process_beginning {
    const struct sandlot_start *request;
    const char *working_dir;
    const char *token;
    const char *long_command; /* the file in the sandbox that has the command; NULL: it goes with the script */
    bool native;              /* the folder must be where native_processes looks */
};

int process_begin(const struct file_call *call, const struct process_beginning *beginning, uint64_t *number,
                  struct sandlot_error *error);

/* Can the command go with the script? */
bool process_fits(const struct process_beginning *beginning);

/* Takes a request to start back, whether it has arrived, will, or never does. */
int process_undo(const struct file_call *call, const struct process_beginning *beginning, struct sandlot_error *error);

int process_signal(const struct file_call *call, uint64_t number, const char *id, const char *name, int64_t grace_ms,
                   struct sandlot_error *error);

/* One piece of input, as long as *LENGTH at most; *LENGTH becomes that of the piece, *TAKEN what the process has got. */
int process_feed(const struct file_call *call, uint64_t number, const char *id, const char *bytes, size_t *length,
                 bool shut, uint64_t *taken, struct sandlot_error *error);

/* ---- what is read (process_facts.c) ---- */

/* A number as the folder has them: decimal, at most 18 digits, no zero in front. */
bool process_number(const char *text, size_t length, uint64_t *number);

/* "p12"; 0: that is none. */
uint64_t process_number_of(const char *id);

/* What "SECONDS BYTES TWO" of `meta` says. */
void process_read_meta(const char *text, struct sandlot_process *process);

/* What `exit` says, "CODE LATE SECONDS". False: the process has not ended. */
bool process_read_exit(const char *text, struct sandlot_process *process);

/* The word that the scripts make of all facts but the command. 0 or -1 with truncated_transport. */
int process_read_facts(const char *word, struct sandlot_process *process, struct sandlot_error *error);

/* The beginning of a command, LENGTH bytes of at most PROCESS_COMMAND + 1, as process.command. False: no memory. */
bool process_set_command(struct sandlot_process *process, const char *bytes, size_t length);

void process_set_id(struct sandlot_process *process, uint64_t number);

/* ---- errors; each returns -1 ---- */

/* IDS: ",p1,p2", the processes that there are. */
int process_error_absent(struct sandlot_error *error, const char *id, const char *ids);
int process_error_one_log(struct sandlot_error *error, const char *id);

#endif
