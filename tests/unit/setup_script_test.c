/* What is expanded in a setup script and what is left alone: one row per rule. */
#include "session/setup_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct environment *environment;
static char folder[64];

static int set_up(void **state)
{
    (void)state;
    setenv("VALUE", "one", 1);
    setenv("lower_1", "two", 1);
    setenv("EMPTY", "", 1);
    setenv("NESTED", "${VALUE}", 1);
    setenv("HOME", "/root-of-host", 1);
    setenv("LC_ALL", "C", 1);
    unsetenv("UNSET");
    strcpy(folder, "/tmp/sandlot-setup-XXXXXX");
    environment = environment_load(true);
    return environment && mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    environment_free(environment);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static void test_rules(void **state)
{
    static const struct {
        const char *script;
        const char *wanted;
    } rows[] = {
        {"echo ${VALUE}", "echo one"},
        {"${lower_1}${VALUE}", "twoone"},
        {"a${EMPTY}b", "ab"},
        {"${NESTED}", "${VALUE}"}, /* values are not scanned again */
        {"${UNSET}", "${UNSET}"},
        {"$VALUE $$ $$VALUE $1 $@ $? $(x) $((1)) `x` $", "$VALUE $$ $$VALUE $1 $@ $? $(x) $((1)) `x` $"},
        {"${VALUE:-x} ${VALUE%x} ${#VALUE} ${ VALUE } ${} ${1}",
         "${VALUE:-x} ${VALUE%x} ${#VALUE} ${ VALUE } ${} ${1}"},
        {"\\${VALUE} '${VALUE}' # ${VALUE}", "\\one 'one' # one"},
        {"$${VALUE}", "$one"}, /* the first $ stays */
        {"${HOME} ${PATH} ${PWD} ${OLDPWD} ${USER} ${LOGNAME} ${SHELL} ${HOSTNAME} ${TMPDIR} ${LANG} ${TERM} ${SHLVL} "
         "${_}",
         "${HOME} ${PATH} ${PWD} ${OLDPWD} ${USER} ${LOGNAME} ${SHELL} ${HOSTNAME} ${TMPDIR} ${LANG} ${TERM} ${SHLVL} "
         "${_}"},
        {"${LC_ALL}", "${LC_ALL}"},
        {"${VALUE", "${VALUE"},
        {"${", "${"},
        {"$", "$"},
        {"", ""},
        {"\xc3\xa9${VALUE}\n", "\xc3\xa9one\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *names = NULL;
        char *result = setup_script_expand(rows[i].script, environment, &names);

        assert_string_equal(result, rows[i].wanted);
        free(result);
        free(names);
    }
}

static void test_names_for_the_log(void **state)
{
    char *names = NULL;
    char *result = setup_script_expand("${VALUE} ${VALUE} ${EMPTY} ${UNSET}", environment, &names);

    (void)state;
    assert_string_equal(names, "VALUE EMPTY");
    free(result);
    free(names);
}

static void expect_refusal(const char *name, const void *bytes, size_t length, const char *reason)
{
    struct sandlot_error error = {0};
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (bytes) {
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, length, file), length);
        fclose(file);
    }
    assert_null(setup_script_read(path, environment, &error));
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    assert_non_null(strstr(error.message, reason));
    assert_non_null(strstr(error.message, path));
    sandlot_error_clear(&error);
}

static void test_bad_files(void **state)
{
    char path[128];
    static char large[1024 * 1024 + 1];

    (void)state;
    memset(large, '#', sizeof(large));
    expect_refusal("missing", NULL, 0, "No such file");
    expect_refusal("nul", "echo\0x", 6, "NUL");
    expect_refusal("latin1", "echo \xe9", 6, "UTF-8");
    expect_refusal("large", large, sizeof(large), "1 MiB");
    snprintf(path, sizeof(path), "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refusal("fifo", NULL, 0, "cannot read");
    snprintf(path, sizeof(path), "%s/directory", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refusal("directory", NULL, 0, "directory");
}

static void test_home_is_expanded_in_the_path(void **state)
{
    char path[128];
    FILE *file;

    (void)state;
    setenv("HOME", folder, 1);
    snprintf(path, sizeof(path), "%s/good.sh", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("echo ${VALUE}\n", file);
    fclose(file);
    char *text = setup_script_read("~/good.sh", environment, NULL);

    assert_string_equal(text, "echo one\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_names_for_the_log),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_home_is_expanded_in_the_path),
    };

    return cmocka_run_group_tests_name("setup_script", tests, set_up, tear_down);
}
