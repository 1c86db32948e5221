/* What the configuration of an image says, or a hostile one tries to. */
#include "image_config.h"

#include <sandlot/sdk/cleanup.h>

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* A folder with the files of an image. */
struct fixture {
    char path[64];
    int fd;
};

static void write_users(const struct fixture *fixture, const char *text)
{
    AUTO_CLOSE int fd = openat(fixture->fd, "etc/passwd", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int set_up(void **state)
{
    static struct fixture fixture;

    strcpy(fixture.path, "/tmp/image-test-XXXXXX");
    assert_non_null(mkdtemp(fixture.path));
    fixture.fd = open(fixture.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(fixture.fd, "etc", 0755), 0);
    write_users(&fixture,
                "root:x:0:0:root:/root-home:/bin/sh\napp:x:5000:5000:App:/srv/app:/bin/sh\nodd:x:7:7::relative:\n");
    *state = &fixture;
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)where;
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    close(fixture->fd);
    return nftw(fixture->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* The environment of CONFIG with ";" behind each entry, to be freed. */
static char *environment_of(const struct fixture *fixture, const char *config, bool *root)
{
    struct image image = {.root = false};

    assert_true(image_config_read(config, fixture->fd, &image));
    *root = image.root;
    for (char *at = image.environment; (at = strchr(at, ENVIRONMENT_END));)
        *at = ';';
    free(image.start_dir);
    free(image.shell);
    return image.environment;
}

static void users_give_name_and_home(void **state)
{
    static const struct {
        const char *config;
        const char *environment;
        bool root;
    } rows[] = {
        {"{}", "HOME=/root-home;USER=root;LOGNAME=root;", true},
        {"{\"config\":{}}", "HOME=/root-home;USER=root;LOGNAME=root;", true},
        {"{\"config\":{\"User\":\"0:0\"}}", "HOME=/root-home;USER=root;LOGNAME=root;", true},
        {"{\"config\":{\"User\":\"app\"}}", "HOME=/srv/app;USER=app;LOGNAME=app;", false},
        {"{\"config\":{\"User\":\"5000:1\"}}", "HOME=/srv/app;USER=app;LOGNAME=app;", false},
        {"{\"config\":{\"User\":\"7777\"}}", "HOME=/;USER=7777;LOGNAME=7777;", false},
        {"{\"config\":{\"User\":\"odd\"}}", "HOME=/;USER=odd;LOGNAME=odd;", false},
        {"{\"config\":{\"User\":\"a\\nroot\"}}", "HOME=/root-home;USER=root;LOGNAME=root;", true},
        {"{\"config\":{\"User\":5}}", "HOME=/root-home;USER=root;LOGNAME=root;", true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool root = !rows[i].root;
        AUTO_FREE char *environment = environment_of(*state, rows[i].config, &root);

        assert_string_equal(environment, rows[i].environment);
        assert_int_equal(root, rows[i].root);
    }
}

static void what_is_no_variable_is_left_out(void **state)
{
    bool root;
    AUTO_FREE char *environment = environment_of(
        *state, "{\"config\":{\"Env\":[\"A=1\",\"none\",\"=x\",7,null,\"B=a\\u001fC=2\",\"HOME=/own\",\"E=\"]}}",
        &root);

    /* Of two that name the same the first holds. */
    assert_string_equal(environment, "A=1;HOME=/own;E=;HOME=/root-home;USER=root;LOGNAME=root;");
}

static void only_absolute_paths_are_taken(void **state)
{
    const struct fixture *fixture = *state;
    struct image image = {.root = false};

    assert_true(image_config_read("{\"config\":{\"WorkingDir\":\"/app\",\"Shell\":[\"/bin/own\",\"-c\"]}}", fixture->fd,
                                  &image));
    assert_string_equal(image.start_dir, "/app");
    assert_string_equal(image.shell, "/bin/own");
    free(image.start_dir);
    free(image.shell);
    free(image.environment);
    image = (struct image){.root = false};
    assert_true(image_config_read("{\"config\":{\"WorkingDir\":\"app\",\"Shell\":[\"own\"]}}", fixture->fd, &image));
    assert_null(image.start_dir);
    assert_null(image.shell);
    free(image.environment);
}

static void a_working_directory_is_made_plain(void **state)
{
    static const struct {
        const char *said;
        const char *is;
    } cases[] = {{"/app/", "/app"},
                 {"//a/./b//", "/a/b"},
                 {"/app/sub/..", "/app"},
                 {"/../../a/../..b", "/..b"},
                 {"/.hidden", "/.hidden"},
                 {"/...", "/..."},
                 {"/a/..", NULL},
                 {"//", NULL},
                 {"/.", NULL}};
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct image image = {.root = false};
        char text[128];

        snprintf(text, sizeof(text), "{\"config\":{\"WorkingDir\":\"%s\"}}", cases[i].said);
        assert_true(image_config_read(text, fixture->fd, &image));
        if (cases[i].is)
            assert_string_equal(image.start_dir, cases[i].is);
        else
            assert_null(image.start_dir);
        free(image.start_dir);
        free(image.environment);
    }
}

static void nobody_is_held_up_by_what_lies_in_place_of_the_users(void **state)
{
    const struct fixture *fixture = *state;
    bool root = false;

    assert_int_equal(unlinkat(fixture->fd, "etc/passwd", 0), 0);
    assert_int_equal(mkfifoat(fixture->fd, "etc/passwd", 0600), 0);
    AUTO_FREE char *of_pipe = environment_of(fixture, "{}", &root);

    assert_string_equal(of_pipe, "HOME=/root;USER=root;LOGNAME=root;");
    assert_int_equal(unlinkat(fixture->fd, "etc/passwd", 0), 0);
    /* A link leads to the image's own /etc/group, not to the machine's. */
    assert_int_equal(symlinkat("/etc/group", fixture->fd, "etc/passwd"), 0);
    AUTO_FREE char *of_link = environment_of(fixture, "{\"config\":{\"User\":\"root\"}}", &root);

    assert_string_equal(of_link, "HOME=/root;USER=root;LOGNAME=root;");
}

static void what_is_no_configuration_is_refused(void **state)
{
    static const char *const bad[] = {"", "[]", "{", "7", "null"};
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct image image = {.root = false};

        assert_false(image_config_read(bad[i], fixture->fd, &image));
        free(image.environment);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(users_give_name_and_home, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_variable_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_absolute_paths_are_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_working_directory_is_made_plain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_is_held_up_by_what_lies_in_place_of_the_users, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_configuration_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("images of local", tests, NULL, NULL);
}
