#include "box.h"

#include "../authorities.h"
#include "init.h"
#include "loopback.h"
#include "processes.h"
#include "view.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
    OWN_PROCESSES = 8, /* of a box, beside its commands', that the kernel counts with them */
    KEPT_MAXIMUM = 16 + BOX_MOUNTS + LAYERS_MOST,
    STACK_USED = 128 * 1024, /* more than setting up uses */
    PATHS = 3
};

static const char go = 'g';
static const char ready = 'r';

/* What the child and the parent share by the clone. */
struct birth {
    const struct box_request *request;
    int sync;         /* a socket to the other side: "go", then "ready" or the sentence of a failure */
    bool root_caller; /* the caller is another user than the box is to be */
    bool has_network; /* its network namespace was made ahead */
};

static unsigned inside_id(const struct box_request *request)
{
    return request->settings->fake_root ? 0 : BOX_USER;
}

/* ---- the maps of the user namespace ---- */

static int write_text(const char *process, const char *file, const char *text)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%s/%s", process, file);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* One user and one group of the machine, and no way to more (setgroups deny). PROCESS is a number or "self". */
static int write_maps(const struct box_request *request, const char *process, struct reason *reason)
{
    char users[64];
    char groups[64];

    snprintf(users, sizeof users, "%u %u 1\n", inside_id(request), request->host_uid);
    snprintf(groups, sizeof groups, "%u %u 1\n", inside_id(request), request->host_gid);
    /* Safe: the maps name an ordinary user, never root; box_start has seen to that. */
    if (write_text(process, "setgroups", "deny") < 0 || write_text(process, "uid_map", users) < 0 ||
        write_text(process, "gid_map", groups) < 0)
        return reason_user_namespace(reason, "mapping the box's user", errno);
    return 0;
}

/* ---- in the child ---- */

