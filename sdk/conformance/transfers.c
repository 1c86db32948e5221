#include "transfers.h"

#include "cleanup.h"
#include "stop.h"
#include "tap.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const char advice[] = "Move exact bytes: no text mode, no line ends, and replace a file as a whole.";

/* Piece by piece, in a command each, eight times as much would tell no more and take a while. */
enum { LARGE = 8 << 20, LARGE_IN_PIECES = 1 << 20, MANY = 100, PIPED = 50000 };

/* What became of the files of one call. */
struct fates {
    char text[1024]; /* the code of each, "ok", with "," between */
    uint64_t bytes;
};

static void on_done(void *context, size_t index, const char *path, const struct sandlot_error *problem, uint64_t bytes)
{
    struct fates *fates = context;
    size_t used = strlen(fates->text);

    (void)index;
    (void)path;
    fates->bytes += bytes;
    snprintf(fates->text + used, sizeof(fates->text) - used, "%s%s", used ? "," : "",
             problem ? sandlot_code_name(problem->code) : "ok");
}

typedef int (*transfer_function)(struct sandlot_session *session, const struct sandlot_transfer_request *request,
                                 struct sandlot_error *error);

static struct fates move(struct sandlot_session *session, transfer_function transfer,
                         const struct sandlot_transfer_item *items, size_t count)
{
    struct fates fates = {.bytes = 0};
    struct sandlot_error error = {0};
    struct sandlot_transfer_request request = {.size = sizeof(request),
                                               .cancellation = stop_cancellation(),
                                               .items = items,
                                               .count = count,
                                               .done = on_done,
                                               .context = &fates};

    if (transfer(session, &request, &error) != 0 && !*fates.text)
        snprintf(fates.text, sizeof(fates.text), "%.900s", error_shown(&error));
    sandlot_error_clear(&error);
    return fates;
}

