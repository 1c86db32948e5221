#include "building.h"

#include "../box/skeleton.h"
#include "../protocol.h"
#include "authority.h"
#include "proc.h"
#include "reach.h"
#include "seed.h"
#include "settle.h"
#include "volumes.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <sandlot/provider.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/*
 * Boxes of root each get a user of the machine of their own, out of a range that systemd's list of user numbers and
 * distributions leave unused, above the numbers that directory services hand out: what escapes from a box would then
 * be nobody in particular.
 */
static const uid_t FIRST_BOX_USER = 0x78000000;
enum { BOX_USERS = VOLUME_USER - 0x78000000, START_LIMIT_MS = 20000 };

static bool make_id(char id[BOX_ID_SIZE])
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char random[12];

    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return false;
    strcpy(id, "box-");
    for (size_t i = 0; i < sizeof(random); i++)
        id[4 + i] = alphabet[random[i] % 32];
    id[4 + sizeof(random)] = '\0';
    return true;
}

/* Read directly: getpwuid(3) would load name service modules into the keeper, which stay in its memory, and a stream
 * takes memory of which each box would keep a page. */
static bool user_exists(uid_t uid)
{
    AUTO_CLOSE int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    char text[4096];
    unsigned long number = 0; /* in the third field of a line */
    int field = 0;

    for (ssize_t got; fd >= 0 && (got = read(fd, text, sizeof(text))) > 0;)
        for (ssize_t i = 0; i < got; i++) {
            if (text[i] == ':' && field++ == 2 && number == uid)
                return true;
            if (text[i] == '\n')
                number = 0, field = 0;
            else if (text[i] >= '0' && text[i] <= '9' && field == 2)
                number = number * 10 + (unsigned)(text[i] - '0');
        }
    return false;
}

static bool choose_user(const struct keeper *keeper, uid_t *uid)
{
    for (int tries = 0; tries < 100; tries++) {
        uint32_t random;
        bool taken;

        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            return false;
        *uid = FIRST_BOX_USER + random % BOX_USERS;
        taken = user_exists(*uid);
        for (const struct box *box = keeper->boxes; box && !taken; box = box->next)
            taken = box->host_uid == *uid;
        if (!taken)
            return true;
    }
    return false;
}

/* What is needed until the box stands. */
struct building {
    struct keeper *keeper;
    const struct settings *settings;
    struct box *box;
    struct seed_viewer viewer; /* the box's user, for whom its folders are opened */
    struct box_folder folder;
    int workspace_fd;
    int rootfs_fd;
    int skeleton_fd;
    int secrets_fd;
    int authority_fd;
    int init_fd; /* the box's end of the socketpair */
    int memory_events_fd;
    int network_fd;
    int layers[LAYERS_MOST];
    uint32_t root_layers; /* a bit for each of them */
    char *show;           /* what the paths of `mounts` lie in, */
    char *volumes;
    bool volume_in_use; /* why it could not be prepared */
    struct box_mount mounts[BOX_MOUNTS];
    size_t mount_count;
};

static void clear_building(struct building *building)
{
    const int fds[] = {building->folder.fd,  building->folder.storage_fd, building->workspace_fd,
                       building->rootfs_fd,  building->skeleton_fd,       building->folder.listener_fd,
                       building->init_fd,    building->memory_events_fd,  building->network_fd,
                       building->secrets_fd, building->authority_fd};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (size_t i = 0; i < building->mount_count; i++)
        close(building->mounts[i].fd);
    for (size_t i = 0; i < building->box->layer_count; i++)
        close(building->layers[i]);
    seed_viewer_clear(&building->viewer);
    free(building->show);
    free(building->volumes);
}

