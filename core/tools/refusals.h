/* What the network refused a command, for whoever reads its output. */
#ifndef SANDLOT_TOOLS_REFUSALS_H
#define SANDLOT_TOOLS_REFUSALS_H

#include <sandlot/sandlot.h>
#include <stdbool.h>

/* The clock of the log: UTC, since 1970. */
int64_t refusals_clock(void);

/* One line about the denials since BEGIN_MS, in brackets, with what allows the first of them where a list could: a
 * command for the living sandbox, or, where it is GOING to be deleted, an option for the next one; to be freed. NULL:
 * there are none, or none is known. */
char *refusals_since(struct sandlot_session *session, int64_t begin_ms, bool going,
                     struct sandlot_cancellation *cancellation);

#endif
