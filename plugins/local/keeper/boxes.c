#include "boxes.h"

#include "../box/skeleton.h"
#include "../protocol.h"
#include "authority.h"
#include "proc.h"
#include "reach.h"
#include "seed.h"
#include "settle.h"
#include "snapshots.h"
#include "volumes.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <sandlot/provider.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/*
 * Boxes of root each get a user of the machine of their own, out of a range that systemd's list of user numbers and
 * distributions leave unused, above the numbers that directory services hand out: what escapes from a box would then
 * be nobody in particular.
 */
static const uid_t FIRST_BOX_USER = 0x78000000;
enum { BOX_USERS = VOLUME_USER - 0x78000000, START_LIMIT_MS = 20000, END_LIMIT_MS = 3000, REMOVAL_TRIES = 500 };
enum { TEND_PAUSE_MS = 20, SWEEP_PAUSE_MS = 1000 };

struct remains {
    struct remains *next;
    char id[BOX_ID_SIZE];
    int tries;
};

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
    gid_t gid;
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

static const struct box_volume *volume_of(const struct box *box, const char *name)
{
    for (size_t i = 0; i < box->volume_count; i++)
        if (strcmp(box->volumes[i].name, name) == 0)
            return &box->volumes[i];
    return NULL;
}

const struct box *boxes_with_volume(const struct keeper *keeper, const char *name, uint32_t *writers, uint32_t *readers)
{
    const struct box *first = NULL;

    *writers = *readers = 0;
    for (const struct box *box = keeper->boxes; box; box = box->next) {
        const struct box_volume *volume = volume_of(box, name);

        if (!volume)
            continue;
        first = first ? first : box;
        *writers += volume->writes;
        *readers += !volume->writes;
    }
    return first;
}