static int compare_numbers(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

/*
 * Leaves the keeper's table of descriptors, if it is still that, for one with the COUNT of KEPT alone: no other box's
 * sockets, and no folders of the host. What lies above them is not even copied.
 */
static int close_others(int *kept, size_t count)
{
    int next = 0;

    qsort(kept, count, sizeof *kept, compare_numbers);
    if (close_range((unsigned)kept[count - 1] + 1, ~0U, CLOSE_RANGE_UNSHARE) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (kept[i] > next && close_range((unsigned)next, (unsigned)kept[i] - 1, 0) < 0)
            return -1;
        if (kept[i] >= next)
            next = kept[i] + 1;
    }
    return 0;
}

static int forget_keeper(const struct birth *birth, struct reason *reason)
{
    const struct box_request *request = birth->request;
    int kept[KEPT_MAXIMUM] = {birth->sync,
                              request->storage_fd,
                              request->workspace_fd,
                              request->rootfs_fd,
                              request->skeleton_fd,
                              request->authority_fd,
                              request->listener_fd,
                              request->keeper_fd,
                              request->memory_events_fd,
                              0,
                              1,
                              2};

    size_t count = 12;

    for (size_t i = 0; i < request->mount_count; i++)
        kept[count++] = request->mounts[i].fd;
    for (size_t i = 0; i < request->layer_count; i++)
        kept[count++] = request->layer_fds[i];
    if (close_others(kept, count) < 0)
        return reason_set(reason, "the keeper's descriptors cannot be closed: %s; Linux 5.9 or later is needed",
                          strerror(errno));
    /* The memory is a copy of the keeper's: whatever its environment still holds is not to be in the box. */
    for (char **variable = environ; variable && *variable; variable++)
        memset(*variable, 0, strlen(*variable));
    if (environ && *environ) /* a page that is not written to stays the keeper's */
        environ = NULL;
    prctl(PR_SET_NAME, "sandlot-init", 0, 0, 0);
    return 0;
}

/* What shows the keeper the memory that no control group counts. Where it cannot be sent the guard sees less. */
static void send_gauges(const struct box_request *request)
{
    static const char *const files[] = {"/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem"};
    int fds[BOX_GAUGES];

    for (size_t i = 0; i < BOX_GAUGES; i++) {
        fds[i] = i == BOX_GAUGE_SOCKETS ? socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)
                                        : open(files[i], O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0)
            fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    protocol_send(request->keeper_fd, MESSAGE_GAUGES, NULL, 0, fds, BOX_GAUGES, processes_now_ms());
    for (size_t i = 0; i < BOX_GAUGES; i++)
        close(fds[i]);
}

/* Becomes the user of the box. Safe: this can only take rights away, and is refused for root in box_start. */
static int become_user(const struct birth *birth, uid_t uid, gid_t gid, struct reason *reason)
{
    if (!birth->root_caller)
        return 0;
    /* The system calls themselves: those of the C library would wait for the keeper's other threads, which were not
     * cloned and still stand in its list. */
    if (syscall(SYS_setresgid, gid, gid, gid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0)
        return reason_set(reason,
                          "the box cannot become its user %u (%s); run Sandlot as an ordinary user, or with all rights "
                          "of root",
                          birth->request->host_uid, strerror(errno));
    return 0;
}

/* Waits for the parent's word that limits and maps are in place. */
static int wait_for_go(const struct birth *birth, struct reason *reason)
{
    char byte = 0;
    ssize_t got;

    do
        got = recv(birth->sync, &byte, 1, 0);
    while (got < 0 && errno == EINTR);
    return got == 1 && byte == go ? 0 : reason_set(reason, "the keeper has given the box up");
}

/* Ties the box's life to the keeper's. */
static int die_with_keeper(const struct birth *birth, int signal, struct reason *reason)
{
    struct pollfd parent = {birth->sync, POLLIN, 0};

    /* The parent may have died before the call. In a process namespace getppid() cannot tell; the end of the socket
     * can. */
    if (prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) < 0 || poll(&parent, 1, 0) != 0)
        return reason_set(reason, "the keeper has died");
    return 0;
}

/* Brings up "lo", unless the network namespace was made ahead. */
static int start_loopback(const struct birth *birth, struct reason *reason)
{
    if (!birth->has_network && loopback_start() < 0)
        return reason_set(reason,
                          "the box's loopback interface cannot be started (%s): AppArmor or an outer container forbids "
                          "it; allow user namespaces their capabilities",
                          strerror(errno));
    return 0;
}

/* Hands the keeper the listener that programs take for a proxy. It tells the box that connects, too. */
static int send_listener(const struct birth *birth, struct reason *reason)
{
    AUTO_CLOSE int listener = loopback_listen(BOX_PROXY_PORT);

    if (listener >= 0 && protocol_send(birth->request->keeper_fd, MESSAGE_LISTENER, NULL, 0, &listener, 1,
                                       processes_now_ms()) == PROTOCOL_OK)
        return 0;
    return reason_set(reason, "the listener of the box's proxy cannot be made: %s; raise the limit of open files",
                      strerror(errno));
}

/* Lets go of everything but what init needs. Its standard descriptors become /dev/null. */
static int keep_essentials(const struct birth *birth, struct init_setup *setup, struct reason *reason)
{
    struct profile *profile = &setup->profile;
    int kept[KEPT_MAXIMUM] = {0,
                              1,
                              2,
                              birth->sync,
                              setup->listener_fd,
                              setup->keeper_fd,
                              profile->memory_events_fd,
                              profile->ruleset,
                              profile->workspace_fd};

    profile->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    kept[9] = profile->null_fd;
    if (profile->null_fd < 0 || close_others(kept, 10) < 0)
        return reason_set(reason, "/dev/null cannot be opened in the box: %s", strerror(errno));
    for (int i = 0; i < 3; i++)
        if (dup2(profile->null_fd, i) < 0)
            return reason_set(reason, "standard descriptors cannot be made: %s", strerror(errno));
    if (fcntl(setup->listener_fd, F_SETFL, O_NONBLOCK) < 0 || init_prepare(setup) < 0)
        return reason_set(reason, "init cannot prepare its descriptors: %s", strerror(errno));
    return 0;
}

/* WANTED: what the image says; NULL: nothing. */
static const char *find_shell(const char *wanted)
{
    static const char *const shells[] = {"/usr/bin/bash", "/bin/bash", "/usr/bin/sh", "/bin/sh"};
    size_t i = 0;

    if (wanted && access(wanted, X_OK) == 0)
        return wanted;
    while (i < 3 && access(shells[i], X_OK) < 0)
        i++;
    return shells[i];
}

static void fill_setup(const struct box_request *request, rlim_t others, struct init_setup *setup)
{
    const struct settings *settings = request->settings;
    const bool root = settings->fake_root && settings->confinement == CONFINEMENT_FULL;
    const bool memory_cgroup = request->memory_events_fd > 0;

    *setup = (struct init_setup){
        .profile = {.shell = find_shell(settings->shell),
                    .workspace = BOX_WORKSPACE,
                    .workspace_fd = -1,
                    .environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                    "HOME=" BOX_HOME, root ? "USER=root" : "USER=sandlot",
                                    root ? "LOGNAME=root" : "LOGNAME=sandlot",
                                    access("/bin/bash", X_OK) == 0 ? "SHELL=/bin/bash" : "SHELL=/bin/sh",
                                    /* As good as LANG, and every program opens one file for it, not thirteen. */
                                    "LC_CTYPE=C.UTF-8", "TERM=dumb"},
                    .ruleset = -1,
                    .memory_events_fd = memory_cgroup ? request->memory_events_fd : -1},
        .confinement = settings->confinement,
        .listener_fd = request->listener_fd,
        .keeper_fd = request->keeper_fd,
        .idle_ttl_ms = settings->idle_ttl_ms,
        .hard_ttl_ms = settings->hard_ttl_ms};
    walls_limits(settings, memory_cgroup, others, &setup->profile.limits);
}

