#include "cgroup.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char *const controller_names[] = {"memory", "pids", "cpu"};

enum { CPU_PERIOD_US = 100000, SMALLEST_QUOTA_US = 1000, TRIAL_REMOVALS = 50 };

/* Is WORD in the list TEXT, whose words are separated by one of SEPARATORS? */
static bool has_word(const char *text, const char *word, const char *separators)
{
    size_t length = strlen(word);

    for (const char *at = text; *at;) {
        size_t span = strcspn(at, separators);

        if (span == length && strncmp(at, word, length) == 0)
            return true;
        at += span;
        at += strspn(at, separators);
    }
    return false;
}

/* Reads a small file; "" if it cannot be read. */
static void read_text(int folder_fd, const char *path, char *text, size_t size)
{
    AUTO_CLOSE int fd = openat(folder_fd, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : 0;

    text[got > 0 ? got : 0] = '\0';
}

static int write_text(int folder_fd, const char *path, const char *text)
{
    AUTO_CLOSE int fd = openat(folder_fd, path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* The path of this process in the hierarchy of CONTROLLER, NULL: the one of version 2. To be freed. */
static char *own_group(const char *controller)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[4352];
    char *found = NULL;

    while (file && !found && fgets(line, sizeof(line), file)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;

        line[strcspn(line, "\n")] = '\0';
        if (!path)
            continue;
        *path++ = '\0';
        controllers++;
        if (controller ? has_word(controllers, controller, ",") : strncmp(line, "0:", 2) == 0)
            found = strdup(path);
    }
    if (file)
        fclose(file);
    return found;
}

/* Where in the mount of ROOT at POINT the group PATH is. To be freed. */
static char *group_folder(const char *point, const char *root, const char *path)
{
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    bool below = strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
    char *folder = NULL;

    /* A process that was moved into a container may see a path outside of what is mounted there: then the top is taken.
     */
    if (asprintf(&folder, "%s%s", point, below && strcmp(path, "/") != 0 ? path + length : "") < 0)
        return NULL;
    return folder;
}

/* The folder of this process's group in the hierarchy of CONTROLLER (NULL: version 2). To be freed; NULL: not mounted.
 */
static char *own_folder(const char *controller)
{
    AUTO_FREE char *path = own_group(controller);
    FILE *file = path ? fopen("/proc/self/mountinfo", "re") : NULL;
    char line[4352];
    char *folder = NULL;

    while (file && !folder && fgets(line, sizeof(line), file)) {
        char root[1024];
        char point[1024];
        char type[32];
        char options[1024];
        const char *rest = strstr(line, " - ");

        if (!rest || sscanf(line, "%*s %*s %*s %1023s %1023s", root, point) != 2 ||
            sscanf(rest, " - %31s %*s %1023s", type, options) != 2)
            continue;
        if (controller ? strcmp(type, "cgroup") == 0 && has_word(options, controller, ",")
                       : strcmp(type, "cgroup2") == 0)
            folder = group_folder(point, root, path);
    }
    if (file)
        fclose(file);
    return folder;
}

/* Can this process make groups in FOLDER_FD and move processes there? */
static bool is_writable(int folder_fd)
{
    return faccessat(folder_fd, ".", W_OK, AT_EACCESS) == 0 &&
           faccessat(folder_fd, "cgroup.procs", W_OK, AT_EACCESS) == 0;
}

static void find_version_1(struct cgroups *cgroups)
{
    for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
        AUTO_FREE char *folder = own_folder(controller_names[i]);
        AUTO_CLOSE int fd = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

        if (fd < 0 || !is_writable(fd))
            continue;
        cgroups->version = 1;
        cgroups->fds[i] = take_fd(&fd);
        cgroups->paths[i] = strdup(folder);
    }
}

/*
 * Version 2 forbids groups with limits below one that holds processes, so the nearest group above that hands
 * its controllers on is taken. A tree without controllers, beside version 1, has none.
 */
static void find_version_2(struct cgroups *cgroups)
{
    AUTO_FREE char *folder = own_folder(NULL);

    while (folder && *folder) {
        AUTO_CLOSE int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        char handed_on[256];

        if (fd < 0 || !is_writable(fd))
            return;
        write_text(fd, "cgroup.subtree_control", "+memory +pids +cpu");
        read_text(fd, "cgroup.subtree_control", handed_on, sizeof(handed_on));
        for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
            if (!has_word(handed_on, controller_names[i], " \n"))
                continue;
            cgroups->version = 2;
            cgroups->fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
            cgroups->paths[i] = strdup(folder);
        }
        if (cgroups->version)
            return;
        *strrchr(folder, '/') = '\0';
    }
}

