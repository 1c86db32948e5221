/* Glob patterns: the table of edge cases, what need not be entered, time. */
#include "operations/pattern.h"

#include "support.h"

#include <time.h>

static const char *const tree[] = {"a.py",       "sub/b.py",     "sub/nested/c.py",     "readme.md",
                                   ".hidden.py", ".hidden/x.py", ".hidden/nested/y.py", ".github/workflows/ci.yml"};

static struct pattern *compile(const char *text)
{
    struct sandlot_error error = {0};
    struct pattern *pattern = pattern_compile(text, &error);

    if (!pattern)
        fail_msg("'%s': %s", text, error.message);
    return pattern;
}

static bool matches(const char *text, const char *path)
{
    struct pattern *pattern = compile(text);
    bool result = pattern_matches(pattern, path);

    pattern_free(pattern);
    return result;
}

static bool may_enter(const char *text, const char *directory)
{
    struct pattern *pattern = compile(text);
    bool result = pattern_may_enter(pattern, directory);

    pattern_free(pattern);
    return result;
}

/* Each directory above PATH must be entered by who is to find PATH. */
static void check_entered(const struct pattern *pattern, const char *text, const char *path)
{
    char directory[256];

    assert_true(pattern_may_enter(pattern, ""));
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path);
        if (!pattern_may_enter(pattern, directory))
            fail_msg("'%s' matches '%s' but does not enter '%s'", text, path, directory);
    }
}

/* The paths of the tree that match, joined by blanks. */
static char *found_in_tree(const char *text)
{
    struct pattern *pattern = compile(text);
    char *found = strdup("");

    for (size_t i = 0; i < sizeof(tree) / sizeof(tree[0]); i++) {
        if (!pattern_matches(pattern, tree[i]))
            continue;
        check_entered(pattern, text, tree[i]);
        assert_true(text_append(&found, "%s%s", *found ? " " : "", tree[i]));
    }
    pattern_free(pattern);
    return found;
}

