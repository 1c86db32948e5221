/*
 * The folder of a background process, which its sandbox fills with what it likes, as it is read where the sandbox's
 * root is open. Each line is a file of the folder: NAME, a blank, what it holds, "|" standing for a line end.
 */
#include "base/cleanup.h"
#include "base/path.h"
#include "operations/process.h"

#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST = 64 * 1024, LONGEST_NAME = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/process-fuzz-XXXXXX";
static int folder_fd = -1; /* of process 1 */
static struct sandlot_session session;

static enum sandlot_status open_root(struct sandlot_call *call, void *provider, void *sandbox,
                                     struct sandlot_root *answer)
{
    (void)call;
    (void)provider;
    (void)sandbox;
    answer->fd = open(root, O_PATH | O_DIRECTORY);
    answer->uid = geteuid();
    answer->gid = getegid();
    return SANDLOT_OK;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_root(void)
{
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void begin(void)
{
    static struct registry_entry entry = {.name = (char *)"fuzz"};
    static struct provider provider = {.entry = &entry, .table = {.open_root = open_root}};

    if (!mkdtemp(root))
        abort();
    atexit(remove_root);
    int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (mkdirat(fd, "tmp", 0755) < 0 || mkdirat(fd, "tmp/" PROCESS_FOLDER, 0700) < 0 ||
        mkdirat(fd, "tmp/" PROCESS_FOLDER "/p1", 0700) < 0)
        abort();
    folder_fd = openat(fd, "tmp/" PROCESS_FOLDER "/p1", O_PATH | O_DIRECTORY | O_CLOEXEC);
    close(fd);
    session = (struct sandlot_session){.provider = &provider, .turn_fd = -1, .working_dir = (char *)"/"};
    session_roots_init(&session.roots);
}

/* Makes the file of one LINE, and puts its name into NAME; "" if it is none. */
static void make_file(const char *line, size_t length, char name[LONGEST_NAME])
{
    const char *blank = memchr(line, ' ', length);
    size_t name_length = blank ? (size_t)(blank - line) : 0;
    char content[LONGEST];
    size_t used = length - name_length;

    name[0] = '\0';
    if (!blank || name_length == 0 || name_length >= LONGEST_NAME || memchr(line, '/', name_length) ||
        memchr(line, '\0', name_length) || line[0] == '.')
        return;
    memcpy(name, line, name_length);
    name[name_length] = '\0';
    used--;
    for (size_t i = 0; i < used; i++)
        content[i] = blank[1 + i] == '|' ? '\n' : blank[1 + i];
    AUTO_CLOSE int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || path_write_all(fd, content, used) < 0)
        name[0] = '\0';
}

static bool see_process(void *context, struct sandlot_process *process)
{
    (void)context;
    if (!process->command || strcmp(process->id, "p1") != 0 || process->exit_code > 255 || process->exit_code < -1)
        abort();
    sandlot_process_clear(process);
    return true;
}

static bool see_output(void *context, uint64_t offset, const void *bytes, size_t length)
{
    uint64_t *seen = context;

    (void)bytes;
    if (offset < seen[1] || length == 0)
        abort(); /* the order of bytes */
    seen[0] += length;
    seen[1] = offset + length;
    return true;
}

static void look(const struct file_call *call, int64_t from)
{
    uint64_t seen[2] = {0, 0};
    const struct process_look wanted = {.number = 1,
                                        .id = "p1",
                                        .log = true,
                                        .from = from,
                                        .most = LONGEST,
                                        .with_command = true,
                                        .output = see_output,
                                        .context = seen};
    struct process_sight sight = {.process.size = sizeof(sight.process)};
    struct sandlot_error error = {0};

    if (native_processes.look(call, &wanted, &sight, &error) < 0 || seen[0] != sight.handed)
        abort();
    sandlot_process_clear(&sight.process);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct file_call call = {.session = &session,
                                   .verb = FILE_READ,
                                   .path = "/",
                                   .shown = "p1",
                                   .deadline_ms = sandlot_now_ms() + 60000,
                                   .cancel_fd = -1};
    char names[16][LONGEST_NAME];
    size_t count = 0;
    const char *at = (const char *)data;
    const char *end = at + (size < LONGEST ? size : LONGEST);

    if (folder_fd < 0)
        begin();
    while (at < end && count < 16) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        make_file(at, (size_t)((newline ? newline : end) - at), names[count++]);
        at = newline ? newline + 1 : end;
    }
    struct sandlot_error error = {0};

    if (native_processes.list(&call, see_process, NULL, &error) < 0)
        abort();
    look(&call, 0);
    look(&call, -5);
    for (size_t i = 0; i < count; i++)
        if (*names[i])
            unlinkat(folder_fd, names[i], 0);
    return 0;
}
