/*
 * Transfers through commands alone, over a channel that fails: this machine's shell stands in for a sandbox, and the
 * "provider" loses calls, answers and parts of answers as each test asks. What arrives must be whole or an error.
 */
#include "operations/derived/cksum.h"
#include "operations/derived/derived.h"
#include "operations/derived/transfer.h"
#include "operations/transfer_tree.h"
#include "support.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* ---- a provider that runs commands here ---- */

static struct channel {
    const char *shell;  /* NULL: sh */
    bool input;         /* can commands be fed? */
    unsigned int calls; /* so far */
    unsigned int every; /* this many calls something goes wrong; 0: never */
    enum { REFUSED, LOST, CUT, DAMAGED } how;
    uint64_t cut_after;  /* CUT: bytes of the answer that come */
    uint64_t input_ends; /* the input breaks off after so many bytes; 0: never */
} channel;

struct feeding {
    const struct sandlot_source *source;
    int fd;
    enum sandlot_status status;
};

static void *feed(void *argument)
{
    struct feeding *feeding = argument;
    char bytes[65536];
    uint64_t fed = 0;

    for (;;) {
        size_t length = 0;

        feeding->status = feeding->source->read(feeding->source, bytes, sizeof(bytes), &length);
        if (feeding->status != SANDLOT_OK || length == 0)
            break;
        fed += length;
        if (channel.input_ends && fed > channel.input_ends) {
            feeding->status = SANDLOT_UNAVAILABLE;
            break;
        }
        if (path_write_all(feeding->fd, bytes, length) < 0)
            break;
    }
    close(feeding->fd);
    return NULL;
}

static pid_t start(const struct sandlot_command *command, int input, int output)
{
    const char *shell = channel.shell ? channel.shell : "sh";
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    signal(SIGPIPE, SIG_DFL);
    dup2(input, 0);
    dup2(output, 1);
    dup2(output, 2);
    if (chdir(command->working_dir) < 0)
        _exit(126);
    if (strncmp(shell, "/bin/busybox", 12) == 0)
        execl("/bin/busybox", "sh", "-c", command->command, (char *)NULL);
    execlp(shell, shell, "-c", command->command, (char *)NULL);
    _exit(127);
}

/* Hands on what the command prints, as badly as the channel does. */
static enum sandlot_status hand_on(int fd, const struct sandlot_sink *output, bool bad)
{
    uint64_t total = 0;
    enum sandlot_status status = SANDLOT_OK;
    char bytes[65536];
    ssize_t got;

    while ((got = read(fd, bytes, sizeof(bytes))) > 0) {
        size_t length = (size_t)got;

        if (bad && channel.how == CUT && total + length > channel.cut_after)
            length = total < channel.cut_after ? (size_t)(channel.cut_after - total) : 0;
        if (bad && channel.how == DAMAGED && total <= channel.cut_after && total + length > channel.cut_after)
            bytes[channel.cut_after - total] ^= 2;
        total += (uint64_t)got;
        if (status == SANDLOT_OK && length > 0 && !(bad && channel.how == LOST))
            status = output->write(output, bytes, length);
    }
    return status;
}

static enum sandlot_status execute(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    bool bad = channel.every && ++channel.calls % channel.every == 0;
    struct feeding feeding = {.source = command->input, .status = SANDLOT_OK};
    int in[2];
    int out[2];
    pthread_t thread;
    int status;

    (void)provider, (void)sandbox;
    channel.calls += !channel.every;
    if (command->input && !channel.input)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED, "no input here");
    if (bad && channel.how == REFUSED)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "the network is down");
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t pid = start(command, in[0], out[1]);

    close(in[0]);
    close(out[1]);
    feeding.fd = in[1];
    if (command->input)
        assert_int_equal(pthread_create(&thread, NULL, feed, &feeding), 0);
    else
        close(in[1]);
    enum sandlot_status handed = hand_on(out[0], output, bad);

    close(out[0]);
    if (command->input)
        pthread_join(thread, NULL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (feeding.status != SANDLOT_OK)
        return sandlot_fail(call, feeding.status, "the input broke off");
    if (handed != SANDLOT_OK)
        return sandlot_fail(call, handed, "stopped");
    return bad && channel.how == LOST ? sandlot_fail(call, SANDLOT_UNAVAILABLE, "the answer was lost") : SANDLOT_OK;
}

static struct registry_entry entry = {.name = (char *)"here"};
static struct provider provider = {
    .entry = &entry,
    .table = {.size = sizeof(struct sandlot_provider), .flags = SANDLOT_STREAMS_OUTPUT, .execute = execute}};
static struct sandlot_session session = {.provider = &provider, .turn_fd = -1};

static int set_up(void **state)
{
    memset(&channel, 0, sizeof(channel));
    transfer_pause_ms = 1;
    signal(SIGPIPE, SIG_IGN);
    if (support_start(state) != 0)
        return -1;
    session.working_dir = support_folder;
    path_locks_init(&session.path_locks);
    return 0;
}

static int tear_down(void **state)
{
    path_locks_destroy(&session.path_locks);
    return support_end(state);
}

/* ---- helpers ---- */

