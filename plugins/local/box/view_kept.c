#include "view_kept.h"

#include "../protocol.h"
#include "processes.h"
#include "view_mounts.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static bool keep_folder(int kept, int folder, const char *name)
{
    AUTO_CLOSE int tree = view_clone_folder(folder, MOUNT_SYSTEM);

    if (tree < 0 || (mkdirat(kept, name, 0700) < 0 && errno != EEXIST))
        return false;
    AUTO_CLOSE int target = openat(kept, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return view_put(tree, target) == 0;
}

/* The mount at PATH, if nothing that the box could change leads there. */
static bool find_mount(const struct view *view, const char *path, uint64_t *id)
{
    AUTO_CLOSE int fd = view_open_straight(view, path);
    struct statx status;

    if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0 || !(status.stx_mask & STATX_MNT_ID))
        return false;
    *id = status.stx_mnt_id;
    return true;
}

/* Does something that the box is given lie in one of its own places, and so on the mount there? */
static bool is_covered(const struct box_request *request)
{
    for (size_t i = 0; i < request->mount_count; i++)
        for (size_t place = 0; place < KEPT_PLACES; place++)
            if (strncmp(request->mounts[i].path, kept_paths[place], strlen(kept_paths[place])) == 0)
                return true;
    return false;
}

int view_keep_storage(const struct view *view)
{
    const struct box_request *request = view->request;
    char name[KEPT_NAME_SIZE];

    if (request->settings->in_memory || request->settings->unpacks || is_covered(request))
        return -1;
    AUTO_CLOSE int target = view_make_place(view, "/proc", true);
    AUTO_CLOSE int kept = view_clone_folder(view->folders->storage, MOUNT_HARMLESS);

    if (view_put(kept, target) < 0 ||
        (view->folders->workspace >= 0 && !keep_folder(kept, view->folders->workspace, KEPT_SEED)))
        return -1;
    for (size_t i = 0; i < request->layer_count; i++) {
        kept_name(name, i);
        if (!keep_folder(kept, view->folders->layers[i], name))
            return -1;
    }
    return take_fd(&kept);
}

void view_send_storage(const struct view *view, int kept)
{
    AUTO_CLOSE int user = kept < 0 ? -1 : open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int mounted = kept < 0 ? -1 : open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    const int fds[KEPT_FDS] = {[KEPT_STORAGE] = kept, [KEPT_USER] = user, [KEPT_MOUNTS] = mounted};
    uint64_t mounts[KEPT_PLACES];
    bool found = user >= 0 && mounted >= 0;

    for (size_t i = 0; i < KEPT_PLACES && found; i++)
        found = find_mount(view, kept_paths[i], &mounts[i]);
    if (found)
        protocol_send(view->request->keeper_fd, MESSAGE_STORAGE, mounts, sizeof mounts, fds, KEPT_FDS,
                      processes_now_ms());
}
