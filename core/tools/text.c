/* Short answers. */
#include "tools/text.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

enum { LONGEST_PATH = 400 };

char *text_path(const char *path)
{
    char *shown = text_visible(path);
    size_t end = LONGEST_PATH;

    if (!shown || strlen(shown) <= LONGEST_PATH)
        return shown;
    while (((unsigned char)shown[end] & 0xc0) == 0x80)
        end--;
    strcpy(shown + end, "...");
    return shown;
}

char *text_of_write(const char *path)
{
    AUTO_FREE char *shown = text_visible(path);

    return shown ? text_format("Updated file %s", shown) : NULL;
}

char *text_of_edit(const char *path, uint64_t occurrences)
{
    AUTO_FREE char *shown = text_visible(path);

    return shown ? text_format("Replaced %" PRIu64 " instance%s in %s", occurrences, occurrences == 1 ? "" : "s", shown)
                 : NULL;
}

char *text_of_remove(const char *path)
{
    AUTO_FREE char *shown = text_visible(path);

    return shown ? text_format("Deleted %s", shown) : NULL;
}