/* Takes apart what the image of the box says of the environment; for as long as init lives. */
static int take_image_environment(const char *text, struct profile *profile, struct reason *reason)
{
    char *copy = text ? strdup(text) : NULL;
    size_t count = 0;

    for (const char *at = text; at && *at; at++)
        count += *at == ENVIRONMENT_END;
    if (!text)
        return 0;
    profile->image_environment = calloc(count + 1, sizeof(char *));
    if (!copy || !profile->image_environment)
        return reason_set(reason, "there is no memory for the image's environment");
    for (size_t i = 0; i < count; i++) {
        char *end = strchr(copy, ENVIRONMENT_END);

        *end = '\0';
        profile->image_environment[i] = copy;
        copy = end + 1;
    }
    return 0;
}

/* How programs find the way out. Both cases, for some look at one only, and curl ignores HTTP_PROXY. */
static void point_to_proxy(struct profile *profile)
{
    static const char *const variables[] = {"http_proxy=" BOX_PROXY,  "HTTP_PROXY=" BOX_PROXY,
                                            "https_proxy=" BOX_PROXY, "HTTPS_PROXY=" BOX_PROXY,
                                            "no_proxy=" BOX_NO_PROXY, "NO_PROXY=" BOX_NO_PROXY};
    size_t used = 0;

    while (profile->environment[used])
        used++;
    memcpy(&profile->environment[used], variables, sizeof(variables));
}

/* The variable of a placeholder, of a line of settings.credentials; *NEXT: the line behind it. NULL: it has none. */
static char *placeholder_of(const char *line, const char **next)
{
    const char *end = strchrnul(line, '\n');
    char name[128];
    char *variable = NULL;
    int at = 0;

    *next = *end ? end + 1 : end;
    if (sscanf(line, "%*s %*s %*s %127s %n", name, &at) != 1 || strcmp(name, "-") == 0 || at == 0 ||
        asprintf(&variable, "%s=%.*s", name, (int)(end - line) - at, line + at) < 0)
        return NULL;
    return variable;
}

/* Whom programs trust, and what stands for secrets in them. They live as long as the box. */
static void add_credentials(struct profile *profile, const char *credentials)
{
    static const char *const trust[] = {
        "SSL_CERT_FILE=" AUTHORITIES_OF_BOX,     "REQUESTS_CA_BUNDLE=" AUTHORITIES_OF_BOX,
        "PIP_CERT=" AUTHORITIES_OF_BOX,          "NODE_EXTRA_CA_CERTS=" AUTHORITIES_OF_BOX,
        "CARGO_HTTP_CAINFO=" AUTHORITIES_OF_BOX, "CURL_CA_BUNDLE=" AUTHORITIES_OF_BOX,
        "GIT_SSL_CAINFO=" AUTHORITIES_OF_BOX};
    size_t used = 0;

    while (profile->environment[used])
        used++;
    for (size_t i = 0; i < sizeof(trust) / sizeof(*trust); i++)
        profile->environment[used++] = trust[i];
    for (const char *line = credentials; *line && used < PROFILE_VARIABLES - 1;) {
        char *variable = placeholder_of(line, &line);

        if (variable)
            profile->environment[used++] = variable;
    }
}