static void test_table(void **state)
{
    static const struct {
        const char *row;
        const char *pattern;
        const char *found;
    } rows[] = {
        {"B01", "*.py", "a.py sub/b.py sub/nested/c.py .hidden/x.py .hidden/nested/y.py"},
        {"B02", "**/*.py", "a.py sub/b.py sub/nested/c.py"},
        {"B03", "/*.py", "a.py"},
        {"B04", "sub/*.py", "sub/b.py"},
        {"B05", "sub/**/*.py", "sub/b.py sub/nested/c.py"},
        {"B06", "a.py/**", ""},
        {"B07", "*.yml", ".github/workflows/ci.yml"},
        {"B08", "**/*.yml", ""},
        {"B09", ".github/**/*.yml", ".github/workflows/ci.yml"},
        {"B10", ".*.py", ".hidden.py"},
        {"B11", ".hidden/*.py", ".hidden/x.py"},
        {"B12", ".hidden/**/*.py", ".hidden/x.py .hidden/nested/y.py"},
        {"B13", "*.{py,md}", "a.py sub/b.py sub/nested/c.py readme.md .hidden/x.py .hidden/nested/y.py"},
        {"B14", "{a,{b,c}}.py", "a.py sub/b.py sub/nested/c.py"},
        {"B15", "?.py", "a.py sub/b.py sub/nested/c.py .hidden/x.py .hidden/nested/y.py"},
        {"B16", "[ab].py", "a.py sub/b.py"},
        {"B17", "[!a].py", "sub/b.py sub/nested/c.py .hidden/x.py .hidden/nested/y.py"},
        {"B18", "[^a].py", "sub/b.py sub/nested/c.py .hidden/x.py .hidden/nested/y.py"},
        {"B19", "sub/", ""},
        {"B20", "sub//b.py", "sub/b.py"},
        {"B21", "*.{py", ""},
        {"B22", "[", ""},
        {"B23", "*",
         "a.py sub/b.py sub/nested/c.py readme.md .hidden/x.py .hidden/nested/y.py .github/workflows/ci.yml"},
        {"", "**", "a.py sub/b.py sub/nested/c.py readme.md"},
        {"", "sub/**", "sub/b.py sub/nested/c.py"},
        {"", "sub/**/", "sub/b.py sub/nested/c.py"},
        {"", "**/**/**/b.py", "sub/b.py"},
        {"", "./sub/./b.py", "sub/b.py"},
        {"", "{sub,.hidden}/*.py", "sub/b.py .hidden/x.py"},
        {"", "{sub/b,a}.py", "a.py sub/b.py"},
        {"", "*/nested/*", "sub/nested/c.py"},
        {"", "/", ""},
        {"", "**a*.py", "a.py"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        AUTO_FREE char *found = found_in_tree(rows[i].pattern);

        if (strcmp(found, rows[i].found) != 0)
            fail_msg("%s '%s': found '%s', wanted '%s'", rows[i].row, rows[i].pattern, found, rows[i].found);
    }
}

static void test_braces_b41_b42(void **state)
{
    (void)state;
    assert_true(matches("{p}.q", "{p}.q"));
    assert_false(matches("{p}.q", "p.q"));
    assert_true(matches("{x}{a,b}.q", "{x}a.q"));
    assert_true(matches("{x}{a,b}.q", "{x}b.q"));
    assert_false(matches("{x}{a,b}.q", "xa.q"));
    assert_true(matches("{a,}{a,}probe.q", "probe.q"));
    assert_true(matches("{a,}{a,}probe.q", "aaprobe.q"));
    assert_true(matches("{x{a,b}}", "{xb}"));
    assert_true(matches("{a,{b,c}", "{a,c"));
    assert_false(matches("{a,{b,c}", "a"));
    assert_true(matches("a,b", "a,b"));
    assert_true(matches("}a{", "}a{"));
    assert_true(matches("{a,b}}", "a}"));
    assert_true(matches("{a/{b,c},d}/e", "a/c/e"));
    assert_true(matches("{a/{b,c},d}/e", "d/e"));
}

static void test_sets(void **state)
{
    (void)state;
    assert_true(matches("[]a]", "]"));
    assert_true(matches("[!]a]", "b"));
    assert_false(matches("[!]a]", "]"));
    assert_true(matches("[a-cx-z]", "y"));
    assert_false(matches("[a-cx-z]", "d"));
    assert_false(matches("[c-a]", "b"));
    assert_true(matches("[a-]", "-"));
    assert_true(matches("[]", "[]"));
    assert_true(matches("[!]", "[!]"));
    assert_true(matches("x[", "x["));
    assert_true(matches("[a", "[a"));
    assert_true(matches("[[]", "["));
    assert_true(matches("*[0-9].c", "file12.c"));
    assert_false(matches("[.]hidden", ".hidden"));
    assert_false(matches("?hidden", ".hidden"));
    assert_true(matches("[*?]", "?"));
    assert_true(matches("[a/b]", "[a/b]"));
}

static void test_characters(void **state)
{
    (void)state;
    assert_true(matches("?.c", "\xc3\xa4.c"));
    assert_false(matches("??.c", "\xc3\xa4.c"));
    assert_true(matches("[\xc3\xa0-\xc3\xbf].c", "\xc3\xa4.c"));
    assert_false(matches("[!\xc3\xa4].c", "\xc3\xa4.c"));
    assert_true(matches("[!x].c", "\xf0\x9f\x98\x80.c"));
    assert_true(matches("??.c", "\xff\xfe.c")); /* no UTF-8: byte by byte */
    assert_false(matches("?.c", "\xff\xfe.c"));
    assert_true(matches("[\xff].c", "\xff.c"));
    assert_false(matches("[\xff].c", "\xc3\xbf.c")); /* the byte is not the character of that number */
    assert_true(matches("a\\b", "a\\b"));            /* no escape character */
    assert_true(matches("*\n*", "new\nline"));
    assert_false(matches("*\xa4", "\xc3")); /* shorter than the suffix */
}

static void test_case_b39(void **state)
{
    (void)state;
    assert_true(matches("*.C", "x.C"));
    assert_false(matches("*.C", "x.c"));
    assert_false(matches("[A-Z]", "b"));
}

static void test_names_b40(void **state)
{
    static const char *const names[] = {"with space.q", "quote'\".q", "new\nline.q", "\xc3\xa4\xf0\x9f\x98\x80.q",
                                        "[x].q"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(matches("*.q", names[i]));
        assert_true(matches("**/*.q", names[i]));
    }
}

static void check_refused(const char *text, enum sandlot_code code, const char *part)
{
    struct sandlot_error error = {0};

    assert_null(pattern_compile(text, &error));
    assert_int_equal(error.code, code);
    assert_contains(error.message, part);
    assert_true(strlen(error.message) < 2000);
    sandlot_error_clear(&error);
}

static void test_refused_b30(void **state)
{
    (void)state;
    check_refused("../*.py", SANDLOT_CODE_INVALID_PATTERN, "'..'");
    check_refused("a/../b", SANDLOT_CODE_INVALID_PATTERN, "'..'");
    check_refused("..", SANDLOT_CODE_INVALID_PATTERN, "'..'");
    check_refused("{a,..}/b", SANDLOT_CODE_INVALID_PATTERN, "'..'");
    check_refused("", SANDLOT_CODE_INVALID_PATTERN, "empty");
    assert_true(matches("a..b", "a..b"));
    assert_true(matches("...", "..."));
}

static void test_too_broad_b31(void **state)
{
    AUTO_FREE char *many = strdup("{");
    char nested[16 * 1024 + 1];

    (void)state;
    check_refused("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", SANDLOT_CODE_PATTERN_TOO_BROAD, "1000");
    check_refused("{1,2,3,4,5,6,7,8,9,0}{1,2,3,4,5,6,7,8,9,0}{1,2,3,4,5,6,7,8,9,0}{a,b}",
                  SANDLOT_CODE_PATTERN_TOO_BROAD, "1000");
    for (int i = 0; i < 1000; i++)
        assert_true(text_append(&many, "%d,", i));
    assert_true(text_append(&many, "}"));
    check_refused(many, SANDLOT_CODE_PATTERN_TOO_BROAD, "1000");
    /* 1000 are not too many, and an unclosed brace does not hide those in it */
    assert_true(matches("{1,2,3,4,5,6,7,8,9,0}{1,2,3,4,5,6,7,8,9,0}{1,2,3,4,5,6,7,8,9,0}", "907"));
    check_refused("{x,{1,2,3,4,5,6,7,8,9,0}{1,2,3,4,5,6,7,8,9,0}{1,2,3,4,5,6,7,8,9,0}{a,b}",
                  SANDLOT_CODE_PATTERN_TOO_BROAD, "1000");
    memset(nested, '{', sizeof(nested) - 1);
    nested[sizeof(nested) - 1] = '\0';
    pattern_free(compile(nested)); /* quickly, and without a deep stack */
    memset(nested, 'a', sizeof(nested) - 1);
    for (size_t i = 0; i + 1 < sizeof(nested); i += 2)
        memcpy(nested + i, "{,", 2);
    pattern_free(compile(nested));
    for (size_t i = 0; i + 1 < sizeof(nested); i++)
        nested[i] = "{a,b}"[i % 5];
    check_refused(nested, SANDLOT_CODE_PATTERN_TOO_BROAD, "1000");
    AUTO_FREE char *longer = calloc(1, 100001);

    memset(longer, 'a', 100000);
    check_refused(longer, SANDLOT_CODE_PATTERN_TOO_BROAD, "longer");
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void test_time_b32(void **state)
{
    struct pattern *deep = compile("**/*/**/*/**/*/**/x");
    struct pattern *stars = compile("*a*a*a*a*a*a*a*a*a*a*a*b");
    char path[4096];
    char name[256];
    double begin = seconds();

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(path); i++)
        path[i] = i % 2 ? '/' : 'a';
    path[sizeof(path) - 2] = '\0';
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (int i = 0; i < 10; i++) {
        assert_false(pattern_matches(deep, path));
        assert_true(pattern_may_enter(deep, path));
        assert_false(pattern_matches(stars, name));
    }
    assert_true(pattern_matches(deep, "1/2/3/4/5/6/x"));
    assert_true(pattern_matches(deep, "1/2/3/x"));
    assert_false(pattern_matches(deep, "1/2/x"));
    assert_true(seconds() - begin < 1.0);
    pattern_free(deep);
    pattern_free(stars);
}

static void test_may_enter(void **state)
{
    (void)state;
    assert_true(may_enter("sub/*.py", ""));
    assert_true(may_enter("sub/*.py", "sub"));
    assert_false(may_enter("sub/*.py", "other"));
    assert_false(may_enter("sub/*.py", "sub/nested"));
    assert_true(may_enter("*.py", ".hidden/deep")); /* without a slash everything is entered */
    assert_true(may_enter("**/*.py", "a/b"));
    assert_false(may_enter("**/*.py", ".git"));
    assert_false(may_enter("**/*.py", "a/.git"));
    assert_false(may_enter("**", ".git"));
    assert_true(may_enter("**", "src"));
    assert_true(may_enter(".github/**/*.yml", ".github/workflows"));
    assert_false(may_enter(".github/**/*.yml", ".github/.cache"));
    assert_true(may_enter("**/.x/**/b", "a/.x/c"));
    assert_false(may_enter("**/a/.b", "a/.b"));
    assert_true(may_enter("**/a/.b", "a/a"));
    assert_false(may_enter("/*.py", "sub"));
    assert_false(may_enter("sub/", "sub"));
    assert_true(may_enter("{x,y}/*", "y"));
    assert_false(may_enter("{x,y}/*", "z"));
}

/* What the rules say, tried in every way. PARTS is ended by NULL. */
static bool simple_matches(const char *const *parts, const char *const *names)
{
    if (!*parts)
        return !*names;
    if (strcmp(*parts, "**") == 0) {
        if (!parts[1])
            return *names && **names != '.' && (!names[1] || simple_matches(parts, names + 1));
        return simple_matches(parts + 1, names) || (*names && **names != '.' && simple_matches(parts, names + 1));
    }
    if (!*names)
        return false;
    bool fits = strcmp(*parts, "*") == 0 ? **names != '.' : strcmp(*parts, *names) == 0;

    return fits && simple_matches(parts + 1, names + 1);
}

/* Joins up to five random WORDS by slashes; LIST gets them, ended by NULL. */
static void draw(unsigned *seed, const char *const words[4], char *text, size_t size, const char *list[6])
{
    size_t count = 1 + (*seed = *seed * 1103515245u + 12345u) / 65536 % 5;

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        list[i] = words[(*seed = *seed * 1103515245u + 12345u) / 65536 % 4];
        strncat(text, "/", size - strlen(text) - 1);
        strncat(text, list[i], size - strlen(text) - 1);
    }
    list[count] = NULL;
}

