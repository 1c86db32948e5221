/* What went wrong with a path: the code and the words for every verb. */
#include "operations/file_error.h"

#include "support.h"

static const enum file_verb all_verbs[] = {FILE_READ, FILE_WRITE,  FILE_EDIT,   FILE_LIST,    FILE_GLOB,
                                           FILE_GREP, FILE_REMOVE, FILE_UPLOAD, FILE_DOWNLOAD};

static struct file_call call_of(enum file_verb verb, const char *path, const char *shown)
{
    return (struct file_call){.verb = verb, .path = path, .shown = shown, .cancel_fd = -1};
}

static void check_and_clear(struct sandlot_error *error, enum sandlot_code code, const char *part)
{
    if (error->code != code)
        fail_msg("%s, not %s: %s", sandlot_code_name(error->code), sandlot_code_name(code), error->message);
    assert_contains(error->message, part);
    assert_true(strlen(error->message) < 2000);
    sandlot_error_clear(error);
}

static void check_errno(enum file_verb verb, int reason, enum sandlot_code code, const char *part)
{
    struct file_call call = call_of(verb, "/w/src/a.py", "src/a.py");
    struct sandlot_error error = {0};

    assert_int_equal(file_error_errno(&error, &call, reason), -1);
    if (reason != ENOMEM)
        assert_contains(error.message, "'src/a.py'");
    check_and_clear(&error, code, part);
}

static bool lists(enum file_verb verb)
{
    return verb == FILE_LIST || verb == FILE_GLOB || verb == FILE_GREP;
}

static void test_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(all_verbs) / sizeof(all_verbs[0]); i++) {
        enum sandlot_code code = lists(all_verbs[i]) ? SANDLOT_CODE_PATH_NOT_FOUND : SANDLOT_CODE_FILE_NOT_FOUND;
        bool writes = all_verbs[i] == FILE_WRITE || all_verbs[i] == FILE_UPLOAD;

        check_errno(all_verbs[i], ENOENT, code, "not found");
        check_errno(all_verbs[i], ENOENT, code, "/w/src/a.py");
        check_errno(all_verbs[i], ENOTDIR, writes ? SANDLOT_CODE_INVALID_PATH : code,
                    writes ? "is a file, not a directory" : "not found"); /* R21, W12 */
    }
    check_errno(FILE_READ, ENOENT, SANDLOT_CODE_FILE_NOT_FOUND, "File 'src/a.py' not found");
    check_errno(FILE_LIST, ENOENT, SANDLOT_CODE_PATH_NOT_FOUND, "Directory 'src/a.py' not found");
    check_errno(FILE_GREP, ENOENT, SANDLOT_CODE_PATH_NOT_FOUND, "Path 'src/a.py' not found");
}

static void test_reasons(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(all_verbs) / sizeof(all_verbs[0]); i++) {
        enum file_verb verb = all_verbs[i];

        check_errno(verb, EACCES, SANDLOT_CODE_PERMISSION_DENIED, "ermission denied");
        check_errno(verb, EPERM, SANDLOT_CODE_PERMISSION_DENIED, "ermission denied");
        check_errno(verb, EROFS, SANDLOT_CODE_PERMISSION_DENIED, "read-only");
        check_errno(verb, ELOOP, SANDLOT_CODE_INVALID_PATH, "loop");            /* R27 */
        check_errno(verb, ENAMETOOLONG, SANDLOT_CODE_INVALID_PATH, "too long"); /* R28 */
        check_errno(verb, ENOSPC, SANDLOT_CODE_NO_SPACE, "no space left");
        check_errno(verb, EDQUOT, SANDLOT_CODE_NO_SPACE, "no space left");
        check_errno(verb, ECANCELED, SANDLOT_CODE_CANCELLED, "Cancelled");
        check_errno(verb, ETIMEDOUT, SANDLOT_CODE_TIMEOUT, "time");
        check_errno(verb, ENOMEM, SANDLOT_CODE_INTERNAL_ERROR, "out of memory");
        check_errno(verb, EIO, SANDLOT_CODE_INTERNAL_ERROR, "Input/output error");
        check_errno(verb, EBUSY, verb == FILE_REMOVE ? SANDLOT_CODE_PERMISSION_DENIED : SANDLOT_CODE_INTERNAL_ERROR,
                    verb == FILE_REMOVE ? "mount" : "busy");
        check_errno(verb, EISDIR, verb == FILE_EDIT ? SANDLOT_CODE_NOT_A_FILE : SANDLOT_CODE_IS_DIRECTORY,
                    "is a directory"); /* R22, W11, E25 */
    }
}

