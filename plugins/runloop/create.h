/* Making a devbox. */
#ifndef SANDLOT_RUNLOOP_CREATE_H
#define SANDLOT_RUNLOOP_CREATE_H

#include "record.h"

/*
 * Makes a devbox as the parameters and REQUEST want it, once, whatever becomes of the answers. RECORD, to be cleared,
 * may tell of one that is not running yet. The host is told of it.
 */
enum sandlot_status create_devbox(struct sandlot_call *call, struct runloop *runloop,
                                  const struct sandlot_create *request, struct record *record);

/* The same from the disk snapshot with this id. */
enum sandlot_status create_from_disk(struct sandlot_call *call, struct runloop *runloop,
                                     const struct sandlot_create *request, const char *snapshot_id,
                                     struct record *record);

/* Tells the host of a devbox, and where commands start in it. */
void create_tell(struct sandlot_call *call, const struct record *record);

#endif