static void test_against_simple(void **state)
{
    static const char *const parts[] = {"**", "*", "a", ".b"};
    static const char *const names[] = {"a", ".b", "c", "a"};
    unsigned seed = 7;
    unsigned hits = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        const char *part_list[6];
        const char *name_list[6];
        char text[64];
        char path[64];

        draw(&seed, parts, text, sizeof(text), part_list);
        draw(&seed, names, path, sizeof(path), name_list);
        struct pattern *pattern = compile(text);
        bool wanted = simple_matches(part_list, name_list);

        if (pattern_matches(pattern, path + 1) != wanted)
            fail_msg("'%s' and '%s': wanted %d", text, path + 1, wanted);
        if (wanted)
            check_entered(pattern, text, path + 1);
        hits += wanted;
        pattern_free(pattern);
    }
    assert_in_range(hits, 1000, 19000);
}

static void test_many_paths(void **state)
{
    struct pattern *pattern = compile("*.c");
    struct pattern *slashed = compile("src/**/*.{c,h}");
    double begin = seconds();
    unsigned found = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        char path[64];

        snprintf(path, sizeof(path), "src/module%d/deep/file%d.%c", i % 100, i, "chx"[i % 3]);
        found += pattern_matches(pattern, path);
        found += pattern_matches(slashed, path);
    }
    assert_int_equal(found, 6667 + 6667 + 6667);
    assert_true(seconds() - begin < 1.0);
    pattern_free(pattern);
    pattern_free(slashed);
}