/* The box with namespaces of its own. */
static int make_full_box(const struct birth *birth, struct init_setup *setup, struct reason *reason)
{
    const struct box_request *request = birth->request;
    const unsigned id = inside_id(request);
    struct view_folders folders;

    /* An undumpable process may not even open its own maps. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (forget_keeper(birth, reason) < 0 || view_folders_find(request, birth->root_caller, &folders, reason) < 0)
        return -1;
    if (!birth->root_caller && write_maps(request, "self", reason) < 0)
        return -1;
    if (wait_for_go(birth, reason) < 0 || become_user(birth, id, id, reason) < 0)
        return -1;
    if (die_with_keeper(birth, SIGKILL, reason) < 0)
        return -1;
    send_gauges(request);
    if (birth->root_caller && view_folders_find_planted(request, &folders, reason) < 0)
        return -1;
    /* Now that the limits are in place this hides the names of groups. No wall: where it is missing nothing is lost. */
    unshare(CLONE_NEWCGROUP);
    if (sethostname("sandlot", strlen("sandlot")) < 0)
        return reason_set(reason, "the box's host name cannot be set: %s; AppArmor may forbid it", strerror(errno));
    if (start_loopback(birth, reason) < 0 || send_listener(birth, reason) < 0 ||
        view_enter(request, &folders, reason) < 0)
        return -1;
    fill_setup(request, OWN_PROCESSES, setup);
    point_to_proxy(&setup->profile);
    if (take_image_environment(request->settings->environment, &setup->profile, reason) < 0)
        return -1;
    if (folders.authority >= 0 && request->settings->credentials)
        add_credentials(&setup->profile, request->settings->credentials);
    if (keep_essentials(birth, setup, reason) < 0 || walls_drop_capabilities(reason) < 0)
        return -1;
    return walls_landlock_box(reason);
}

/* The path of folder NAME of the storage behind PREFIX, for as long as init lives; NULL on failure. */
static char *storage_path(int storage_fd, const char *prefix, const char *name)
{
    char link[64];
    char path[PATH_MAX];
    char *text = NULL;

    snprintf(link, sizeof link, "/proc/self/fd/%d", storage_fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);

    if (length < 0)
        return NULL;
    path[length] = '\0';
    return asprintf(&text, "%s%s/%s", prefix, path, name) < 0 ? NULL : text;
}

/* Without a view, commands work in the storage folder's own paths. */
static int point_to_storage(const struct box_request *request, struct profile *profile, struct reason *reason)
{
    profile->workspace = storage_path(request->storage_fd, "", "upper");
    profile->workspace_fd = openat(request->storage_fd, "upper", O_PATH | O_DIRECTORY | O_CLOEXEC);
    profile->environment[1] = storage_path(request->storage_fd, "HOME=", "home");
    profile->environment[7] = storage_path(request->storage_fd, "TMPDIR=", "tmp");
    /* git takes a system configuration that it may not read for an error. */
    profile->environment[8] = "GIT_CONFIG_NOSYSTEM=1";
    if (profile->workspace && profile->workspace_fd >= 0 && profile->environment[1] && profile->environment[7])
        return 0;
    return reason_set(reason, "the box's storage cannot be opened: %s; check the state folder's owner and mode",
                      strerror(errno));
}

/*
 * The reduced box: an ordinary process with Landlock, seccomp and limits. The Landlock domain is entered by each
 * command and not by init, so that no command can signal init or a supervisor.
 */
static int make_reduced_box(const struct birth *birth, struct init_setup *setup, struct reason *reason)
{
    const struct box_request *request = birth->request;

    if (forget_keeper(birth, reason) < 0 || wait_for_go(birth, reason) < 0)
        return -1;
    walls_drop_bounding_set();
    if (become_user(birth, request->host_uid, request->host_gid, reason) < 0)
        return -1;
    if (die_with_keeper(birth, SIGTERM, reason) < 0)
        return -1;
    umask(022);
    fill_setup(request, OWN_PROCESSES + processes_of_user(request->host_uid), setup);
    if (point_to_storage(request, &setup->profile, reason) < 0)
        return -1;
    setup->profile.ruleset = walls_landlock_ruleset(request->storage_fd, request->mounts, request->mount_count, reason);
    if (setup->profile.ruleset < 0 || keep_essentials(birth, setup, reason) < 0)
        return -1;
    return walls_drop_capabilities(reason);
}

/* Safe: the keeper has opened the files, and a process that enters by itself, as "0", can enter nobody else. */
static int enter_groups(const struct box_groups *groups, struct reason *reason)
{
    for (size_t i = 0; groups && i < sizeof groups->tasks / sizeof *groups->tasks; i++)
        if (groups->tasks[i] >= 0 && write(groups->tasks[i], "0", 1) != 1)
            return reason_set(reason, "the box's limits cannot be set (%s); see `sandlot doctor` for control groups",
                              strerror(errno));
    return 0;
}

