/* Walking, glob, grep and the listing of whole trees through a root descriptor. */
#include "operations/native/native.h"
#include "operations/native/walk.h"
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

enum { BOX_USER = 61777 };

static struct provider provider;
static struct sandlot_session session;
static struct session_root root;

static enum sandlot_status never_asked(struct sandlot_call *call, void *instance, void *sandbox,
                                       struct sandlot_root *answer)
{
    (void)call;
    (void)instance;
    (void)sandbox;
    (void)answer;
    return SANDLOT_INTERNAL;
}

static char box[64];

/* "box", in memory because of the many files, is the root of a sandbox; root reaches it as another user, as it would a
 * real one. */
static int start(void **state)
{
    strcpy(box, access("/dev/shm", W_OK) == 0 ? "/dev/shm/sandlot-test-XXXXXX" : "/tmp/sandlot-test-XXXXXX");
    if (support_start(state) || !mkdtemp(box) || chmod(box, 0755) || symlink(box, support_path("box")))
        return -1;
    provider = (struct provider){0};
    provider.table.open_root = never_asked;
    session = (struct sandlot_session){.provider = &provider};
    session_roots_init(&session.roots);
    root = (struct session_root){.fd = open(support_path("box"), O_PATH | O_DIRECTORY | O_CLOEXEC),
                                 .uid = geteuid() == 0 ? BOX_USER : geteuid(),
                                 .gid = geteuid() == 0 ? BOX_USER : getegid(),
                                 .alive_fd = -1,
                                 .opened_at_ms = sandlot_now_ms(),
                                 .users = 1};
    session.roots.current = &root;
    return root.fd < 0;
}

static int end(void **state)
{
    char command[128];

    close(root.fd);
    pthread_mutex_destroy(&session.roots.lock);
    snprintf(command, sizeof(command), "rm -rf '%s'", box);
    return system(command) || support_end(state);
}

#define BOX_TEST(function) cmocka_unit_test_setup_teardown(function, start, end)

/* ---- what tests are made of ---- */

static const char *in_box(const char *path)
{
    char name[192];

    snprintf(name, sizeof(name), "box%s", path);
    return support_path(name);
}

static void put(const char *path, const char *text)
{
    char name[192];

    snprintf(name, sizeof(name), "box%s", path);
    support_write(name, text);
}

static void put_link(const char *path, const char *target)
{
    assert_int_equal(symlink(target, in_box(path)), 0);
}

static void put_folder(const char *path)
{
    assert_int_equal(path_make_folders(in_box(path), 0755), 0);
}

/* Keeps the root young, too: there is no provider to be asked for a newer one. */
static struct file_call call_of(enum file_verb verb, const char *path)
{
    root.opened_at_ms = sandlot_now_ms();
    return (struct file_call){.session = &session,
                              .verb = verb,
                              .path = path,
                              .shown = path,
                              .deadline_ms = sandlot_now_ms() + FILE_CALL_MS,
                              .cancel_fd = -1};
}

/* The answer of an operation as text: the paths, or "PATH:LINE:TEXT", one per line, "..." at the end if it was
 * truncated; or "error: CODE". */
static char *failed(struct sandlot_error *error)
{
    char *text = text_format("error: %s\n", sandlot_code_name(error->code));

    sandlot_error_clear(error);
    return text;
}

static char *glob_with(const struct file_call *call, const char *text, bool directories)
{
    struct sandlot_error error = {0};
    struct pattern *pattern = pattern_compile(text, &error);
    CLEANUP(entries_clear) struct entries found = {0};
    bool truncated = false;
    char *answer = NULL;

    assert_non_null(pattern);
    int status = native_find(call, pattern, directories, &found, &truncated, &error);

    pattern_free(pattern);
    if (status < 0)
        return failed(&error);
    entries_sort(&found);
    for (size_t i = 0; i < found.count; i++)
        assert_true(text_append(&answer, "%s%s%s\n", found.items[i].path, found.items[i].is_dir ? "/" : "",
                                found.items[i].is_symlink ? "@" : ""));
    assert_true(text_append(&answer, "%s", truncated ? "...\n" : ""));
    return answer;
}

