#include "base/sized.h"

#include "base/error.h"

#include <string.h>

/* A size beyond this was never set: what stands there is not a size. */
enum { LARGEST = 4096 };

static size_t size_of(const void *at)
{
    size_t size;

    memcpy(&size, at, sizeof(size));
    return size;
}

int sized_check(const void *at, size_t least, const char *name, struct sandlot_error *error)
{
    size_t size = size_of(at);

    if (size >= least && size <= LARGEST)
        return 0;
    return error_set(error, SANDLOT_CODE_USAGE,
                     "struct %s says that it is %zu bytes long, which cannot be; set its `size` to sizeof and the rest "
                     "to zero",
                     name, size);
}

int sized_read(void *to, size_t to_size, const void *from, size_t least, const char *name, struct sandlot_error *error)
{
    memset(to, 0, to_size);
    if (from) {
        if (sized_check(from, least, name, error) < 0)
            return -1;
        size_t from_size = size_of(from);

        for (size_t i = to_size; i < from_size; i++)
            if (((const char *)from)[i])
                return error_set(error, SANDLOT_CODE_USAGE,
                                 "struct %s sets something that Sandlot %s does not know; install a newer Sandlot, or "
                                 "leave it out",
                                 name, SANDLOT_VERSION);
        memcpy(to, from, from_size < to_size ? from_size : to_size);
    }
    memcpy(to, &to_size, sizeof(to_size));
    return 0;
}

void sized_write(void *to, const void *from, size_t from_size)
{
    size_t to_size = size_of(to);

    memcpy(to, from, to_size < from_size ? to_size : from_size);
    memcpy(to, &to_size, sizeof(to_size));
}
