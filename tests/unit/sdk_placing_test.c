/* Files that are put into their places by the script of placing.h, which really runs. */
#include <sandlot/sdk/placing.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 8, TEXT = 512 };

static char folder[] = "/tmp/sandlot-placing.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    strcpy(strrchr(folder, '.'), ".XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 && mkdir("in", 0700) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[TEXT];

    (void)state;
    snprintf(command, sizeof(command), "cd / && rm -rf %s", folder);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void store(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static const char *content(const char *name)
{
    static char text[TEXT];
    FILE *file = fopen(name, "r");

    if (!file)
        return NULL;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static unsigned int mode_of(const char *name)
{
    struct stat status;

    assert_int_equal(stat(name, &status), 0);
    return status.st_mode & 07777;
}

struct fates {
    bool told[MOST];
    const char *errors[MOST];
};

static void tell(void *context, size_t index, const char *error)
{
    struct fates *fates = context;

    assert_true(index < MOST);
    assert_false(fates->told[index]);
    fates->told[index] = true;
    fates->errors[index] = error;
}

/* Places COUNT files that were staged below in/s, and tells their fates. */
static struct fates place(struct placing_file *files, size_t count)
{
    struct fates fates = {0};
    static char paths[MOST][2][TEXT];
    char prefix[TEXT];
    char output[4096];

    for (size_t i = 0; i < count; i++) {
        snprintf(paths[i][0], TEXT, "%s/%s", folder, files[i].staged);
        files[i].staged = paths[i][0];
        if (files[i].target && *files[i].target != '/') {
            snprintf(paths[i][1], TEXT, "%s/%s", folder, files[i].target);
            files[i].target = paths[i][1];
        }
    }
    snprintf(prefix, sizeof(prefix), "%s/in/s", folder);
    char *script = placing_script(prefix, files, count);

    assert_non_null(script);
    store("script", script);
    free(script);
    FILE *shell = popen("sh script", "r");

    assert_non_null(shell);
    output[fread(output, 1, sizeof(output) - 1, shell)] = '\0';
    assert_int_equal(pclose(shell), 0);
    placing_read(output, count, tell, &fates);
    return fates;
}

static void places_new_files(void **state)
{
    struct placing_file files[] = {
        {.staged = "in/s.0", .staged_bytes = 3, .target = "deep/er/it's \"$new\"\n", .mode = 0751},
        {.staged = "in/s.1", .staged_bytes = 4, .target = "plain"},
        {.staged = "in/s.2", .staged_bytes = 1, .target = NULL}};

    (void)state;
    store("in/s.0", "one");
    store("in/s.1", "two\n");
    store("in/s.2", "3");
    chmod("in/s.1", 0640);
    struct fates fates = place(files, 3);

    assert_true(fates.told[0] && fates.told[1] && !fates.told[2]);
    assert_null(fates.errors[0]);
    assert_null(fates.errors[1]);
    assert_string_equal(content("deep/er/it's \"$new\"\n"), "one");
    assert_int_equal(mode_of("deep/er/it's \"$new\"\n"), 0751);
    assert_string_equal(content("plain"), "two\n");
    assert_int_equal(mode_of("plain"), 0640);
    assert_int_equal(rmdir("in"), 0); /* nothing is left there */
}

/* The command NAME, before which all that is staged is gone, as at the end of the script of a request that was
 * repeated. */
static void let_vanish(const char *name)
{
    char text[TEXT];

    snprintf(text, sizeof(text), "#!/bin/sh\nrm -rf %s/in/s*\nexec /bin/%s \"$@\"\n", folder, name);
    store(name, text);
    assert_int_equal(chmod(name, 0700), 0);
}

static void says_nothing_of_what_another_took(void **state)
{
    static const char *const commands[] = {"tail", "chmod", "mv"};
    char *path = strdup(getenv("PATH"));

    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        struct placing_file file = {
            .staged = "in/s", .staged_bytes = 3, .mode = 0600, .target = "there", .part = i == 0, .bytes = 3};
        char with_own[TEXT];

        store("in/s", "one");
        let_vanish(commands[i]);
        snprintf(with_own, sizeof(with_own), "%s:%s", folder, path);
        setenv("PATH", with_own, 1);
        struct fates fates = place(&file, 1);

        setenv("PATH", path, 1);
        unlink(commands[i]);
        assert_false(fates.told[0]);
    }
    free(path);
}

static void cuts_files_out(void **state)
{
    struct placing_file files[] = {
        {.staged = "in/s", .staged_bytes = 9, .part = true, .offset = 0, .bytes = 0, .target = "empty"},
        {.staged = "in/s", .staged_bytes = 9, .part = true, .offset = 0, .bytes = 4, .target = "a"},
        {.staged = "in/s", .staged_bytes = 9, .part = true, .offset = 4, .bytes = 5, .target = "b"},
        {.staged = "in/s", .staged_bytes = 9, .part = true, .offset = 9, .bytes = 0, .target = "last"}};

    (void)state;
    store("in/s", "1\n3\n56789");
    struct fates fates = place(files, 4);

    for (size_t i = 0; i < 4; i++) {
        assert_true(fates.told[i]);
        assert_null(fates.errors[i]);
    }
    assert_string_equal(content("empty"), "");
    assert_string_equal(content("a"), "1\n3\n");
    assert_string_equal(content("b"), "56789");
    assert_string_equal(content("last"), "");
    assert_int_equal(rmdir("in"), 0);
}

static void keeps_what_is_there(void **state)
{
    struct placing_file files[] = {{.staged = "in/s.0", .staged_bytes = 3, .target = "old", .mode = 0600},
                                   {.staged = "in/s.1", .staged_bytes = 3, .target = "link"},
                                   {.staged = "in/s.2", .staged_bytes = 3, .target = "first"},
                                   {.staged = "in/s.3", .staged_bytes = 3, .target = "by/link"}};

    (void)state;
    store("old", "previous");
    chmod("old", 0644);
    store("linked", "previous");
    assert_int_equal(symlink("linked", "link"), 0);
    store("first", "previous");
    assert_int_equal(link("first", "second"), 0);
    store("in/s.0", "new");
    store("in/s.1", "new");
    store("in/s.2", "new");
    store("in/s.3", "new");
    assert_int_equal(mkdir("by", 0700), 0);
    assert_int_equal(symlink("not/there/yet", "by/link"), 0);
    struct fates fates = place(files, 4);
    struct stat status;

    assert_true(fates.told[0] && fates.told[1] && fates.told[2] && fates.told[3]);
    assert_string_equal(content("by/not/there/yet"), "new");
    assert_string_equal(content("old"), "new");
    assert_int_equal(mode_of("old"), 0644);
    assert_string_equal(content("linked"), "new");
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_string_equal(content("second"), "new");
    assert_int_equal(rmdir("in"), 0);
}

static void says_what_cannot_be(void **state)
{
    struct placing_file files[] = {{.staged = "in/s.0", .staged_bytes = 3, .target = "folder"},
                                   {.staged = "in/s.1", .staged_bytes = 3, .target = "file/below"},
                                   {.staged = "in/s.2", .staged_bytes = 3, .target = "pipe"},
                                   {.staged = "in/s.3", .staged_bytes = 4, .target = "short"},
                                   {.staged = "in/s.4", .staged_bytes = 3, .target = "missing"}};

    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    store("file", "x");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    for (int i = 0; i < 4; i++) {
        char name[TEXT];

        snprintf(name, sizeof(name), "in/s.%d", i);
        store(name, "new");
    }
    struct fates fates = place(files, 5);

    assert_string_equal(fates.errors[0], "is_directory");
    assert_string_equal(fates.errors[1], "invalid_path");
    assert_non_null(strstr(fates.errors[2], "no regular file"));
    assert_false(fates.told[3] || fates.told[4]);
    assert_null(content("short"));
    assert_null(content("missing"));
    assert_string_equal(content("file"), "x");
    assert_int_equal(rmdir("in"), 0);
}

static void passes_over_strange_lines(void **state)
{
    char output[] = "0 placed\nsh: nonsense\n1 unknown_word\n99 placed\n2\n 3 is_directory\n";
    struct fates fates = {0};

    (void)state;
    placing_read(output, 4, tell, &fates);
    assert_true(fates.told[0]);
    assert_false(fates.told[1] || fates.told[2]);
    assert_string_equal(fates.errors[3], "is_directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(places_new_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(says_nothing_of_what_another_took, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(cuts_files_out, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(keeps_what_is_there, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(says_what_cannot_be, make_folder, remove_folder),
        cmocka_unit_test(passes_over_strange_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
