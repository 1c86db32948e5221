#include "places.h"

#include "box.h"
#include "skeleton.h"

#include <string.h>

const char *const places_system[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", NULL};

const char *const places_skeleton[] = {"etc", "dev", "home", "var", SKELETON_EMPTY, NULL};

const char *const places_own[] = {"proc", "run", "tmp", &BOX_WORKSPACE[1], NULL};

const char *const *const places_all[] = {places_skeleton, places_system, places_own, NULL};

bool places_have(const char *name)
{
    for (const char *const *const *list = places_all; *list; list++)
        for (const char *const *place = *list; *place; place++)
            if (strcmp(*place, name) == 0)
                return true;
    return false;
}