static void test_directory(void **state)
{
    static const struct {
        const char *pattern;
        const char *directory;
    } rows[] = {{"*.c", ""},           {"src", ""},
                {"src/*.c", "src"},    {"/workspace/**/zz", "workspace"},
                {"./a//b/?/c", "a/b"}, {"a/b", "a"},
                {"a/b/**", "a/b"},     {"**/a/b", ""},
                {"{a,b}/c", ""},       {"a/{b,b/c}/*", "a/b"},
                {"a/{b,bc}/*", "a"},   {"a/b/{c,../d}", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pattern *pattern = pattern_compile(rows[i].pattern, NULL);

        if (!rows[i].directory) {
            assert_null(pattern);
            continue;
        }
        assert_non_null(pattern);
        char *directory = pattern_directory(pattern);

        assert_string_equal(directory, rows[i].directory);
        free(directory);
        pattern_free(pattern);
    }
}

static void test_depth(void **state)
{
    static const struct {
        const char *pattern;
        size_t depth;
    } rows[] = {{"*.c", 0},    {"/*", 1},          {"src/*.c", 2},    {"./a//b/?/c", 4}, {"a/**", 0},
                {"a/**/b", 0}, {"a/{b,b/c}/*", 4}, {"{a/b,**/c}", 0}, {"{a,b/c}", 2}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pattern *pattern = pattern_compile(rows[i].pattern, NULL);

        assert_non_null(pattern);
        assert_int_equal(pattern_depth(pattern), rows[i].depth);
        pattern_free(pattern);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),       cmocka_unit_test(test_braces_b41_b42), cmocka_unit_test(test_sets),
        cmocka_unit_test(test_characters),  cmocka_unit_test(test_case_b39),       cmocka_unit_test(test_names_b40),
        cmocka_unit_test(test_refused_b30), cmocka_unit_test(test_too_broad_b31),  cmocka_unit_test(test_time_b32),
        cmocka_unit_test(test_may_enter),   cmocka_unit_test(test_against_simple), cmocka_unit_test(test_many_paths),
        cmocka_unit_test(test_directory),   cmocka_unit_test(test_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