/* SIZE bytes of every value in an order that has no short period. To be closed. */
static int made_up(size_t size)
{
    int fd = memfd_create("upload", MFD_CLOEXEC);
    unsigned char block[4096];
    uint32_t state = (uint32_t)size + 1;

    for (size_t done = 0; fd >= 0 && done < size;) {
        size_t length = size - done < sizeof(block) ? size - done : sizeof(block);

        for (size_t i = 0; i < length; i++) {
            state = state * 1664525 + 1013904223;
            block[i] = (unsigned char)(state >> 24);
        }
        ssize_t written = write(fd, block, length);

        if (written <= 0)
            break;
        done += (size_t)written;
        state = (uint32_t)done + 1; /* the same whatever was written at once */
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static bool same(int one, int two)
{
    unsigned char a[4096];
    unsigned char b[4096];
    off_t at = 0;

    for (;;) {
        ssize_t length = pread(one, a, sizeof(a), at);

        if (length != pread(two, b, sizeof(b), at) || length < 0)
            return false;
        if (length == 0)
            return true;
        if (memcmp(a, b, (size_t)length) != 0)
            return false;
        at += length;
    }
}

static void check_size(struct sandlot_session *session, const char *path, size_t size, bool is_large)
{
    AUTO_CLOSE int sent = made_up(size);
    AUTO_CLOSE int received = memfd_create("download", MFD_CLOEXEC);
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = path, .fd = sent};
    double begin = milliseconds();
    struct fates up = move(session, sandlot_upload, &item, 1);
    double between = milliseconds();

    tap_check(strcmp(up.text, "ok") == 0 && up.bytes == size, say("upload: %zu bytes", size),
              say("ok, %zu bytes", size), say("%s, %llu bytes", up.text, (unsigned long long)up.bytes), advice);
    item.fd = received;
    struct fates down = move(session, sandlot_download, &item, 1);

    tap_check(
        strcmp(down.text, "ok") == 0 && down.bytes == size && same(sent, received), say("download: %zu bytes", size),
        say("ok, the %zu bytes that were sent", size),
        say("%s, %llu bytes%s", down.text, (unsigned long long)down.bytes, same(sent, received) ? "" : ", other ones"),
        advice);
    if (is_large) {
        tap_figure(say("upload of %zu MiB", size >> 20), between - begin, "ms");
        tap_figure(say("download of %zu MiB", size >> 20), milliseconds() - between, "ms");
    }
}

static void expect_fates(const char *name, const struct fates *fates, const char *expected)
{
    tap_check(strcmp(fates->text, expected) == 0, name, expected, fates->text,
              "Tell each file's own fate by transfer->done, and go on with the others.");
}

/* An absolute path of NAME; lives as say's. */
static const char *in_sandbox(struct sandlot_session *session, const char *name)
{
    const char *folder = sandlot_session_working_dir(session);

    return say("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
}

static void check_fates(struct sandlot_session *session)
{
    AUTO_CLOSE int first = made_up(3);
    AUTO_CLOSE int second = made_up(5);
    AUTO_CLOSE int received = memfd_create("download", MFD_CLOEXEC);
    struct sandlot_transfer_item items[3] = {
        {.size = sizeof(items[0]), .path = in_sandbox(session, "t/deep/er/one"), .fd = first},
        {.size = sizeof(items[0]), .path = "relative", .fd = first},
        {.size = sizeof(items[0]), .path = in_sandbox(session, "t/gr\303\274\303\237e und 'so' \"x\""), .fd = second}};
    struct fates fates = move(session, sandlot_upload, items, 3);

    expect_fates("upload: one bad among good", &fates, "ok,invalid_path,ok");
    items[0].fd = items[2].fd = received;
    items[1] = (struct sandlot_transfer_item){
        .size = sizeof(items[0]), .path = in_sandbox(session, "t/missing"), .fd = received};
    fates = move(session, sandlot_download, items, 3);
    expect_fates("download: one missing among good", &fates, "ok,file_not_found,ok");
    items[0].path = in_sandbox(session, "t/deep");
    fates = move(session, sandlot_download, items, 1);
    expect_fates("download: a directory", &fates, "is_directory");
    items[0].fd = first;
    fates = move(session, sandlot_upload, items, 1);
    expect_fates("upload: onto a directory", &fates, "is_directory");
    lseek(first, 0, SEEK_SET);
    items[0].path = in_sandbox(session, "t/deep/er/one/below");
    fates = move(session, sandlot_upload, items, 1);
    tap_check(strcmp(fates.text, "ok") != 0, "upload: below a file", "an error", fates.text,
              "Tell a file that was not written by transfer->done.");
}

/* Fewer bytes in the place of more. */
static void check_replaced(struct sandlot_session *session)
{
    AUTO_CLOSE int more = made_up(70000);
    AUTO_CLOSE int fewer = made_up(7);
    AUTO_CLOSE int received = memfd_create("download", MFD_CLOEXEC);
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = in_sandbox(session, "t/replaced"), .fd = more};
    struct fates fates = move(session, sandlot_upload, &item, 1);

    item.fd = fewer;
    if (strcmp(fates.text, "ok") == 0)
        fates = move(session, sandlot_upload, &item, 1);
    item.fd = received;
    if (strcmp(fates.text, "ok") == 0)
        fates = move(session, sandlot_download, &item, 1);
    tap_check(strcmp(fates.text, "ok") == 0 && same(fewer, received), "upload: over a longer file",
              "the 7 bytes that were sent", say("%s, %llu bytes", fates.text, (unsigned long long)fates.bytes), advice);
}

/* What is sent has no length that is known before. */
static void check_piped(struct sandlot_session *session)
{
    AUTO_CLOSE int sent = made_up(PIPED);
    AUTO_CLOSE int received = memfd_create("download", MFD_CLOEXEC);
    char bytes[PIPED];
    int pipe[2];

    if (pread(sent, bytes, sizeof(bytes), 0) != PIPED || pipe2(pipe, O_CLOEXEC) < 0)
        return;
    bool written = write(pipe[1], bytes, sizeof(bytes)) == PIPED; /* fewer than a pipe holds */

    close(pipe[1]);
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = in_sandbox(session, "t/piped"), .fd = pipe[0]};
    struct fates fates = move(session, sandlot_upload, &item, 1);

    close(pipe[0]);
    item.fd = received;
    if (strcmp(fates.text, "ok") == 0)
        fates = move(session, sandlot_download, &item, 1);
    tap_check(written && strcmp(fates.text, "ok") == 0 && same(sent, received), "upload: from a pipe",
              say("the %d bytes that were sent", PIPED),
              say("%s, %llu bytes", fates.text, (unsigned long long)fates.bytes),
              "A length of UINT64_MAX is one that nobody knows yet: read to the end.");
}

