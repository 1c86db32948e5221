/*
 * A provider whose table is of ABI 2; its note has the version of the header that it is built with. Whoever runs any of
 * its code leaves the file $NEXT_MAJOR_MARK.
 */
#include <sandlot/provider.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_mark(void)
{
    const char *mark = getenv("NEXT_MAJOR_MARK");
    int fd = mark ? open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd >= 0)
        close(fd);
}

static enum sandlot_status never_called(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call;
    (void)provider;
    (void)id;
    abort();
}

/* What an older host would take for a text is none: nothing behind the major version has to be what it knows. */
static const struct sandlot_provider next_major_provider = {
    .size = sizeof(struct sandlot_provider),
    .abi_major = 2,
    .name = (const char *)7,
    .parameters = (const struct sandlot_parameter *)7,
    .parameter_count = SIZE_MAX,
    .delete_sandbox = never_called,
};

#define METADATA(M)                               \
    M(description, "From the next major version") \
    M(environment, "NEXT_MAJOR_MARK")
SANDLOT_ENTRY_POINT(next_major, METADATA, SANDLOT_NO_PARAMETERS);
