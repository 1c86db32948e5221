/* The volumes that a new sandbox gets: those that were asked for, and those of [sandboxes.volumes]. */
#ifndef SANDLOT_SESSION_VOLUMES_H
#define SANDLOT_SESSION_VOLUMES_H

#include "registry/registry.h"
#include "session/runtime.h"

/* At the end of what people write: to read only. */
#define VOLUME_READ_ONLY ":ro"

/* As a request has them; the texts are their own. */
struct volumes {
    struct sandlot_volume *list;
    size_t count;
};

/* Reads WRITTEN, "NAME:/absolute/path" or the same with ":ro", into NAME, PATH and the flag; the path gets its shortest
 * form. False: *PROBLEM says what is wrong with it ("has no path: ..."), to be freed; NULL when out of memory. */
bool volume_parse(const char *written, struct sandlot_volume *volume, char **problem);

void volume_clear(struct sandlot_volume *volume);

/* Why NAME cannot be a volume's ("is empty"); NULL: it can. */
const char *volume_name_problem(const char *name);

/*
 * What a sandbox of ENTRY gets: ASKED (ended by NULL, or NULL), with what the configuration says of these, and the
 * volumes that have a path there. 0; -1: SANDLOT_CODE_USAGE, or SANDLOT_CODE_NOT_SUPPORTED where one is asked for and
 * ENTRY has none. To be cleared in any case.
 */
int volumes_find(const struct sandlot *sandlot, const struct registry_entry *entry, const char *const *asked,
                 struct volumes *volumes, struct sandlot_error *error);

void volumes_clear(struct volumes *volumes);

#endif