/* "sandlot-UID-ID", or a file in that group. */
static void group_name(char *name, size_t size, const char *id, const char *file)
{
    snprintf(name, size, "sandlot-%u-%s%s%s", (unsigned)geteuid(), id, file ? "/" : "", file ? file : "");
}

__attribute__((format(printf, 4, 5))) static int set(const struct cgroups *cgroups, enum cgroup_controller controller,
                                                     const char *file_path, const char *format, ...)
{
    char text[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return write_text(cgroups->fds[controller], file_path, text);
}

static int limit_memory(const struct cgroups *cgroups, const char *id, int64_t bytes)
{
    char limit[128];
    char swap[128];
    bool second = cgroups->version == 2;

    group_name(limit, sizeof(limit), id, second ? "memory.max" : "memory.limit_in_bytes");
    group_name(swap, sizeof(swap), id, second ? "memory.swap.max" : "memory.memsw.limit_in_bytes");
    if (set(cgroups, CGROUP_MEMORY, limit, "%" PRId64, bytes) < 0)
        return -1;
    /* There is no such file where the kernel does not account for swap; then there is nothing to forbid. */
    if (set(cgroups, CGROUP_MEMORY, swap, "%" PRId64, second ? 0 : bytes) < 0 && errno != ENOENT)
        return -1;
    return 0;
}

static int limit_processes(const struct cgroups *cgroups, const char *id, int64_t processes)
{
    char limit[128];

    group_name(limit, sizeof(limit), id, "pids.max");
    return set(cgroups, CGROUP_PROCESSES, limit, "%" PRId64, processes + BOX_EXTRA_PROCESSES);
}

static int limit_cpu(const struct cgroups *cgroups, const char *id, double cpus)
{
    char limit[128];
    int64_t quota = (int64_t)(cpus * CPU_PERIOD_US);

    if (!(cpus > 0))
        return 0;
    if (quota < SMALLEST_QUOTA_US)
        quota = SMALLEST_QUOTA_US;
    group_name(limit, sizeof(limit), id, cgroups->version == 2 ? "cpu.max" : "cpu.cfs_quota_us");
    if (cgroups->version == 2)
        return set(cgroups, CGROUP_CPU, limit, "%" PRId64 " %d", quota, CPU_PERIOD_US);
    return set(cgroups, CGROUP_CPU, limit, "%" PRId64, quota);
}

/* Does a box need a group of CONTROLLER? One more costs it 20 KiB and a fifth of a millisecond. */
static bool is_needed(const struct cgroups *cgroups, enum cgroup_controller controller, const struct settings *settings)
{
    return cgroups->fds[controller] >= 0 && (controller != CGROUP_CPU || settings->cpus > 0);
}

static int make_one(const struct cgroups *cgroups, enum cgroup_controller controller, const char *id,
                    const struct settings *settings)
{
    char name[128];

    group_name(name, sizeof(name), id, NULL);
    if (mkdirat(cgroups->fds[controller], name, 0755) < 0 && errno != EEXIST)
        return -1;
    switch (controller) {
    case CGROUP_MEMORY:
        return limit_memory(cgroups, id, settings->memory_mb << 20);
    case CGROUP_PROCESSES:
        return limit_processes(cgroups, id, settings->processes);
    default:
        return limit_cpu(cgroups, id, settings->cpus);
    }
}

int cgroups_make(const struct cgroups *cgroups, const char *id, const struct settings *settings, char *reason,
                 size_t size)
{
    for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
        if (!is_needed(cgroups, i, settings) || make_one(cgroups, i, id, settings) == 0)
            continue;
        snprintf(reason, size,
                 "the limits of the box could not be set in %s: %s; check that this control group may be written to",
                 cgroups->paths[i], strerror(errno));
        cgroups_remove(cgroups, id);
        return -1;
    }
    return 0;
}

int cgroups_open(const struct cgroups *cgroups, const char *id, const struct settings *settings,
                 struct box_groups *groups)
{
    char path[128];

