/* What the network refused a command, for whoever reads its output. */
#ifndef SANDLOT_TOOLS_REFUSALS_H
#define SANDLOT_TOOLS_REFUSALS_H

#include <sandlot/sandlot.h>

/* The clock of the log: UTC, since 1970. */
int64_t refusals_clock(void);

/* One line about the denials since BEGIN_MS, in brackets, with the command that allows the first of them where a list
 * could; to be freed. NULL: there are none, or none is known. */
char *refusals_since(struct sandlot_session *session, int64_t begin_ms, struct sandlot_cancellation *cancellation);

#endif
