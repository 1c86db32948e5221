/* Volumes: what people write, on the command line and in the configuration. */
#include "failing_allocator.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "session/volumes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_reads(const char *written, const char *name, const char *path, uint32_t flags)
{
    struct sandlot_volume volume;
    char *problem;

    assert_true(volume_parse(written, &volume, &problem));
    assert_null(problem);
    assert_string_equal(volume.name, name);
    assert_string_equal(volume.path, path);
    assert_int_equal(volume.flags, flags);
    volume_clear(&volume);
}

static void test_written(void **state)
{
    (void)state;
    assert_reads("npm:/a", "npm", "/a", 0);
    assert_reads("0.a-b_c:/a/b c/:ro", "0.a-b_c", "/a/b c", SANDLOT_VOLUME_READ_ONLY);
    assert_reads("a://x//./y/.", "a", "/x/y", 0);
    assert_reads("a:/...", "a", "/...", 0);
    assert_reads("a:/..x/x..", "a", "/..x/x..", 0);
}

static void test_refused(void **state)
{
    static const char *const bad[][2] = {
        {"", "no path"},           {"npm", "no path"},       {":/a", "empty"},        {"A:/a", "other characters"},
        {"-a:/a", "begins with"},  {"..:/a", "begins with"}, {"a:", "not absolute"},  {"a:b", "not absolute"},
        {"a::ro", "not absolute"}, {"a:/", "whole sandbox"}, {"a://./", "whole"},     {"a:/b/..", "upwards"},
        {"a:/../b:ro", "upwards"}, {"a:/b:rw", "colon"},     {"a:/b:ro:ro", "colon"}, {"a:/\x01", "control"},
        {"a:/\xff", "UTF-8"},      {"a/b:/c", "characters"}, {"a:/\x7f", "control"},
    };
    struct sandlot_volume volume;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        AUTO_FREE char *problem = NULL;

        assert_false(volume_parse(bad[i][0], &volume, &problem));
        assert_non_null(problem);
        assert_non_null(strstr(problem, bad[i][1]));
        assert_null(volume.name);
    }
}

static void test_long(void **state)
{
    char written[1200] = "";
    struct sandlot_volume volume;

    (void)state;
    memset(written, 'a', 63);
    strcpy(written + 63, ":/a");
    assert_true(volume_parse(written, &volume, &(char *){NULL}));
    volume_clear(&volume);
    memset(written, 'a', 64);
    strcpy(written + 64, ":/a");
    AUTO_FREE char *name_problem = NULL;

    assert_false(volume_parse(written, &volume, &name_problem));
    memset(written, 'a', sizeof(written) - 1);
    memcpy(written, "a:/", 3);
    AUTO_FREE char *path_problem = NULL;

    assert_false(volume_parse(written, &volume, &path_problem));
    assert_non_null(strstr(path_problem, "1024"));
}

/* What a sandbox gets of ASKED with the configuration TEXT, as one text to be freed. */
static char *found(const char *text, const char *const *asked, uint32_t capabilities, int *code)
{
    struct sandlot sandlot = {.config = config_parse("/c.toml", text, strlen(text))};
    const struct registry_entry entry = {.name = (char *)(uintptr_t) "p", .note = {.capabilities = capabilities}};
    struct volumes volumes;
    struct sandlot_error error = {0};
    char *result = NULL;

    if (sandlot.config && volumes_find(&sandlot, &entry, asked, &volumes, &error) == 0) {
        result = strdup("");
        for (size_t i = 0; result && i < volumes.count; i++)
            text_append(&result, "%s=%s %u %llu;", volumes.list[i].name, volumes.list[i].path, volumes.list[i].flags,
                        (unsigned long long)(volumes.list[i].limit_bytes >> 20));
    } else if (error.message) {
        result = strdup(error.message);
    }
    *code = error.code;
    if (sandlot.config)
        volumes_clear(&volumes);
    sandlot_error_clear(&error);
    config_free(sandlot.config);
    return result;
}

static void assert_found(const char *text, const char *const *asked, const char *wanted)
{
    int code;
    AUTO_FREE char *result = found(text, asked, CAPABILITY_VOLUMES, &code);

    assert_non_null(result);
    assert_string_equal(result, wanted);
    assert_int_equal(code, 0);
}

static const char table[] = "[sandboxes.volumes]\n"
                            "pip = \"/p:ro\"\n"
                            "[sandboxes.volumes.npm]\n"
                            "path = \"/n\"\nwriters = \"many\"\nlimit_mb = 5\nread_only = true\n"
                            "[sandboxes.volumes.set]\n"
                            "writers = \"one\"\nlimit_mb = 7\n";

static void test_configured(void **state)
{
    int code;

    (void)state;
    assert_found("", NULL, "");
    assert_found(table, NULL, "npm=/n 3 5;pip=/p 1 0;");
    assert_found(table, (const char *const[]){"npm:/x", "set:/s", NULL}, "npm=/x 2 5;set=/s 0 7;pip=/p 1 0;");
    AUTO_FREE char *left_out = found(table, NULL, 0, &code);

    assert_string_equal(left_out, "");
}

static void test_mistakes(void **state)
{
    static const char *const bad[][2] = {
        {"volumes = 5", "must be a table"},
        {"volumes.a = 5", ":2: "},
        {"volumes.a = \"b\"", "not absolute"},
        {"volumes.A = \"/b\"", "cannot be a volume's name"},
        {"volumes.a.path = 5", "no string"},
        {"volumes.a.limits_mb = 5", "did you mean limit_mb"},
        {"volumes.a.limit_mb = 0", "from 1 to"},
        {"volumes.a.limit_mb = \"5\"", "from 1 to"},
        {"volumes.a.writers = \"two\"", "neither"},
        {"volumes.a.read_only = 1", "neither true nor false"},
        {"volumes.a = \"/x\"\nvolumes.b = \"/x/y\"", "lies in it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int code;
        AUTO_FREE char *text = text_format("[sandboxes]\n%s\n", bad[i][0]);
        AUTO_FREE char *problem = found(text, NULL, CAPABILITY_VOLUMES, &code);

        assert_int_equal(code, SANDLOT_CODE_USAGE);
        assert_non_null(strstr(problem, bad[i][1]));
    }
}

/* Memory runs out at every place in turn: an error each time, and nothing is lost. */
static void test_no_memory(void **state)
{
    const char *const asked[] = {"npm:/x", "set:/s:ro", NULL};
    struct sandlot sandlot = {.config = config_parse("/c.toml", table, strlen(table))};
    const struct registry_entry entry = {.name = (char *)(uintptr_t) "p", .note = {.capabilities = CAPABILITY_VOLUMES}};
    bool done = !ALLOCATOR_REPLACED;

    (void)state;
    for (long i = 0; !done; i++) {
        struct volumes volumes;
        struct sandlot_error error = {0};
        const long before = atomic_load(&allocated);

        atomic_store(&countdown, i);
        const int result = volumes_find(&sandlot, &entry, asked, &volumes, &error);

        done = atomic_exchange(&countdown, -1) >= 0;
        assert_true(result == 0 ? volumes.count == 3 : error.code != SANDLOT_CODE_OK);
        assert_true(!done || result == 0);
        volumes_clear(&volumes);
        sandlot_error_clear(&error);
        assert_int_equal(atomic_load(&allocated), before);
    }
    config_free(sandlot.config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written),    cmocka_unit_test(test_refused),  cmocka_unit_test(test_long),
        cmocka_unit_test(test_configured), cmocka_unit_test(test_mistakes), cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("volumes", tests, NULL, NULL);
}
