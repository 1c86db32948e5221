/* Volumes on the side of the user's program: what a box may get and where, what there is, and its end. */
#ifndef SANDLOT_LOCAL_VOLUME_H
#define SANDLOT_LOCAL_VOLUME_H

#include "client.h"
#include "settings.h"

/*
 * Judges the volumes of REQUEST for a box of SETTINGS. *TEXT is as settings.volumes has it, to be freed; NULL: none was
 * asked for. SANDLOT_INVALID_ARGUMENT, told to the host, where one would hide what a box needs.
 */
enum sandlot_status volume_judge(struct sandlot_call *call, const struct settings *settings,
                                 const struct sandlot_create *request, char **text);

/* As the functions of the provider's table. */
enum sandlot_status volume_list(struct client *client, struct sandlot_call *call, const char *cursor,
                                const struct sandlot_volume_listing *listing);
enum sandlot_status volume_delete(struct client *client, struct sandlot_call *call, const char *name);

#endif