/* Bytes of every value, the same every time. */
static char *make_bytes(size_t length)
{
    unsigned char *bytes = malloc(length + 1);
    uint32_t number = 1;

    assert_non_null(bytes);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = i < 256 ? (unsigned char)i : (unsigned char)(number >> 24);
        number = number * 1664525 + 1013904223;
    }
    return (char *)bytes;
}

static void assert_holds(const char *path, const char *bytes, size_t length)
{
    size_t found;
    AUTO_FREE char *held = path_read_file(path, 64 << 20, &found);

    assert_non_null(held);
    assert_int_equal(found, length);
    assert_memory_equal(held, bytes, length);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The number of files in folder NAME whose names begin with ".sandlot". */
static int count_temporary(const char *name)
{
    AUTO_DIRECTORY DIR *folder = opendir(support_path(name));
    const struct dirent *found;
    int count = 0;

    assert_non_null(folder);
    while ((found = readdir(folder)))
        count += strncmp(found->d_name, ".sandlot", 8) == 0;
    return count;
}

struct fates {
    size_t count;
    size_t index[256];
    enum sandlot_code code[256];
    uint64_t bytes[256];
};

static void note_fate(void *context, size_t index, const char *path, const struct sandlot_error *problem,
                      uint64_t bytes)
{
    struct fates *fates = context;

    assert_non_null(path);
    assert_true(fates->count < 256);
    fates->index[fates->count] = index;
    fates->code[fates->count] = problem ? problem->code : SANDLOT_CODE_OK;
    fates->bytes[fates->count++] = bytes;
}

static int move(bool upload, const struct sandlot_transfer_item *items, size_t count, bool recursive,
                struct fates *fates, struct sandlot_error *error)
{
    struct sandlot_transfer_request request = {.size = sizeof(request),
                                               .items = items,
                                               .count = count,
                                               .recursive = recursive,
                                               .done = fates ? note_fate : NULL,
                                               .context = fates};

    return upload ? sandlot_upload(&session, &request, error) : sandlot_download(&session, &request, error);
}

static struct sandlot_transfer_item item_of(const char *path, const char *local_path)
{
    return (struct sandlot_transfer_item){
        .size = sizeof(struct sandlot_transfer_item), .path = path, .local_path = local_path, .fd = -1};
}

/* Moves LENGTH bytes up and down again, and compares. */
static void there_and_back(size_t length)
{
    AUTO_FREE char *bytes = make_bytes(length);
    AUTO_FREE char *up = strdup(support_write_bytes("from", bytes, length));
    AUTO_FREE char *remote = strdup(support_path("box/dir with 'quotes'/fil\xc3\xa9 $x"));
    AUTO_FREE char *down = strdup(support_path("to"));
    struct sandlot_transfer_item item = item_of(remote, up);
    struct sandlot_error error = {0};

    if (move(true, &item, 1, false, NULL, &error) < 0)
        fail_msg("upload of %zu: %s", length, error.message);
    assert_holds(remote, bytes, length);
    item.local_path = down;
    if (move(false, &item, 1, false, NULL, &error) < 0)
        fail_msg("download of %zu: %s", length, error.message);
    assert_holds(down, bytes, length);
    assert_int_equal(count_temporary("box/dir with 'quotes'"), 0);
    assert_int_equal(count_temporary("."), 0);
}

/* ---- tests ---- */

static void test_cksum(void **state)
{
    struct cksum sum = {0};

    (void)state;
    assert_int_equal(cksum_value(&sum), 4294967295U);
    cksum_add(&sum, "1234", 4);
    cksum_add(&sum, "56789", 5);
    assert_int_equal(cksum_value(&sum), 930766865U); /* of POSIX's cksum */
    for (size_t length = 0; length < 200; length += 11) {
        for (int tool = 0; tool < 2; tool++) {
            static const char *const tools[] = {"cksum", "md5sum"};
            struct sums sums;
            char told[SUMS_TOLD + 1] = "";
            AUTO_FREE char *command =
                text_format("head -c %zu /dev/zero | tr '\\000' x | %s | tr -d ' \\n'", length, tools[tool]);
            FILE *pipe = popen(command, "r");

            sums_init(&sums);
            for (size_t i = 0; i < length; i++)
                sums_add(&sums, "x", 1);
            assert_non_null(fgets(told, sizeof(told), pipe));
            pclose(pipe);
            assert_true(sums_match(&sums, told));
            told[strlen(told) - 2] ^= 1;
            assert_false(sums_match(&sums, told));
        }
    }
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = {0, 1, 255, 256, 65535, 65536, 65537, 300000, 4 << 20, (4 << 20) + 1};
    static const char *const shells[] = {"dash", "bash", "/bin/busybox sh"};
    /* Valgrind does not look into shells, so one is enough; of what is larger it sees all in test_one_command_each. */
    const bool few = getenv("SANDLOT_TEST_FEW");

    (void)state;
    for (size_t shell = 0; shell < (few ? 1 : 3); shell++)
        for (int input = 0; input < 2; input++)
            for (size_t i = 0; i < (input && shell == 0 && !few ? 10 : 8); i++) {
                channel.shell = shells[shell];
                channel.input = input;
                there_and_back(sizes[i]);
            }
}

static void test_one_command_each(void **state)
{
    AUTO_FREE char *bytes = make_bytes(9 << 20);
    AUTO_FREE char *up = strdup(support_write_bytes("from", bytes, 9 << 20));
    struct sandlot_transfer_item item = item_of(support_path("box"), up);

    (void)state;
    channel.input = true;
    assert_int_equal(move(true, &item, 1, false, NULL, NULL), 0);
    assert_int_equal(channel.calls, 1);
    item.local_path = support_path("to");
    assert_int_equal(move(false, &item, 1, false, NULL, NULL), 0);
    assert_int_equal(channel.calls, 2);
}

static void test_refused_calls(void **state)
{
    (void)state;
    channel.every = 2;
    channel.how = REFUSED;
    there_and_back(300000);
    there_and_back(10);
}

static void test_lost_answers(void **state)
{
    (void)state;
    channel.how = LOST;
    for (channel.every = 2; channel.every < 5; channel.every++) {
        channel.calls = 0;
        there_and_back(300000);
    }
}

static void test_cut_answers(void **state)
{
    (void)state;
    channel.input = true;
    channel.every = 2;
    channel.how = CUT;
    for (channel.cut_after = 0; channel.cut_after < 200; channel.cut_after += 31) {
        channel.calls = 0;
        there_and_back(30000);
    }
    channel.cut_after = 6 << 20;
    there_and_back((8 << 20) + 5);
}

static void test_damaged_answers(void **state)
{
    (void)state;
    channel.input = true;
    channel.every = 2;
    channel.how = DAMAGED;
    for (channel.cut_after = 100; channel.cut_after < 20000; channel.cut_after += 4999) {
        channel.calls = 0;
        there_and_back(15000);
    }
}

static void test_input_breaks_off(void **state)
{
    (void)state;
    channel.input = true;
    channel.input_ends = 150000;
    there_and_back(300000);
}

static void test_never_works(void **state)
{
    AUTO_FREE char *bytes = make_bytes(100000);
    AUTO_FREE char *up = strdup(support_write_bytes("from", bytes, 100000));
    struct sandlot_transfer_item item = item_of(support_path("box"), support_path("to"));
    struct sandlot_error error = {0};

    (void)state;
    support_write("box", "old");
    support_write("to", "old");
    channel.every = 1;
    channel.how = CUT;
    channel.cut_after = 40;
    assert_int_equal(move(false, &item, 1, false, NULL, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_TRUNCATED_TRANSPORT);
    assert_holds(support_path("to"), "old", 3);
    assert_int_equal(count_temporary("."), 0);
    sandlot_error_clear(&error);
    item.local_path = up;
    channel.how = REFUSED;
    assert_int_equal(move(true, &item, 1, false, NULL, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_NETWORK);
    assert_holds(support_path("box"), "old", 3);
    sandlot_error_clear(&error);
    channel.how = LOST;
    assert_int_equal(move(true, &item, 1, false, NULL, &error), -1);
    assert_int_equal(count_temporary("."), 0);
    sandlot_error_clear(&error);
}

static void test_pipe_as_source(void **state)
{
    AUTO_FREE char *path = strdup(support_path("pipe"));
    AUTO_FREE char *command = text_format("(sleep 0.1; seq 1 30000) > %s &", path);
    AUTO_FREE char *expected = NULL;
    struct sandlot_transfer_item item = item_of(support_path("box"), path);

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(system(command), 0);
    assert_int_equal(move(true, &item, 1, false, NULL, NULL), 0);
    expected = text_format("seq 1 30000 | cmp - %s", support_path("box"));
    assert_int_equal(system(expected), 0);
}

static void test_fates_in_order(void **state)
{
    AUTO_FREE char *good = strdup(support_write("good", "good"));
    AUTO_FREE char *last = strdup(support_write("last", "the last one"));
    AUTO_FREE char *remote = strdup(support_path("box/a"));
    AUTO_FREE char *folder = strdup(support_path("box/folder"));
    struct sandlot_transfer_item items[] = {
        item_of(remote, good), item_of("relative", good),          item_of("/x/../y", good),
        item_of(folder, good), item_of(remote, "/nowhere/at all"), item_of(remote, support_folder),
        item_of(remote, last)};
    static const enum sandlot_code codes[] = {SANDLOT_CODE_OK,
                                              SANDLOT_CODE_INVALID_PATH,
                                              SANDLOT_CODE_INVALID_PATH,
                                              SANDLOT_CODE_IS_DIRECTORY,
                                              SANDLOT_CODE_FILE_NOT_FOUND,
                                              SANDLOT_CODE_IS_DIRECTORY,
                                              SANDLOT_CODE_OK};
    struct fates fates = {0};
    struct sandlot_error error = {0};

    (void)state;
    assert_int_equal(path_make_folders(folder, 0755), 0);
    assert_int_equal(move(true, items, 7, false, &fates, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_INVALID_PATH);
    assert_int_equal(fates.count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(fates.index[i], i);
        assert_int_equal(fates.code[i], codes[i]);
    }
    assert_int_equal(fates.bytes[6], 12);
    assert_holds(remote, "the last one", 12);
    sandlot_error_clear(&error);
}

/* Small files share commands; what is wrong with one of them concerns it alone, and the order stays. */
static void many_small_files(unsigned int most_calls)
{
    enum { MANY = 200, BAD = 77, LONG = 150 };
    struct sandlot_transfer_item items[MANY];
    struct fates fates = {0};
    AUTO_FREE char *long_bytes = make_bytes(100000);

    assert_int_equal(path_make_folders(support_path("box/f77"), 0755), 0);
    for (size_t i = 0; i < MANY; i++) {
        AUTO_FREE char *name = text_format("from/f%zu", i);
        AUTO_FREE char *remote = text_format("box/%sf%zu", i % 3 ? "" : "new dir/", i);
        AUTO_FREE char *text = text_format("file %zu\n", i);

        if (i % 7 == 0)
            memset(strrchr(text, '\n'), 0xfe, 1);
        if (i == LONG)
            support_write_bytes(name, long_bytes, 100000);
        else
            support_write(name, text);
        items[i] = item_of(strdup(support_path(remote)), strdup(support_path(name)));
        items[i].mode = i % 2 ? 0700 : 0;
    }
    assert_int_equal(move(true, items, MANY, false, &fates, NULL), -1);
    assert_in_range(channel.calls, 1, most_calls);
    assert_int_equal(fates.count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        size_t length = 0;
        AUTO_FREE char *sent = path_read_file(items[i].local_path, 1 << 20, &length);

        assert_int_equal(fates.index[i], i);
        assert_int_equal(fates.code[i], i == BAD ? SANDLOT_CODE_IS_DIRECTORY : SANDLOT_CODE_OK);
        assert_int_equal(fates.bytes[i], i == BAD ? 0 : length);
        if (i != BAD)
            assert_holds(items[i].path, sent, length);
        free((char *)(uintptr_t)items[i].path);
        free((char *)(uintptr_t)items[i].local_path);
    }
    assert_int_equal(count_temporary("box"), 0);
    assert_int_equal(count_temporary("box/new dir"), 0);
}

static void test_many_small_files(void **state)
{
    static const char *const shells[] = {"dash", "bash", "/bin/busybox sh"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        channel = (struct channel){.shell = shells[i], .input = true};
        many_small_files(8);
    }
}

static void test_many_small_files_badly(void **state)
{
    (void)state;
    channel.every = 3;
    channel.how = CUT;
    channel.cut_after = 300;
    many_small_files(300);
}

static void test_download_problems(void **state)
{
    AUTO_FREE char *folder = strdup(support_path("box"));
    AUTO_FREE char *missing = strdup(support_path("box/missing"));
    AUTO_FREE char *local = strdup(support_path("to"));
    struct sandlot_transfer_item items[] = {item_of(missing, local), item_of(folder, local), item_of("x", local)};
    struct fates fates = {0};

    (void)state;
    assert_int_equal(path_make_folders(folder, 0755), 0);
    assert_int_equal(move(false, items, 3, false, &fates, NULL), -1);
    assert_int_equal(fates.code[0], SANDLOT_CODE_FILE_NOT_FOUND);
    assert_int_equal(fates.code[1], SANDLOT_CODE_IS_DIRECTORY);
    assert_int_equal(fates.code[2], SANDLOT_CODE_INVALID_PATH);
    assert_false(exists(local));
    assert_int_equal(count_temporary("."), 0);
}

static void test_modes(void **state)
{
    AUTO_FREE char *local = strdup(support_write("from", "text"));
    AUTO_FREE char *old = strdup(support_write("box/old", "old"));
    AUTO_FREE char *made = strdup(support_path("box/made"));
    AUTO_FREE char *down = strdup(support_write("down", "old"));
    struct sandlot_transfer_item items[] = {item_of(old, local), item_of(made, local)};
    struct stat status;

    (void)state;
    items[1].mode = 0750;
    assert_int_equal(chmod(old, 0711), 0);
    assert_int_equal(link(old, support_path("box/link")), 0);
    assert_int_equal(move(true, items, 2, false, NULL, NULL), 0);
    assert_int_equal(stat(old, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0711);
    assert_int_equal(status.st_nlink, 2);
    assert_holds(support_path("box/link"), "text", 4);
    assert_int_equal(stat(made, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0750);
    assert_int_equal(chmod(down, 0640), 0);
    items[0].local_path = down;
    assert_int_equal(move(false, items, 1, false, NULL, NULL), 0);
    assert_int_equal(stat(down, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    /* What comes from a sandbox never runs with the rights of whoever owns the file that it replaces. */
    assert_int_equal(chmod(down, 06755), 0);
    assert_int_equal(move(false, items, 1, false, NULL, NULL), 0);
    assert_int_equal(stat(down, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0755);
    items[0].local_path = support_path("here");
    assert_int_equal(move(false, items, 1, false, NULL, NULL), 0);
    assert_holds(support_path("here/old"), "text", 4);
}

static void test_folders(void **state)
{
    AUTO_FREE char *from = strdup(support_path("from"));
    AUTO_FREE char *box = strdup(support_path("box"));
    AUTO_FREE char *to = strdup(support_path("to"));
    struct sandlot_transfer_item item = item_of(box, from);
    struct fates fates = {0};
    struct stat status;

    (void)state;
    support_write("from/a", "a");
    support_write("from/new\nline/b c", "bc");
    support_write("from/deep/er/d", "d");
    support_write("from/deep-er", "other");
    assert_int_equal(chmod(support_path("from/a"), 0744), 0);
    assert_int_equal(mkdir(support_path("from/empty"), 0755), 0);
    assert_int_equal(symlink("a", support_path("from/to-a")), 0);
    assert_int_equal(symlink("deep", support_path("from/to-deep")), 0);
    assert_int_equal(move(true, &item, 1, true, &fates, NULL), -1); /* the link to a folder is left out, and told */
    assert_int_equal(fates.count, 7);
    assert_false(exists(support_path("box/to-deep")));
    assert_holds(support_path("box/to-a"), "a", 1);
    assert_holds(support_path("box/new\nline/b c"), "bc", 2);
    assert_int_equal(stat(support_path("box/a"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0755);
    assert_true(exists(support_path("box/empty")));
    assert_int_equal(symlink("/etc", support_path("box/etc")), 0);
    fates.count = 0;
    item.local_path = to;
    assert_int_equal(move(false, &item, 1, true, &fates, NULL), 0);
    assert_int_equal(fates.count, 6);
    assert_holds(support_path("to/deep/er/d"), "d", 1);
    assert_holds(support_path("to/deep-er"), "other", 5);
    assert_true(exists(support_path("to/empty")));
    assert_false(exists(support_path("to/etc")));
}

/* Who made the folder does not choose what else of this machine a sandbox gets. */
static void test_links_out_of_the_source(void **state)
{
    AUTO_FREE char *from = strdup(support_path("from"));
    AUTO_FREE char *box = strdup(support_path("box"));
    struct sandlot_transfer_item item = item_of(box, from);
    struct fates fates = {0};

    (void)state;
    support_write("key", "secret");
    support_write("from/deep/a", "a");
    assert_int_equal(symlink("../a", support_path("from/deep/link")), 0);
    assert_int_equal(symlink("deep/a", support_path("from/a")), 0);
    assert_int_equal(symlink("../key", support_path("from/up")), 0);
    assert_int_equal(symlink(support_path("key"), support_path("from/absolute")), 0);
    assert_int_equal(symlink("/proc/self/environ", support_path("from/environment")), 0);
    assert_int_equal(move(true, &item, 1, true, &fates, NULL), -1);
    assert_int_equal(fates.count, 6);
    assert_holds(support_path("box/deep/link"), "a", 1);
    assert_false(exists(support_path("box/up")));
    assert_false(exists(support_path("box/absolute")));
    assert_false(exists(support_path("box/environment")));
}

/* A link that lies in the target folder already must not carry the files of a sandbox somewhere else. */
static void test_links_in_the_target(void **state)
{
    AUTO_FREE char *box = strdup(support_path("box"));
    AUTO_FREE char *to = strdup(support_path("to"));
    struct sandlot_transfer_item item = item_of(box, to);
    struct fates fates = {0};

    (void)state;
    support_write("box/folder/file", "evil");
    support_write("outside/other", "");
    assert_int_equal(mkdir(to, 0755), 0);
    assert_int_equal(symlink(support_path("outside"), support_path("to/folder")), 0);
    assert_int_equal(move(false, &item, 1, true, &fates, NULL), -1);
    assert_int_equal(fates.count, 1);
    assert_int_equal(fates.code[0], SANDLOT_CODE_INVALID_PATH);
    assert_false(exists(support_path("outside/file")));
}

static void test_relative_paths(void **state)
{
    (void)state;
    assert_string_equal(transfer_tree_relative("/a/b", "/a"), "b");
    assert_string_equal(transfer_tree_relative("/a/b", "/a/"), "b");
    assert_string_equal(transfer_tree_relative("/b", "/"), "b");
    assert_null(transfer_tree_relative("/ab", "/a"));
    assert_null(transfer_tree_relative("/a/", "/a"));
}

static void test_changing_file(void **state)
{
    AUTO_FREE char *bytes = make_bytes(9 << 20);
    AUTO_FREE char *box = strdup(support_write_bytes("box", bytes, 9 << 20));
    AUTO_FREE char *going_on = strdup(support_write("going_on", ""));
    AUTO_FREE char *command = text_format("while [ -e %s ]; do printf x >>%s; sleep 0.02; done", going_on, box);
    FILE *writer;
    struct sandlot_transfer_item item = item_of(box, support_path("to"));
    struct sandlot_error error = {0};

    (void)state;
    provider.table.flags = 0; /* one chunk at a time */
    writer = popen(command, "r");
    assert_non_null(writer);
    int failed = move(false, &item, 1, false, NULL, &error);

    provider.table.flags = SANDLOT_STREAMS_OUTPUT;
    assert_int_equal(unlink(going_on), 0);
    assert_int_equal(pclose(writer), 0);
    assert_int_equal(failed, -1);
    assert_contains(error.message, "changed while");
    assert_false(exists(support_path("to")));
    sandlot_error_clear(&error);
}

static void test_descriptors(void **state)
{
    AUTO_FREE char *local = strdup(support_write("from", "skip this, keep this"));
    AUTO_CLOSE int up = open(local, O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int down = open(support_path("to"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct sandlot_transfer_item item = item_of(support_path("box"), NULL);

    (void)state;
    assert_int_equal(lseek(up, 11, SEEK_SET), 11);
    item.fd = up;
    assert_int_equal(move(true, &item, 1, false, NULL, NULL), 0);
    assert_holds(support_path("box"), "keep this", 9);
    item.fd = down;
    assert_int_equal(move(false, &item, 1, false, NULL, NULL), 0);
    assert_holds(support_path("to"), "keep this", 9);
}

static void test_cancelled(void **state)
{
    struct sandlot_cancellation *cancellation = sandlot_cancellation_new();
    struct sandlot_transfer_item item = item_of(support_path("box"), support_write("from", "x"));
    struct sandlot_transfer_request request = {
        .size = sizeof(request), .items = &item, .count = 1, .cancellation = cancellation};
    struct sandlot_error error = {0};

    (void)state;
    sandlot_cancel(cancellation);
    assert_int_equal(sandlot_upload(&session, &request, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
    sandlot_error_clear(&error);
    sandlot_cancellation_free(cancellation);
    assert_false(exists(support_path("box")));
}

/* ---- a vendor with a transfer of its own, whose batches fail as a whole ---- */

static unsigned int vendor_batches;

static enum sandlot_status vendor_upload(struct sandlot_call *call, void *instance, void *sandbox,
                                         const struct sandlot_file *files, size_t count,
                                         const struct sandlot_transfer *transfer)
{
    char bytes[256];
    size_t length;

    (void)instance, (void)sandbox;
    vendor_batches++;
    assert_int_equal(files[0].source->read(files[0].source, bytes, sizeof(bytes), &length), SANDLOT_OK);
    if (count > 1)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "one of them is bad");
    if (strstr(files[0].path, "secret")) {
        transfer->done(transfer, 0, "permission_denied", 0);
        return SANDLOT_OK;
    }
    support_write_bytes(files[0].path + strlen(support_folder) + 1, bytes, length);
    transfer->done(transfer, 0, NULL, length);
    return SANDLOT_OK;
}

static enum sandlot_status vendor_download(struct sandlot_call *call, void *instance, void *sandbox,
                                           const struct sandlot_file *files, size_t count,
                                           const struct sandlot_transfer *transfer)
{
    (void)call, (void)instance, (void)sandbox;
    for (size_t i = count; i-- > 0;) {
        size_t length = strlen(files[i].path);
        enum sandlot_status status = files[i].sink->write(files[i].sink, files[i].path, length);

        assert_int_equal(status, SANDLOT_OK);
        transfer->done(transfer, i, i == 1 ? "the moon is full" : NULL, length + (i == 2));
    }
    return SANDLOT_OK;
}

static void test_vendor(void **state)
{
    AUTO_FREE char *local = strdup(support_write("from", "text"));
    AUTO_FREE char *first = strdup(support_path("box-first"));
    AUTO_FREE char *secret = strdup(support_path("box-secret"));
    AUTO_FREE char *third = strdup(support_path("box-third"));
    struct sandlot_transfer_item items[] = {item_of(first, local), item_of(secret, local), item_of(third, local)};
    char *to[] = {strdup(support_path("to0")), strdup(support_path("to1")), strdup(support_path("to2"))};
    struct fates fates = {0};

    (void)state;
    provider.table.upload = vendor_upload;
    vendor_batches = 0;
    assert_int_equal(move(true, items, 3, false, &fates, NULL), -1);
    provider.table.upload = NULL;
    assert_int_equal(vendor_batches, 4);
    assert_int_equal(fates.code[0], SANDLOT_CODE_OK);
    assert_int_equal(fates.code[1], SANDLOT_CODE_PERMISSION_DENIED);
    assert_int_equal(fates.code[2], SANDLOT_CODE_OK);
    assert_holds(first, "text", 4);
    assert_holds(third, "text", 4);
    for (size_t i = 0; i < 3; i++)
        items[i].local_path = to[i];
    fates.count = 0;
    provider.table.download = vendor_download;
    assert_int_equal(move(false, items, 3, false, &fates, NULL), -1);
    provider.table.download = NULL;
    assert_int_equal(fates.code[0], SANDLOT_CODE_OK);
    assert_int_equal(fates.code[1], SANDLOT_CODE_PROVIDER_ERROR);
    assert_int_equal(fates.code[2], SANDLOT_CODE_TRUNCATED_TRANSPORT);
    assert_holds(to[0], first, strlen(first));
    assert_false(exists(to[1]));
    assert_false(exists(to[2]));
    assert_int_equal(count_temporary("."), 0);
    for (size_t i = 0; i < 3; i++)
        free(to[i]);
}

static enum sandlot_status vendor_takes_all(struct sandlot_call *call, void *instance, void *sandbox,
                                            const struct sandlot_file *files, size_t count,
                                            const struct sandlot_transfer *transfer)
{
    (void)call, (void)instance, (void)sandbox;
    vendor_batches++;
    for (size_t i = 0; i < count; i++)
        transfer->done(transfer, i, NULL, files[i].length);
    return SANDLOT_OK;
}

/* A service asks for some requests for each batch, so a thousand files are one. */
static void test_thousand_at_once(void **state)
{
    enum { THOUSAND = 1000 };
    AUTO_FREE char *local = strdup(support_write("from", ""));
    AUTO_FREE struct sandlot_transfer_item *items = calloc(THOUSAND, sizeof(*items));

    (void)state;
    for (size_t i = 0; i < THOUSAND; i++)
        items[i] = item_of(text_format("/box/%zu", i), local);
    provider.table.upload = vendor_takes_all;
    vendor_batches = 0;
    assert_int_equal(move(true, items, THOUSAND, false, NULL, NULL), 0);
    provider.table.upload = NULL;
    assert_int_equal(vendor_batches, 1);
    for (size_t i = 0; i < THOUSAND; i++)
        free((char *)(uintptr_t)items[i].path);
}

/* ---- no more than was allowed ---- */

/* Downloads ITEMS, to be at most MAX_BYTES. */
static int move_bounded(const struct sandlot_transfer_item *items, size_t count, uint64_t max_bytes,
                        struct fates *fates)
{
    const struct sandlot_transfer_request request = {.size = sizeof(request),
                                                     .items = items,
                                                     .count = count,
                                                     .done = note_fate,
                                                     .context = fates,
                                                     .max_bytes = max_bytes};

    fates->count = 0;
    return sandlot_download(&session, &request, NULL);
}

static void test_bound(void **state)
{
    AUTO_FREE char *bytes = make_bytes(300000);
    AUTO_FREE char *large = strdup(support_write_bytes("large", bytes, 300000));
    AUTO_FREE char *small = strdup(support_write_bytes("small", bytes, 1000));
    AUTO_FREE char *first = strdup(support_path("to/first"));
    AUTO_FREE char *second = strdup(support_path("to/second"));
    struct sandlot_transfer_item items[] = {item_of(small, first), item_of(large, second), item_of(small, second)};
    struct fates fates = {0};

    (void)state;
    assert_int_equal(path_make_folders(support_path("to"), 0755), 0);
    assert_int_equal(move_bounded(items, 3, 2000, &fates), -1);
    assert_int_equal(fates.code[0], SANDLOT_CODE_OK);
    assert_int_equal(fates.code[1], SANDLOT_CODE_TOO_LARGE);
    assert_int_equal(fates.code[2], SANDLOT_CODE_OK);
    assert_holds(second, bytes, 1000);
    assert_int_equal(move_bounded(items, 3, 1999, &fates), -1);
    assert_int_equal(fates.code[2], SANDLOT_CODE_TOO_LARGE);
    assert_holds(second, bytes, 1000);
    assert_int_equal(count_temporary("to"), 0);
    /* What comes a second time because it was damaged counts once. */
    channel.every = 2;
    channel.how = CUT;
    channel.cut_after = 200000;
    assert_int_equal(move_bounded(items, 2, 301000, &fates), 0);
    assert_holds(second, bytes, 300000);
}

/* A file that says that it has no bytes. */
static void test_bound_and_a_lie(void **state)
{
    struct sandlot_transfer_item item = item_of("/proc/version", support_path("to"));
    struct fates fates = {0};

    (void)state;
    assert_int_equal(move_bounded(&item, 1, 10, &fates), -1);
    assert_int_equal(fates.code[0], SANDLOT_CODE_TOO_LARGE);
    assert_false(exists(support_path("to")));
    assert_int_equal(count_temporary("."), 0);
}

/* Sends the text of each path in pieces; that of one that is "endless" again and again, until it is told to stop. */
static enum sandlot_status endless_download(struct sandlot_call *call, void *instance, void *sandbox,
                                            const struct sandlot_file *files, size_t count,
                                            const struct sandlot_transfer *transfer)
{
    (void)call, (void)instance, (void)sandbox;
    vendor_batches++;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(files[i].path);
        int times = strstr(files[i].path, "endless") ? 1000 : 1;

        for (int time = 0; time < times; time++) {
            enum sandlot_status status = files[i].sink->write(files[i].sink, files[i].path, length);

            if (status != SANDLOT_OK)
                return status;
        }
        transfer->done(transfer, i, NULL, length);
    }
    return SANDLOT_OK;
}

/* COUNT files in one batch, two of which never end. */
static void vendor_bound(size_t count)
{
    struct sandlot_transfer_item items[128] = {0};
    struct fates fates = {0};
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *path = text_format("/box/%s%zu", i == 1 || i == count - 2 ? "endless" : "file", i);
        AUTO_FREE char *name = text_format("to/%zu", i);

        items[i] = item_of(strdup(path), strdup(support_path(name)));
        bytes += strstr(path, "endless") ? 0 : strlen(path);
    }
    provider.table.download = endless_download;
    vendor_batches = 0;
    assert_int_equal(move_bounded(items, count, bytes, &fates), -1);
    provider.table.download = NULL;
    assert_in_range(vendor_batches, 1, 3);
    assert_int_equal(fates.count, count);
    for (size_t i = 0; i < count; i++) {
        bool endless = strstr(items[i].path, "endless");

        assert_int_equal(fates.code[i], endless ? SANDLOT_CODE_TOO_LARGE : SANDLOT_CODE_OK);
        assert_int_equal(exists(items[i].local_path), !endless);
        if (!endless)
            assert_holds(items[i].local_path, items[i].path, strlen(items[i].path));
        free((char *)(uintptr_t)items[i].path);
        free((char *)(uintptr_t)items[i].local_path);
    }
    assert_int_equal(count_temporary("to"), 0);
}

static void test_bound_of_a_vendor(void **state)
{
    (void)state;
    assert_int_equal(path_make_folders(support_path("to"), 0755), 0);
    vendor_bound(5);
    vendor_bound(100); /* more than are open at once */
}

static void test_bound_of_an_upload(void **state)
{
    struct sandlot_transfer_item item = item_of(support_path("box"), support_write("from", "x"));
    const struct sandlot_transfer_request request = {
        .size = sizeof(request), .items = &item, .count = 1, .max_bytes = 1};
    struct sandlot_error error = {0};

    (void)state;
    assert_int_equal(sandlot_upload(&session, &request, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    sandlot_error_clear(&error);
}

/* ---- holes ---- */

enum { HOLE = 1 << 20, AROUND = 5000, WITH_HOLES = 2 * HOLE + 3 * AROUND };

/* Data, a hole, data, a hole that is all zeros but for its last bytes, and zeros. */
static char *make_holes(void)
{
    char *bytes = calloc(1, WITH_HOLES);

    assert_non_null(bytes);
    memset(bytes, 'a', AROUND);
    memset(bytes + AROUND + HOLE, 'b', AROUND);
    bytes[2 * AROUND + 2 * HOLE - 1] = 'c';
    return bytes;
}

static void assert_has_holes(const char *path, const char *bytes)
{
    struct stat status;

    assert_holds(path, bytes, WITH_HOLES);
    assert_int_equal(stat(path, &status), 0);
    assert_in_range(status.st_blocks, 1, 256);
}

static enum sandlot_status holes_download(struct sandlot_call *call, void *instance, void *sandbox,
                                          const struct sandlot_file *files, size_t count,
                                          const struct sandlot_transfer *transfer)
{
    AUTO_FREE char *bytes = make_holes();

    (void)call, (void)instance, (void)sandbox;
    for (size_t i = 0; i < count; i++) {
        const size_t piece = i ? 65536 : 1001;

        for (size_t at = 0; at < WITH_HOLES; at += piece)
            assert_int_equal(
                files[i].sink->write(files[i].sink, bytes + at, at + piece < WITH_HOLES ? piece : WITH_HOLES - at),
                SANDLOT_OK);
        transfer->done(transfer, i, NULL, WITH_HOLES);
    }
    return SANDLOT_OK;
}

static void test_holes(void **state)
{
    AUTO_FREE char *bytes = make_holes();
    AUTO_FREE char *box = strdup(support_write_bytes("box", bytes, WITH_HOLES));
    AUTO_FREE char *first = strdup(support_path("first"));
    AUTO_FREE char *second = strdup(support_path("second"));
    struct sandlot_transfer_item items[] = {item_of(box, first), item_of(box, second)};

    (void)state;
    assert_int_equal(move(false, items, 1, false, NULL, NULL), 0);
    assert_has_holes(first, bytes);
    channel = (struct channel){.every = 2, .how = CUT, .cut_after = 300000};
    assert_int_equal(move(false, items + 1, 1, false, NULL, NULL), 0);
    assert_has_holes(second, bytes);
    assert_int_equal(unlink(first) | unlink(second), 0);
    provider.table.download = holes_download;
    assert_int_equal(move(false, items, 2, false, NULL, NULL), 0);
    provider.table.download = NULL;
    assert_has_holes(first, bytes);
    assert_has_holes(second, bytes);
}

/* Where something is overwritten, and where all goes to the end, zeros are written as they are. */
static void test_no_holes(void **state)
{
    static const char zeros[8192];
    AUTO_FREE char *bytes = make_bytes(20000);
    AUTO_FREE char *box = strdup(support_write_bytes("box", zeros, sizeof(zeros)));
    AUTO_FREE char *to = strdup(support_write_bytes("to", bytes, 20000));
    AUTO_CLOSE int over = open(to, O_RDWR | O_CLOEXEC);
    AUTO_CLOSE int behind = open(to, O_WRONLY | O_APPEND | O_CLOEXEC);
    AUTO_FREE char *expected = calloc(1, 20000 + sizeof(zeros));
    struct sandlot_transfer_item item = item_of(box, NULL);

    (void)state;
    memcpy(expected, bytes, 20000);
    memset(expected + 4096, 0, sizeof(zeros));
    assert_int_equal(lseek(over, 4096, SEEK_SET), 4096);
    item.fd = over;
    assert_int_equal(move(false, &item, 1, false, NULL, NULL), 0);
    assert_holds(to, expected, 20000);
    item.fd = behind;
    assert_int_equal(move(false, &item, 1, false, NULL, NULL), 0);
    assert_holds(to, expected, 20000 + sizeof(zeros));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_cksum),
        TEST(test_sizes),
        TEST(test_one_command_each),
        TEST(test_refused_calls),
        TEST(test_lost_answers),
        TEST(test_cut_answers),
        TEST(test_damaged_answers),
        TEST(test_input_breaks_off),
        TEST(test_never_works),
        TEST(test_pipe_as_source),
        TEST(test_fates_in_order),
        TEST(test_many_small_files),
        TEST(test_many_small_files_badly),
        TEST(test_download_problems),
        TEST(test_modes),
        TEST(test_folders),
        TEST(test_links_out_of_the_source),
        TEST(test_links_in_the_target),
        TEST(test_relative_paths),
        TEST(test_changing_file),
        TEST(test_descriptors),
        TEST(test_cancelled),
        TEST(test_vendor),
        TEST(test_thousand_at_once),
        TEST(test_bound),
        TEST(test_bound_and_a_lie),
        TEST(test_bound_of_a_vendor),
        TEST(test_bound_of_an_upload),
        TEST(test_holes),
        TEST(test_no_holes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