/* Opens what the box is shown of the machine's folders. */
static int open_mounts(struct building *building, char *reason, size_t size)
{
    struct shown shown[SHOWN_MOST];

    if (!building->settings->show)
        return 0;
    building->show = strdup(building->settings->show);
    const int count = building->show ? settings_shown(building->show, shown) : -1;

    for (int i = 0; i < count; i++) {
        const int fd =
            seed_open_shown(&shown[i], building->box->landlock ? geteuid() : building->box->host_uid, reason, size);

        if (fd < 0)
            return -1;
        building->mounts[building->mount_count++] = (struct box_mount){.path = shown[i].place, .fd = fd};
    }
    if (count < 0)
        snprintf(reason, size, "show: the list of folders cannot be read; free some memory, then try again");
    return count < 0 ? -1 : 0;
}

/* Opens what the box begins with of other boxes' files. */
static int open_layers(struct building *building, char *reason, size_t size)
{
    const char *root_layers = building->settings->root_layers;
    struct box *box = building->box;
    struct layer_chain chain;

    if (!box->layers)
        return 0;
    AUTO_CLOSE int folder =
        openat(building->keeper->state.fd, LAYERS_FOLDER, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (!layer_chain_read(box->layers, &chain) || folder < 0) {
        snprintf(reason, size, "the layers of the snapshot cannot be opened; make the snapshot anew");
        return -1;
    }
    for (size_t i = 0; i < chain.count; i++) {
        const int fd = seed_open_at(folder, chain.ids[i], &building->viewer, reason, size);

        if (fd < 0)
            return -1;
        building->layers[box->layer_count++] = fd;
        if (!root_layers || strstr(root_layers, chain.ids[i]))
            building->root_layers |= UINT32_C(1) << i;
    }
    return 0;
}

/* May the box that is made write to VOLUME too? */
static int check_writers(const struct building *building, const struct box_volume *volume, char *reason, size_t size)
{
    for (const struct box *box = building->keeper->boxes; box; box = box->next) {
        const struct box_volume *theirs = boxes_volume(box, volume->name);

        if (!theirs || !theirs->writes || !volume->writes || (theirs->with_others && volume->with_others))
            continue;
        snprintf(reason, size,
                 "the volume %s has one writer at a time, and the sandbox %s writes to it; delete that one, take the "
                 "volume to read only (:ro), or say writers = \"many\" in [sandboxes.volumes.%s] for both",
                 volume->name, box->id, volume->name);
        return -1;
    }
    return 0;
}

static int open_volume(struct building *building, const struct wanted_volume *wanted, char *reason, size_t size)
{
    struct box *box = building->box;
    struct box_volume *volume = &box->volumes[box->volume_count];
    struct box_mount *mount = &building->mounts[building->mount_count];

    *volume = (struct box_volume){.limit_mb = wanted->limit_mb,
                                  .writes = !(wanted->flags & SANDLOT_VOLUME_READ_ONLY),
                                  .with_others = wanted->flags & SANDLOT_VOLUME_MANY_WRITERS};
    strcpy(volume->name, wanted->name);
    building->volume_in_use = check_writers(building, volume, reason, size) < 0;
    const int files = building->volume_in_use ? -1 : volumes_open(&building->keeper->state, wanted, reason, size);

    *mount = (struct box_mount){.path = wanted->path, .fd = files, .is_volume = true, .writable = volume->writes};
    if (files >= 0)
        mount->fd = seed_open_volume(files, &building->viewer, reason, size);
    if (mount->fd < 0)
        return -1;
    building->mount_count++;
    box->volume_count++;
    return 0;
}

/* Opens what the box gets of storage that outlives it. */
static int open_volumes(struct building *building, char *reason, size_t size)
{
    struct wanted_volume wanted[VOLUMES_MOST];

    if (!building->settings->volumes)
        return 0;
    building->volumes = strdup(building->settings->volumes);
    const int count = building->volumes ? settings_volumes(building->volumes, wanted) : -1;

    for (int i = 0; i < count; i++)
        if (open_volume(building, &wanted[i], reason, size) < 0)
            return -1;
    if (count < 0)
        snprintf(reason, size, "the list of volumes cannot be read; free some memory, then try again");
    return count < 0 ? -1 : 0;
}

/* Without a control group for it, a share of the processors is kept by allowing only so many of them. */
static void limit_processors(pid_t pid, double cpus)
{
    cpu_set_t allowed;
    int count = (int)cpus + (cpus > (int)cpus);

    if (!(cpus > 0) || sched_getaffinity(pid, sizeof(allowed), &allowed) < 0)
        return;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed) && count-- <= 0)
            CPU_CLR(i, &allowed);
    sched_setaffinity(pid, sizeof(allowed), &allowed);
}

