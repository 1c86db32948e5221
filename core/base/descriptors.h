/* Room for the descriptors that work on other threads may still open, so that none of it fails for want of one. */
#ifndef SANDLOT_BASE_DESCRIPTORS_H
#define SANDLOT_BASE_DESCRIPTORS_H

#include <stdbool.h>

struct descriptors;

/* NULL: no memory. */
struct descriptors *descriptors_new(void);
void descriptors_free(struct descriptors *descriptors);

/*
 * Promises room for COUNT descriptors, if the limit of open files has it beside all that was promised and what else is
 * open. FD: one that was opened just now, -1 if none was left; by its number it tells how many there are.
 */
bool descriptors_promise(struct descriptors *descriptors, int fd, unsigned count);

/* COUNT of those that were promised are not needed any more. */
void descriptors_give_back(struct descriptors *descriptors, unsigned count);

#endif