/* What setting up has used of the stack, and the keeper's part of that, an idle box need not keep. */
static void give_memory_back(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t end = ((uintptr_t)__builtin_frame_address(0) & ~(page - 1)) - page;

    /* One page below the frame on, for that is not only this function's. What is not mapped there does not matter. */
    madvise((void *)(end - STACK_USED), STACK_USED, MADV_DONTNEED);
}

static _Noreturn void be_box(const struct birth *birth)
{
    const enum confinement confinement = birth->request->settings->confinement;
    struct reason reason = {""};
    struct init_setup setup = {0};

    if (enter_groups(birth->request->groups, &reason) < 0 ||
        (confinement == CONFINEMENT_FULL ? make_full_box : make_reduced_box)(birth, &setup, &reason) < 0 ||
        walls_filter_load(birth->request->filter, confinement, &reason) < 0) {
        send(birth->sync, reason.text, strlen(reason.text), MSG_NOSIGNAL);
        _exit(BOX_EXIT_BROKEN);
    }
    /* From now on nobody in the box can look into init: not its memory, not its descriptors. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (send(birth->sync, &ready, 1, MSG_NOSIGNAL) != 1)
        _exit(BOX_EXIT_BROKEN);
    close(birth->sync);
    give_memory_back();
    init_serve(&setup);
}

/* ---- in the keeper ---- */

static bool is_root_caller(const struct box_request *request)
{
    return request->host_uid != geteuid();
}

static int check_request(const struct box_request *request, struct reason *reason)
{
    /* A process whose global user is root may write to files of /proc/sys whatever capabilities it lacks. */
    if (request->host_uid == 0 || request->host_gid == 0)
        return reason_set(reason, "a box never runs as the machine's root; give it an unused user and group");
    if (is_root_caller(request) && geteuid() != 0)
        return reason_set(reason, "only root can start a box of another user");
    if (request->settings->confinement == CONFINEMENT_LANDLOCK &&
        (request->workspace_fd >= 0 || request->rootfs_fd >= 0))
        return reason_set(reason,
                          "confinement landlock has no copy-on-write and no root of its own; leave out workspace and "
                          "rootfs, or use confinement full");
    return 0;
}

/*
 * clone3(2), and where that is missing clone(2): filters of container engines take the former away, because they cannot
 * look at its flags. What only the former can stays an error.
 */
static pid_t clone_process(struct clone_args *arguments, int *pidfd)
{
    const pid_t pid = (pid_t)syscall(SYS_clone3, arguments, sizeof *arguments);

    if (pid >= 0 || errno != ENOSYS || (arguments->flags & CLONE_INTO_CGROUP))
        return pid;
    return (pid_t)syscall(SYS_clone, (unsigned long)arguments->flags | SIGCHLD, NULL, pidfd, NULL, NULL);
}

/* Makes the box's first process. Returns like fork(2). It has the caller's table of descriptors until it leaves it
 * (close_others): of a thousand boxes a copy has more than ten thousand, all to be closed again. */
static pid_t make_process(const struct birth *birth, int *pidfd)
{
    const struct box_request *request = birth->request;
    struct clone_args arguments = {
        .flags = CLONE_PIDFD | CLONE_FILES, .pidfd = (uintptr_t)pidfd, .exit_signal = SIGCHLD};

    /* Safe: all rights that come with it are rights in the new namespaces only. */
    if (request->settings->confinement == CONFINEMENT_FULL)
        arguments.flags |= CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                           (birth->has_network ? 0 : CLONE_NEWNET);
    if (request->groups && request->groups->born_in >= 0) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = (unsigned)request->groups->born_in;
    }
    return clone_process(&arguments, pidfd);
}

/*
 * The same in the network namespace that was made ahead, if there is one. The child is born into it, for only the
 * caller has the right to it.
 */
