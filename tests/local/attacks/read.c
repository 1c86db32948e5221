/* Reading what the host has. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define UP_TO_ROOT "../../../../../../../../../../../../../../../.."

static enum verdict read_bait(const char *path)
{
    return file_holds_marker(AT_FDCWD, path) ? through("read %s", path) : HELD;
}

static enum verdict home_absolute(const struct attack *attack)
{
    (void)attack;
    return read_bait(bait("HOME_FILE"));
}

static enum verdict home_upwards(const struct attack *attack)
{
    char path[2048];

    (void)attack;
    snprintf(path, sizeof(path), UP_TO_ROOT "%s", bait("HOME_FILE"));
    return read_bait(path);
}

static enum verdict home_by_link(const struct attack *attack)
{
    char target[2048];
    enum verdict verdict;

    (void)attack;
    snprintf(target, sizeof(target), UP_TO_ROOT "%s", bait("HOME_FILE"));
    if (symlink(bait("HOME_FILE"), "absolute-link") < 0 || symlink(target, "relative-link") < 0)
        return through("the attack needs a folder to make links in: %s", strerror(errno));
    verdict = read_bait("absolute-link");
    if (verdict == HELD)
        verdict = read_bait("relative-link");
    unlink("absolute-link");
    unlink("relative-link");
    return verdict;
}

/* Who opens what in a folder that is not to be read. */
static enum verdict home_events(const struct attack *attack)
{
    static const char *const keys[] = {"HOME", "HOME_FILE", "TMP_FILE"};
    int fd = inotify_init1(IN_CLOEXEC);
    enum verdict verdict = HELD;

    (void)attack;
    for (size_t i = 0; fd >= 0 && verdict == HELD && i < sizeof(keys) / sizeof(keys[0]); i++)
        if (inotify_add_watch(fd, bait(keys[i]), IN_ALL_EVENTS) >= 0)
            verdict = through("hears of what is done with %s", bait(keys[i]));
    if (fd >= 0)
        close(fd);
    return verdict;
}

/* Links that were in the seed folder before the box was made. */
static enum verdict seed_links(const struct attack *attack)
{
    (void)attack;
    if (read_bait("seed-link-absolute") == THROUGH || read_bait("seed-link-relative") == THROUGH)
        return THROUGH;
    return file_holds_marker(AT_FDCWD, "seed-link-folder/secret") ? through("read through a linked folder") : HELD;
}

static enum verdict home_by_hard_link(const struct attack *attack)
{
    (void)attack;
    if (link(bait("HOME_FILE"), "hard-link") < 0)
        return HELD;
    unlink("hard-link");
    return through("linked %s", bait("HOME_FILE"));
}

static enum verdict temporary_files(const struct attack *attack)
{
    static const char *const keys[] = {"TMP_FILE", "VAR_TMP_FILE", "SHM_FILE"};

    (void)attack;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (read_bait(bait(keys[i])) == THROUGH)
            return THROUGH;
    return HELD;
}

static enum verdict password_files(const struct attack *attack)
{
    static const char *const paths[] = {"/etc/shadow",  "/etc/gshadow", "/etc/shadow-",   "/etc/ssl/private",
                                        "/etc/sudoers", "/etc/ssh",     "/etc/machine-id"};
    char byte;

    (void)attack;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

        if (fd < 0)
            continue;
        bool there = read(fd, &byte, 1) == 1 || errno == EISDIR;

        close(fd);
        if (there)
            return through("opened %s", paths[i]);
    }
    return HELD;
}

static enum verdict host_folders(const struct attack *attack)
{
    static const char *const paths[] = {"/root", "/home", "/var",     "/run",   "/tmp", "/opt", "/srv",     "/mnt",
                                        "/boot", "/sys",  "/var/log", "/media", "/etc", "/dev", "/dev/shm", "/"};

    (void)attack;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (is_the_hosts(paths[i]))
            return through("%s is that of the host", paths[i]);
    return HELD;
}

static enum verdict seed_path(const struct attack *attack)
{
    (void)attack;
    return access(bait("SEED"), F_OK) == 0 ? through("%s is visible by its own path", bait("SEED")) : HELD;
}

static dev_t process_device;

static int look_at(const char *path, const struct stat *status, int kind, struct FTW *position)
{
    (void)position;
    if (status->st_dev == process_device || strcmp(path, "/usr") == 0 || strcmp(path, "/sys") == 0)
        return FTW_SKIP_SUBTREE;
    if (strstr(path, marker()) || (kind == FTW_F && S_ISREG(status->st_mode) && file_holds_marker(AT_FDCWD, path)))
        return (int)through("found %s", path) + FTW_SKIP_SIBLINGS;
    return FTW_CONTINUE;
}

/* Whatever way may have been forgotten: nothing that was planted is anywhere in the visible tree. */
static enum verdict whole_tree(const struct attack *attack)
{
    struct stat status;

    (void)attack;
    if (stat("/proc", &status) == 0)
        process_device = status.st_dev;
    return nftw("/", look_at, 64, FTW_PHYS | FTW_ACTIONRETVAL) > 0 ? THROUGH : HELD;
}

static enum verdict by_root_and_cwd(const char *process)
{
    const char *target = bait("HOME_FILE");
    char path[2048];

    snprintf(path, sizeof(path), "/proc/%s/root%s", process, target);
    if (read_bait(path) == THROUGH)
        return THROUGH;
    snprintf(path, sizeof(path), "/proc/%s/cwd/" UP_TO_ROOT "%s", process, target);
    if (read_bait(path) == THROUGH)
        return THROUGH;
    snprintf(path, sizeof(path), "/proc/%s/task/%s/root%s", process, process, target);
    return read_bait(path);
}

