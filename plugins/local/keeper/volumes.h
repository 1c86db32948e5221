/*
 * What the keeper has of volumes on disk, below STATE/volumes, mode 0700:
 *   NAME/record  the text form of settings.h: what the volume may hold; changed last when a box last had it
 *   NAME/files/  what boxes see of it, made by untrusted code; of root's boxes it belongs to a user who is nobody else
 */
#ifndef SANDLOT_LOCAL_VOLUMES_H
#define SANDLOT_LOCAL_VOLUMES_H

#include "../settings.h"
#include "state.h"

#include <stdint.h>

#define VOLUME_FILES "files"

/* Whom a volume's files belong to, of root's boxes, which are a user each: beyond what boxes.c chooses from. */
enum { VOLUME_USER = 0x7ffffff0 };

/* Opens the volume WANTED, makes it where it is not there, and notes its limit: its files, as O_PATH. -1 with REASON.
 */
int volumes_open(const struct state *state, const struct wanted_volume *wanted, char *reason, size_t size);

/* A box that had the volume NAME has ended. */
void volumes_used(const struct state *state, const char *name);

/* What a listing tells of a volume, as far as the disk tells it. */
struct volume_facts {
    const char *name;
    int64_t limit_mb; /* 0: unknown */
    int64_t used_ms;  /* UTC; 0: unknown */
};

void volumes_each(const struct state *state, void (*each)(void *context, const struct volume_facts *facts),
                  void *context);

#endif
