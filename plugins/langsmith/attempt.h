/*
 * A call within a call, whose failure need not be the outer one's: its sentence is kept instead of told. It can have a
 * nearer deadline, and can be let run although the outer call is cancelled.
 */
#ifndef SANDLOT_LANGSMITH_ATTEMPT_H
#define SANDLOT_LANGSMITH_ATTEMPT_H

#include <sandlot/provider.h>

struct attempt {
    struct sandlot_call call; /* to be passed on; first, so that it leads back to the rest */
    struct sandlot_host host;
    struct sandlot_call *outer;
    char reason[1024]; /* the first sentence that was told, "" for none */
};

/* Begins an attempt of at most LIMIT_MS (0: as long as OUTER). The struct must not be moved afterwards. */
void attempt_begin(struct attempt *attempt, struct sandlot_call *outer, int64_t limit_ms);

/* The same, but it goes on for LIMIT_MS although OUTER is cancelled or past its deadline. */
void attempt_begin_urgent(struct attempt *attempt, struct sandlot_call *outer, int64_t limit_ms);

/* Fails the outer call with what the attempt said. */
enum sandlot_status attempt_fail(const struct attempt *attempt, enum sandlot_status status);

#endif
