/* Volumes as people write them: any bytes. What is taken reads as itself, and leads nowhere else. */
#include "session/volumes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sandlot_volume *volume)
{
    const size_t length = strlen(volume->name) + strlen(volume->path) + sizeof(":" VOLUME_READ_ONLY);
    char *text = malloc(length);
    char *problem = NULL;
    struct sandlot_volume again;

    if (!text || *volume->path != '/' || !volume->path[1] || strstr(volume->path, "//") ||
        strstr(volume->path, "/../") || strchr(volume->name, '/') || *volume->name == '.')
        abort();
    strcpy(text, volume->name);
    strcat(text, ":");
    strcat(text, volume->path);
    strcat(text, volume->flags & SANDLOT_VOLUME_READ_ONLY ? VOLUME_READ_ONLY : "");
    if (!volume_parse(text, &again, &problem) || strcmp(again.name, volume->name) != 0 ||
        strcmp(again.path, volume->path) != 0 || again.flags != volume->flags)
        abort();
    volume_clear(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *written = malloc(size + 1);
    char *problem = NULL;
    struct sandlot_volume volume;

    if (!written)
        return 0;
    memcpy(written, data, size);
    written[size] = '\0';
    if (volume_parse(written, &volume, &problem))
        check(&volume);
    else if (!problem || volume.name)
        abort();
    volume_clear(&volume);
    free(problem);
    free(written);
    return 0;
}
