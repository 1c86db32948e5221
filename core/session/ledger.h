/*
 * The ledger: one small file per sandbox that this user's Sandlot has asked for, written before the
 * request goes out, so that nothing leaks even under kill -9 or power loss. A folder below the state
 * folder; each file appears as a whole and grows by whole lines, of which the last one counts.
 */
#ifndef SANDLOT_SESSION_LEDGER_H
#define SANDLOT_SESSION_LEDGER_H

#include <json-c/json.h>
#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ledger_record {
    char *label; /* the unique run label, also the file's name */
    char *provider;
    char *id;                       /* NULL until it is known */
    char *scope;                    /* NULL: none */
    char *name;                     /* what people call it, see names.h; NULL: nothing */
    char *config_file;              /* explicit --config of that run; NULL: the default one */
    struct json_object *parameters; /* --param of that run that are no secrets, array of "KEY=VALUE"; NULL: none */
    struct json_object *network;    /* what it may reach, as network_policy_json has it; NULL: nothing was asked */
    pid_t owner;                    /* the process that owns it */
    uint64_t owner_start;           /* its start time in clock ticks since boot, /proc/PID/stat field 22 */
    char *boot_id;          /* /proc/sys/kernel/random/boot_id: pids and times above count within that boot only */
    char *host;             /* the machine's name: a home folder may be shared by several */
    uint64_t pid_namespace; /* in which the pid counts, the inode of /proc/self/ns/pid */
    bool kept;              /* left running on purpose */
    bool durable;           /* the sandbox outlives a power failure, so the record must too; not in the file */
    bool written;           /* this process has written the file; not in it */
    int64_t created_at_ms;  /* UTC */
    int64_t expires_at_ms;  /* UTC, by the hard TTL; 0: never */
};

/* A record with a fresh label, this process as owner, and the time. NULL when out of memory or of random numbers. */
struct ledger_record *ledger_record_new(const char *provider);
void ledger_record_free(struct ledger_record *record);

/* Makes this process the one that answers for the sandbox, in memory: it is not (or no longer) left on purpose. */
void ledger_own(struct ledger_record *record);

/* Writes or rewrites the record's file. 0, or -1: SANDLOT_CODE_INTERNAL_ERROR or NO_SPACE, with what to do. */
int ledger_write(struct ledger_record *record, struct sandlot_error *error);

/* Removes it; fine if it is gone. */
int ledger_remove(const char *label, struct sandlot_error *error);

/* All records, oldest first. Files that are damaged are warned about, and skipped. -1 on error; no folder is no error.
 */
int ledger_read(struct ledger_record ***records, size_t *count, struct sandlot_error *error);
/* The same without those that were left on purpose; cheap however many of these there are. */
int ledger_read_open(struct ledger_record ***records, size_t *count, struct sandlot_error *error);
/* The record LABEL as it is now; NULL: it is gone, or cannot be read. */
struct ledger_record *ledger_read_one(const char *label);
void ledger_free_records(struct ledger_record **records, size_t count);

/* The record of sandbox ID of PROVIDER, to be freed; NULL: there is none, or the ledger cannot be read. */
struct ledger_record *ledger_find(const char *provider, const char *id);

/* *FOUND: the newest record of PROVIDER and SCOPE that was left on purpose, to be freed; NULL: there is none. 0 or -1.
 */
int ledger_find_scope(const char *provider, const char *scope, struct ledger_record **found,
                      struct sandlot_error *error);

/* What is kept beside a record (results/manifest.h), and goes with it: mode 0600, replaced as a whole.
 * LEDGER_KEPT_MAXIMUM bytes at most. Reading: to be freed; NULL with errno ENOENT where there is nothing. Writing: 0 or
 * -1. */
#define LEDGER_KEPT_MAXIMUM (UINT64_C(256) << 20)
char *ledger_read_kept(const char *label, size_t *length);
int ledger_write_kept(const char *label, const void *bytes, size_t length, struct sandlot_error *error);

/* Is the process that owns it still there (same boot, same start time)? True when it cannot be told. */
bool ledger_owner_alive(const struct ledger_record *record);

/* Holds an exclusive lock on KEY (a scope, or "gc") among this user's processes, waiting until DEADLINE_MS of
 * CLOCK_MONOTONIC. A descriptor to close; -1 with an error (SANDLOT_CODE_TIMEOUT names the holder's wait). */
int ledger_lock(const char *key, int64_t deadline_ms, int cancel_fd, struct sandlot_error *error);

#endif
