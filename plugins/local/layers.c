#include "layers.h"

#include <string.h>

#define PREFIX "layer-"

const char *const layer_places[LAYER_PLACES] = {
    [LAYER_WORKSPACE] = "upper", [LAYER_HOME] = "home", [LAYER_TMP] = "tmp", [LAYER_ROOT] = "root"};

bool layer_id_valid(const char *id)
{
    const size_t length = strlen(id);

    return strncmp(id, PREFIX, strlen(PREFIX)) == 0 && length > strlen(PREFIX) && length < LAYER_ID_SIZE &&
           strspn(id + strlen(PREFIX), "0123456789abcdef") == length - strlen(PREFIX);
}

bool layer_chain_read(const char *text, struct layer_chain *chain)
{
    chain->count = 0;
    for (const char *at = text; at && *at;) {
        const size_t length = strcspn(at, " ");

        if (chain->count == LAYERS_MOST || length >= LAYER_ID_SIZE)
            return false;
        char *id = chain->ids[chain->count];

        memcpy(id, at, length);
        id[length] = '\0';
        if (!layer_id_valid(id))
            return false;
        chain->count++;
        at += length + (at[length] == ' ');
    }
    return true;
}
