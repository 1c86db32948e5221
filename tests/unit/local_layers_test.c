/* Chains of layers, and what is laid over what when a layer is made. */
#include "../../plugins/local/layers.h"
#include "../../plugins/local/tree_copy.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cmocka.h>

static void chains_are_read(void **state)
{
    struct layer_chain chain;

    (void)state;
    assert_true(layer_chain_read(NULL, &chain) && chain.count == 0);
    assert_true(layer_chain_read("", &chain) && chain.count == 0);
    assert_true(layer_chain_read("layer-0123456789abc layer-f", &chain));
    assert_int_equal(chain.count, 2);
    assert_string_equal(chain.ids[0], "layer-0123456789abc");
    assert_string_equal(chain.ids[1], "layer-f");
}

static void other_names_are_no_layers(void **state)
{
    static const char *const bad[] = {
        "layer-",           "layer-../..", "layer-0123456789abcd", "layer-g", "x", "layer-1 ",
        "layer-1  layer-2", "layer-1 /",   "layer-1\nlayer-2",     "LAYER-1"};
    struct layer_chain chain;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_true(!layer_chain_read(bad[i], &chain) || strcmp(bad[i], "layer-1 ") == 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(layer_id_valid(bad[i]));
}

static void a_chain_has_an_end(void **state)
{
    char text[(LAYERS_MOST + 1) * LAYER_ID_SIZE] = "";
    struct layer_chain chain;

    (void)state;
    for (int i = 0; i < LAYERS_MOST; i++)
        strcat(text, i ? " layer-1" : "layer-1");
    assert_true(layer_chain_read(text, &chain));
    assert_int_equal(chain.count, LAYERS_MOST);
    strcat(text, " layer-1");
    assert_false(layer_chain_read(text, &chain));
}

/* ---- copying ---- */

static char failure[512];

static enum sandlot_status note_failure(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    (void)call;
    snprintf(failure, sizeof(failure), "%s", message);
    return status;
}

static const struct sandlot_host host = {.size = offsetof(struct sandlot_host, log), .fail = note_failure};

struct folders {
    char path[64];
    int top;
    int to;
};

static int set_up(void **state)
{
    struct folders *folders = calloc(1, sizeof(*folders));

    strcpy(folders->path, "/tmp/sandlot-layers-XXXXXX");
    assert_non_null(mkdtemp(folders->path));
    folders->top = open(folders->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(folders->top, "to", 0700) | mkdirat(folders->top, "from", 0700), 0);
    folders->to = openat(folders->top, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = folders;
    return 0;
}

static int tear_down(void **state)
{
    struct folders *folders = *state;
    AUTO_FREE char *command = NULL;

    close(folders->to);
    close(folders->top);
    assert_true(asprintf(&command, "chmod -R u+rwx '%s' && rm -rf '%s'", folders->path, folders->path) > 0);
    const int removed = system(command); /* Safe: the path is mkdtemp's */

    free(folders);
    return removed;
}

static void write_file(const struct folders *folders, const char *path, const char *text)
{
    AUTO_CLOSE int fd = openat(folders->top, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void has(const struct folders *folders, const char *path, const char *text)
{
    AUTO_CLOSE int fd = openat(folders->top, path, O_RDONLY | O_CLOEXEC);
    char got[64] = "";

    assert_true(fd >= 0 && read(fd, got, sizeof(got) - 1) >= 0);
    assert_string_equal(got, text);
}

static bool is_there(const struct folders *folders, const char *path)
{
    struct stat status;

    return fstatat(folders->top, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_removed_mark(const struct folders *folders, const char *path)
{
    struct stat status;

    return fstatat(folders->top, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(status.st_mode) &&
           status.st_rdev == 0;
}

static const struct tree_copy anything = {.what = "the test", .too_large = "too large", .below = TREE_ON_OTHERS};

static enum sandlot_status copy_as(const struct folders *folders, struct tree_copy *copy, bool marked)
{
    struct sandlot_call call = {sizeof(call), &host, 0, -1};

    copy->call = &call;
    copy->uid = geteuid();
    copy->gid = getegid();
    copy->limit = copy->limit ? copy->limit : UINT64_MAX;
    return tree_copy(copy, folders->top, "from", folders->to, marked);
}

static enum sandlot_status lay_over(const struct folders *folders, bool marked, uint64_t limit)
{
    struct tree_copy copy = anything;

    copy.limit = limit;
    return copy_as(folders, &copy, marked);
}

/* Marks the folder PATH as one that hides what is below. False: no such attributes here. */
static bool make_opaque(const struct folders *folders, const char *path)
{
    AUTO_CLOSE int fd = openat(folders->top, path, O_RDONLY | O_CLOEXEC);

    return fsetxattr(fd, "user.overlay.opaque", "y", 1, 0) == 0;
}

static bool is_opaque(const struct folders *folders, const char *path)
{
    AUTO_CLOSE int fd = openat(folders->top, path, O_RDONLY | O_CLOEXEC);

    return fgetxattr(fd, "user.overlay.opaque", NULL, 0) == 1;
}

static void mark_removed(const struct folders *folders, const char *path)
{
    if (mknodat(folders->top, path, S_IFCHR, makedev(0, 0)) < 0)
        skip();
}

static void later_entries_cover_earlier_ones(void **state)
{
    const struct folders *folders = *state;

    mkdirat(folders->top, "to/both", 0700);
    mkdirat(folders->top, "to/becomes_file", 0700);
    write_file(folders, "to/becomes_file/x", "x");
    write_file(folders, "to/both/old", "old");
    write_file(folders, "to/both/same", "old");
    write_file(folders, "to/becomes_folder", "file");
    mkdirat(folders->top, "from/both", 0700);
    write_file(folders, "from/both/same", "new");
    write_file(folders, "from/becomes_file", "file");
    mkdirat(folders->top, "from/becomes_folder", 0500);
    assert_int_equal(symlinkat("/etc/passwd", folders->top, "from/link"), 0);
    assert_int_equal(linkat(folders->top, "from/both/same", folders->top, "from/other", 0), 0);
    assert_int_equal(lay_over(folders, false, UINT64_MAX), SANDLOT_OK);
    has(folders, "to/both/old", "old");
    has(folders, "to/both/same", "new");
    has(folders, "to/becomes_file", "file");
    struct stat status;

    assert_int_equal(fstatat(folders->top, "to/becomes_folder", &status, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(status.st_mode, S_IFDIR | 0500);
    assert_int_equal(fstatat(folders->top, "to/other", &status, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(status.st_nlink, 2);
    assert_int_equal(fstatat(folders->top, "to/link", &status, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void marks_are_obeyed_and_kept(void **state)
{
    const struct folders *folders = *state;

    write_file(folders, "to/removed", "old");
    mkdirat(folders->top, "to/replaced", 0700);
    write_file(folders, "to/replaced/old", "old");
    mkdirat(folders->top, "from/replaced", 0700);
    write_file(folders, "from/replaced/new", "new");
    AUTO_CLOSE int replaced = openat(folders->top, "from/replaced", O_RDONLY | O_CLOEXEC);

    mark_removed(folders, "from/removed");
    if (!make_opaque(folders, "from/replaced"))
        skip();
    assert_int_equal(fsetxattr(replaced, "user.overlay.origin", "o", 1, 0), 0);
    assert_int_equal(lay_over(folders, true, UINT64_MAX), SANDLOT_OK);
    assert_true(is_removed_mark(folders, "to/removed"));
    assert_false(is_there(folders, "to/replaced/old"));
    has(folders, "to/replaced/new", "new");
    assert_true(is_opaque(folders, "to/replaced"));
    AUTO_CLOSE int copied = openat(folders->top, "to/replaced", O_RDONLY | O_CLOEXEC);

    assert_int_equal(fgetxattr(copied, "user.overlay.origin", NULL, 0), -1);
}

/* FROM with marks at its top, in a folder, in one that hides what is below, and in one that had been removed in TO. */
static void make_marks(const struct folders *folders)
{
    mkdirat(folders->top, "from/folder", 0700);
    mkdirat(folders->top, "from/replaced", 0700);
    mkdirat(folders->top, "from/again", 0700);
    mark_removed(folders, "from/removed");
    mark_removed(folders, "from/folder/removed");
    mark_removed(folders, "to/again");
    if (!make_opaque(folders, "from/replaced"))
        skip();
}

/* An overlay would show them there as files that nobody can open. */
static void marks_that_hide_nothing_are_left_out(void **state)
{
    const struct folders *folders = *state;
    struct tree_copy copy = anything;

    make_marks(folders);
    copy.below = TREE_ON_NOTHING;
    assert_int_equal(copy_as(folders, &copy, true), SANDLOT_OK);
    assert_false(is_there(folders, "to/removed") || is_there(folders, "to/folder/removed"));
    assert_false(is_opaque(folders, "to/replaced"));
}

static void marks_are_kept_as_far_as_something_is_below(void **state)
{
    const struct folders *folders = *state;
    struct tree_copy copy = anything;

    make_marks(folders);
    mark_removed(folders, "from/again/removed");
    assert_int_equal(mkdirat(folders->top, "below", 0700) | mkdirat(folders->top, "below/replaced", 0700) |
                         mkdirat(folders->top, "below/again", 0700),
                     0);
    AUTO_CLOSE int below = openat(folders->top, "below", O_PATH | O_CLOEXEC);

    copy.below = below;
    assert_int_equal(copy_as(folders, &copy, true), SANDLOT_OK);
    assert_true(is_removed_mark(folders, "to/removed"));
    assert_false(is_there(folders, "to/folder/removed"));
    assert_true(is_opaque(folders, "to/replaced"));
    /* What had been removed below stays so, and then nothing in it has anything below. */
    assert_true(is_opaque(folders, "to/again"));
    assert_false(is_there(folders, "to/again/removed"));
}

/* It is another's: nothing in it is changed, and what cannot be read is left out. */
static void folders_of_the_host_are_only_read(void **state)
{
    const struct folders *folders = *state;
    struct tree_copy copy = anything;
    struct stat status;

    write_file(folders, "from/file", "text");
    write_file(folders, "from/secret", "secret");
    assert_int_equal(linkat(folders->top, "from/file", folders->top, "from/same", 0), 0);
    assert_int_equal(mkfifoat(folders->top, "from/pipe", 0600) | mkdirat(folders->top, "from/closed", 0), 0);
    assert_int_equal(fchmodat(folders->top, "from/secret", 0, 0), 0);
    assert_int_equal(mkdirat(folders->top, "from/listed", 0400), 0); /* nobody may enter what he may list */
    copy.of_host = true;
    assert_int_equal(copy_as(folders, &copy, false), SANDLOT_OK);
    has(folders, "to/file", "text");
    assert_int_equal(fstatat(folders->top, "to/same", &status, 0), 0);
    assert_int_equal(status.st_nlink, 2);
    assert_false(is_there(folders, "to/pipe"));
    const bool root = geteuid() == 0;

    assert_int_equal(copy.left_out, root ? 1 : 4);
    assert_int_equal(is_there(folders, "to/secret"), root);
    assert_int_equal(is_there(folders, "to/closed"), root);
    assert_int_equal(fstatat(folders->top, "from/closed", &status, 0), 0);
    assert_int_equal(status.st_mode & 07777, 0);
}

/* Two file systems of a kind number their files alike. */
static void files_of_two_mounts_are_not_one(void **state)
{
    struct folders *folders = *state;
    struct tree_copy copy = anything;
    char mounts[2][128];
    struct stat status[2];

    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip();
    close(folders->top);
    folders->top = open(folders->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* in this mount namespace */
    for (int i = 0; i < 2; i++) {
        char file[32];
        char same[32];

        snprintf(mounts[i], sizeof(mounts[i]), "%s/from/%d", folders->path, i);
        snprintf(file, sizeof(file), "from/%d/file", i);
        snprintf(same, sizeof(same), "from/%d/same", i);
        assert_int_equal(mkdir(mounts[i], 0700) | mount("none", mounts[i], "tmpfs", 0, "size=1m"), 0);
        write_file(folders, file, i ? "second" : "first");
        assert_int_equal(linkat(folders->top, file, folders->top, same, 0), 0);
        assert_int_equal(fstatat(folders->top, file, &status[i], 0), 0);
    }
    const bool alike = status[0].st_ino == status[1].st_ino;

    copy.of_host = true;
    const enum sandlot_status copied = copy_as(folders, &copy, false);

    assert_int_equal(umount2(mounts[0], MNT_DETACH) | umount2(mounts[1], MNT_DETACH), 0);
    assert_true(alike);
    assert_int_equal(copied, SANDLOT_OK);
    has(folders, "to/0/same", "first");
    has(folders, "to/1/same", "second");
}

/* Root reads all, but its box is another user. */
static void a_box_gets_what_it_would_be_shown(void **state)
{
    const struct folders *folders = *state;
    struct sandlot_call call = {sizeof(call), &host, 0, -1};
    struct tree_copy copy = anything;

    if (geteuid() != 0)
        skip();
    write_file(folders, "from/own", "own");
    write_file(folders, "from/other", "other");
    write_file(folders, "from/public", "public");
    assert_int_equal(fchownat(folders->top, "from/other", 12345, 12345, 0), 0);
    assert_int_equal(fchownat(folders->top, "from/public", 12345, 12345, 0), 0);
    assert_int_equal(fchmodat(folders->top, "from/public", 0604, 0), 0);
    copy.call = &call;
    copy.uid = copy.gid = 54321;
    copy.limit = UINT64_MAX;
    copy.of_host = true;
    assert_int_equal(tree_copy(&copy, folders->top, "from", folders->to, false), SANDLOT_OK);
    assert_true(is_there(folders, "to/own") && is_there(folders, "to/public") && !is_there(folders, "to/other"));
    assert_int_equal(copy.left_out, 1);
    struct stat status;

    assert_int_equal(fstatat(folders->top, "to/own", &status, 0), 0);
    assert_int_equal(status.st_uid, 54321);
}

/* A box whose folder is no overlay could set such marks by itself. */
static void without_marks_there_are_none(void **state)
{
    const struct folders *folders = *state;

    mkdirat(folders->top, "from/folder", 0700);
    AUTO_CLOSE int folder = openat(folders->top, "from/folder", O_RDONLY | O_CLOEXEC);

    if (fsetxattr(folder, "user.overlay.opaque", "y", 1, 0) < 0 || fsetxattr(folder, "user.own", "o", 1, 0) < 0)
        skip();
    assert_int_equal(lay_over(folders, false, UINT64_MAX), SANDLOT_OK);
    AUTO_CLOSE int copied = openat(folders->top, "to/folder", O_RDONLY | O_CLOEXEC);

    assert_int_equal(fgetxattr(copied, "user.overlay.opaque", NULL, 0), -1);
    assert_int_equal(fgetxattr(copied, "user.own", NULL, 0), 1);
}

static void there_is_a_limit(void **state)
{
    const struct folders *folders = *state;
    char text[20000];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    write_file(folders, "from/large", text);
    assert_int_equal(lay_over(folders, false, 10000), SANDLOT_EXHAUSTED);
    assert_string_equal(failure, "too large");
}

static void folders_without_end_are_refused(void **state)
{
    const struct folders *folders = *state;
    AUTO_CLOSE int at = openat(folders->top, "from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (int i = 0; i < 300; i++) {
        assert_int_equal(mkdirat(at, "d", 0700), 0);
        const int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        close(at);
        at = next;
    }
    assert_int_equal(lay_over(folders, false, UINT64_MAX), SANDLOT_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_read),
        cmocka_unit_test(other_names_are_no_layers),
        cmocka_unit_test(a_chain_has_an_end),
        cmocka_unit_test_setup_teardown(later_entries_cover_earlier_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_are_obeyed_and_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_that_hide_nothing_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_are_kept_as_far_as_something_is_below, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folders_of_the_host_are_only_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_of_two_mounts_are_not_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_box_gets_what_it_would_be_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_marks_there_are_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_is_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folders_without_end_are_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
