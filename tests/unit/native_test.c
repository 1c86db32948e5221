/* Operations on files through the descriptor of a root: any folder of this machine stands for a sandbox's "/". */
#include "operations/native/native.h"
#include "support.h"

#include <dirent.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { OTHER_USER = 61777 };

/* ---- a session whose provider hands out a folder ---- */

static struct fake {
    enum sandlot_status status;
    uid_t uid;
    int alive_fd;
    unsigned asked;
    bool short_struct;
} fake;

static enum sandlot_status open_root(struct sandlot_call *call, void *provider, void *sandbox,
                                     struct sandlot_root *root)
{
    (void)provider, (void)sandbox;
    fake.asked++;
    if (fake.status != SANDLOT_OK)
        return (call->host->fail)(call, fake.status, "there is no such box");
    root->fd = open(support_path("root"), O_PATH | O_DIRECTORY);
    root->uid = fake.uid;
    root->gid = fake.uid;
    if (fake.short_struct)
        root->size = offsetof(struct sandlot_root, alive_fd);
    else
        root->alive_fd = fake.alive_fd < 0 ? -1 : dup(fake.alive_fd);
    return SANDLOT_OK;
}

static struct registry_entry entry = {.name = (char *)"fake"};
static struct provider provider = {.entry = &entry, .table = {.open_root = open_root}};
static struct sandlot_session session;

static int start(void **state)
{
    if (support_start(state) || mkdir(support_path("root"), 0777) || chmod(support_path("root"), 0777) ||
        chmod(support_folder, 0755))
        return -1;
    fake = (struct fake){.uid = geteuid(), .alive_fd = -1};
    session = (struct sandlot_session){.provider = &provider, .turn_fd = -1, .working_dir = (char *)"/"};
    session_roots_init(&session.roots);
    return 0;
}

static int end(void **state)
{
    session_roots_clear(&session.roots);
    return support_end(state);
}

static struct file_call call_of(enum file_verb verb, const char *path)
{
    return (struct file_call){.session = &session,
                              .verb = verb,
                              .path = path,
                              .shown = path,
                              .deadline_ms = sandlot_now_ms() + 60000,
                              .cancel_fd = -1};
}

static const char *in_root(const char *path)
{
    static char whole[4][PATH_MAX];
    static unsigned next;
    char *place = whole[next++ % 4];

    snprintf(place, PATH_MAX, "%s/root%s", support_folder, path);
    return place;
}