static void check_many(struct sandlot_session *session)
{
    char paths[MANY][512];
    int received[MANY];
    struct sandlot_transfer_item items[MANY];
    size_t right = 0;

    for (int i = 0; i < MANY; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%.480s/%d", in_sandbox(session, "t/many"), i);
        received[i] = made_up((size_t)i);
        items[i] = (struct sandlot_transfer_item){.size = sizeof(items[i]), .path = paths[i], .fd = received[i]};
    }
    struct fates fates = move(session, sandlot_upload, items, MANY);

    for (int i = 0; i < MANY; i++)
        items[i].fd = memfd_create("download", MFD_CLOEXEC);
    struct fates back = move(session, sandlot_download, items, MANY);

    for (int i = 0; i < MANY; i++) {
        right += same(received[i], items[i].fd);
        close(received[i]);
        close(items[i].fd);
    }
    tap_check(right == MANY && fates.bytes == back.bytes, say("%d files at once, and back", MANY),
              "all with their own bytes", say("%zu; up: %.60s, down: %.60s", right, fates.text, back.text), advice);
}

static void check_modes(struct sandlot_session *session)
{
    AUTO_CLOSE int content = made_up(9);
    struct sandlot_transfer_item item = {
        .size = sizeof(item), .path = in_sandbox(session, "t/script"), .fd = content, .mode = 0755};
    struct fates fates = move(session, sandlot_upload, &item, 1);

    expect_fates("upload: with a mode", &fates, "ok");
    live_expect(session, "upload: the new file has it", "ls -l t/script | cut -c 1-10", 0, "-rwxr-xr-x\n", advice);
    live_expect(session, "upload: a file with mode 750", "printf old >t/kept && chmod 750 t/kept", 0, "", advice);
    item.path = in_sandbox(session, "t/kept");
    item.mode = 0;
    lseek(content, 0, SEEK_SET);
    fates = move(session, sandlot_upload, &item, 1);
    expect_fates("upload: over it", &fates, "ok");
    live_expect(session, "upload: it keeps its mode", "ls -l t/kept | cut -c 1-10; wc -c <t/kept | tr -d ' '", 0,
                "-rwxr-x---\n9\n", advice);
}

/* Can commands be fed? Then the host uploads through one. */
static bool takes_input(struct sandlot_session *session)
{
    AUTO_CLOSE int input = made_up(1);
    struct sandlot_execution execution = {.size = sizeof(execution),
                                          .command = "cat >t-input",
                                          .timeout_ms = COMMAND_MS,
                                          .has_input = true,
                                          .input_fd = input};
    struct outcome outcome = live_execute(session, &execution);
    bool takes = outcome.ran;

    outcome_clear(&outcome);
    return takes;
}

void transfers_check(const struct kit *kit, struct sandlot_session *session)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537};
    bool is_quick = kit_has(kit, "files") || kit_has(kit, "upload") || takes_input(session);
    size_t large = is_quick ? LARGE : LARGE_IN_PIECES;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check_size(session, in_sandbox(session, say("t/size-%zu", sizes[i])), sizes[i], false);
    check_size(session, in_sandbox(session, "t/large"), large, true);
    check_fates(session);
    check_replaced(session);
    check_piped(session);
    check_many(session);
    if (sandlot_session_can_execute(session))
        check_modes(session);
}