    *groups = (struct box_groups){-1, {-1, -1, -1}};
    group_name(path, sizeof(path), id, cgroups->version == 1 ? "tasks" : NULL);
    for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
        int *fd = cgroups->version == 1 ? &groups->tasks[i] : &groups->born_in;

        if (!is_needed(cgroups, i, settings) || *fd >= 0)
            continue;
        *fd = openat(cgroups->fds[i], path, (cgroups->version == 1 ? O_WRONLY : O_PATH | O_DIRECTORY) | O_CLOEXEC);
        if (*fd < 0)
            return -1;
    }
    return 0;
}

void cgroups_close(const struct box_groups *groups)
{
    if (groups->born_in >= 0)
        close(groups->born_in);
    for (int i = 0; i < CGROUP_CONTROLLERS; i++)
        if (groups->tasks[i] >= 0)
            close(groups->tasks[i]);
}

bool cgroups_remove(const struct cgroups *cgroups, const char *id)
{
    char name[128];
    bool gone = true;

    group_name(name, sizeof(name), id, NULL);
    for (int i = 0; i < CGROUP_CONTROLLERS; i++)
        if (cgroups->fds[i] >= 0 && unlinkat(cgroups->fds[i], name, AT_REMOVEDIR) < 0 && errno == EBUSY)
            gone = false;
    return gone;
}

int cgroups_memory_events(const struct cgroups *cgroups, const char *id)
{
    char path[128];

    if (cgroups->fds[CGROUP_MEMORY] < 0)
        return -1;
    group_name(path, sizeof(path), id, cgroups->version == 2 ? "memory.events" : "memory.oom_control");
    return openat(cgroups->fds[CGROUP_MEMORY], path, O_RDONLY | O_CLOEXEC);
}

int64_t cgroups_memory_kills(const struct cgroups *cgroups, const char *id)
{
    AUTO_CLOSE int fd = cgroups_memory_events(cgroups, id);
    char text[512];
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

    text[got > 0 ? got : 0] = '\0';
    const char *count = strstr(text, "oom_kill ");

    return count ? strtoll(count + strlen("oom_kill "), NULL, 10) : 0;
}

/* Can a process be born in the group GROUP_FD of version 2? */
static bool can_be_born_in(int group_fd)
{
    struct clone_args arguments = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned)group_fd};
    const pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
    int status = -1;

    if (pid == 0)
        _exit(0);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0;
}

/*
 * Tries with a group of its own whether all that a box needs of version 2 works, for who may do what there depends on
 * more than the modes of files. Runs before the keeper has threads, which a clone would not take along.
 */
static bool works(const struct cgroups *cgroups)
{
    char id[32];
    const struct settings settings = {.memory_mb = 64, .processes = 8, .cpus = 1};
    char reason[512];
    struct box_groups groups;

    snprintf(id, sizeof(id), "trial-%d", (int)getpid());
    if (cgroups_make(cgroups, id, &settings, reason, sizeof(reason)) < 0)
        return false;
    const bool fine = cgroups_open(cgroups, id, &settings, &groups) == 0 && can_be_born_in(groups.born_in);

    cgroups_close(&groups);
    /* A group stays busy for a moment after its last process was waited for. */
    for (int i = 0; i < TRIAL_REMOVALS && !cgroups_remove(cgroups, id); i++)
        usleep(1000);
    return fine;
}

static void forget(struct cgroups *cgroups)
{
    for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
        if (cgroups->fds[i] >= 0)
            close(cgroups->fds[i]);
        free(cgroups->paths[i]);
    }
    *cgroups = (struct cgroups){.fds = {-1, -1, -1}};
}

void cgroups_find(struct cgroups *cgroups)
{
    *cgroups = (struct cgroups){.fds = {-1, -1, -1}};
    find_version_2(cgroups);
    if (cgroups->version && !works(cgroups))
        forget(cgroups);
    if (!cgroups->version)
        find_version_1(cgroups);
}

void cgroups_describe(const struct cgroups *cgroups, char *text, size_t size)
{
    if (!cgroups->version) {
        snprintf(text, size, "per process");
        return;
    }
    snprintf(text, size, "cgroup v%d:%s%s%s", cgroups->version, cgroups->fds[CGROUP_MEMORY] >= 0 ? " memory" : "",
             cgroups->fds[CGROUP_PROCESSES] >= 0 ? " processes" : "", cgroups->fds[CGROUP_CPU] >= 0 ? " cpu" : "");
}
