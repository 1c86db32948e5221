/* Credentials of registries, as docker's command keeps them. */
#ifndef SANDLOT_DOCKER_REGISTRY_H
#define SANDLOT_DOCKER_REGISTRY_H

#include <sandlot/provider.h>

/* The header that says who we are to the registry of IMAGE, to be freed; *HEADER NULL: nobody. A helper that fails is a
 * warning in the log: most images are anybody's. */
enum sandlot_status registry_header(struct sandlot_call *call, const char *image, char **header);

#endif