/* Who the box's commands are, on the machine and in the box. */
static int set_users(struct building *building, char *reason, size_t size)
{
    struct box *box = building->box;

    box->host_uid = geteuid();
    box->host_gid = getegid();
    if (box->host_uid == 0) {
        if (!choose_user(building->keeper, &box->host_uid)) {
            snprintf(reason, size, "no unused user number was found for the box; delete boxes that are not needed");
            return -1;
        }
        box->host_gid = box->host_uid;
    }
    box->inside_id = building->settings->fake_root ? 0 : BOX_USER;
    building->viewer = (struct seed_viewer){.uid = box->host_uid, .gid = box->host_gid, .map_fd = -1};
    return 0;
}

/* Opens the folder that it works on. Without copy-on-write the client copies that. */
static int open_workspace(struct building *building, char *reason, size_t size)
{
    if (!building->settings->workspace || building->box->landlock)
        return 0;
    building->workspace_fd = seed_open(building->settings->workspace, &building->viewer, reason, size);
    return building->workspace_fd < 0 ? -1 : 0;
}

/* Opens its root file system, if that is not the machine's. */
static int open_root(struct building *building, char *reason, size_t size)
{
    const struct settings *settings = building->settings;
    char path[ARCHIVE_PATH_SIZE];

    if (settings->archive && !settings->unpacks) {
        settings_archive_path(settings->archive, path);
        building->rootfs_fd = seed_open_at(building->keeper->state.fd, path, &building->viewer, reason, size);
    } else if (settings->rootfs) {
        building->rootfs_fd = seed_open(settings->rootfs, &building->viewer, reason, size);
    } else {
        return 0;
    }
    return building->rootfs_fd < 0 ? -1 : 0;
}

/* The folder in which the box keeps what it writes. */
static int make_folder(struct building *building, char *reason, size_t size)
{
    const struct state *state = &building->keeper->state;
    const struct box *box = building->box;

    if (building->rootfs_fd < 0 && !box->landlock) {
        building->skeleton_fd = skeleton_open(state->view_fd, building->settings->fake_root, building->mounts,
                                              building->mount_count, reason, size);
        if (building->skeleton_fd < 0)
            return -1;
    }
    return state_make_box(state, box->id, box->host_uid, box->host_gid, building->skeleton_fd, &building->folder,
                          reason, size);
}

static int make_sockets(struct building *building, char *reason, size_t size)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        snprintf(reason, size, "the sockets of the box could not be made: %s", strerror(errno));
        return -1;
    }
    building->box->keeper_fd = pair[0];
    building->init_fd = pair[1];
    settle_descriptor(&building->box->keeper_fd);
    return 0;
}

static int make_groups(struct building *building, char *reason, size_t size)
{
    const struct cgroups *cgroups = &building->keeper->cgroups;

    if (cgroups_make(cgroups, building->box->id, building->settings, reason, size) < 0)
        return -1;
    building->memory_events_fd = cgroups_memory_events(cgroups, building->box->id);
    return 0;
}

/* All that there is of a box before it is started. */
static int prepare(struct building *building, char *reason, size_t size)
{
    static int (*const steps[])(struct building *, char *, size_t) = {
        set_users,   open_workspace, open_root,    open_mounts, open_volumes,
        open_layers, make_folder,    make_sockets, make_groups,
    };

    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
        if (steps[i](building, reason, size) < 0)
            return -1;
    /* One that is to be open belongs to the box. */
    if (!building->box->landlock && !reach_is_open(building->settings->network))
        building->network_fd = network_take();
    return 0;
}

