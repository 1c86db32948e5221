#include "results/room.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static bool is_folder(const struct node *node)
{
    return node && node->type == NODE_FOLDER;
}

static bool turns(const struct change *change)
{
    return change->before && change->after && is_folder(change->before) != is_folder(change->after);
}

static int by_path(const void *path, const void *change)
{
    return strcmp(path, ((const struct change *)change)->path);
}

static const struct change *find(const struct results *results, const char *path)
{
    return results->count ? bsearch(path, results->changes, results->count, sizeof(*results->changes), by_path) : NULL;
}

const struct change *room_maker(const struct results *results, const char *path)
{
    AUTO_FREE char *above = strdup(path);

    for (char *end = above ? strrchr(above, '/') : NULL; end; end = strrchr(above, '/')) {
        *end = '\0';
        const struct change *change = find(results, above);

        if (change && turns(change))
            return change;
    }
    return NULL;
}

static int judge_one(const struct results *results, struct change *change, struct sandlot_error *error)
{
    const struct change *maker = room_maker(results, change->path);

    if (!maker || change->never || change->there || is_folder(maker->after) != (change->after != NULL))
        return 0;
    change->together = maker->risk != NULL;
    change->never = maker->never;
    if (!maker->never)
        return 0;
    change->problem = strdup("it goes with a path above it that is left out");
    return change->problem ? 0 : error_no_memory(error);
}

int room_judge(struct results *results, struct sandlot_error *error)
{
    bool any = false;

    for (size_t i = 0; i < results->count && !any; i++)
        any = turns(&results->changes[i]);
    for (size_t i = 0; i < results->count && any; i++)
        if (judge_one(results, &results->changes[i], error) < 0)
            return -1;
    return 0;
}
