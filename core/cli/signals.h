/*
 * SIGINT, SIGTERM and SIGHUP: the first cancels what is going on, and the command cleans up; another that comes a
 * second later or more stops the waiting. What comes sooner is the same signal once more.
 */
#ifndef SANDLOT_CLI_SIGNALS_H
#define SANDLOT_CLI_SIGNALS_H

#include <sandlot/sandlot.h>

/* From now on the first signal cancels CANCELLATION, which must live as long as the process. */
void signals_install(struct sandlot_cancellation *cancellation);

/* The first signal that arrived; 0: none. */
int signals_received(void);

/* From now on a second signal does not stop the waiting: it comes from a program that sends several, not from a person
 * who has had enough. */
void signals_ignore_more(void);

/* What to say when a second signal ends the cleaning up: TEXT is one line with newline, copied. */
void signals_set_farewell(const char *text);

#endif