/* The proxy of a box with credentials, and the folder with the certificates that its programs trust. */
static int make_authority(struct building *building, uint32_t *status, char *reason, size_t size)
{
    struct trusted trusted = {NULL, -1};

    if (!way_prepare(building->keeper, building->box, building->secrets_fd, &trusted, status, reason, size))
        return -1;
    AUTO_FREE char *certificate = trusted.certificate;
    AUTO_CLOSE int truststore = trusted.truststore_fd;

    close(take_fd(&building->secrets_fd)); /* nothing of them is in the copy of this process that becomes the box */
    building->authority_fd = authority_folder(building->folder.fd, certificate, truststore);
    if (building->authority_fd >= 0)
        return 0;
    *status = SANDLOT_EXHAUSTED;
    snprintf(reason, size, "the certificates of the sandbox could not be written: %s; free some disk space",
             strerror(errno));
    return -1;
}

static void take_birth(void *context, pid_t pid, bool ahead)
{
    struct building *building = context;

    if (!building->box->landlock)
        reach_born(building->box, pid, ahead ? take_fd(&building->network_fd) : -1, building->settings->network);
}

static int start(struct building *building, char *reason, size_t size)
{
    struct box *box = building->box;
    const struct cgroups *cgroups = &building->keeper->cgroups;
    struct box_groups groups;
    struct box_request request = {
        .settings = building->settings,
        .id = box->id,
        .host_uid = box->host_uid,
        .host_gid = box->host_gid,
        .storage_fd = building->folder.storage_fd,
        .workspace_fd = building->workspace_fd,
        .rootfs_fd = building->rootfs_fd,
        .layer_fds = building->layers,
        .layer_count = box->layer_count,
        .root_layers = building->root_layers,
        .skeleton_fd = building->skeleton_fd,
        .mounts = building->mounts,
        .mount_count = building->mount_count,
        .authority_fd = building->authority_fd,
        .listener_fd = building->folder.listener_fd,
        .keeper_fd = building->init_fd,
        .memory_events_fd = building->memory_events_fd,
        .network_fd = building->network_fd,
        .home_network_fd = building->keeper->network.home_fd,
        .filter = building->keeper->filter,
        .groups = &groups,
        .deadline_ms = sandlot_now_ms() + START_LIMIT_MS,
        .born = take_birth,
        .context = building,
    };
    int started = -1;

    if (cgroups_open(cgroups, box->id, building->settings, &groups) < 0)
        snprintf(reason, size, "the control groups of the box could not be opened: %s; try again", strerror(errno));
    else
        started = box_start(&request, &box->process, reason, size);
    cgroups_close(&groups);
    /* Its first command runs only when its client has heard of it, and inherits this. */
    if (started == 0 && cgroups->fds[CGROUP_CPU] < 0)
        limit_processors(box->process.pid, building->settings->cpus);
    return started;
}

/* Which folder `workspace` is, for snapshots, which go on with no other. */
static bool add_identity(char **text, int workspace_fd)
{
    struct stat status;

    if (workspace_fd < 0 || fstat(workspace_fd, &status) < 0)
        return true;
    return fields_add_number(text, "workspace_device", (int64_t)status.st_dev) &&
           fields_add_number(text, "workspace_inode", (int64_t)status.st_ino);
}

