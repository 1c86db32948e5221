/* The text form of a box's settings and record. */
#include "../../plugins/local/settings.c"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct settings usual = {.run_label = "run-1",
                                      .memory_mb = 4096,
                                      .processes = 1024,
                                      .disk_mb = 8192,
                                      .open_files = 4096,
                                      .idle_ttl_ms = 3600000,
                                      .hard_ttl_ms = 0};

/* The text form of SETTINGS with the first FROM replaced by TO of the same length. */
static char *altered(const char *from, const char *to)
{
    char *text = settings_write(&usual);
    char *at = text ? strstr(text, from) : NULL;

    assert_non_null(at);
    memcpy(at, to, strlen(to));
    return text;
}

static void settings_survive_the_journey(void **state)
{
    struct settings sent = usual;
    struct settings received;
    char workspace[] = "/home/a b/back\\slash/new\nline/n\\n=x";
    char layers[] = "layer-0123456789abc layer-0123456789abd";

    (void)state;
    sent.workspace = workspace;
    sent.cpus = 1.5;
    sent.confinement = CONFINEMENT_LANDLOCK;
    sent.fake_root = true;
    sent.keep = true;
    sent.base_ms = 1700000000000;
    sent.layers = layers;
    AUTO_FREE char *text = settings_write(&sent);

    assert_true(settings_read(text, &received));
    assert_string_equal(received.run_label, "run-1");
    assert_string_equal(received.workspace, workspace);
    assert_null(received.rootfs);
    assert_string_equal(received.layers, layers);
    assert_true(received.base_ms == 1700000000000);
    assert_int_equal(received.memory_mb, 4096);
    assert_int_equal(received.idle_ttl_ms, 3600000);
    assert_true(received.cpus > 1.4999 && received.cpus < 1.5001);
    assert_int_equal(received.confinement, CONFINEMENT_LANDLOCK);
    assert_true(received.fake_root && received.keep);
    settings_clear(&received);
}

static void keys_of_archives_are_file_names_only(void **state)
{
    static const char bad[][16] = {"", "../boxes", "a/b", "..", "A"};
    struct settings sent = usual;
    struct settings received;
    char good[] = "fe00-1a2b";

    (void)state;
    sent.archive = good;
    sent.unpacks = true;
    AUTO_FREE char *text = settings_write(&sent);

    assert_true(settings_read(text, &received));
    assert_string_equal(received.archive, good);
    assert_true(received.unpacks);
    settings_clear(&received);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sent.archive = (char *)(uintptr_t)bad[i];
        AUTO_FREE char *other = settings_write(&sent);

        assert_false(settings_read(other, &received));
    }
}

static void shown_folders_survive_the_journey(void **state)
{
    const struct shown folders[] = {{"/opt/a b", "/srv/a b", 0xfd00, 77}, {"/x", "/x=\\n", 1, UINT64_MAX}};
    struct settings sent = usual;
    struct settings received;
    struct shown read[SHOWN_MOST];

    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_true(settings_add_shown(&sent.show, &folders[i]));
    AUTO_FREE char *text = settings_write(&sent);

    free(sent.show);
    assert_true(settings_read(text, &received));
    assert_int_equal(settings_shown(received.show, read), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(read[i].place, folders[i].place);
        assert_string_equal(read[i].real, folders[i].real);
        assert_true(read[i].device == folders[i].device && read[i].inode == folders[i].inode);
    }
    settings_clear(&received);
}

static void malformed_lists_of_folders_are_refused(void **state)
{
    static const char *const bad[] = {"1 2 /a", "1 2 a\t/a", "1 2 /a\ta", "1 /a\t/a", "x 2 /a\t/a", "-1 2 /a\t/a"};
    struct shown read[SHOWN_MOST];
    AUTO_FREE char *many = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        AUTO_FREE char *text = strdup(bad[i]);

        assert_int_equal(settings_shown(text, read), -1);
    }
    for (size_t i = 0; i <= SHOWN_MOST; i++)
        assert_true(settings_add_shown(&many, &(struct shown){"/a", "/a", 1, i}));
    assert_int_equal(settings_shown(many, read), -1);
}

static void volumes_survive_the_journey(void **state)
{
    const struct wanted_volume volumes[] = {{"npm", "/home/sandlot/.npm", 8192, 0}, {"a-_.0", "/x y=\\n", 1, 3}};
    struct settings sent = usual;
    struct settings received;
    struct wanted_volume read[VOLUMES_MOST];

    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_true(settings_add_volume(&sent.volumes, &volumes[i]));
    AUTO_FREE char *text = settings_write(&sent);

    free(sent.volumes);
    assert_true(settings_read(text, &received));
    assert_int_equal(settings_volumes(received.volumes, read), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(read[i].name, volumes[i].name);
        assert_string_equal(read[i].path, volumes[i].path);
        assert_true(read[i].limit_mb == volumes[i].limit_mb && read[i].flags == volumes[i].flags);
    }
    settings_clear(&received);
}

