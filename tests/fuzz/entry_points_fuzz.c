/*
 * The note reader. An input that begins as an ELF file goes through the whole reader, from a descriptor; any other is
 * the text of a note.
 */
#include "registry/entry_points.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever was accepted keeps the promises of the header. */
static void check(const struct entry_points *points)
{
    for (size_t i = 0; i < points->count; i++) {
        const struct entry_point *point = &points->items[i];

        if (!point->name || !*point->name ||
            (!point->problem && (!point->symbol || point->abi_major != SANDLOT_ABI_MAJOR)))
            abort();
        for (size_t j = 0; j < point->parameter_count; j++)
            if (!point->parameters[j].name || !point->parameters[j].help || !point->parameters[j].default_text)
                abort();
    }
}

static void read_file(const uint8_t *data, size_t size)
{
    struct entry_points points;
    char *problem;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    if (entry_points_read(fd, &points, &problem) == ENTRY_POINTS_UNUSABLE && !problem)
        abort();
    check(&points);
    entry_points_clear(&points);
    free(problem);
    close(fd);
}

static void read_text(const uint8_t *data, size_t size)
{
    struct entry_points points = {0};
    char *problem;

    if (entry_points_parse((const char *)data, size, &points, &problem))
        check(&points);
    else if (!problem)
        abort();
    entry_points_clear(&points);
    free(problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 4 && memcmp(data, "\177ELF", 4) == 0)
        read_file(data, size);
    else
        read_text(data, size);
    return 0;
}