static int write_record(const struct building *building)
{
    const struct box *box = building->box;
    struct settings settings = *building->settings;

    settings.network = settings.credentials = NULL; /* which may change, or is shown, and so stands by itself */
    AUTO_FREE char *text = settings_write(&settings);
    char limits[128];

    cgroups_describe(&building->keeper->cgroups, limits, sizeof(limits));
    if (!text || !add_identity(&text, building->workspace_fd) || !fields_add(&text, "id", box->id) ||
        !fields_add_number(&text, "created_ms", box->created_ms) ||
        !fields_add_number(&text, "pid", box->process.pid) ||
        !fields_add_number(&text, "start_time", proc_status(box->process.pid).start_time) ||
        !fields_add_number(&text, "host_uid", box->host_uid) || !fields_add_number(&text, "host_gid", box->host_gid) ||
        !fields_add(&text, "limits", limits))
        return -1;
    if (building->settings->network && state_write(building->folder.fd, "network", building->settings->network) < 0)
        return -1;
    if (building->settings->credentials &&
        state_write(building->folder.fd, "credentials", building->settings->credentials) < 0)
        return -1;
    return state_write(building->folder.fd, "record", text);
}

/* What init has sent before it stood: the gauges, and of a box with a network the listener. */
static void receive_descriptors(struct box *box, int gauges[BOX_GAUGES], int *listener_fd)
{
    struct received message;

    while (protocol_receive(box->keeper_fd, &message, 0, -1) == PROTOCOL_OK) {
        for (size_t i = 0; message.header.kind == MESSAGE_GAUGES && i < BOX_GAUGES; i++)
            gauges[i] = received_take_fd(&message, i);
        if (message.header.kind == MESSAGE_LISTENER)
            *listener_fd = received_take_fd(&message, 0);
        if (message.header.kind == MESSAGE_STORAGE && message.header.length == sizeof(box->kept.mounts)) {
            memcpy(box->kept.mounts, message.body, sizeof(box->kept.mounts));
            for (size_t i = 0; i < KEPT_FDS; i++)
                box->kept.fds[i] = received_take_fd(&message, i);
        }
        received_clear(&message);
    }
    for (size_t i = 0; i < BOX_GAUGES; i++)
        settle_descriptor(&gauges[i]);
    for (size_t i = 0; i < KEPT_FDS; i++)
        settle_descriptor(&box->kept.fds[i]);
    settle_descriptor(listener_fd);
}

/* Has the guard watch the box, and the volumes that it writes to. Takes over GAUGES. */
static struct guarded *watch(const struct building *building, const int gauges[BOX_GAUGES])
{
    const struct box *box = building->box;
    const struct settings *settings = building->settings;
    const bool charged = building->keeper->cgroups.fds[CGROUP_MEMORY] >= 0;
    struct guarded_volume volumes[VOLUMES_MOST];
    size_t count = 0;

    for (size_t i = 0; i < box->volume_count; i++)
        if (box->volumes[i].writes)
            volumes[count++] = (struct guarded_volume){box->volumes[i].name, box->volumes[i].limit_mb << 20};
    return guard_add(box->id, box->process.pid, (uint64_t)settings->disk_mb << 20, (uint64_t)settings->memory_mb << 20,
                     charged, gauges, volumes, count);
}

/* The box stands: makes it known to the rest of the keeper. */
static int enrol(struct building *building, char *reason, size_t size)
{
    struct keeper *keeper = building->keeper;
    struct box *box = building->box;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = box};
    int gauges[BOX_GAUGES] = {-1, -1, -1, -1};
    int listener_fd = -1;

    receive_descriptors(box, gauges, &listener_fd);
    settle_descriptor(&box->process.pidfd);
    box->guarded = watch(building, gauges);
    /* First what takes the descriptors, so that they are closed with the box. */
    if (!box->landlock && reach_begin(keeper, box, listener_fd, building->settings->network, reason, size) < 0)
        return -1;
    if (!box->guarded || write_record(building) < 0)
        return -1;
    if (epoll_ctl(keeper->epoll_fd, EPOLL_CTL_ADD, box->process.pidfd, &event) < 0)
        return -1;
    box->next = keeper->boxes;
    keeper->boxes = box;
    return 0;
}

static void explain_open_files(char *reason, size_t size, const struct rlimit *files)
{
    snprintf(reason, size, "only %llu files may be open, which are too few; raise the limit (ulimit -n)",
             (unsigned long long)files->rlim_cur);
}

