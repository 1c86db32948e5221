/* A group's way to the provider: the public API, as any program uses it. */
#ifndef SANDLOT_CONFORMANCE_LIVE_H
#define SANDLOT_CONFORMANCE_LIVE_H

#include "kit.h"

#include <sandlot/sandlot.h>

/* Only what hangs takes so long, on a busy machine too. */
enum { COMMAND_MS = 120000 };

struct live {
    const struct kit *kit;
    struct sandlot *sandlot;
};

/* Opens the runtime, with the provider in a process of its own or in this one. False: that was told as a result. */
bool live_begin(struct live *live, const struct kit *kit, bool in_process);
/* The same with CONFIGURATION, a file of the run's folder. */
bool live_begin_as(struct live *live, const struct kit *kit, const char *configuration);
void live_end(struct live *live);

/* The options of a session with the provider and its parameters. */
struct sandlot_session_options live_options(const struct live *live);
struct sandlot_target live_target(const struct live *live);

/*
 * Opens a session; ID NULL: makes a sandbox. The runner hears of it. NULL: ERROR says why. When the run's first
 * creation fails because of the key, the network or something that is not installed, that is told as the one failure of
 * the run, and the group ends here.
 */
struct sandlot_session *live_open(const struct live *live, const struct sandlot_session_options *options,
                                  struct sandlot_error *error);
struct sandlot_session *live_create(const struct live *live, struct sandlot_error *error);
struct sandlot_session *live_attach(const struct live *live, const char *id, struct sandlot_error *error);

/* Makes a sandbox for the group's checks; what goes wrong is told as the result "a sandbox to work with". */
struct sandlot_session *live_sandbox(const struct live *live);

/* Closes it. The runner hears that a sandbox that it owned is gone. */
bool live_close(struct sandlot_session *session, bool owned, struct sandlot_error *error);
bool live_delete(const struct live *live, const char *id, struct sandlot_error *error);

/* How one command went. To be cleared. */
struct outcome {
    bool ran;
    struct sandlot_result result;
    struct sandlot_error error;
    double ms;
};

/* When commands of the same group run into COMMAND_MS again, the group is given up: hundreds would take hours. */
struct outcome live_run(struct sandlot_session *session, const char *command);
struct outcome live_execute(struct sandlot_session *session, const struct sandlot_execution *execution);
void outcome_clear(struct outcome *outcome);

/* Did it run and end with EXIT_CODE and exactly this OUTPUT? */
bool outcome_is(const struct outcome *outcome, int exit_code, const char *output, size_t length);

/* In words; lives as say's. */
const char *outcome_shown(const struct outcome *outcome);
const char *error_shown(const struct sandlot_error *error);

/* The command ends with EXIT_CODE and prints OUTPUT (NULL: whatever). */
bool live_expect(struct sandlot_session *session, const char *name, const char *command, int exit_code,
                 const char *output, const char *advice);

/* A file with this text is written; the file at PATH has exactly this text, or is not there (TEXT NULL). */
bool live_write(struct sandlot_session *session, const char *name, const char *path, const char *text);
bool live_reads(struct sandlot_session *session, const char *name, const char *path, const char *text,
                const char *advice);

double milliseconds(void);

#endif
