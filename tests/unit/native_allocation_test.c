/*
 * Memory runs out at every place of every operation on files, in turn: nothing may crash, a failure must say so, what
 * works must be right, and neither a temporary file nor another user's name may be left.
 */
#include "operations/native/native.h"
#include "support.h"

#include <stdatomic.h>
#include <sys/fsuid.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPLACED 0 /* the sanitizer has replaced the allocator already */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define REPLACED 0
#endif
#endif
#ifndef REPLACED
#define REPLACED 1
#endif

enum { BOX_USER = 61777, MOST_ALLOCATIONS = 5000, SHORT_LINES = 32, LONG_LINE = 400 * 1000 };

/* Allocations until the one that fails; negative: none fails. */
static atomic_long countdown = -1;

#if REPLACED
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);

static bool fails(void)
{
    if (atomic_load(&countdown) < 0 || atomic_fetch_sub(&countdown, 1) != 0)
        return false;
    errno = ENOMEM;
    return true;
}

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library names its parameters __size and so on
void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size)
{
    return fails() ? NULL : __libc_realloc(pointer, size);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
#endif

static char working_dir[] = "/";
static struct provider provider;
static struct sandlot_session session;
static struct session_root root;

static enum sandlot_status never_asked(struct sandlot_call *call, void *instance, void *sandbox,
                                       struct sandlot_root *answer)
{
    (void)call, (void)instance, (void)sandbox, (void)answer;
    return SANDLOT_INTERNAL;
}

/* Lines that fill the first room for what is found in a file to its last byte, then one that is longer than any buffer.
 */
static void write_lines(void)
{
    AUTO_FREE char *text = malloc(LONG_LINE + (size_t)SHORT_LINES * 120);
    size_t length = 0;

    assert_non_null(text);
    for (int i = 0; i < SHORT_LINES; i++)
        length += (size_t)sprintf(text + length, "%0108dword\n", i);
    memset(text + length, 'x', LONG_LINE);
    memcpy(text + length + LONG_LINE / 2, "word", 4);
    support_write_bytes("box/lines", text, length + LONG_LINE);
}

static int start(void **state)
{
    char command[256];

    if (support_start(state) || mkdir(support_path("box"), 0755) < 0)
        return -1;
    write_lines();
    support_write("box/folder/file", "word\n");
    support_write("from", "what is uploaded");
    snprintf(command, sizeof(command), "chmod 0711 '%s/..'; test %d -ne 0 || chown -R %d:%d '%s'", support_path("box"),
             (int)geteuid(), BOX_USER, BOX_USER, support_path("box"));
    if (system(command))
        return -1;
    provider.table.open_root = never_asked;
    session = (struct sandlot_session){.provider = &provider, .working_dir = working_dir};
    session_roots_init(&session.roots);
    path_locks_init(&session.path_locks);
    root = (struct session_root){.fd = open(support_path("box"), O_PATH | O_DIRECTORY | O_CLOEXEC),
                                 .uid = geteuid() == 0 ? BOX_USER : geteuid(),
                                 .gid = geteuid() == 0 ? BOX_USER : getegid(),
                                 .alive_fd = -1,
                                 .opened_at_ms = sandlot_now_ms() + INT32_MAX,
                                 .users = 1};
    session.roots.current = &root;
    return root.fd < 0 ? -1 : 0;
}

static int end(void **state)
{
    close(root.fd);
    pthread_mutex_destroy(&session.roots.lock);
    path_locks_destroy(&session.path_locks);
    return support_end(state);
}

/* ---- the operations: each tells how much it has found ---- */

static bool count_entry(void *context, const struct sandlot_file_entry *entry)
{
    *(size_t *)context += strlen(entry->path);
    return true;
}

static bool count_match(void *context, const struct sandlot_match *match)
{
    *(size_t *)context += match->text_length;
    return true;
}

static int read_lines(size_t *found, struct sandlot_error *error)
{
    const struct sandlot_read request = {.size = sizeof(request), .path = "lines"};
    struct sandlot_page page = {.size = sizeof(page)};
    int failed = sandlot_read_file(&session, &request, &page, error);

    *found = failed ? 0 : page.content_length;
    sandlot_page_clear(&page);
    return failed;
}

static int write_file(size_t *found, struct sandlot_error *error)
{
    const struct sandlot_write request = {
        .size = sizeof(request), .path = "folder/file", .content = "word\n", .content_length = 5};

    (void)found;
    return sandlot_write_file(&session, &request, error);
}

static int edit_file(size_t *found, struct sandlot_error *error)
{
    const struct sandlot_edit request = {.size = sizeof(request),
                                         .path = "lines",
                                         .old_string = "word",
                                         .old_length = 4,
                                         .new_string = "word",
                                         .new_length = 4,
                                         .replace_all = true};
    uint64_t occurrences = 0;
    int failed = sandlot_edit_file(&session, &request, &occurrences, error);

    *found = failed ? 0 : (size_t)occurrences;
    return failed;
}

static int list(size_t *found, struct sandlot_error *error)
{
    const struct sandlot_ls request = {.size = sizeof(request)};

    return sandlot_list_directory(&session, &request, count_entry, found, error);
}

static int find(size_t *found, struct sandlot_error *error)
{
    const struct sandlot_glob request = {.size = sizeof(request), .pattern = "**/{l,f}*", .directories = true};

    return sandlot_find_files(&session, &request, count_entry, found, NULL, error);
}

static int search(size_t *found, struct sandlot_error *error)
{
    const struct sandlot_grep request = {.size = sizeof(request), .pattern = "word", .pattern_length = 4};

    return sandlot_search_files(&session, &request, count_match, found, NULL, error);
}

static int move(bool upload, const char *local, struct sandlot_error *error)
{
    const struct sandlot_transfer_item item = {
        .size = sizeof(item), .path = "/folder/moved", .local_path = support_path(local)};
    const struct sandlot_transfer_request request = {.size = sizeof(request), .items = &item, .count = 1};

    return upload ? sandlot_upload(&session, &request, error) : sandlot_download(&session, &request, error);
}

static int upload(size_t *found, struct sandlot_error *error)
{
    (void)found;
    return move(true, "from", error);
}

static int download(size_t *found, struct sandlot_error *error)
{
    (void)found;
    return move(false, "to", error);
}

/* ---- */

static void expect_nothing_left(void)
{
    char command[256];

    assert_int_equal(setfsuid((uid_t)-1), geteuid());
    snprintf(command, sizeof(command), "test -z \"$(find '%s/..' -name '*sandlot-[a-z0-9]*' ! -path '%s/..')\"",
             support_path("box"), support_path("box"));
    assert_int_equal(system(command), 0);
}

static void starve(int (*operation)(size_t *found, struct sandlot_error *error))
{
    struct sandlot_error error = {0};
    size_t all = 0;

    if (!REPLACED)
        skip();
    assert_int_equal(operation(&all, &error), 0);
    for (long n = 0; n < MOST_ALLOCATIONS; n++) {
        size_t found = 0;

        atomic_store(&countdown, n);
        int failed = operation(&found, &error);
        bool untouched = atomic_exchange(&countdown, -1) >= 0;

        if (!failed && found != all)
            fail_msg("a wrong result when allocation %ld failed: %zu instead of %zu", n, found, all);
        if (failed && error.code != SANDLOT_CODE_INTERNAL_ERROR)
            fail_msg("failed with %s when allocation %ld failed", sandlot_code_name(error.code), n);
        sandlot_error_clear(&error);
        if (untouched) {
            expect_nothing_left();
            return;
        }
    }
    fail_msg("more than %d allocations", MOST_ALLOCATIONS);
}

#define STARVED(operation)                     \
    static void test_##operation(void **state) \
    {                                          \
        (void)state;                           \
        starve(operation);                     \
    }

STARVED(read_lines)
STARVED(write_file)
STARVED(edit_file)
STARVED(list)
STARVED(find)
STARVED(search)
STARVED(upload)

static void test_download(void **state)
{
    struct sandlot_error error = {0};
    size_t unused;

    (void)state;
    assert_int_equal(upload(&unused, &error), 0);
    starve(download);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_read_lines), TEST(test_write_file), TEST(test_edit_file), TEST(test_list),
        TEST(test_find),       TEST(test_search),     TEST(test_upload),    TEST(test_download),
    };

    return cmocka_run_group_tests_name("native_allocation", tests, NULL, NULL);
}
