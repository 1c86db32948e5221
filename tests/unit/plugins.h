/* Where unit tests find the plugins of tests/plugins: $SANDLOT_TEST_PLUGINS, else the folder plugins beside the test.
 */
#ifndef SANDLOT_TESTS_PLUGINS_H
#define SANDLOT_TESTS_PLUGINS_H

#include "support.h"

/* The whole file of plugin NAME; to be freed. */
static inline char *plugin_bytes(const char *name, size_t *length)
{
    const char *folder = getenv("SANDLOT_TEST_PLUGINS");
    AUTO_FREE char *program = path_of_this_program();
    AUTO_FREE char *path =
        folder && *folder ? text_format("%s/%s.so", folder, name) : text_format("%s/plugins/%s.so", program, name);
    char *bytes = path_read_file(path, 16 << 20, length);

    if (!bytes)
        fail_msg("%s: %s (make unit builds it)", path, strerror(errno));
    return bytes;
}

/* Copies plugin NAME to FILE in the private folder of the test. */
static inline const char *plugin_copy(const char *name, const char *file)
{
    size_t length;
    AUTO_FREE char *bytes = plugin_bytes(name, &length);

    return support_write_bytes(file, bytes, length);
}

#endif