static void malformed_lists_of_volumes_are_refused(void **state)
{
    static const char *const bad[] = {"0 1 a/b\t/a",
                                      "0 1 ..\t/a",
                                      "0 1 .a\t/a",
                                      "0 1 \t/a",
                                      "0 1 a\ta",
                                      "0 0 a\t/a",
                                      "0 1 a /a",
                                      "x 1 a\t/a",
                                      "1 a\t/a",
                                      "0 1 A\t/a",
                                      "0 fffffffffffffff a\t/a"};
    struct wanted_volume read[VOLUMES_MOST];
    AUTO_FREE char *many = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        AUTO_FREE char *text = strdup(bad[i]);

        assert_int_equal(settings_volumes(text, read), -1);
    }
    for (size_t i = 0; i <= VOLUMES_MOST; i++)
        assert_true(settings_add_volume(&many, &(struct wanted_volume){"a", "/a", 1, 0}));
    assert_int_equal(settings_volumes(many, read), -1);
}

static void no_processor_limit_is_zero(void **state)
{
    struct settings sent = usual;
    struct settings received;

    (void)state;
    sent.cpus = NAN;
    AUTO_FREE char *text = settings_write(&sent);

    assert_true(settings_read(text, &received));
    assert_true(received.cpus == 0);
    settings_clear(&received);
}

static void a_value_cannot_pose_as_another_key(void **state)
{
    struct settings sent = usual;
    struct settings received;
    char workspace[] = "/x\nrootfs=/etc";

    (void)state;
    sent.workspace = workspace;
    AUTO_FREE char *text = settings_write(&sent);

    assert_true(settings_read(text, &received));
    assert_null(received.rootfs);
    assert_string_equal(received.workspace, workspace);
    settings_clear(&received);
}

static void what_is_out_of_range_or_malformed_is_refused(void **state)
{
    static const char *const changes[][2] = {
        {"memory_mb=4096", "memory_mb=0015"},
        {"memory_mb=4096", "memory_mb=40x6"},
        {"processes=1024", "processes=0003"},
        {"disk_mb=8192", "disk_mb=-192"},
        {"open_files=4096", "open_files=    "},
        {"confinement=full", "confinement=none"},
        {"keep=0", "keep=2"},
        {"cpus=0", "cpus=-"},
        {"memory_mb", "memory_xx"},
    };
    struct settings received;

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        AUTO_FREE char *text = altered(changes[i][0], changes[i][1]);

        assert_false(settings_read(text, &received));
    }
    assert_false(settings_read("", &received));
}

static void relative_folders_are_refused(void **state)
{
    struct settings sent = usual;
    struct settings received;
    char workspace[] = "relative";

    (void)state;
    sent.workspace = workspace;
    AUTO_FREE char *text = settings_write(&sent);

    assert_false(settings_read(text, &received));
}

static void layers_have_no_other_names(void **state)
{
    struct settings sent = usual;
    struct settings received;
    char layers[] = "layer-1 ../boxes";

    (void)state;
    sent.layers = layers;
    AUTO_FREE char *text = settings_write(&sent);

    assert_false(settings_read(text, &received));
}

static void fields_are_found_by_their_whole_name(void **state)
{
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_true(fields_add(&text, "id_long", "wrong"));
    assert_true(fields_add(&text, "id", "right"));
    assert_true(fields_add_number(&text, "count", -7));
    AUTO_FREE char *id = fields_get(text, "id");

    assert_string_equal(id, "right");
    assert_int_equal(fields_get_number(text, "count"), -7);
    assert_int_equal(fields_get_number(text, "id"), 0);
    assert_null(fields_get(text, "i"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_survive_the_journey),
        cmocka_unit_test(keys_of_archives_are_file_names_only),
        cmocka_unit_test(shown_folders_survive_the_journey),
        cmocka_unit_test(malformed_lists_of_folders_are_refused),
        cmocka_unit_test(volumes_survive_the_journey),
        cmocka_unit_test(malformed_lists_of_volumes_are_refused),
        cmocka_unit_test(no_processor_limit_is_zero),
        cmocka_unit_test(a_value_cannot_pose_as_another_key),
        cmocka_unit_test(what_is_out_of_range_or_malformed_is_refused),
        cmocka_unit_test(relative_folders_are_refused),
        cmocka_unit_test(layers_have_no_other_names),
        cmocka_unit_test(fields_are_found_by_their_whole_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
