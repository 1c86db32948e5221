/* Credentials of registries, as docker's command keeps them. */
#ifndef SANDLOT_DOCKER_REGISTRY_H
#define SANDLOT_DOCKER_REGISTRY_H

#include <sandlot/provider.h>
#include <sandlot/sdk/cleanup.h>

/* Who we are to the registry of an image. All strings are the struct's own. */
struct registry_login {
    char *registry; /* as docker login takes it */
    char *header;   /* of a request that makes the engine pull; NULL: nobody */
    char *origin;   /* the file or the program that said so, for messages */
};

/* Fills LOGIN, which is to be cleared in any case. A helper that fails is a warning in the log: most images are
 * anybody's. */
enum sandlot_status registry_find(struct sandlot_call *call, const char *image, struct registry_login *login);
void registry_clear(struct registry_login *login);

#define AUTO_LOGIN CLEANUP(registry_clear)

#endif
