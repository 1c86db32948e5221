/* What the keeper is handed of a view, so that what the box writes can become a layer (keeper/turn.h). */
#ifndef SANDLOT_LOCAL_VIEW_KEPT_H
#define SANDLOT_LOCAL_VIEW_KEPT_H

struct view;

/*
 * Keeps the storage and what lies below it, as the box has it. That is covered by /proc, which comes next, and closed
 * with all else before the box begins. -1: where this fails nothing is missing but a faster way to make snapshots.
 */
int view_keep_storage(const struct view *view);

/* Hands the keeper, and nobody else, what was KEPT (-1: nothing), and the way to it. */
void view_send_storage(const struct view *view, int kept);

#endif
