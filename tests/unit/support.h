/* What the unit tests of the config and registry rooms share: a private folder, a closed-off environment, the log. */
#ifndef SANDLOT_TESTS_SUPPORT_H
#define SANDLOT_TESTS_SUPPORT_H

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The private folder of a test; the current directory is its subfolder `here`, HOME its subfolder `home`. */
static char support_folder[64];
static char *support_log; /* all messages since support_start, one per line, "warning: " before warnings */

static inline void support_receive(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context;
    text_append(&support_log, "%s%s\n", level == SANDLOT_MESSAGE_WARNING ? "warning: " : "", text);
}

static inline const char *support_logged(void)
{
    return support_log ? support_log : "";
}

static inline void support_forget(void)
{
    free(support_log);
    support_log = NULL;
}

/* Path NAME in the private folder; valid until the next four calls. */
static inline const char *support_path(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", support_folder, name);
    return path;
}

/* Writes LENGTH bytes to NAME in the private folder, with missing folders. */
static inline const char *support_write_bytes(const char *name, const void *bytes, size_t length)
{
    const char *path = support_path(name);
    AUTO_FREE char *parent = path_parent(path);

    assert_int_equal(path_make_folders(parent, 0755), 0);
    AUTO_FILE FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    return path;
}

static inline const char *support_write(const char *name, const char *text)
{
    return support_write_bytes(name, text, strlen(text));
}

static inline int support_start(void **state)
{
    static const char *const unset[] = {"SANDLOT_CONFIG",  "SANDLOT_PLUGIN_PATH", "SANDLOT_NO_ENV_FILE",
                                        "XDG_CONFIG_HOME", "XDG_DATA_HOME",       "XDG_STATE_HOME"};

    (void)state;
    umask(022);
    strcpy(support_folder, "/tmp/sandlot-test-XXXXXX");
    if (!mkdtemp(support_folder))
        return -1;
    for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++)
        unsetenv(unset[i]);
    setenv("HOME", support_path("home"), 1);
    log_set_receiver(support_receive, NULL);
    return mkdir(support_path("home"), 0755) || mkdir(support_path("here"), 0755) || chdir(support_path("here"));
}

static inline int support_end(void **state)
{
    char command[128];

    (void)state;
    log_set_receiver(NULL, NULL);
    support_forget();
    snprintf(command, sizeof(command), "rm -rf '%s'", support_folder);
    return chdir("/") || system(command);
}

#define assert_contains(text, part) support_contains((text), (part), __FILE__, __LINE__)
static inline void support_contains(const char *text, const char *part, const char *file, int line)
{
    if (text && strstr(text, part))
        return;
    print_error("\"%s\" is not in \"%s\"\n", part, text ? text : "(null)");
    _fail(file, line);
}

#define assert_lacks(text, part) support_lacks((text), (part), __FILE__, __LINE__)
static inline void support_lacks(const char *text, const char *part, const char *file, int line)
{
    if (!text || !strstr(text, part))
        return;
    print_error("\"%s\" is in \"%s\"\n", part, text);
    _fail(file, line);
}

#define SUPPORTED_TEST(function) cmocka_unit_test_setup_teardown(function, support_start, support_end)

#endif
