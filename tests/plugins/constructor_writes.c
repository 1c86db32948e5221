/* Its constructor leaves a mark: so a test can tell whether the library was ever loaded. */
#include "nothing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_mark(void)
{
    const char *mark = getenv("SANDLOT_TEST_MARK");
    int fd = mark ? open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd >= 0)
        close(fd);
}

static const struct sandlot_provider constructor_writes_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(constructor_writes),
    NOTHING_FUNCTIONS,
};

/* A process of its own has the variable only if it is named here. */
#define METADATA(M)                                   \
    M(description, "Leaves a mark when it is loaded") \
    M(environment, "SANDLOT_TEST_MARK")
SANDLOT_ENTRY_POINT(constructor_writes, METADATA, SANDLOT_NO_PARAMETERS);