static void test_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(all_verbs) / sizeof(all_verbs[0]); i++) {
        struct file_call call = call_of(all_verbs[i], "/w/pipe", "/w/pipe");
        struct sandlot_error error = {0};
        bool directory = all_verbs[i] == FILE_LIST || all_verbs[i] == FILE_GLOB;

        assert_int_equal(file_error_kind(&error, &call), -1);
        assert_contains(error.message, "'/w/pipe'");
        check_and_clear(&error, directory ? SANDLOT_CODE_NOT_A_DIRECTORY : SANDLOT_CODE_NOT_A_FILE,
                        directory ? "not a directory" : "not a regular file"); /* R23, L04, B27 */
    }
}

static void test_tool(void **state)
{
    struct file_call call = call_of(FILE_LIST, "/w", "/w");
    struct sandlot_error error = {0};

    (void)state;
    assert_int_equal(file_error_tool(&error, &call, "stat"), -1);
    check_and_clear(&error, SANDLOT_CODE_MISSING_TOOL, "no 'stat'");
}

static void check_missing(const char *path, const char *const *names, size_t count, const char *message)
{
    struct file_call call = call_of(FILE_READ, path, path);
    struct sandlot_error error = {0};

    assert_int_equal(file_error_missing(&error, &call, names, count), -1);
    assert_string_equal(error.message, message);
    check_and_clear(&error, SANDLOT_CODE_FILE_NOT_FOUND, "not found");
}

static void test_names_r20_e05(void **state)
{
    static const char *const few[] = {"main.py", "app.py"};
    static const char *const many[] = {"zebra",    "utils.py",  "Main.py", "main.c", "setup.cfg",
                                       "maine.py", "domain.py", "README",  "x",      "main.py.orig"};
    static const char *const hostile[] = {"a\nb", "\x1b[2J", "\xff"};

    (void)state;
    check_missing("/w/a.py", few, 2, "File '/w/a.py' not found. Files in /w: app.py, main.py.");
    check_missing("/a.py", few, 1, "File '/a.py' not found. Files in /: main.py.");
    check_missing("/w/main.py", many, 10,
                  "File '/w/main.py' not found. Files in /w: Main.py, domain.py, main.c, main.py.orig, maine.py (the "
                  "nearest of 10 names).");
    check_missing("/w/a", hostile, 3, "File '/w/a' not found. Files in /w: \\x1b[2J, a\\nb, \xef\xbf\xbd.");
    check_missing("/w/a", NULL, 0, "File '/w/a' not found. Look for it with ls or glob.");
}

/* The order in which a directory is read does not matter. */
static void test_deterministic(void **state)
{
    const char *names[40];
    char storage[40][16];
    AUTO_FREE char *first = NULL;

    (void)state;
    for (size_t turn = 0; turn < 40; turn++) {
        struct file_call call = call_of(FILE_READ, "/w/fle7.txt", "fle7.txt");
        struct sandlot_error error = {0};

        for (size_t i = 0; i < 40; i++) {
            snprintf(storage[i], sizeof(storage[i]), "file%zu.txt", (i * 7 + turn) % 40);
            names[i] = storage[i];
        }
        file_error_missing(&error, &call, names, 40);
        assert_contains(error.message, "file7.txt");
        if (first)
            assert_string_equal(error.message, first);
        else
            first = strdup(error.message);
        sandlot_error_clear(&error);
    }
}

static void test_long(void **state)
{
    static char path[5000];
    static char long_names[8][256];
    const char *names[8];
    struct sandlot_error error = {0};

    (void)state;
    for (int c = 1; c < 256; c += 50) {
        memset(path, c, sizeof(path) - 1);
        path[0] = '/';
        for (size_t i = 0; i < 8; i++) {
            memset(long_names[i], c, sizeof(long_names[i]) - 1);
            long_names[i][0] = (char)('a' + i);
            names[i] = long_names[i];
        }
        struct file_call call = call_of(FILE_GREP, path, path + 1);

        file_error_missing(&error, &call, names, 8);
        check_and_clear(&error, SANDLOT_CODE_PATH_NOT_FOUND, "not found");
        file_error_errno(&error, &call, EACCES);
        check_and_clear(&error, SANDLOT_CODE_PERMISSION_DENIED, "...");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing), cmocka_unit_test(test_reasons),       cmocka_unit_test(test_kind),
        cmocka_unit_test(test_tool),    cmocka_unit_test(test_names_r20_e05), cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