static char *grep_with(const struct file_call *call, const char *text, const char *filter, uint64_t maximum)
{
    struct sandlot_error error = {0};
    struct pattern *pattern = filter ? pattern_compile(filter, &error) : NULL;
    const struct search search = {.text = text, .length = strlen(text), .filter = pattern, .maximum = maximum};
    CLEANUP(matches_clear) struct matches found = {0};
    bool truncated = false;
    char *answer = NULL;
    int status = native_search(call, &search, &found, &truncated, &error);

    pattern_free(pattern);
    if (status < 0)
        return failed(&error);
    for (size_t i = 0; i < found.count; i++)
        assert_true(text_append(&answer, "%s:%lld:%s\n", found.items[i].path, (long long)found.items[i].line,
                                found.items[i].text));
    assert_true(text_append(&answer, "%s", truncated ? "...\n" : ""));
    return answer;
}

static void expect_glob(const char *path, const char *pattern, const char *wanted)
{
    struct file_call call = call_of(FILE_GLOB, path);
    AUTO_FREE char *answer = glob_with(&call, pattern, false);

    assert_string_equal(answer, wanted);
}

static void expect_grep(const char *path, const char *text, const char *filter, uint64_t maximum, const char *wanted)
{
    struct file_call call = call_of(FILE_GREP, path);
    AUTO_FREE char *answer = grep_with(&call, text, filter, maximum);

    assert_string_equal(answer, wanted);
}

/* COUNT files NAME plus a number of six digits, in the folder. */
static void put_many(const char *folder, const char *name, int count, const char *text)
{
    put_folder(folder);
    AUTO_CLOSE int fd = open(in_box(folder), O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (int i = 0; i < count; i++) {
        char full[64];

        snprintf(full, sizeof(full), "%s%06d", name, i);
        AUTO_CLOSE int file = openat(fd, full, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        assert_true(file >= 0);
        assert_int_equal(write(file, text, strlen(text)), strlen(text));
    }
}

/* ---- glob ---- */

static void test_glob_patterns(void **state)
{
    static const struct {
        const char *pattern;
        const char *wanted;
    } rows[] = {
        {"*.py", "/w/.hidden/nested/y.py\n/w/.hidden/x.py\n/w/a.py\n/w/sub/b.py\n/w/sub/nested/c.py\n"},
        {"**/*.py", "/w/a.py\n/w/sub/b.py\n/w/sub/nested/c.py\n"},
        {"/*.py", "/w/a.py\n"},
        {"sub/*.py", "/w/sub/b.py\n"},
        {"sub/**/*.py", "/w/sub/b.py\n/w/sub/nested/c.py\n"},
        {"a.py/**", ""},
        {"*.yml", "/w/.github/workflows/ci.yml\n"},
        {"**/*.yml", ""},
        {".github/**/*.yml", "/w/.github/workflows/ci.yml\n"},
        {".*.py", "/w/.hidden.py\n"},
        {".hidden/*.py", "/w/.hidden/x.py\n"},
        {".hidden/**/*.py", "/w/.hidden/nested/y.py\n/w/.hidden/x.py\n"},
        {"{a,{b,c}}.py", "/w/a.py\n/w/sub/b.py\n/w/sub/nested/c.py\n"},
        {"[!a].py", "/w/.hidden/nested/y.py\n/w/.hidden/x.py\n/w/sub/b.py\n/w/sub/nested/c.py\n"},
        {"sub/", ""},
        {"sub//b.py", "/w/sub/b.py\n"},
        {"[", ""},
        {"A.py", ""},
        {"**/*/**/*/**/*/**/x", ""},
    };
    static const char *const files[] = {
        "/w/a.py",       "/w/sub/b.py",     "/w/sub/nested/c.py",     "/w/readme.md",
        "/w/.hidden.py", "/w/.hidden/x.py", "/w/.hidden/nested/y.py", "/w/.github/workflows/ci.yml"};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        put(files[i], "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_glob("/w", rows[i].pattern, rows[i].wanted);
    struct file_call call = call_of(FILE_GLOB, "/w/sub");
    AUTO_FREE char *with_directories = glob_with(&call, "*", true);

    assert_string_equal(with_directories, "/w/sub/b.py\n/w/sub/nested/\n/w/sub/nested/c.py\n");
}

static void test_glob_names(void **state)
{
    (void)state;
    put("/w/with space", "");
    put("/w/new\nline", "");
    put("/w/quote\"'", "");
    put("/w/\xc3\xa4", "");
    put("/w/\xff", "");
    expect_glob("/w", "*", "/w/new\nline\n/w/quote\"'\n/w/with space\n/w/\xc3\xa4\n/w/\xff\n");
}

static void test_glob_start(void **state)
{
    (void)state;
    put("/w/file", "");
    put_link("/to-w", "w");
    put_folder("/closed");
    assert_int_equal(chmod(in_box("/closed"), 0), 0);
    expect_glob("/none", "*", "error: path_not_found\n");
    expect_glob("/w/file/below", "*", "error: path_not_found\n");
    expect_glob("/w/file", "*", "error: not_a_directory\n");
    expect_glob("/closed", "*", "error: permission_denied\n");
    expect_glob("/to-w", "*", "/to-w/file\n");
    put_folder("/w/shut");
    put("/w/shut/inside", "");
    assert_int_equal(chmod(in_box("/w/shut"), 0), 0);
    expect_glob("/w", "*", "/w/file\n...\n");
    assert_int_equal(chmod(in_box("/w/shut"), 0755), 0);
    assert_int_equal(chmod(in_box("/closed"), 0755), 0);
}

static void test_glob_links(void **state)
{
    (void)state;
    put("/w/file", "");
    put("/w/sub/deep", "");
    put("/outside", "");
    put_folder("/w2");
    put_link("/w/a-inside", "sub/deep");
    put_link("/w/b-absolute", "/w/file");
    put_link("/w/c-around", "../w/file");
    put_link("/w/sub/d-up", "../file");
    put_link("/w/e-link-to-link", "a-inside");
    put_link("/w/f-outside", "../outside");
    put_link("/w/g-outside", "/outside");
    put_link("/w/h-broken", "nothing");
    put_link("/w/i-folder", "sub");
    put_link("/w/j-parent", "..");
    put_link("/w/k-itself", "k-itself");
    put("/w2/neighbour", "");
    put_link("/w/l-neighbour", "/w2/neighbour");
    expect_glob("/w", "*",
                "/w/a-inside@\n/w/b-absolute@\n/w/c-around@\n/w/e-link-to-link@\n/w/file\n/w/sub/d-up@\n/w/sub/deep\n");
    expect_glob("/", "[fg]-outside", "/w/f-outside@\n/w/g-outside@\n");
}

static void test_glob_from_root(void **state)
{
    (void)state;
    put("/w/x", "");
    put("/proc/x", "");
    put("/sys/x", "");
    put("/dev/sub/x", "");
    put("/run/x", "");
    put("/w/proc/x", "");
    put_link("/slash", ".");
    expect_glob("/", "x", "/w/proc/x\n/w/x\n");
    expect_glob("/slash", "x", "/slash/w/proc/x\n/slash/w/x\n");
    expect_glob("/dev", "x", "/dev/sub/x\n");
}

static void limit_descriptors(rlim_t limit, struct rlimit *before)
{
    assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit, before->rlim_max}), 0);
}

