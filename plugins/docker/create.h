/* Making a container. */
#ifndef SANDLOT_DOCKER_CREATE_H
#define SANDLOT_DOCKER_CREATE_H

#include "container.h"

/* Makes and starts one, and tells the host of it. IMAGE is pulled as the parameters say if PULLABLE. ID: of
 * CONTAINER_ID + 1 bytes. */
enum sandlot_status create_container(struct sandlot_call *call, struct docker *docker,
                                     const struct sandlot_create *request, const char *image, bool pullable, char *id);

/* Does the container of DOCUMENT, its record at the engine, have the limits that the parameters ask for? Engines that
 * cannot keep one take it, and pass it over: SANDLOT_UNSUPPORTED. */
enum sandlot_status create_check_limits(struct sandlot_call *call, struct docker *docker, struct json_object *document);

#endif
