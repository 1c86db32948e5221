#include "download.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { LOOK_MS = 50, BLOCK = 512 };

static uint64_t size_of(const char *path)
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    uint64_t size = 0;

    for (FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_F)
            size += (uint64_t)entry->fts_statp->st_blocks * BLOCK;
    if (tree)
        fts_close(tree);
    return size;
}

/* Removes what is below PATH, and with ITSELF that too. */
static void remove_tree(const char *path, bool itself)
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

    for (FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_DP && (itself || entry->fts_level > 0))
            rmdir(entry->fts_accpath);
        else if (entry->fts_info != FTS_DP && entry->fts_info != FTS_D)
            unlink(entry->fts_accpath);
    if (tree)
        fts_close(tree);
}

static void raise_event(int fd)
{
    const uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0)
        return; /* it is raised already */
}

static void *watch(void *context)
{
    struct download *download = context;
    struct sandlot_call *call = download->attempt.outer;
    struct pollfd end = {download->end_fd, POLLIN, 0};

    while (poll(&end, 1, LOOK_MS) <= 0) {
        const uint64_t size = size_of(download->path);

        call->host->progress(call, "fetching image", size, 0);
        if (size <= download->limit)
            continue;
        download->exceeded = true;
        raise_event(download->too_much_fd);
        break;
    }
    return NULL;
}

/* A folder of its own below downloads/, which stays locked meanwhile. */
static int make_folder(struct download *download, int state_fd)
{
    char link[64];
    char folder[PATH_MAX];

    if (mkdirat(state_fd, "downloads", 0700) < 0 && errno != EEXIST)
        return -1;
    download->folders_fd = openat(state_fd, "downloads", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (download->folders_fd < 0)
        return -1;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", download->folders_fd);
    const ssize_t length = readlink(link, folder, sizeof(folder) - 1);

    if (length < 0)
        return -1;
    folder[length] = '\0';
    /* Whoever has it alone may remove what was left by those who were killed. */
    if (flock(download->folders_fd, LOCK_EX | LOCK_NB) == 0)
        remove_tree(folder, false);
    if (flock(download->folders_fd, LOCK_SH) < 0)
        return -1;
    if (asprintf(&download->path, "%s/XXXXXX", folder) < 0)
        download->path = NULL;
    if (download->path && mkdtemp(download->path))
        return 0;
    free(download->path);
    download->path = NULL;
    return -1;
}

static int start_watching(struct download *download)
{
    const int events[] = {download->too_much_fd, download->attempt.outer->cancel_fd};
    struct epoll_event event = {.events = EPOLLIN};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (events[i] >= 0 && epoll_ctl(download->cancel_fd, EPOLL_CTL_ADD, events[i], &event) < 0 && errno != EEXIST)
            return -1;
    download->attempt.call.cancel_fd = download->cancel_fd;
    const int failed = pthread_create(&download->watcher, NULL, watch, download);

    download->watched = failed == 0;
    errno = failed;
    return failed ? -1 : 0;
}

enum sandlot_status download_begin(struct client *client, struct sandlot_call *call, uint64_t limit,
                                   struct download *download)
{
    enum sandlot_status status = SANDLOT_OK;

    memset(download, 0, sizeof(*download));
    download->limit = limit;
    download->folders_fd = -1;
    download->too_much_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    download->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    download->cancel_fd = epoll_create1(EPOLL_CLOEXEC);
    attempt_begin(&download->attempt, call, 0);
    const int state_fd = client_state(client, call, &status);

    if (state_fd < 0)
        return status;
    if (download->too_much_fd >= 0 && download->end_fd >= 0 && download->cancel_fd >= 0 &&
        make_folder(download, state_fd) == 0 && start_watching(download) == 0)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_EXHAUSTED,
                        "image: no folder for it can be made in %.600s: %s; make sure that it has space and may be "
                        "written to",
                        client->state_path, strerror(errno));
}

void download_stop(struct download *download)
{
    if (!download->watched)
        return;
    raise_event(download->end_fd);
    pthread_join(download->watcher, NULL);
    download->watched = false;
}

void download_end(struct download *download)
{
    const int fds[] = {download->folders_fd, download->too_much_fd, download->end_fd, download->cancel_fd};

    download_stop(download);
    if (download->path)
        remove_tree(download->path, true);
    free(download->path);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
}