static enum verdict process_roots(const struct attack *attack)
{
    (void)attack;
    return each_process(by_root_and_cwd);
}

static enum verdict by_descriptors(const char *process)
{
    char path[64];
    char upwards[2048];
    enum verdict verdict = HELD;

    snprintf(path, sizeof(path), "/proc/%s/fd", process);
    snprintf(upwards, sizeof(upwards), UP_TO_ROOT "%s", bait("HOME_FILE"));
    DIR *folder = opendir(path);

    if (!folder)
        return HELD;
    for (const struct dirent *entry; verdict == HELD && (entry = readdir(folder));) {
        int fd = openat(dirfd(folder), entry->d_name, O_PATH | O_CLOEXEC);

        if (entry->d_name[0] != '.' && fd >= 0 && file_holds_marker(fd, upwards))
            verdict = through("read the host through %s/%s", path, entry->d_name);
        if (fd >= 0)
            close(fd);
    }
    closedir(folder);
    return verdict;
}

static enum verdict process_descriptors(const struct attack *attack)
{
    (void)attack;
    return each_process(by_descriptors);
}

static enum verdict by_texts(const char *process)
{
    static const char *const files[] = {"environ", "cmdline", "comm", "maps", "mountinfo"};
    char path[64];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%s/%s", process, files[i]);
        if (read_bait(path) == THROUGH)
            return THROUGH;
    }
    return HELD;
}

static enum verdict process_texts(const struct attack *attack)
{
    (void)attack;
    return each_process(by_texts);
}

static enum verdict own_environment(const struct attack *attack)
{
    static const char *const names[] = {"ANTHROPIC_API_KEY=", "AWS_SECRET_ACCESS_KEY=",    "GITHUB_TOKEN=",
                                        "SSH_AUTH_SOCK=",     "DBUS_SESSION_BUS_ADDRESS=", "DOCKER_HOST=",
                                        "XDG_RUNTIME_DIR=",   "SANDLOT_CONFIG=",           "XDG_STATE_HOME="};

    (void)attack;
    for (char **variable = environ; *variable; variable++) {
        if (holds_marker(*variable, strlen(*variable)))
            return through("the environment holds the secret of %.20s", *variable);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (strncmp(*variable, names[i], strlen(names[i])) == 0)
                return through("the environment has %s", *variable);
    }
    return HELD;
}

static enum verdict descriptors(const struct attack *attack)
{
    (void)attack;
    return inherited_descriptors() > 0 ? through("%d descriptors above 2 are open", inherited_descriptors()) : HELD;
}

/* The three that there are lead nowhere either. */
static enum verdict standard_descriptors(const struct attack *attack)
{
    struct stat status;

    (void)attack;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &status) == 0 && (S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode) || isatty(fd)))
            return through("descriptor %d is a folder, disk or terminal of the caller", fd);
    return HELD;
}

static enum verdict disks(const struct attack *attack)
{
    static const char *const folders[] = {".", "/tmp", "/dev/shm", "/dev"};
    dev_t device = makedev((unsigned)bait_number("DISK_MAJOR"), (unsigned)bait_number("DISK_MINOR"));
    char path[64];

    (void)attack;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/disk-%d", folders[i], (int)getpid());
        if (mknod(path, S_IFBLK | 0600, device) == 0) {
            unlink(path);
            return through("made a block device in %s", folders[i]);
        }
    }
    return HELD;
}

/* The layers of the workspace, by the paths that the mount table names. */
static enum verdict overlay_layers(const struct attack *attack)
{
    static const char *const options[] = {"upperdir=", "workdir=", "lowerdir="};
    static char table[64 * 1024];
    ssize_t length = read_start(AT_FDCWD, "/proc/self/mountinfo", table, sizeof(table) - 1);

    (void)attack;
    table[length < 0 ? 0 : length] = '\0';
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        for (const char *at = table; (at = strstr(at, options[i])); at++) {
            char path[1024];

            snprintf(path, sizeof(path), "%.*s", (int)strcspn(at + strlen(options[i]), ",: \n"),
                     at + strlen(options[i]));
            int fd = path[0] == '/' ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

            if (fd >= 0) {
                close(fd);
                return through("the layer %s can be reached", path);
            }
        }
    return HELD;
}

const struct attack read_attacks[] = {
    {.name = "read-home-absolute", .run = home_absolute},
    {.name = "read-home-upwards", .run = home_upwards},
    {.name = "read-home-by-link", .run = home_by_link},
    {.name = "read-home-events", .run = home_events},
    {.name = "read-seed-links", .run = seed_links},
    {.name = "read-home-by-hard-link", .run = home_by_hard_link},
    {.name = "read-temporary-files", .run = temporary_files},
    {.name = "read-password-files", .run = password_files},
    {.name = "read-host-folders", .run = host_folders, .flags = NEEDS_NAMESPACES},
    {.name = "read-seed-path", .run = seed_path, .flags = NEEDS_NAMESPACES},
    {.name = "read-whole-tree", .run = whole_tree, .flags = NEEDS_NAMESPACES},
    {.name = "read-process-roots", .run = process_roots},
    {.name = "read-process-descriptors", .run = process_descriptors},
    {.name = "read-process-texts", .run = process_texts},
    {.name = "read-own-environment", .run = own_environment},
    {.name = "read-descriptors", .run = descriptors},
    {.name = "read-standard-descriptors", .run = standard_descriptors},
    {.name = "read-disks", .run = disks},
    {.name = "read-overlay-layers", .run = overlay_layers},
    {0},
};