static void test_wide(void **state)
{
    enum { WIDE = 100000 };
    struct sandlot_error error = {0};
    struct pattern *pattern = pattern_compile("*", &error);
    struct rlimit before;

    (void)state;
    put_many("/wide", "f", WIDE, "text\n");
    limit_descriptors(24, &before);
    for (int round = 0; round < 3; round++) {
        struct file_call call = call_of(FILE_GLOB, "/wide");
        CLEANUP(entries_clear) struct entries found = {0};
        bool truncated = false;

        assert_int_equal(native_find(&call, pattern, false, &found, &truncated, &error), 0);
        assert_true(truncated);
        assert_int_equal(found.count, ENTRIES_FOUND_MAXIMUM + 1);
        entries_sort(&found);
        for (size_t i = 0; i < found.count; i++) {
            char wanted[32];

            snprintf(wanted, sizeof(wanted), "/wide/f%06zu", i);
            assert_string_equal(found.items[i].path, wanted);
        }
    }
    pattern_free(pattern);
    expect_glob("/wide", "f099999", "/wide/f099999\n");
    expect_grep("/wide", "ex", NULL, 2, "/wide/f000000:1:text\n/wide/f000001:1:text\n...\n");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* A chain of folders, every hundredth of which holds a file and a folder with a file beside the next. */
static void test_deep(void **state)
{
    enum { DEEP = 10000, EACH = 100 };
    struct rlimit before;
    int at = open(in_box(""), O_PATH | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    for (int i = 0; i < DEEP; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        int next = openat(at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);

        close(at);
        at = next;
        if (i % EACH > 0)
            continue;
        assert_int_equal(mkdirat(at, "beside", 0755), 0);
        AUTO_CLOSE int file = openat(at, "beside/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        assert_int_equal(write(file, "deep\n", 5), 5);
    }
    close(at);
    limit_descriptors(24, &before);
    struct file_call call = call_of(FILE_GREP, "/");
    const struct search search = {.text = "deep", .length = 4};
    CLEANUP(matches_clear) struct matches found = {0};
    struct sandlot_error error = {0};
    bool truncated = true;

    assert_int_equal(native_search(&call, &search, &found, &truncated, &error), 0);
    assert_false(truncated);
    assert_int_equal(found.count, DEEP / EACH);
    /* What no path can name is left out, and said to be. */
    call = call_of(FILE_GLOB, "/");
    AUTO_FREE char *listed = glob_with(&call, "file", false);

    assert_contains(listed, "/beside/file\n...\n");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* ---- grep ---- */

static void test_grep_lines(void **state)
{
    (void)state;
    put("/w/b.txt", "one\ntwo foo.*\r\nthree\nlast foo.*");
    put("/w/a.py", "foo.* $'\"\\ -v\n");
    put("/w/.hidden/c", "Foo.*\nfoo.*");
    put("/w/src/x/d.py", "\xff foo.* \xc3\xa4\n");
    put("/w/col:on:1", "a:1:foo.*\n");
    put("/w/new\nline", "foo.*\n");
    expect_grep("/w", "foo.*", NULL, 0,
                "/w/.hidden/c:2:foo.*\n/w/a.py:1:foo.* $'\"\\ -v\n/w/b.txt:2:two foo.*\n/w/b.txt:4:last foo.*\n"
                "/w/col:on:1:1:a:1:foo.*\n/w/new\nline:1:foo.*\n/w/src/x/d.py:1:\xef\xbf\xbd foo.* \xc3\xa4\n");
    expect_grep("/w", "foo.*", "*.py", 0, "/w/a.py:1:foo.* $'\"\\ -v\n/w/src/x/d.py:1:\xef\xbf\xbd foo.* \xc3\xa4\n");
    expect_grep("/w", "foo.*", "src/**/*.py", 0, "/w/src/x/d.py:1:\xef\xbf\xbd foo.* \xc3\xa4\n");
    expect_grep("/w", "foo.*", "/*.{py,md}", 0, "/w/a.py:1:foo.* $'\"\\ -v\n");
    expect_grep("/w", "$'\"\\ -v", NULL, 0, "/w/a.py:1:foo.* $'\"\\ -v\n");
    expect_grep("/w", "-v", NULL, 0, "/w/a.py:1:foo.* $'\"\\ -v\n");
    expect_grep("/w", "\xc3\xa4", NULL, 0, "/w/src/x/d.py:1:\xef\xbf\xbd foo.* \xc3\xa4\n");
    expect_grep("/w", "nowhere", NULL, 0, "");
    expect_grep("/w/b.txt", "e", "*.py", 0, "/w/b.txt:1:one\n/w/b.txt:3:three\n");
    expect_grep("/w/a.py", "", NULL, 0, "/w/a.py:1:foo.* $'\"\\ -v\n");
    expect_grep("/w/.hidden", "", NULL, 0, "/w/.hidden/c:1:Foo.*\n/w/.hidden/c:2:foo.*\n");
}

static void test_grep_what_is_passed_over(void **state)
{
    static char bytes[40000];

    (void)state;
    memset(bytes, 'x', sizeof(bytes));
    memcpy(bytes, "found\n", 6);
    bytes[32767] = '\0';
    support_write_bytes("box/w/binary", bytes, sizeof(bytes));
    bytes[32767] = '\n';
    bytes[32768] = '\0';
    support_write_bytes("box/w/text", bytes, sizeof(bytes));
    put("/w/closed", "found\n");
    assert_int_equal(chmod(in_box("/w/closed"), 0), 0);
    put("/w/shut/file", "found\n");
    assert_int_equal(chmod(in_box("/w/shut"), 0), 0);
    put("/w/empty", "");
    put_link("/w/link", "text");
    put_link("/w/parent", "..");
    assert_int_equal(mkfifo(in_box("/w/pipe"), 0644), 0);
    put_link("/to-text", "w/text");
    put_link("/to-w", "/w");
    expect_grep("/w", "found", NULL, 0, "/w/text:1:found\n");
    expect_grep("/w", "", "empty", 0, "");
    expect_grep("/to-text", "found", NULL, 0, "/to-text:1:found\n");
    expect_grep("/to-w", "found", NULL, 0, "/to-w/text:1:found\n");
    expect_grep("/w/binary", "found", NULL, 0, "");
    expect_grep("/w/closed", "found", NULL, 0, "error: permission_denied\n");
    expect_grep("/none", "found", NULL, 0, "error: path_not_found\n");
    assert_int_equal(chmod(in_box("/w/shut"), 0755), 0);
}

static void test_grep_pipe(void **state)
{
    struct file_call call = call_of(FILE_GREP, "/pipe");

    (void)state;
    assert_int_equal(mkfifo(in_box("/pipe"), 0644), 0);
    AUTO_FREE char *answer = grep_with(&call, "x", NULL, 0);

    assert_contains(answer, "error: not_a_");
}

static void test_grep_maximum(void **state)
{
    (void)state;
    put("/w/a", "x1\nno\nx2\n");
    put("/w/b", "x3\n");
    put("/w/c", "x4\nx5\n");
    expect_grep("/w", "x", NULL, 2, "/w/a:1:x1\n/w/a:3:x2\n...\n");
    expect_grep("/w", "x", NULL, 4, "/w/a:1:x1\n/w/a:3:x2\n/w/b:1:x3\n/w/c:1:x4\n...\n");
    expect_grep("/w", "x", NULL, 5, "/w/a:1:x1\n/w/a:3:x2\n/w/b:1:x3\n/w/c:1:x4\n/w/c:2:x5\n");
    expect_grep("/w/a", "x", NULL, 1, "/w/a:1:x1\n...\n");
    expect_grep("/w/a", "x", NULL, 2, "/w/a:1:x1\n/w/a:3:x2\n");
    expect_grep("/w", "x", NULL, UINT64_MAX, "/w/a:1:x1\n/w/a:3:x2\n/w/b:1:x3\n/w/c:1:x4\n/w/c:2:x5\n");
}

/* However the threads share the work, the first by path and line are told. */
static void test_grep_maximum_on_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        char folder[32];

        snprintf(folder, sizeof(folder), "/w/%d", i);
        put_many(folder, "f", 500, "yes\nno\nyes\n");
    }
    for (int round = 0; round < 20; round++)
        expect_grep("/w", "yes", NULL, 5,
                    "/w/0/f000000:1:yes\n/w/0/f000000:3:yes\n/w/0/f000001:1:yes\n/w/0/f000001:3:yes\n"
                    "/w/0/f000002:1:yes\n...\n");
    struct file_call call = call_of(FILE_GREP, "/w");
    AUTO_FREE char *all = grep_with(&call, "yes", NULL, 0);

    call = call_of(FILE_GREP, "/w");
    AUTO_FREE char *exact = grep_with(&call, "yes", NULL, 8000);

    assert_lacks(all, "...");
    assert_string_equal(all, exact);
    assert_contains(all, "/w/7/f000499:3:yes\n");
}

/* Lines of all lengths, also around the size of the buffer, against a plain search. */
static void test_grep_long_lines(void **state)
{
    static const size_t lengths[] = {0, 1, 31, 32, 33, 5000, 262143, 262144, 262145, 700000, 3, 262144 * 2, 524281, 40};
    static const char needle[] = "nee\tdle";
    AUTO_FREE char *wanted = NULL;
    AUTO_FILE FILE *file = fopen(in_box("/long"), "w");
    uint32_t random = 12345;

    (void)state;
    for (int line = 1; line <= 60; line++) {
        size_t length = lengths[(size_t)line % (sizeof(lengths) / sizeof(lengths[0]))];
        AUTO_FREE char *text = malloc(length + 1);

        for (size_t i = 0; i < length; i++)
            text[i] = "ne\tdl"[(random = random * 1664525 + 1013904223) >> 29 & 3];
        text[length] = '\0';
        if (line % 3 > 0 && length >= sizeof(needle)) {
            size_t at = line % 3 == 1 ? length - strlen(needle) : (length * (size_t)line / 60) % (length - 8);

            memcpy(text + at, needle, strlen(needle));
        }
        if (strstr(text, needle))
            text_append(&wanted, "/long:%d:%s\n", line, text);
        fprintf(file, "%s%s", text, line < 60 ? "\n" : "");
    }
    fflush(file);
    assert_non_null(wanted);
    expect_grep("/long", needle, NULL, 0, wanted);
    expect_grep("/", needle, "long", 0, wanted);
}

/* Needles of every length at every place, against strstr(3). */
static void test_grep_places(void **state)
{
    char text[130];

    (void)state;
    for (size_t length = 1; length <= 40; length++) {
        for (size_t at = 0; at + length < sizeof(text) - 1; at += 7) {
            char needle[41];
            char wanted[200];

            memset(text, 'a', sizeof(text) - 1);
            text[sizeof(text) - 1] = '\0';
            text[at] = 'b';
            snprintf(needle, sizeof(needle), "%.*s", (int)length, text + at);
            snprintf(wanted, sizeof(wanted), "/t:2:%s\n", text);
            AUTO_FREE char *content = text_format("aaa\n%s\naaa", text);

            put("/t", content);
            expect_grep("/t", needle, NULL, 0, wanted);
        }
    }
}

static void test_grep_bytes_are_bounded(void **state)
{
    AUTO_FREE char *head = malloc(40000);

    (void)state;
    memset(head, 'x', 40000);
    head[39999] = '\n';
    support_write_bytes("box/big", head, 40000);
    /* a line of NULs, which takes no room on the disk */
    assert_int_equal(truncate(in_box("/big"), 100 << 20), 0);
    AUTO_FILE FILE *file = fopen(in_box("/big"), "a");

    fputs("needle\nneedle\n", file);
    fflush(file);
    struct file_call call = call_of(FILE_GREP, "/big");
    const struct search search = {.text = "needle", .length = 6};
    CLEANUP(matches_clear) struct matches found = {0};
    struct sandlot_error error = {0};
    bool truncated = false;

    assert_int_equal(native_search(&call, &search, &found, &truncated, &error), 0);
    assert_true(truncated);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.items[0].line, 2);
    assert_int_equal(found.items[0].text_length, MATCHES_BYTES_MAXIMUM);
}

/* ---- ends ---- */

static void test_cancelled(void **state)
{
    AUTO_CLOSE int cancel_fd = eventfd(1, EFD_CLOEXEC);
    struct file_call call = call_of(FILE_GLOB, "/w");

    (void)state;
    put("/w/a", "x\n");
    call.cancel_fd = cancel_fd;
    AUTO_FREE char *listed = glob_with(&call, "*", false);

    assert_string_equal(listed, "error: cancelled\n");
    call.verb = FILE_GREP;
    AUTO_FREE char *searched = grep_with(&call, "x", NULL, 0);

    assert_string_equal(searched, "error: cancelled\n");
}

static void test_out_of_time(void **state)
{
    struct file_call call = call_of(FILE_GLOB, "/w");
    CLEANUP(entries_clear) struct entries entries = {0};
    struct sandlot_error error = {0};

    (void)state;
    put("/w/a", "x\n");
    call.deadline_ms = sandlot_now_ms() - 1;
    AUTO_FREE char *listed = glob_with(&call, "*", false);

    assert_string_equal(listed, "...\n");
    call.verb = FILE_GREP;
    AUTO_FREE char *searched = grep_with(&call, "x", NULL, 0);

    assert_string_equal(searched, "...\n");
    call.verb = FILE_DOWNLOAD;
    assert_int_equal(native_tree(&call, &entries, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_TIMEOUT);
    sandlot_error_clear(&error);
}

struct shuffling {
    atomic_bool done;
    int failures;
};

static void *shuffle(void *context)
{
    struct shuffling *shuffling = context;

    while (!atomic_load(&shuffling->done)) {
        bool swapped = renameat(root.fd, "w/0", root.fd, "elsewhere") == 0 &&
                       unlinkat(root.fd, "w/1/f000100", 0) == 0 && symlinkat("../secret", root.fd, "w/0") == 0 &&
                       mkfifoat(root.fd, "w/1/f000100", 0644) == 0;
        bool back = unlinkat(root.fd, "w/0", 0) == 0 && renameat(root.fd, "elsewhere", root.fd, "w/0") == 0;

        shuffling->failures += swapped && back ? 0 : 1;
    }
    return NULL;
}

/* While folders are swapped for links and files for pipes, nothing outside is told and nothing hangs. */
static void test_swapped_meanwhile(void **state)
{
    struct shuffling shuffling = {0};
    pthread_t thread;

    (void)state;
    put_many("/w/0", "f", 300, "yes\n");
    put_many("/w/1", "f", 300, "yes\n");
    put_many("/secret", "f", 300, "yes secret\n");
    assert_int_equal(pthread_create(&thread, NULL, shuffle, &shuffling), 0);
    for (int round = 0; round < 100; round++) {
        struct file_call call = call_of(FILE_GREP, "/w");
        AUTO_FREE char *answer = grep_with(&call, "yes", NULL, 0);

        assert_lacks(answer, "secret");
        assert_lacks(answer, "error");
        assert_contains(answer, "/w/1/f000000:1:yes\n");
    }
    atomic_store(&shuffling.done, true);
    pthread_join(thread, NULL);
    assert_int_equal(shuffling.failures, 0);
}

/* Puts a link in the place of each directory right after it was seen. */
static bool swap_for_link(void *state, const struct walk_entry *entry)
{
    char **seen = state;

    text_append(seen, "%s\n", entry->relative);
    if (strcmp(entry->name, "folder") == 0) {
        assert_int_equal(renameat(entry->directory, "folder", root.fd, "elsewhere"), 0);
        assert_int_equal(symlinkat("../secret", entry->directory, "folder"), 0);
    }
    return true;
}

static void test_link_is_not_entered(void **state)
{
    char *seen[WALK_THREADS] = {0};
    const struct native_root native = {.session = &session, .shared = &root, .fd = root.fd};

    (void)state;
    put("/w/folder/file", "");
    put("/secret/file", "");
    AUTO_CLOSE int start_fd = open(in_box("/w"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct walk_plan plan = {.root = &native,
                                   .start_fd = start_fd,
                                   .deadline_ms = sandlot_now_ms() + FILE_CALL_MS,
                                   .cancel_fd = -1,
                                   .states = seen,
                                   .state_size = sizeof(seen[0]),
                                   .visit = swap_for_link};

    assert_int_equal(walk(&plan), 0);
    assert_string_equal(seen[0], "folder\n");
    free(seen[0]);
}

/* ---- tree ---- */

static void test_tree(void **state)
{
    struct file_call call = call_of(FILE_DOWNLOAD, "/w");
    struct sandlot_error error = {0};
    CLEANUP(entries_clear) struct entries entries = {0};
    AUTO_FREE char *answer = NULL;

    (void)state;
    put("/w/a", "12345");
    put("/w/.b/c", "1");
    put_folder("/w/empty");
    put_link("/w/link", "a");
    assert_int_equal(mkfifo(in_box("/w/pipe"), 0644), 0);
    assert_int_equal(native_tree(&call, &entries, &error), 0);
    entries_sort(&entries);
    for (size_t i = 0; i < entries.count; i++)
        text_append(&answer, "%s%s %d\n", entries.items[i].path, entries.items[i].is_dir ? "/" : "",
                    (int)entries.items[i].bytes);
    assert_string_equal(answer, "/w/.b/ 0\n/w/.b/c 1\n/w/a 5\n/w/empty/ 0\n");
    assert_int_equal(chmod(in_box("/w/.b"), 0), 0);
    entries_clear(&entries);
    assert_int_equal(native_tree(&call, &entries, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_PERMISSION_DENIED);
    assert_contains(error.message, "/w/.b");
    sandlot_error_clear(&error);
    assert_int_equal(chmod(in_box("/w/.b"), 0755), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOX_TEST(test_glob_patterns),
        BOX_TEST(test_glob_names),
        BOX_TEST(test_glob_start),
        BOX_TEST(test_glob_links),
        BOX_TEST(test_glob_from_root),
        BOX_TEST(test_wide),
        BOX_TEST(test_deep),
        BOX_TEST(test_grep_lines),
        BOX_TEST(test_grep_what_is_passed_over),
        BOX_TEST(test_grep_pipe),
        BOX_TEST(test_grep_maximum),
        BOX_TEST(test_grep_maximum_on_threads),
        BOX_TEST(test_grep_long_lines),
        BOX_TEST(test_grep_places),
        BOX_TEST(test_grep_bytes_are_bounded),
        BOX_TEST(test_cancelled),
        BOX_TEST(test_out_of_time),
        BOX_TEST(test_swapped_meanwhile),
        BOX_TEST(test_link_is_not_entered),
        BOX_TEST(test_tree),
    };

    return cmocka_run_group_tests_name("native search", tests, NULL, NULL);
}
