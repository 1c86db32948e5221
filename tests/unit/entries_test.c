/* What listings and searches gather. */
#include "operations/entries.h"

#include "support.h"

static void test_paths_l07_l12(void **state)
{
    static const struct {
        const char *directory;
        const char *name;
        const char *path;
    } cases[] = {{"/w", "a", "/w/a"}, {"/", "tmp", "/tmp"}, {NULL, "/x/y", "/x/y"}, {"/w/", "b", "/w/b"}};
    struct entries entries = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sandlot_file_entry *entry =
            entries_add(&entries, cases[i].directory, cases[i].name, strlen(cases[i].name));

        assert_non_null(entry);
        assert_string_equal(entry->path, cases[i].path);
        assert_int_equal(entry->size, sizeof(*entry));
        assert_false(entry->is_dir);
        assert_int_equal(entry->bytes, 0);
    }
    assert_int_equal(entries.count, 4);
    assert_string_equal(entries_add(&entries, "/w", "cut here", 3)->path, "/w/cut");
    entries_clear(&entries);
    assert_int_equal(entries.count, 0);
    assert_null(entries.items);
    entries_clear(&entries);
}

static void test_sorted_l01(void **state)
{
    static const char *const names[] = {"b", "a\xff", "a", "B", "a.c", "a/c", "\xc3\xa4"};
    static const char *const sorted[] = {"/B", "/a", "/a.c", "/a/c", "/a\xff", "/b", "/\xc3\xa4"};
    struct entries entries = {0};

    (void)state;
    entries_sort(&entries);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_non_null(entries_add(&entries, "/", names[i], strlen(names[i])));
    entries_sort(&entries);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_string_equal(entries.items[i].path, sorted[i]);
    entries_clear(&entries);
}

static void test_many(void **state)
{
    struct entries entries = {0};
    char previous[64] = "";

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        char name[32];
        int length = snprintf(name, sizeof(name), "file%u", i * 7919u % 20000u);

        assert_non_null(entries_add(&entries, "/some/directory", name, (size_t)length));
    }
    entries_sort(&entries);
    for (size_t i = 0; i < entries.count; i++) {
        assert_true(strcmp(previous, entries.items[i].path) < 0);
        snprintf(previous, sizeof(previous), "%s", entries.items[i].path);
    }
    entries_clear(&entries);
}

static void test_long_name(void **state)
{
    struct entries entries = {0};
    AUTO_FREE char *name = calloc(1, 200001);

    (void)state;
    memset(name, 'n', 200000);
    const char *first = entries_add(&entries, "/", "first", 5)->path;
    const char *path = entries_add(&entries, "/", name, 200000)->path;
    const char *last = entries_add(&entries, "/", "last", 4)->path;

    assert_int_equal(strlen(path), 200001);
    assert_string_equal(first, "/first");
    assert_string_equal(last, "/last");
    entries_clear(&entries);
}

static void add(struct matches *matches, const char *path, int64_t line, const char *text, size_t length,
                const char *wanted, size_t wanted_length)
{
    assert_true(matches_add(matches, path, line, text, length));
    const struct sandlot_match *match = &matches->items[matches->count - 1];

    assert_int_equal(match->size, sizeof(*match));
    assert_ptr_equal(match->path, path);
    assert_int_equal(match->line, line);
    assert_int_equal(match->text_length, wanted_length);
    assert_memory_equal(match->text, wanted, wanted_length + 1);
}

static void test_matches_g17_g18(void **state)
{
    struct matches matches = {0};
    const char *path = matches_path(&matches, "/w/a");

    (void)state;
    assert_string_equal(path, "/w/a");
    add(&matches, path, 1, "plain", 5, "plain", 5);
    add(&matches, path, 2, "unix\n", 5, "unix", 4);
    add(&matches, path, 3, "windows\r\n", 9, "windows", 7);
    add(&matches, path, 4, "", 0, "", 0);
    add(&matches, path, 5, NULL, 0, "", 0);
    add(&matches, path, 6, "\r\n", 2, "", 0);
    add(&matches, path, 7, "in\rside\r\r\n", 10, "in\rside\r", 8);
    add(&matches, path, 8, "no \xff utf-8\n", 11, "no \xef\xbf\xbd utf-8", 12);
    add(&matches, path, 9, "nul\0in\n", 7, "nul\0in", 6);
    assert_int_equal(matches.bytes, 4 + 5 + 4 + 7 + 8 + 12 + 6 + 9 * sizeof(struct sandlot_match));
    matches_clear(&matches);
    assert_int_equal(matches.bytes, 0);
}

static void test_matches_sorted_g01(void **state)
{
    struct matches matches = {0};
    const char *b = matches_path(&matches, "/w/b");
    const char *a = matches_path(&matches, "/w/a");
    const char *again = matches_path(&matches, "/w/b");

    (void)state;
    matches_sort(&matches);
    assert_true(matches_add(&matches, b, 10, "b10", 3));
    assert_true(matches_add(&matches, a, 3, "a3", 2));
    assert_true(matches_add(&matches, again, 2, "b2", 2));
    assert_true(matches_add(&matches, a, 1, "a1", 2));
    matches_sort(&matches);
    assert_string_equal(matches.items[0].text, "a1");
    assert_string_equal(matches.items[1].text, "a3");
    assert_string_equal(matches.items[2].text, "b2");
    assert_string_equal(matches.items[3].text, "b10");
    matches_clear(&matches);
}

static void test_matches_joined(void **state)
{
    struct matches to = {0};
    struct matches from = {0};

    (void)state;
    assert_true(matches_join(&to, &from));
    for (int round = 0; round < 3; round++) {
        AUTO_FREE char *large = calloc(1, 100001);
        const char *path = matches_path(&from, "/from");

        memset(large, 'x', 100000);
        assert_true(matches_add(&from, path, round, large, 100000));
        assert_true(matches_join(&to, &from));
        assert_int_equal(from.count, 0);
        assert_null(from.blocks);
        assert_true(matches_add(&to, matches_path(&to, "/to"), round, "own", 3));
    }
    assert_int_equal(to.count, 6);
    assert_int_equal(to.bytes, 3 * (5 + 100000 + 3 + 3) + 6 * sizeof(struct sandlot_match));
    assert_string_equal(to.items[4].path, "/from");
    assert_int_equal(to.items[4].line, 2);
    assert_int_equal(strlen(to.items[4].text), 100000);
    assert_string_equal(to.items[5].path, "/to");
    matches_clear(&to);
    matches_clear(&from);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_l07_l12),
        cmocka_unit_test(test_sorted_l01),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_matches_g17_g18),
        cmocka_unit_test(test_matches_sorted_g01),
        cmocka_unit_test(test_matches_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