static void make(const char *path, const char *text)
{
    AUTO_CLOSE int fd = open(in_root(path), O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(path_write_all(fd, text, strlen(text)), 0);
}

static void expect_content(const char *path, const char *text)
{
    size_t length = 0;
    AUTO_FREE char *found = path_read_file(in_root(path), 16 << 20, &length);

    assert_non_null(found);
    assert_string_equal(found, text);
}

static mode_t mode_of(const char *path)
{
    struct stat status;

    assert_int_equal(lstat(in_root(path), &status), 0);
    return status.st_mode;
}

static ino_t inode_of(const char *path)
{
    struct stat status;

    assert_int_equal(lstat(in_root(path), &status), 0);
    return status.st_ino;
}

/* How many names are in a folder of the root. */
static size_t names_in(const char *path)
{
    AUTO_DIRECTORY DIR *directory = opendir(in_root(path));
    size_t count = 0;

    assert_non_null(directory);
    while (readdir(directory))
        count++;
    return count - 2;
}

/* ---- the operations, each with the code that it ends with ---- */

static enum sandlot_code code_and_clear(int failed, struct sandlot_error *error)
{
    enum sandlot_code code = error->code;

    assert_int_equal(failed, code == SANDLOT_CODE_OK ? 0 : -1);
    sandlot_error_clear(error);
    return code;
}

static enum sandlot_code do_write(const char *path, const char *text)
{
    const struct file_call call = call_of(FILE_WRITE, path);
    struct sandlot_error error = {0};

    return code_and_clear(native_write(&call, text, strlen(text), &error), &error);
}

static enum sandlot_code do_read(const char *path, int64_t offset, struct sandlot_page *page)
{
    const struct file_call call = call_of(FILE_READ, path);
    const struct page_wish wish = {.path = path, .shown = path, .offset = offset, .limit = 2000};
    struct sandlot_error error = {0};

    *page = (struct sandlot_page){.size = sizeof(*page), .total_lines = -1, .next_offset = -1};
    return code_and_clear(native_read(&call, &wish, page, &error), &error);
}

static void expect_read_error(const char *path, enum sandlot_code code)
{
    struct sandlot_page page;

    assert_int_equal(do_read(path, 0, &page), code);
    free(page.content);
}

static enum sandlot_code do_edit(const char *path, const char *old_string, const char *new_string)
{
    const struct file_call call = call_of(FILE_EDIT, path);
    const struct edit_wish wish = {.shown = path,
                                   .old_string = old_string,
                                   .old_length = strlen(old_string),
                                   .new_string = new_string,
                                   .new_length = strlen(new_string)};
    struct sandlot_error error = {0};
    uint64_t occurrences = 0;

    return code_and_clear(native_edit(&call, &wish, &occurrences, &error), &error);
}

static enum sandlot_code do_remove(const char *path)
{
    const struct file_call call = call_of(FILE_REMOVE, path);
    struct sandlot_error error = {0};

    return code_and_clear(native_remove(&call, &error), &error);
}

static enum sandlot_code do_list(const char *path, struct entries *entries)
{
    const struct file_call call = call_of(FILE_LIST, path);
    struct sandlot_error error = {0};
    enum sandlot_code code = code_and_clear(native_list(&call, entries, &error), &error);

    entries_sort(entries);
    return code;
}

static enum sandlot_code do_upload(const char *path, int fd, uint32_t mode, int cancel_fd)
{
    struct file_call call = call_of(FILE_UPLOAD, path);
    struct sandlot_error error = {0};
    uint64_t bytes = 0;

    call.cancel_fd = cancel_fd;
    return code_and_clear(native_upload(&call, fd, mode, &bytes, &error), &error);
}

/* ---- the root ---- */

static void test_root_is_kept_and_renewed(void **state)
{
    int ends[2];
    struct sandlot_error error = {0};

    (void)state;
    assert_int_equal(pipe(ends), 0);
    fake.alive_fd = ends[0];
    assert_int_equal(session_has_root(&session, 0, -1, &error), 1);
    struct session_root *first = session_root_take(&session, 0, -1, &error);
    struct session_root *second = session_root_take(&session, 0, -1, &error);

    assert_ptr_equal(first, second);
    assert_int_equal(fake.asked, 1);
    assert_true(fcntl(first->fd, F_GETFD) & FD_CLOEXEC);
    session_root_give_back(&session, second);
    first->opened_at_ms -= 11 * 1000;
    second = session_root_take(&session, 0, -1, &error);
    assert_int_equal(fake.asked, 2);
    assert_ptr_not_equal(first, second);
    assert_int_equal(fcntl(first->fd, F_GETFD), FD_CLOEXEC); /* still used */
    session_root_give_back(&session, first);
    session_root_give_back(&session, second);

    close(ends[1]); /* the sandbox ends */
    fake.status = SANDLOT_NOT_FOUND;
    assert_null(session_root_take(&session, 0, -1, &error));
    assert_int_equal(error.code, SANDLOT_CODE_SANDBOX_NOT_FOUND);
    assert_contains(error.message, "there is no such box");
    sandlot_error_clear(&error);
    assert_int_equal(session_has_root(&session, 0, -1, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_SANDBOX_NOT_FOUND);
    sandlot_error_clear(&error);
    close(ends[0]);
}

static void test_root_of_an_older_provider(void **state)
{
    struct sandlot_error error = {0};

    (void)state;
    fake.short_struct = true;
    struct session_root *root = session_root_take(&session, 0, -1, &error);

    assert_non_null(root);
    assert_int_equal(root->alive_fd, -1);
    session_root_give_back(&session, root);
}

static void test_no_root_is_remembered(void **state)
{
    struct sandlot_error error = {0};

    (void)state;
    fake.status = SANDLOT_UNSUPPORTED;
    for (int i = 0; i < 3; i++)
        assert_int_equal(session_has_root(&session, 0, -1, &error), 0);
    assert_false(error.code != SANDLOT_CODE_OK);
    assert_int_equal(fake.asked, 1);
    assert_null(session_root_take(&session, 0, -1, &error));
    assert_int_equal(error.code, SANDLOT_CODE_NOT_SUPPORTED);
    sandlot_error_clear(&error);
}

/* ---- reading ---- */

static void test_read(void **state)
{
    struct sandlot_page page;

    (void)state;
    make("/a.txt", "one\ntwo\nthree\n");
    assert_int_equal(do_read("/a.txt", 1, &page), SANDLOT_CODE_OK);
    assert_string_equal(page.content, "two\nthree");
    assert_int_equal(page.total_lines, 3);
    free(page.content);
    assert_int_equal(symlink("/a.txt", in_root("/link")), 0);
    assert_int_equal(do_read("/link", 0, &page), SANDLOT_CODE_OK);
    assert_string_equal(page.content, "one\ntwo\nthree");
    free(page.content);
    make("/empty", "");
    assert_int_equal(do_read("/empty", 0, &page), SANDLOT_CODE_OK);
    assert_true(page.empty);
    free(page.content);
}

static void test_read_errors(void **state)
{
    char name[302] = "/";

    (void)state;
    memset(name + 1, 'n', 300);
    make("/a.txt", "x");
    assert_int_equal(mkdir(in_root("/folder"), 0755), 0);
    assert_int_equal(mkfifo(in_root("/pipe"), 0644), 0);
    assert_int_equal(symlink("loop", in_root("/loop")), 0);
    assert_int_equal(symlink("nowhere", in_root("/broken")), 0);
    expect_read_error("/missing", SANDLOT_CODE_FILE_NOT_FOUND);
    expect_read_error("/broken", SANDLOT_CODE_FILE_NOT_FOUND);
    expect_read_error("/a.txt/below", SANDLOT_CODE_FILE_NOT_FOUND);
    expect_read_error("/folder", SANDLOT_CODE_IS_DIRECTORY);
    expect_read_error("/pipe", SANDLOT_CODE_NOT_A_FILE);
    expect_read_error("/loop", SANDLOT_CODE_INVALID_PATH);
    expect_read_error(name, SANDLOT_CODE_INVALID_PATH);
    expect_read_error("/", SANDLOT_CODE_IS_DIRECTORY);
}

static void test_missing_tells_what_is_there(void **state)
{
    const struct file_call call = call_of(FILE_READ, "/program.pyy");
    const struct page_wish wish = {.path = call.path, .shown = call.path, .limit = 1};
    struct sandlot_page page = {.size = sizeof(page)};
    struct sandlot_error error = {0};

    (void)state;
    make("/program.py", "x");
    assert_int_equal(native_read(&call, &wish, &page, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_FILE_NOT_FOUND);
    assert_contains(error.message, "program.py.");
    sandlot_error_clear(&error);
}

static void test_links_stay_inside(void **state)
{
    struct sandlot_page page;

    (void)state;
    support_write("secret", "outside\n");
    make("/secret", "inside\n");
    assert_int_equal(symlink(support_path("secret"), in_root("/absolute")), 0);
    assert_int_equal(symlink("../secret", in_root("/upwards")), 0);
    expect_read_error("/absolute", SANDLOT_CODE_FILE_NOT_FOUND);
    assert_int_equal(do_read("/upwards", 0, &page), SANDLOT_CODE_OK);
    assert_string_equal(page.content, "inside");
    free(page.content);
    assert_int_equal(symlink("/proc/self/root", in_root("/magic")), 0);
    expect_read_error("/magic/etc/passwd", SANDLOT_CODE_FILE_NOT_FOUND);
    assert_int_equal(do_write("/upwards", "changed\n"), SANDLOT_CODE_OK);
    expect_content("/secret", "changed\n");
    AUTO_FREE char *outside = path_read_file(support_path("secret"), 100, NULL);

    assert_string_equal(outside, "outside\n");
}

/* Line N is "line N", with CRLF at every tenth; SIZE bytes at least. Returns the number of lines. */
static int64_t make_lines(const char *path, size_t size)
{
    AUTO_FILE FILE *file = fopen(in_root(path), "w");
    int64_t lines = 0;

    assert_non_null(file);
    for (size_t written = 0; written < size; lines++) {
        int length = fprintf(file, "line %lld%s\n", (long long)lines, lines % 10 ? "" : "\r");

        assert_true(length > 0);
        written += (size_t)length;
    }
    return lines;
}

static void expect_page(const char *path, int64_t offset, int64_t total)
{
    struct sandlot_page page;
    char first[64];

    assert_int_equal(do_read(path, offset, &page), SANDLOT_CODE_OK);
    snprintf(first, sizeof(first), "line %lld\n", (long long)offset);
    assert_memory_equal(page.content, first, strlen(first));
    assert_int_equal(page.start_line, offset + 1);
    assert_int_equal(page.total_lines, total);
    free(page.content);
}

static void test_read_large(void **state)
{
    struct sandlot_page page;

    (void)state;
    const int64_t counted = make_lines("/counted", 3 << 20);
    const int64_t huge = make_lines("/huge", 9 << 20);

    expect_page("/counted", 0, counted);
    expect_page("/counted", 150000, counted);
    expect_page("/counted", counted - 1000, counted);
    assert_int_equal(do_read("/counted", counted, &page), SANDLOT_CODE_OFFSET_OUT_OF_RANGE);
    assert_int_equal(do_read("/counted", INT64_MAX, &page), SANDLOT_CODE_OFFSET_OUT_OF_RANGE);
    expect_page("/huge", 400000, -1);
    assert_int_equal(do_read("/huge", huge, &page), SANDLOT_CODE_OFFSET_OUT_OF_RANGE);
    assert_int_equal(do_read("/huge", huge + 5, &page), SANDLOT_CODE_OFFSET_OUT_OF_RANGE);
}

static void test_proc_files_have_content(void **state)
{
    const struct file_call call = call_of(FILE_READ, "/version");
    const struct page_wish wish = {.path = call.path, .shown = call.path, .limit = 1};
    struct sandlot_page page = {.size = sizeof(page)};
    struct sandlot_error error = {0};

    (void)state;
    struct session_root *root = session_root_take(&session, 0, -1, &error);
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(dup3(proc, root->fd, O_CLOEXEC), root->fd);
    close(proc);
    assert_int_equal(native_read(&call, &wish, &page, &error), 0);
    assert_false(page.empty);
    assert_memory_equal(page.content, "Linux", 5);
    free(page.content);
    session_root_give_back(&session, root);
}

/* ---- writing ---- */

static void test_write(void **state)
{
    (void)state;
    umask(077);
    assert_int_equal(do_write("/new/deep/a.txt", "hello"), SANDLOT_CODE_OK);
    umask(022);
    expect_content("/new/deep/a.txt", "hello");
    assert_int_equal(mode_of("/new/deep/a.txt"), S_IFREG | 0644);
    assert_int_equal(mode_of("/new"), S_IFDIR | 0755);
    assert_int_equal(mode_of("/new/deep"), S_IFDIR | 0755);
    assert_int_equal(do_write("/new/deep/a.txt", ""), SANDLOT_CODE_OK);
    expect_content("/new/deep/a.txt", "");
    assert_int_equal(names_in("/new/deep"), 1);
}

static void test_write_keeps(void **state)
{
    struct stat status;

    (void)state;
    make("/script", "old old old");
    assert_int_equal(chmod(in_root("/script"), 04755), 0);
    ino_t before = inode_of("/script");

    assert_int_equal(do_write("/script", "new"), SANDLOT_CODE_OK);
    assert_int_equal(mode_of("/script"), S_IFREG | 0755);
    assert_int_not_equal(inode_of("/script"), before);

    assert_int_equal(link(in_root("/script"), in_root("/second")), 0);
    before = inode_of("/script");
    assert_int_equal(do_write("/second", "both"), SANDLOT_CODE_OK);
    expect_content("/script", "both");
    assert_int_equal(inode_of("/second"), before);
    assert_int_equal(stat(in_root("/script"), &status), 0);
    assert_int_equal(status.st_nlink, 2);
    assert_int_equal(names_in("/"), 2);
}

/* A file with several names is rewritten in place, which somebody else may be doing too. */
static void test_rewriting_takes_turns(void **state)
{
    struct file_call call = call_of(FILE_WRITE, "/first");
    struct sandlot_error error = {0};

    (void)state;
    make("/first", "old");
    assert_int_equal(link(in_root("/first"), in_root("/second")), 0);
    int other = open(in_root("/second"), O_WRONLY | O_CLOEXEC);

    assert_int_equal(flock(other, LOCK_EX), 0);
    call.deadline_ms = sandlot_now_ms() + 30;
    int failed = native_write(&call, "longer", 6, &error);

    assert_int_equal(code_and_clear(failed, &error), SANDLOT_CODE_TIMEOUT);
    expect_content("/first", "old");
    close(other);
    assert_int_equal(do_write("/first", "longer"), SANDLOT_CODE_OK);
    expect_content("/second", "longer");
}

static void test_write_through_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_root("/a"), 0755), 0);
    assert_int_equal(mkdir(in_root("/b"), 0755), 0);
    make("/b/file", "old");
    assert_int_equal(symlink("../b/middle", in_root("/a/link")), 0);
    assert_int_equal(symlink("file", in_root("/b/middle")), 0);
    assert_int_equal(do_write("/a/link", "new"), SANDLOT_CODE_OK);
    expect_content("/b/file", "new");
    assert_true(S_ISLNK(mode_of("/a/link")) && S_ISLNK(mode_of("/b/middle")));

    assert_int_equal(symlink("/made/by/link", in_root("/broken")), 0);
    assert_int_equal(do_write("/broken", "there"), SANDLOT_CODE_OK);
    expect_content("/made/by/link", "there");
    assert_int_equal(symlink("loop", in_root("/loop")), 0);
    assert_int_equal(do_write("/loop", "x"), SANDLOT_CODE_INVALID_PATH);
    assert_int_equal(symlink("a/", in_root("/folder")), 0);
    assert_int_equal(do_write("/folder", "x"), SANDLOT_CODE_IS_DIRECTORY);
    assert_int_equal(symlink("a/..", in_root("/up")), 0);
    assert_int_equal(do_write("/up", "x"), SANDLOT_CODE_IS_DIRECTORY);
    assert_int_equal(do_write("/folder/below", "x"), SANDLOT_CODE_OK);
    expect_content("/a/below", "x");
}

