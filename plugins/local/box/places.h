/* The entries of "/" that a box which shows the host's system has mounts on. */
#ifndef SANDLOT_LOCAL_PLACES_H
#define SANDLOT_LOCAL_PLACES_H

#include <stdbool.h>

/* /usr, and what belongs to it, which are links on most systems and folders on others. All lists are ended by NULL. */
extern const char *const places_system[];

/* What the skeleton has for "/" besides those, read-only. */
extern const char *const places_skeleton[];

/* The places for what is not the skeleton's. */
extern const char *const places_own[];

/* All of these, ended by NULL too. */
extern const char *const *const places_all[];

bool places_have(const char *name);

#endif
