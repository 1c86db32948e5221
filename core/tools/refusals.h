/* What the network refused a command, and that it has broken, for whoever reads its output. */
#ifndef SANDLOT_TOOLS_REFUSALS_H
#define SANDLOT_TOOLS_REFUSALS_H

#include <sandlot/sandlot.h>
#include <stdbool.h>

/* The clock of the log: UTC, since 1970. */
int64_t refusals_clock(void);

/* One line about the denials since BEGIN_MS, in brackets, with what allows them where a list could: a command for the
 * living sandbox, or, where it is GOING to be deleted, options for the next one; then what of the network as a whole
 * has broken. To be freed. NULL: nothing of either is known. For commands that failed, since it asks the provider. */
char *refusals_since(struct sandlot_session *session, int64_t begin_ms, bool going,
                     struct sandlot_cancellation *cancellation);

#endif
