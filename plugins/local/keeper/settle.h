/*
 * Descriptors that stay as long as a box or a client, apart from those of the moment: a box's first process takes only
 * what is below the highest one that it needs (box/box.c), and there is nothing of other boxes then.
 */
#ifndef SANDLOT_LOCAL_SETTLE_H
#define SANDLOT_LOCAL_SETTLE_H

/* Gives *FD, if it is one, another number, where those are that stay. Without a free one it keeps its own. */
void settle_descriptor(int *fd);

#endif