static void test_write_errors(void **state)
{
    char name[302] = "/";

    (void)state;
    memset(name + 1, 'n', 300);
    assert_int_equal(mkdir(in_root("/folder"), 0755), 0);
    make("/file", "x");
    assert_int_equal(mkfifo(in_root("/pipe"), 0644), 0);
    assert_int_equal(do_write("/folder", "x"), SANDLOT_CODE_IS_DIRECTORY);
    assert_int_equal(do_write("/", "x"), SANDLOT_CODE_IS_DIRECTORY);
    assert_int_equal(do_write("/file/below", "x"), SANDLOT_CODE_INVALID_PATH);
    assert_int_equal(do_write("/file/below/more", "x"), SANDLOT_CODE_INVALID_PATH);
    assert_int_equal(do_write("/pipe", "x"), SANDLOT_CODE_NOT_A_FILE);
    assert_int_equal(do_write(name, "x"), SANDLOT_CODE_INVALID_PATH);
    name[255 + 1] = '\0';
    assert_int_equal(do_write(name, "long name"), SANDLOT_CODE_OK);
    expect_content(name, "long name");
    assert_int_equal(names_in("/"), 4);
}

/* A full disk, by the limit of file sizes: nothing is lost, nothing is left. */
static void test_write_that_fails_leaves_nothing(void **state)
{
    struct rlimit limit;
    AUTO_FREE char *text = malloc(100001);

    (void)state;
    memset(text, 'x', 100000);
    text[100000] = '\0';
    make("/file", "old");
    make("/linked", "old");
    assert_int_equal(link(in_root("/linked"), in_root("/other")), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {1000, limit.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);

    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum sandlot_code replaced = do_write("/file", text);
    enum sandlot_code rewritten = do_write("/linked", text);
    enum sandlot_code made = do_write("/new", text);

    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, before);
    assert_int_not_equal(replaced, SANDLOT_CODE_OK);
    assert_int_not_equal(rewritten, SANDLOT_CODE_OK);
    assert_int_not_equal(made, SANDLOT_CODE_OK);
    expect_content("/file", "old");
    expect_content("/linked", "old");
    assert_int_equal(names_in("/"), 3);
}