static pid_t make_process_in_network(struct birth *birth, int *pidfd)
{
    const struct box_request *request = birth->request;
    const bool full = request->settings->confinement == CONFINEMENT_FULL;

    /* Safe: from an empty network namespace back into the caller's own, before every box that is to share it. */
    if (!full && request->home_network_fd > 0 && setns(request->home_network_fd, CLONE_NEWNET) < 0)
        return -1;
    /* Safe: nothing was ever in it, and this thread makes nothing there but the child. */
    birth->has_network = full && request->network_fd > 0 && setns(request->network_fd, CLONE_NEWNET) == 0;
    const pid_t pid = make_process(birth, pidfd);
    const int failed = errno;

    /* Should that fail the caller is still nowhere but in an empty network, and in its own before it matters. */
    if (birth->has_network && pid != 0)
        setns(request->home_network_fd, CLONE_NEWNET);
    errno = failed;
    return pid;
}

/* Waits for the child's word: ready, or why not. Its end tells too, for its end of the socket is not closed here. */
static int wait_for_ready(int sync, int pidfd, int64_t deadline_ms, struct reason *reason)
{
    struct pollfd fds[] = {{sync, POLLIN, 0}, {pidfd, POLLIN, 0}};
    struct reason heard = {""};
    int ready_fds;

    do {
        const int64_t left = deadline_ms - processes_now_ms();

        ready_fds = poll(fds, 2, left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left);
    } while (ready_fds < 0 && errno == EINTR);
    if (ready_fds <= 0)
        return reason_set(reason, "the box did not stand in time; the machine is busy, try again");
    const ssize_t length = recv(sync, heard.text, sizeof heard.text - 1, MSG_DONTWAIT);

    if (length == 1 && heard.text[0] == ready)
        return 0;
    if (length <= 0)
        return reason_set(reason,
                          "the box's first process was killed while it was set up; memory or its limits are short");
    return reason_set(reason, "%s", heard.text);
}

/* What only the real root can do for a box of another user, while its init waits for "go". */
static int help_as_root(const struct box_request *request, const struct box_process *process, struct reason *reason)
{
    char number[16];

    snprintf(number, sizeof number, "%d", process->pid);
    /* Safe: the one line maps a user without rights; what it needs of the caller's is CAP_SETUID of this machine. */
    if (write_maps(request, number, reason) < 0)
        return -1;
    return view_folders_plant(request, process->pidfd, reason);
}

/* The parent's part between clone and service. */
static int attend_birth(const struct birth *birth, const struct box_process *process, struct reason *reason)
{
    const struct box_request *request = birth->request;

    if (birth->root_caller && request->settings->confinement == CONFINEMENT_FULL &&
        help_as_root(request, process, reason) < 0)
        return -1;
    if (send(birth->sync, &go, 1, MSG_NOSIGNAL) != 1)
        return reason_set(reason, "the box's first process cannot be told to go on: %s", strerror(errno));
    return wait_for_ready(birth->sync, process->pidfd, request->deadline_ms, reason);
}

static void end_process(const struct box_process *process)
{
    /* When init of a process namespace dies the kernel ends everything in it. */
    kill(process->pid, SIGKILL);
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (process->pidfd >= 0)
        close(process->pidfd);
}

static int start(const struct box_request *request, struct box_process *process, struct reason *reason)
{
    int sync[2];

    if (check_request(request, reason) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sync) < 0)
        return reason_set(reason, "no socket can be made for the box: %s; raise the limit of open files",
                          strerror(errno));
    AUTO_CLOSE int ours = sync[0];
    AUTO_CLOSE int theirs = sync[1];
    struct birth birth = {request, theirs, is_root_caller(request), false};

    /* The groups of root are not to come along. Where it is refused there is an outer user namespace that maps none. */
    if (birth.root_caller)
        syscall(SYS_setgroups, 0, NULL); /* of this thread, which is the one that clones */
    process->pidfd = -1;
    const pid_t pid = make_process_in_network(&birth, &process->pidfd);

    if (pid == 0)
        be_box(&birth);
    if (pid < 0)
        return reason_user_namespace(reason, "making the box's namespaces", errno);
    /* The child has not left this table yet, so that nothing of its is closed before it stands. */
    birth.sync = ours;
    process->pid = pid;
    if (request->born)
        request->born(request->context, pid, birth.has_network);
    if (process->pidfd < 0 || attend_birth(&birth, process, reason) < 0) {
        end_process(process);
        return reason_set(reason, "the box's process cannot be watched: %s", strerror(errno));
    }
    return 0;
}

int box_start(const struct box_request *request, struct box_process *process, char *reason, size_t reason_size)
{
    struct reason why = {""};
    const int result = start(request, process, &why);

    if (reason_size)
        snprintf(reason, reason_size, "%s", why.text);
    return result;
}
