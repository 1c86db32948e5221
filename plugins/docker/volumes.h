/* Volumes: those of the engine that carry our labels, each of one owner. */
#ifndef SANDLOT_DOCKER_VOLUMES_H
#define SANDLOT_DOCKER_VOLUMES_H

#include "container.h"

/* On a volume. */
#define LABEL_VOLUME "sandlot-volume" /* its name */
#define LABEL_OWNER "sandlot-owner"

enum { VOLUME_OWNER = 65, VOLUME_NAME = 64, VOLUME_ENGINE_NAME = VOLUME_OWNER + VOLUME_NAME + 16 };

/* Whose volumes are used: the parameter, else the name of this program's user. */
enum sandlot_status volumes_owner(struct sandlot_call *call, const struct docker *docker, char owner[VOLUME_OWNER]);

/* What the engine calls OWNER's volume NAME. */
void volumes_engine_name(const char *name, const char *owner, char engine_name[VOLUME_ENGINE_NAME]);

/* Is DOCUMENT, the engine's record of a volume, OWNER's volume NAME? */
bool volumes_is_ours(struct json_object *document, const char *name, const char *owner);

/* The error where it is not: somebody else made it, under that name. */
enum sandlot_status volumes_refuse_strange(struct sandlot_call *call, const char *engine_name, const char *owner);

/* How ITEM, of a list of containers, has volume ENGINE_NAME. */
enum volume_use { VOLUME_UNUSED, VOLUME_READ, VOLUME_WRITTEN };
enum volume_use volumes_use(struct json_object *item, const char *engine_name);

/* The containers that have volume ENGINE_NAME, whoever made them. */
enum sandlot_status volumes_containers(struct sandlot_call *call, struct docker *docker, const char *engine_name,
                                       struct json_object **items);

/* Before a container is made: judges the volumes that are asked for and makes those that are not there; OWNER: whose.
 */
enum sandlot_status volumes_prepare(struct sandlot_call *call, struct docker *docker,
                                    const struct sandlot_create *request, char owner[VOLUME_OWNER]);

/* Adds them to the body of the container's creation. */
void volumes_set(struct json_builder *body, const struct sandlot_create *request, const char *owner);

/* Before container ID is started: it is refused those to which another one writes. */
enum sandlot_status volumes_claim(struct sandlot_call *call, struct docker *docker,
                                  const struct sandlot_create *request, const char *owner, const char *id);

/* For a container whose commands do not run as root: lets everybody in it write to them. */
enum sandlot_status volumes_unlock(struct sandlot_call *call, struct docker *docker,
                                   const struct sandlot_create *request, const char *id);

#endif