/* May the box that is made write to VOLUME too? */
static int check_writers(const struct building *building, const struct box_volume *volume, char *reason, size_t size)
{
    for (const struct box *box = building->keeper->boxes; box; box = box->next) {
        const struct box_volume *theirs = volume_of(box, volume->name);

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

/* The users, folders, sockets and groups of a box, before it is started. */
static int prepare(struct building *building, char *reason, size_t size)
{
    struct keeper *keeper = building->keeper;
    const struct settings *settings = building->settings;
    struct box *box = building->box;
    int pair[2];

    box->host_uid = geteuid();
    building->gid = getegid();
    if (box->host_uid == 0) {
        if (!choose_user(keeper, &box->host_uid)) {
            snprintf(reason, size, "no unused user number was found for the box; delete boxes that are not needed");
            return -1;
        }
        building->gid = box->host_uid;
    }
    box->host_gid = building->gid;
    building->viewer = (struct seed_viewer){.uid = box->host_uid, .gid = building->gid, .map_fd = -1};
    box->inside_id = settings->fake_root ? 0 : BOX_USER;
    /* Without copy-on-write the client copies the folder. */
    if (settings->workspace && !box->landlock) {
        building->workspace_fd = seed_open(settings->workspace, &building->viewer, reason, size);
        if (building->workspace_fd < 0)
            return -1;
    }
    if (settings->rootfs) {
        building->rootfs_fd = seed_open(settings->rootfs, &building->viewer, reason, size);
        if (building->rootfs_fd < 0)
            return -1;
    }
    if (settings->archive && !settings->unpacks) {
        char path[ARCHIVE_PATH_SIZE];

        settings_archive_path(settings->archive, path);
        building->rootfs_fd = seed_open_at(keeper->state.fd, path, &building->viewer, reason, size);
        if (building->rootfs_fd < 0)
            return -1;
    }
    if (open_mounts(building, reason, size) < 0 || open_volumes(building, reason, size) < 0 ||
        open_layers(building, reason, size) < 0)
        return -1;
    if (building->rootfs_fd < 0 && !box->landlock) {
        building->skeleton_fd = skeleton_open(keeper->state.view_fd, settings->fake_root, building->mounts,
                                              building->mount_count, reason, size);
        if (building->skeleton_fd < 0)
            return -1;
    }
    if (state_make_box(&keeper->state, box->id, box->host_uid, building->gid, building->skeleton_fd, &building->folder,
                       reason, size) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        snprintf(reason, size, "the sockets of the box could not be made: %s", strerror(errno));
        return -1;
    }
    box->keeper_fd = pair[0];
    building->init_fd = pair[1];
    settle_descriptor(&box->keeper_fd);
    if (cgroups_make(&keeper->cgroups, box->id, settings, reason, size) < 0)
        return -1;
    building->memory_events_fd = cgroups_memory_events(&keeper->cgroups, box->id);
    /* One that is to be open belongs to the box. */
    if (!box->landlock && !reach_is_open(settings->network))
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
        .host_gid = building->gid,
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
        !fields_add_number(&text, "host_uid", box->host_uid) || !fields_add_number(&text, "host_gid", building->gid) ||
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

static void kill_and_wait(const struct box_process *process)
{
    siginfo_t info;

    syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
    while (waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
        ;
}

/* Removes what BOX has on the machine once none of its processes lives, and frees it. */
static void discard(struct keeper *keeper, struct box *box)
{
    guard_remove(box->guarded);
    for (size_t i = 0; i < box->volume_count; i++)
        volumes_used(&keeper->state, box->volumes[i].name);
    turn_await(&box->kept);
    reach_end(box);
    if (!cgroups_remove(&keeper->cgroups, box->id)) {
        struct remains *remains = calloc(1, sizeof(*remains));

        if (remains) {
            memcpy(remains->id, box->id, sizeof(remains->id));
            remains->next = keeper->remains;
            keeper->remains = remains;
        }
    }
    for (size_t i = 0; i < KEPT_FDS; i++)
        state_close_later(&box->kept.fds[i]);
    state_discard_box(&keeper->state, box->id);
    if (box->keeper_fd >= 0)
        close(box->keeper_fd);
    if (box->process.pidfd >= 0)
        close(box->process.pidfd);
    free(box->layers);
    free(box);
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
        snprintf(reason, size, "the box could not be recorded: %s; free some memory and disk space", strerror(errno));
    kill_and_wait(&building->box->process);
    return -1;
}

struct box *boxes_create(struct keeper *keeper, const struct settings *settings, int secrets_fd, uint32_t *status,
                         char *reason, size_t size)
{
    struct box *box = calloc(1, sizeof(*box));
    struct building building = {.keeper = keeper,
                                .settings = settings,
                                .box = box,
                                .folder = {-1, -1, -1},
                                .viewer = {.map_fd = -1},
                                .workspace_fd = -1,
                                .rootfs_fd = -1,
                                .skeleton_fd = -1,
                                .secrets_fd = secrets_fd,
                                .authority_fd = -1,
                                .init_fd = -1,
                                .memory_events_fd = -1,
                                .network_fd = -1};
    struct timespec now;

    if (box && settings->layers)
        box->layers = strdup(settings->layers);
    if (!box || (settings->layers && !box->layers) || !make_id(box->id)) {
        clear_building(&building);
        if (box)
            free(box->layers);
        free(box);
        *status = SANDLOT_INTERNAL;
        snprintf(reason, size, "out of memory");
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
    int built = build(&building, reason, size, status);

    clear_building(&building);
    if (built == 0) {
        network_want(&keeper->network);
        return box;
    }
    discard(keeper, box);
    return NULL;
}

struct box *boxes_find(const struct keeper *keeper, const char *id)
{
    struct box *box = keeper->boxes;

    while (box && strcmp(box->id, id) != 0)
        box = box->next;
    return box;
}

void boxes_end(struct box *box, const char *reason)
{
    if (box->ending || box->end_reason)
        return;
    box->ending = !reason;
    box->end_reason = reason;
    if (box->landlock) {
        /* Without a process namespace only init can find and end what the box has started. */
        close(take_fd(&box->keeper_fd));
        box->kill_at_ms = sandlot_now_ms() + END_LIMIT_MS;
        return;
    }
    /* When its pid 1 dies, the kernel kills everything in the box. */
    syscall(SYS_pidfd_send_signal, box->process.pidfd, SIGKILL, NULL, 0);
}

/* The record of BOX with LAYERS, and without them for "/"; NULL: it cannot be read. */
static char *record_with(const struct box *box, int folder_fd, const char *layers)
{
    AUTO_FREE char *record = fields_read(folder_fd, "record");
    AUTO_FREE char *root_layers = record ? fields_get(record, "root_layers") : NULL;
    char *text = record ? fields_without(record, "layers root_layers") : NULL;

    if (!root_layers)
        root_layers = strdup(box->layers ? box->layers : "");
    if (!text || !root_layers)
        free(text);
    else if (fields_add(&text, "layers", layers) && fields_add(&text, "root_layers", root_layers))
        return text;
    return NULL;
}

/* The box has left its layers, and no longer needs what it had written itself. */
static void leave_layers(const struct keeper *keeper, struct box *box, int storage)
{
    char name[TURN_NAME_SIZE];

    box->layer_count = 0;
    for (size_t i = 0; i < KEPT_PLACES; i++) {
        turn_left_name(name, i);
        state_discard(&keeper->state, storage, name);
    }
}

/* Does "/" lie on layers? It would go on to need them. */
static bool has_root_layers(const char *record)
{
    AUTO_FREE char *root_layers = fields_get(record, "root_layers");

    return root_layers && *root_layers;
}

/* LAYERS: what the box lies on then, which is taken over. */
static enum turn_result turn(struct keeper *keeper, struct box *box, const char *id, char *layers, bool rebase)
{
    AUTO_FREE char *taken = layers;
    AUTO_CLOSE int folder = openat(keeper->state.boxes_fd, box->id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int storage = openat(folder, "storage", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int parent = openat(keeper->state.fd, LAYERS_FOLDER, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int layer = openat(parent, id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FREE char *record = record_with(box, folder, layers);
    struct turn turn = {.kept = &box->kept,
                        .uid = box->host_uid,
                        .gid = box->host_gid,
                        .inside_id = box->inside_id,
                        .layer_count = box->layer_count,
                        .storage_fd = storage,
                        .layer_fd = layer,
                        .folder_fd = folder,
                        .rebase = rebase};

    /* Written before, because it must not fail once the box is turned. */
    if (storage < 0 || layer < 0 || !record || (rebase && has_root_layers(record)) ||
        state_write(folder, TURN_RECORD, record) < 0)
        return TURN_NOT;
    const enum turn_result result = turn_make(&turn);

    if (result == TURN_NOT) {
        unlinkat(folder, TURN_RECORD, 0);
        return result;
    }
    free(box->layers);
    box->layers = taken;
    taken = NULL;
    if (rebase)
        leave_layers(keeper, box, storage);
    guard_forget(box->guarded);
    return result;
}

enum turn_result boxes_turn(struct keeper *keeper, struct box *box, const char *id, bool rebase)
{
    const char *older = box->layers && !rebase ? box->layers : "";
    struct layer_chain chain;
    char *layers = NULL;

    if (!layer_id_valid(id) || !layer_chain_read(older, &chain) || chain.count == LAYERS_MOST ||
        asprintf(&layers, "%s%s%s", id, *older ? " " : "", older) < 0)
        return TURN_NOT;
    const enum turn_result result = turn(keeper, box, id, layers, rebase);

    if (result == TURN_BROKEN)
        boxes_end(box, "its files could not be kept for a snapshot, which broke it; the machine is short of memory");
    return result;
}

/* Why BOX ended, for those who look for it later. */
static const char *end_of(const struct keeper *keeper, const struct box *box, const siginfo_t *info)
{
    if (box->end_reason)
        return box->end_reason;
    if (info->si_code == CLD_EXITED && info->si_status == BOX_EXIT_IDLE_TTL)
        return "it expired: it was not used for longer than ttl_s allows";
    if (info->si_code == CLD_EXITED && info->si_status == BOX_EXIT_HARD_TTL)
        return "it expired: it reached its absolute lifetime, hard_ttl_s";
    if (info->si_code != CLD_EXITED && cgroups_memory_kills(&keeper->cgroups, box->id) > 0)
        return "its memory limit killed its init; give it more with memory_mb";
    return info->si_code == CLD_EXITED ? "its init gave up" : "its init was killed";
}

static bool archive_in_use(const void *context, const char *key)
{
    const struct keeper *keeper = context;
    const struct box *box = keeper->boxes;

    while (box && strcmp(box->archive, key) != 0)
        box = box->next;
    return box || snapshots_use_archive(&keeper->state, key);
}

static bool layer_in_use(const void *context, const char *id)
{
    const struct keeper *keeper = context;
    const struct box *box = keeper->boxes;

    while (box && !(box->layers && strstr(box->layers, id)))
        box = box->next;
    return box;
}

/* Whoever makes a snapshot holds the lock, for minutes maybe: each time that it is held the next look is later. */
void boxes_sweep_layers(struct keeper *keeper)
{
    const int longer = keeper->sweep_pause_ms > 0 ? 2 * keeper->sweep_pause_ms : TEND_PAUSE_MS;

    keeper->unswept = !snapshots_sweep(&keeper->state, layer_in_use, keeper);
    keeper->sweep_pause_ms = !keeper->unswept ? 0 : longer < SWEEP_PAUSE_MS ? longer : SWEEP_PAUSE_MS;
    keeper->sweep_at_ms = sandlot_now_ms() + keeper->sweep_pause_ms;
}

void boxes_bury(struct keeper *keeper, struct box *box)
{
    siginfo_t info = {0};

    while (waitid(P_PIDFD, (id_t)box->process.pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
        ;
    if (!box->ending)
        state_remember_end(&keeper->state, box->id, end_of(keeper, box, &info));
    for (struct box **at = &keeper->boxes; *at; at = &(*at)->next)
        if (*at == box) {
            *at = box->next;
            break;
        }
    /* The client looks whether it is there. */
    if (box->unpacked && state_keep_rootfs(&keeper->state, box->id, box->archive) == 0)
        state_sweep_rootfs(&keeper->state, archive_in_use, keeper);
    const bool layered = box->layers;

    discard(keeper, box);
    if (layered)
        boxes_sweep_layers(keeper);
}

static void order(const struct box *box, enum keeper_order what)
{
    char byte = (char)what;

    if (send(box->keeper_fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EAGAIN)
        return; /* it has not yet obeyed the orders before this one */
}

void boxes_heed_guard(struct keeper *keeper)
{
    for (struct box *box = keeper->boxes; box; box = box->next)
        switch (guard_take(box->guarded)) {
        case GUARD_FINE:
            break;
        case GUARD_OVER_MEMORY:
            order(box, KEEPER_ORDER_MEMORY);
            break;
        case GUARD_OVER_DISK:
            order(box, KEEPER_ORDER_DISK);
            break;
        case GUARD_FAR_OVER:
            boxes_end(box, "it went far beyond its disk limit; give it more with disk_mb");
            break;
        case GUARD_TOO_DEEP:
            boxes_end(box, "it has folders too deep to be counted for its disk limit; use fewer than 1,000 levels, and "
                           "give Sandlot more open files (ulimit -n) if it may have few");
            break;
        case GUARD_FAR_OVER_MEMORY:
            boxes_end(box, "its System V objects alone exceeded its memory limit; give it more with memory_mb");
            break;
        case GUARD_OVER_VOLUME:
            order(box, KEEPER_ORDER_VOLUME);
            break;
        case GUARD_FAR_OVER_VOLUME:
            boxes_end(box,
                      "it went far beyond the limit of a volume, or one holds a tree too deep to be counted; let it "
                      "hold more with limit_mb in [sandboxes.volumes.NAME], or `sandlot volumes delete` it");
            break;
        }
}

static bool kill_late_inits(const struct keeper *keeper)
{
    bool waiting = false;

    for (struct box *box = keeper->boxes; box; box = box->next) {
        if (!box->kill_at_ms)
            continue;
        if (sandlot_now_ms() >= box->kill_at_ms)
            syscall(SYS_pidfd_send_signal, box->process.pidfd, SIGKILL, NULL, 0);
        waiting = true;
    }
    return waiting;
}

static bool remove_remains(struct keeper *keeper)
{
    for (struct remains **at = &keeper->remains; *at;) {
        struct remains *remains = *at;

        if (cgroups_remove(&keeper->cgroups, remains->id) || ++remains->tries > REMOVAL_TRIES) {
            *at = remains->next;
            free(remains);
        } else {
            at = &remains->next;
        }
    }
    return keeper->remains;
}

int boxes_tend(struct keeper *keeper)
{
    const bool late = kill_late_inits(keeper);
    const bool remaining = remove_remains(keeper);

    if (keeper->unswept && sandlot_now_ms() >= keeper->sweep_at_ms)
        boxes_sweep_layers(keeper);
    if (late || remaining)
        return TEND_PAUSE_MS;
    return keeper->unswept ? keeper->sweep_pause_ms : -1;
}

static void sweep_one(void *context, const char *id)
{
    struct keeper *keeper = context;
    struct remains *remains = calloc(1, sizeof(*remains));

    if (!remains)
        return;
    snprintf(remains->id, sizeof(remains->id), "%.19s", id);
    remains->next = keeper->remains;
    keeper->remains = remains;
}

void boxes_sweep(struct keeper *keeper)
{
    state_sweep(&keeper->state, sweep_one, keeper);
    state_sweep_rootfs(&keeper->state, archive_in_use, keeper);
    boxes_sweep_layers(keeper);
    state_sweep_downloads(&keeper->state);
    remove_remains(keeper);
}