static void test_cancelled_write_leaves_nothing(void **state)
{
    struct file_call call = call_of(FILE_WRITE, "/file");
    struct sandlot_error error = {0};

    (void)state;
    AUTO_CLOSE int cancel = eventfd(1, EFD_CLOEXEC);

    call.cancel_fd = cancel;
    assert_int_equal(native_write(&call, "x", 1, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
    sandlot_error_clear(&error);
    assert_int_equal(names_in("/"), 0);
}

/* ---- permissions ---- */

static bool other_user(void)
{
    /* Root acts as somebody else; anybody else is himself already, and permissions count for him. */
    if (geteuid() == 0)
        fake.uid = OTHER_USER;
    return geteuid() == 0;
}

static void test_permissions(void **state)
{
    const gid_t groups[] = {0, 4242};
    gid_t after[64];
    int death_signal = 0;

    (void)state;
    bool root = other_user();

    if (root)
        assert_int_equal(setgroups(2, groups), 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    assert_int_equal(do_write("/mine/file", "x"), SANDLOT_CODE_OK);
    assert_int_equal(do_write("/read-only", "old"), SANDLOT_CODE_OK);
    assert_int_equal(chmod(in_root("/read-only"), 0444), 0);
    assert_int_equal(do_write("/read-only", "new"), SANDLOT_CODE_PERMISSION_DENIED);
    assert_int_equal(do_edit("/read-only", "old", "new"), SANDLOT_CODE_PERMISSION_DENIED);
    expect_content("/read-only", "old");
    assert_int_equal(chmod(in_root("/read-only"), 0), 0);
    expect_read_error("/read-only", SANDLOT_CODE_PERMISSION_DENIED);

    /* A directory that takes no new files: what is in it is rewritten in place. */
    ino_t before = inode_of("/mine/file");

    assert_int_equal(chmod(in_root("/mine"), 0555), 0);
    assert_int_equal(do_write("/mine/new", "x"), SANDLOT_CODE_PERMISSION_DENIED);
    assert_int_equal(do_write("/mine/file", "rewritten"), SANDLOT_CODE_OK);
    expect_content("/mine/file", "rewritten");
    assert_int_equal(inode_of("/mine/file"), before);
    assert_int_equal(do_remove("/mine"), SANDLOT_CODE_PERMISSION_DENIED);
    expect_content("/mine/file", "rewritten");
    struct entries entries = {0};

    assert_int_equal(chmod(in_root("/mine"), 0), 0);
    assert_int_equal(do_list("/mine", &entries), SANDLOT_CODE_PERMISSION_DENIED);
    entries_clear(&entries);
    assert_int_equal(chmod(in_root("/mine"), 0755), 0);
    prctl(PR_GET_PDEATHSIG, &death_signal);
    prctl(PR_SET_PDEATHSIG, 0);
    assert_int_equal(death_signal, SIGKILL);
    if (root) {
        struct stat status;

        assert_int_equal(stat(in_root("/mine/file"), &status), 0);
        assert_int_equal(status.st_uid, OTHER_USER);
        assert_int_equal(status.st_gid, OTHER_USER);
        assert_int_equal(getgroups(64, after), 2);
        assert_int_equal(after[1], 4242);
        support_write("root/roots", "x"); /* this thread is root again */
        assert_int_equal(do_write("/roots", "y"), SANDLOT_CODE_PERMISSION_DENIED);
        assert_int_equal(setgroups(0, NULL), 0);
    }
}

/* ---- editing ---- */

static void test_edit(void **state)
{
    (void)state;
    make("/file", "one two three\n");
    assert_int_equal(chmod(in_root("/file"), 0755), 0);
    assert_int_equal(do_edit("/file", "two", "2"), SANDLOT_CODE_OK);
    expect_content("/file", "one 2 three\n");
    assert_int_equal(mode_of("/file"), S_IFREG | 0755);
    assert_int_equal(do_edit("/file", "missing", "x"), SANDLOT_CODE_STRING_NOT_FOUND);
    assert_int_equal(do_edit("/nothing", "a", "b"), SANDLOT_CODE_FILE_NOT_FOUND);
    assert_int_equal(do_edit("/", "a", "b"), SANDLOT_CODE_NOT_A_FILE);
    ino_t before = inode_of("/file");

    assert_int_equal(do_edit("/file", "2", "2"), SANDLOT_CODE_OK);
    assert_int_equal(inode_of("/file"), before); /* nothing to write */
    AUTO_CLOSE int large = open(in_root("/large"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    assert_int_equal(ftruncate(large, (64 << 20) + 1), 0);
    assert_int_equal(do_edit("/large", "a", "b"), SANDLOT_CODE_TOO_LARGE);
    assert_int_equal(names_in("/"), 2);
}

static void *append_all_the_time(void *stop)
{
    AUTO_CLOSE int fd = open(in_root("/busy"), O_WRONLY | O_APPEND | O_CLOEXEC);

    while (fd >= 0 && !__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        if (write(fd, ".", 1) < 0 || lseek(fd, 0, SEEK_END) > 1 << 20)
            break;
    return NULL;
}

/* Whatever the answer, what another writer added is in the file or was added to the file that was replaced. */
static void test_edit_of_a_file_that_changes(void **state)
{
    pthread_t thread;
    bool stop = false;

    (void)state;
    make("/busy", "text");
    assert_int_equal(pthread_create(&thread, NULL, append_all_the_time, &stop), 0);
    enum sandlot_code code = do_edit("/busy", "text", "TEXT");

    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    AUTO_FREE char *found = path_read_file(in_root("/busy"), 2 << 20, NULL);

    assert_non_null(found);
    assert_int_equal(strncmp(found, code == SANDLOT_CODE_OK ? "TEXT" : "text", 4), 0);
    assert_int_equal(names_in("/"), 1);
}

/* ---- listing ---- */

static void test_list(void **state)
{
    struct entries entries = {0};

    (void)state;
    assert_int_equal(mkdir(in_root("/d"), 0755), 0);
    make("/.hidden", "1234");
    make("/x y\n\377", "");
    assert_int_equal(symlink("/d", in_root("/to-folder")), 0);
    assert_int_equal(symlink(".hidden", in_root("/to-file")), 0);
    assert_int_equal(symlink("/tmp", in_root("/to-nothing")), 0);
    assert_int_equal(do_list("/", &entries), SANDLOT_CODE_OK);
    assert_int_equal(entries.count, 6);
    assert_string_equal(entries.items[0].path, "/.hidden");
    assert_int_equal(entries.items[0].bytes, 4);
    assert_true(entries.items[0].modified_at_ms > INT64_C(1600000000000));
    assert_string_equal(entries.items[1].path, "/d");
    assert_true(entries.items[1].is_dir && !entries.items[1].is_symlink);
    assert_string_equal(entries.items[2].path, "/to-file");
    assert_true(!entries.items[2].is_dir && entries.items[2].is_symlink);
    assert_true(entries.items[3].is_dir && entries.items[3].is_symlink);
    assert_true(!entries.items[4].is_dir && entries.items[4].is_symlink);
    assert_string_equal(entries.items[5].path, "/x y\n\377");
    entries_clear(&entries);
    assert_int_equal(do_list("/to-folder", &entries), SANDLOT_CODE_OK);
    assert_int_equal(entries.count, 0);
    assert_int_equal(do_list("/.hidden", &entries), SANDLOT_CODE_NOT_A_DIRECTORY);
    assert_int_equal(do_list("/.hidden/x", &entries), SANDLOT_CODE_PATH_NOT_FOUND);
    assert_int_equal(do_list("/missing", &entries), SANDLOT_CODE_PATH_NOT_FOUND);
    entries_clear(&entries);
}

/* ---- removing ---- */

static void test_remove(void **state)
{
    (void)state;
    make("/file", "x");
    assert_int_equal(mkdir(in_root("/d"), 0755), 0);
    assert_int_equal(mkdir(in_root("/d/e"), 0755), 0);
    assert_int_equal(mkdir(in_root("/kept"), 0755), 0);
    make("/kept/file", "stays");
    make("/d/-rf", "x");
    make("/d/e/f", "x");
    assert_int_equal(symlink("../kept", in_root("/d/link")), 0);
    assert_int_equal(symlink("kept", in_root("/link")), 0);
    assert_int_equal(symlink("nowhere", in_root("/broken")), 0);
    assert_int_equal(do_remove("/file"), SANDLOT_CODE_OK);
    assert_int_equal(do_remove("/file"), SANDLOT_CODE_FILE_NOT_FOUND);
    assert_int_equal(do_remove("/missing/file"), SANDLOT_CODE_FILE_NOT_FOUND);
    assert_int_equal(do_remove("/d"), SANDLOT_CODE_OK);
    assert_int_equal(do_remove("/link"), SANDLOT_CODE_OK);
    assert_int_equal(do_remove("/broken"), SANDLOT_CODE_OK);
    expect_content("/kept/file", "stays");
    assert_int_equal(names_in("/"), 1);
}

static void test_remove_unreadable_but_empty(void **state)
{
    (void)state;
    other_user();
    const struct file_call call = call_of(FILE_UPLOAD, "/d/closed");
    struct sandlot_error error = {0};

    assert_int_equal(native_make_directory(&call, &error), 0);
    assert_int_equal(chmod(in_root("/d/closed"), 0), 0);
    assert_int_equal(do_remove("/d/closed"), SANDLOT_CODE_OK);
    assert_int_equal(native_make_directory(&call, &error), 0);
    assert_int_equal(chmod(in_root("/d/closed"), 0600), 0);
    assert_int_equal(do_remove("/d"), SANDLOT_CODE_OK);
    assert_int_equal(names_in("/"), 0);
}

static void test_remove_deep(void **state)
{
    enum { LEVELS = 3000, MOST_FILES = 64 };
    struct rlimit limit;
    AUTO_CLOSE int folder = open(in_root("/"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    for (int i = 0; i < LEVELS; i++) {
        assert_int_equal(mkdirat(folder, "deep", 0755), 0);
        int next = openat(folder, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        close(folder);
        folder = next;
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit few = {MOST_FILES, limit.rlim_max};

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    enum sandlot_code code = do_remove("/deep");

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(code, SANDLOT_CODE_OK);
    assert_int_equal(names_in("/"), 0);
}

/* ---- transfers ---- */

static void *feed_pipe(void *fd)
{
    AUTO_FREE char *bytes = malloc(300000);

    memset(bytes, 'p', 300000);
    path_write_all(*(int *)fd, bytes, 300000);
    close(*(int *)fd);
    return NULL;
}

static void test_upload_and_download(void **state)
{
    unsigned char bytes[100000];
    uint64_t moved = 0;
    struct sandlot_error error = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    support_write_bytes("source", bytes, sizeof(bytes));
    AUTO_CLOSE int source = open(support_path("source"), O_RDONLY | O_CLOEXEC);

    assert_int_equal(do_upload("/new/folder/file", source, 0750, -1), SANDLOT_CODE_OK);
    assert_int_equal(mode_of("/new/folder/file"), S_IFREG | 0750);
    AUTO_CLOSE int target = open(support_path("target"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const struct file_call call = call_of(FILE_DOWNLOAD, "/new/folder/file");

    assert_int_equal(native_download(&call, target, &moved, &error), 0);
    assert_int_equal(moved, sizeof(bytes));
    unsigned char back[sizeof(bytes)];

    assert_int_equal(pread(target, back, sizeof(back), 0), sizeof(back));
    assert_memory_equal(back, bytes, sizeof(bytes));

    int ends[2];
    pthread_t thread;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &ends[1]), 0);
    assert_int_equal(do_upload("/new/folder/file", ends[0], 0, -1), SANDLOT_CODE_OK);
    pthread_join(thread, NULL);
    close(ends[0]);
    struct stat status;

    assert_int_equal(stat(in_root("/new/folder/file"), &status), 0);
    assert_int_equal(status.st_size, 300000);
    assert_int_equal(status.st_mode & 0777, 0750);
    assert_int_equal(names_in("/new/folder"), 1);
}

static void test_upload_errors(void **state)
{
    int ends[2];

    (void)state;
    support_write("source", "x");
    AUTO_CLOSE int source = open(support_path("source"), O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int folder = open(support_path("here"), O_RDONLY | O_CLOEXEC);

    assert_int_equal(mkdir(in_root("/d"), 0755), 0);
    assert_int_equal(do_upload("/d", source, 0, -1), SANDLOT_CODE_IS_DIRECTORY);
    assert_int_equal(do_upload("/file", folder, 0, -1), SANDLOT_CODE_IS_DIRECTORY);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    AUTO_CLOSE int cancel = eventfd(0, EFD_CLOEXEC);

    assert_int_equal(write(ends[1], "begun", 5), 5);
    assert_int_equal(eventfd_write(cancel, 1), 0);
    assert_int_equal(do_upload("/file", ends[0], 0, cancel), SANDLOT_CODE_CANCELLED);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(names_in("/"), 1);
}

static void test_download_errors(void **state)
{
    uint64_t moved = 0;

    (void)state;
    assert_int_equal(mkdir(in_root("/d"), 0755), 0);
    make("/file", "content");
    AUTO_CLOSE int target = open(support_path("target"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    AUTO_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    const struct {
        const char *path;
        int fd;
        enum sandlot_code code;
    } cases[] = {{"/missing", target, SANDLOT_CODE_FILE_NOT_FOUND},
                 {"/d", target, SANDLOT_CODE_IS_DIRECTORY},
                 {"/file", full, SANDLOT_CODE_NO_SPACE}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct file_call call = call_of(FILE_DOWNLOAD, cases[i].path);
        struct sandlot_error error = {0};

        assert_int_equal(code_and_clear(native_download(&call, cases[i].fd, &moved, &error), &error), cases[i].code);
    }
}

static void test_make_directory(void **state)
{
    struct file_call call = call_of(FILE_UPLOAD, "/a/b/c");
    struct sandlot_error error = {0};

    (void)state;
    assert_int_equal(native_make_directory(&call, &error), 0);
    assert_int_equal(native_make_directory(&call, &error), 0);
    assert_int_equal(mode_of("/a/b/c"), S_IFDIR | 0755);
    make("/a/file", "x");
    call.path = call.shown = "/a/file";
    assert_int_equal(code_and_clear(native_make_directory(&call, &error), &error), SANDLOT_CODE_INVALID_PATH);
    call.path = call.shown = "/a/file/d";
    assert_int_equal(code_and_clear(native_make_directory(&call, &error), &error), SANDLOT_CODE_INVALID_PATH);
}

/* ---- somebody who swaps links all the time ---- */

static const char *const swapped[] = {"a", "b", "c"};

/* Makes the folder /play/NAME in turn a folder with files, a link outside, and nothing. */
static void *swap_all_the_time(void *stop)
{
    for (unsigned i = 0; !__atomic_load_n((bool *)stop, __ATOMIC_RELAXED); i++) {
        const char *name = swapped[i % 3];
        char path[600], moved[600], file[700];

        snprintf(path, sizeof(path), "%s/root/play/%s", support_folder, name);
        snprintf(moved, sizeof(moved), "%s/root/elsewhere/%u", support_folder, i);
        if (rename(path, moved) < 0 && errno != ENOENT)
            unlink(path);
        if (i / 3 % 3 == 0 && symlink(support_path("outside"), path) < 0)
            continue;
        if (i / 3 % 3 == 1 && symlink("../../outside", path) < 0)
            continue;
        if (i / 3 % 3 == 2 && mkdir(path, 0777) == 0) {
            snprintf(file, sizeof(file), "%s/file", path);
            if (symlink(support_path("outside/file"), file) < 0)
                continue;
        }
    }
    return NULL;
}

static void test_swapped_links(void **state)
{
    enum { ROUNDS = 400 };
    pthread_t thread;
    bool stop = false;
    struct entries entries = {0};
    struct sandlot_page page;

    (void)state;
    support_write("outside/file", "untouched");
    assert_int_equal(mkdir(in_root("/play"), 0777), 0);
    assert_int_equal(mkdir(in_root("/elsewhere"), 0777), 0);
    assert_int_equal(pthread_create(&thread, NULL, swap_all_the_time, &stop), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        char path[64], folder[64];

        snprintf(folder, sizeof(folder), "/play/%s", swapped[i % 3]);
        snprintf(path, sizeof(path), "/play/%s/file", swapped[i % 3]);
        do_write(path, "inside");
        do_edit(path, "i", "o");
        do_read(path, 0, &page);
        if (page.content)
            assert_null(strstr(page.content, "untouched"));
        free(page.content);
        do_list(folder, &entries);
        entries_clear(&entries);
        do_remove(i % 10 ? folder : "/play");
        if (i % 10 == 0)
            mkdir(in_root("/play"), 0777);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    AUTO_FREE char *outside = path_read_file(support_path("outside/file"), 100, NULL);
    AUTO_DIRECTORY DIR *directory = opendir(support_path("outside"));
    size_t names = 0;

    assert_string_equal(outside, "untouched");
    while (readdir(directory))
        names++;
    assert_int_equal(names, 3);
}

static void *write_and_read(void *name)
{
    struct sandlot_page page;
    char path[64];

    for (int i = 0; i < 50; i++) {
        snprintf(path, sizeof(path), "/%s/%d", (const char *)name, i);
        if (do_write(path, name) != SANDLOT_CODE_OK || do_read(path, 0, &page) != SANDLOT_CODE_OK)
            return NULL;
        bool same = strcmp(page.content, name) == 0;

        free(page.content);
        if (!same)
            return NULL;
    }
    return name;
}

static void test_many_threads(void **state)
{
    enum { THREADS = 32 };
    pthread_t threads[THREADS];
    char names[THREADS][16];
    void *result;

    (void)state;
    other_user();
    for (int i = 0; i < THREADS; i++) {
        snprintf(names[i], sizeof(names[i]), "t%d", i);
        assert_int_equal(pthread_create(&threads[i], NULL, write_and_read, names[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, names[i]);
    }
}

#define NATIVE_TEST(function) cmocka_unit_test_setup_teardown(function, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NATIVE_TEST(test_root_is_kept_and_renewed),
        NATIVE_TEST(test_root_of_an_older_provider),
        NATIVE_TEST(test_no_root_is_remembered),
        NATIVE_TEST(test_read),
        NATIVE_TEST(test_read_errors),
        NATIVE_TEST(test_missing_tells_what_is_there),
        NATIVE_TEST(test_links_stay_inside),
        NATIVE_TEST(test_read_large),
        NATIVE_TEST(test_proc_files_have_content),
        NATIVE_TEST(test_write),
        NATIVE_TEST(test_write_keeps),
        NATIVE_TEST(test_rewriting_takes_turns),
        NATIVE_TEST(test_write_through_links),
        NATIVE_TEST(test_write_errors),
        NATIVE_TEST(test_write_that_fails_leaves_nothing),
        NATIVE_TEST(test_cancelled_write_leaves_nothing),
        NATIVE_TEST(test_permissions),
        NATIVE_TEST(test_edit),
        NATIVE_TEST(test_edit_of_a_file_that_changes),
        NATIVE_TEST(test_list),
        NATIVE_TEST(test_remove),
        NATIVE_TEST(test_remove_unreadable_but_empty),
        NATIVE_TEST(test_remove_deep),
        NATIVE_TEST(test_upload_and_download),
        NATIVE_TEST(test_upload_errors),
        NATIVE_TEST(test_download_errors),
        NATIVE_TEST(test_make_directory),
        NATIVE_TEST(test_swapped_links),
        NATIVE_TEST(test_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
