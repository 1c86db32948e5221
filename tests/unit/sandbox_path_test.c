/* Paths inside a sandbox: resolved, refused, compared. */
#include "operations/sandbox_path.h"

#include "support.h"

static void check(const char *path, const char *working_dir, const char *wanted)
{
    struct sandlot_error error = {0};
    AUTO_FREE char *resolved = sandbox_path(path, working_dir, false, &error);

    if (!resolved || strcmp(resolved, wanted) != 0)
        fail_msg("'%s' in '%s': '%s' (%s)", path, working_dir, resolved ? resolved : "", error.message);
    sandlot_error_clear(&error);
}

static void check_refused(const char *path, bool absolute_only, const char *part)
{
    struct sandlot_error error = {0};

    assert_null(sandbox_path(path, "/w", absolute_only, &error));
    assert_int_equal(error.code, SANDLOT_CODE_INVALID_PATH);
    assert_contains(error.message, part);
    assert_true(strlen(error.message) < 2000);
    sandlot_error_clear(&error);
}

static void test_relative_r51(void **state)
{
    (void)state;
    check("src/a", "/w", "/w/src/a");
    check("a", "/", "/a");
    check(".", "/w", "/w");
    check(".", "/", "/");
    check("a", "/w/", "/w/a");
    check("./~name", "/w", "/w/~name");
}

static void test_normalised_r52(void **state)
{
    (void)state;
    check("//tmp///x/./y/", "/w", "/tmp/x/y");
    check("/", "/w", "/");
    check("///", "/w", "/");
    check("/./.", "/w", "/");
    check("/.hidden/...", "/w", "/.hidden/...");
}

static void test_ordinary_names_r49(void **state)
{
    (void)state;
    check("/a..b.txt", "/w", "/a..b.txt");
    check("..a/b..", "/w", "/w/..a/b..");
    check("/a\\b", "/w", "/a\\b");
    check("/C:/x", "/w", "/C:/x");
    check("/a~", "/w", "/a~");
    check("/new\nline \xff'$;", "/w", "/new\nline \xff'$;");
}

static void test_refused_r48_r50(void **state)
{
    char deep[6001] = "";

    (void)state;
    check_refused("/tmp/../etc", false, "traversal");
    check_refused("..", false, "traversal");
    check_refused("a/..", false, "traversal");
    check_refused("../a", true, "traversal");
    check_refused("~", false, "'~'");
    check_refused("~root/x", false, "'~'");
    check_refused("~/x", true, "'~'");
    check_refused("", false, "empty");
    check_refused("", true, "empty");
    memset(deep, 1, sizeof(deep) - 1);
    memcpy(deep, "../", 3);
    check_refused(deep, false, "...");
}

static void test_absolute_only_t07(void **state)
{
    struct sandlot_error error = {0};

    (void)state;
    check_refused("src/a", true, "absolute");
    AUTO_FREE char *resolved = sandbox_path("/src//a", "/w", true, &error);

    assert_string_equal(resolved, "/src/a");
}

static void test_holds(void **state)
{
    (void)state;
    assert_true(sandbox_path_holds("/w", "/w"));
    assert_true(sandbox_path_holds("/w", "/w/x"));
    assert_false(sandbox_path_holds("/w/x", "/w"));
    assert_false(sandbox_path_holds("/w", "/wide"));
    assert_false(sandbox_path_holds("/wide", "/w"));
    assert_true(sandbox_path_holds("/", "/"));
    assert_true(sandbox_path_holds("/", "/w"));
    assert_false(sandbox_path_holds("/w", "/"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relative_r51),       cmocka_unit_test(test_normalised_r52),
        cmocka_unit_test(test_ordinary_names_r49), cmocka_unit_test(test_refused_r48_r50),
        cmocka_unit_test(test_absolute_only_t07),  cmocka_unit_test(test_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