/* What a message brings beyond the limit of open files is just not there. */
static void explain_enrolment(char *reason, size_t size, int failed)
{
    enum { FEW_FILES = 64 };
    struct rlimit files = {.rlim_cur = RLIM_INFINITY};

    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < FEW_FILES || failed == EMFILE)
        explain_open_files(reason, size, &files);
    else
        snprintf(reason, size, "the box could not be recorded: %s; free some memory and disk space", strerror(failed));
}

/* Whatever it was that could not be opened any more: one thing helps. */
static void explain_failure(char *reason, size_t size)
{
    struct rlimit files;

    if (strstr(reason, strerror(EMFILE)) && getrlimit(RLIMIT_NOFILE, &files) == 0)
        explain_open_files(reason, size, &files);
}

static void kill_and_wait(const struct box_process *process)
{
    siginfo_t info;

    kill(process->pid, SIGKILL); /* a child that nobody has waited for, as in boxes_end */
    while (waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
        ;
}

static int build(struct building *building, char *reason, size_t size, uint32_t *status)
{
    *status = SANDLOT_DEPENDENCY_MISSING;
    errno = 0;
    if (prepare(building, reason, size) < 0) {
        if (building->volume_in_use || errno == ENOSPC || errno == EDQUOT || errno == EMFILE || errno == ENFILE)
            *status = SANDLOT_EXHAUSTED;
        return -1;
    }
    if (building->settings->credentials && make_authority(building, status, reason, size) < 0)
        return -1;
    *status = SANDLOT_DEPENDENCY_MISSING;
    if (start(building, reason, size) < 0)
        return -1;
    *reason = '\0';
    if (enrol(building, reason, size) == 0)
        return 0;
    *status = *reason ? SANDLOT_UNAVAILABLE : SANDLOT_EXHAUSTED;
    if (!*reason)
        explain_enrolment(reason, size, errno);
    kill_and_wait(&building->box->process);
    return -1;
}

/* A box that has nothing yet; NULL: no memory. */
static struct box *new_box(const struct settings *settings)
{
    struct box *box = calloc(1, sizeof(*box));
    struct timespec now;

    if (box && settings->layers)
        box->layers = strdup(settings->layers);
    if (!box || (settings->layers && !box->layers) || !make_id(box->id)) {
        if (box)
            free(box->layers);
        free(box);
        return NULL;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    box->source.kind = SOURCE_BOX;
    box->landlock = settings->confinement == CONFINEMENT_LANDLOCK;
    if (settings->archive)
        strcpy(box->archive, settings->archive);
    box->unpacks = settings->unpacks && settings->archive;
    box->created_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    strcpy(box->run_label, settings->run_label);
    box->process = (struct box_process){-1, -1};
    box->keeper_fd = -1;
    for (size_t i = 0; i < KEPT_FDS; i++)
        box->kept.fds[i] = -1;
    gate_prepare(&box->gate, -1, -1);
    return box;
}

struct box *building_make(struct keeper *keeper, const struct settings *settings, int secrets_fd, uint32_t *status,
                          char *reason, size_t size)
{
    AUTO_CLOSE int secrets = secrets_fd;
    struct box *box = new_box(settings);

    if (!box) {
        *status = SANDLOT_INTERNAL;
        snprintf(reason, size, "out of memory");
        return NULL;
    }
    struct building building = {.keeper = keeper,
                                .settings = settings,
                                .box = box,
                                .folder = {-1, -1, -1},
                                .viewer = {.map_fd = -1},
                                .workspace_fd = -1,
                                .rootfs_fd = -1,
                                .skeleton_fd = -1,
                                .secrets_fd = take_fd(&secrets),
                                .authority_fd = -1,
                                .init_fd = -1,
                                .memory_events_fd = -1,
                                .network_fd = -1};
    const int built = build(&building, reason, size, status);

    clear_building(&building);
    if (built == 0) {
        network_want(&keeper->network);
        return box;
    }
    explain_failure(reason, size);
    boxes_discard(keeper, box);
    return NULL;
}
