/* What a sandbox starts from: an image, made from one of a registry or from another sandbox. */
#ifndef SANDLOT_MODAL_ORIGIN_H
#define SANDLOT_MODAL_ORIGIN_H

#include "api.h"

/* The id of the image that the parameters and SNAPSHOT (which may be NULL) mean, to be freed; built if need be. */
enum sandlot_status origin_find(struct sandlot_call *call, struct modal *modal, const char *app_id,
                                const char *snapshot, char **image_id);

/* The id of the snapshot NAME, to be freed: a name that was given, or an id as it is. */
enum sandlot_status origin_by_name(struct sandlot_call *call, struct modal *modal, const char *name, char **image_id);

/* NAME with the tag that it has if it says none, to be freed; NULL when out of memory. */
char *origin_tag(const char *name);

/* Where images of that NAME are: in the environment of the settings, or wherever it says itself. After api_settle. */
char *origin_environment(const struct modal *modal, const char *name);

#endif
