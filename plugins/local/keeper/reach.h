/* What a box may reach: its proxy (way.h), its gate (gate.h) and its open network (outside.h) as its policy wants them,
 * from its birth on. */
#ifndef SANDLOT_LOCAL_REACH_H
#define SANDLOT_LOCAL_REACH_H

#include "boxes.h"

/* Is everything open by POLICY, in the text form of egress/policy.h? NULL: nothing was asked. */
bool reach_is_open(const char *policy);

/* The first process of BOX, PID, is in its namespaces: begins to make its gate. NETWORK_FD is its network if that was
 * made ahead, and taken then; -1: it is its own. */
void reach_born(struct box *box, pid_t pid, int network_fd, const char *policy);

/* BOX stands, and has LISTENER_FD, which is taken: from now on POLICY holds. 0; -1, with REASON if it is more than a
 * lack of memory. */
int reach_begin(struct keeper *keeper, struct box *box, int listener_fd, const char *policy, char *reason, size_t size);

/* Gives BOX another policy, and notes it. Returns like way_change; what -1 is about stands in REASON if it is not that
 * the way out has ended. */
int reach_change(struct keeper *keeper, struct box *box, const char *policy, char *reason, size_t size);

/* The box has ended. */
void reach_end(struct box *box);

#endif
