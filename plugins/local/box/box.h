/*
 * One box: its namespaces, its view of the file system, its walls, and the init that serves commands in it.
 *
 * The keeper calls box_start. The child that it clones never executes another program as itself: it builds
 * the view, drops everything, and serves the box's socket as pid 1 of the box until it is told to end, its
 * time is up, or the keeper dies.
 */
#ifndef SANDLOT_LOCAL_BOX_H
#define SANDLOT_LOCAL_BOX_H

#include "layers.h"
#include "settings.h"

#include <sys/types.h>

struct seccomp_program; /* of walls.h */

/*
 * The control groups of a box, which its first process is in before it does anything. To move a process from outside
 * would cost a grace period of the kernel, many milliseconds: so it is born in the group, or enters it by itself.
 */
struct box_groups {
    int born_in;  /* version 2: the group's folder; -1: none */
    int tasks[3]; /* version 1: the files "tasks", open for writing; -1: none */
};

/* A folder of the machine that the box has at a place of its own. */
struct box_mount {
    const char *path; /* absolute, without links, inside */
    int fd;           /* O_PATH, already readable for host_uid, and of a volume all its own */
    bool is_volume;   /* and so no folder that is only shown */
    bool writable;    /* of a volume alone */
};

enum { BOX_MOUNTS = SHOWN_MOST + VOLUMES_MOST };

struct box_request {
    const struct settings *settings;
    const char *id;
    uid_t host_uid; /* who the box is on the machine: the user, or for root an unused uid */
    gid_t host_gid;
    int storage_fd; /* O_PATH folder on disk, owned by host_uid, with upper, tmp and home, each an empty folder owned by
                       host_uid; what overlays need besides, the box makes there */
    int workspace_fd;     /* O_PATH folder that seeds the workspace, already readable for host_uid; -1: none */
    int rootfs_fd;        /* O_PATH folder, the lower layer of "/"; -1: the host's system folders */
    const int *layer_fds; /* O_PATH folders with what layer_places names, the newest first, already readable for
                             host_uid: what lies above the seeds; at most LAYERS_MOST */
    size_t layer_count;
    uint32_t root_layers; /* a bit for each that "/" lies on too, 1 for the first */
    int skeleton_fd;      /* O_PATH folder from skeleton_open, whose entries "/" shows where there is no rootfs_fd */
    const struct box_mount *mounts; /* at most BOX_MOUNTS */
    size_t mount_count;
    int authority_fd; /* O_PATH folder with the ca-certificates.crt that its programs are to trust; 0 or -1: they trust
                         what the machine does */
    int listener_fd;  /* listening socket of the box; init accepts on it */
    int keeper_fd;    /* the box's end of a socketpair with the keeper: end of file means "end the box" */
    int memory_events_fd; /* memory.events (cgroup v2) or memory.oom_control (v1) of the box's own cgroup, open for
                             reading: lets init tell a command that the memory limit killed; 0 or -1: there is no memory
                             cgroup, and the limit holds per process only (RLIMIT_DATA) */
    int network_fd; /* a network namespace that nothing is or was in, its loopback up, which the caller has the right to
                       enter; 0 or -1: the box makes its own */
    int home_network_fd;                  /* the caller's own, to return to; 0 or -1: network_fd is never one */
    const struct seccomp_program *filter; /* from walls_filter_new, made once for all boxes */
    const struct box_groups *groups;      /* NULL: none */
    int64_t deadline_ms;                  /* CLOCK_MONOTONIC: the box must stand by then */
    /* Called when the first process, PID, is in its namespaces, long before the box stands. AHEAD: its network is
     * network_fd. */
    void (*born)(void *context, pid_t pid, bool ahead);
    void *context;
};

/* How init exits by itself. Anything else: it was killed. */
enum box_exit {
    BOX_EXIT_ENDED = 0,     /* the keeper closed keeper_fd */
    BOX_EXIT_BROKEN = 40,   /* it could not go on */
    BOX_EXIT_IDLE_TTL = 41, /* unused for idle_ttl_ms */
    BOX_EXIT_HARD_TTL = 42  /* hard_ttl_ms are over */
};

/* Who a box believes to be, unless it is to believe itself root (fake_root). */
enum { BOX_USER = 1000 };

/* What init and its supervisors need beside the `processes` of the settings: add it to a pids cgroup's limit. */
enum { BOX_EXTRA_PROCESSES = 96 };

/* Where things are inside a box of CONFINEMENT_FULL. With CONFINEMENT_LANDLOCK there is no view: the working directory
 * is the host path of the storage's `upper`, HOME and TMPDIR those of `home` and `tmp`, and an empty working
 * directory in MESSAGE_RUN (or BOX_WORKSPACE) means that folder; MESSAGE_ROOT is answered by SANDLOT_UNSUPPORTED. */
#define BOX_WORKSPACE "/workspace"
#define BOX_HOME "/home/sandlot"

/* Where the programs of a box of CONFINEMENT_FULL find their proxy: a listener on the box's own loopback interface. */
#define BOX_PROXY "http://127.0.0.1:3128"
#define BOX_NO_PROXY "localhost,127.0.0.1,::1"
enum { BOX_PROXY_PORT = 3128 };

/*
 * What shows the memory of the box's namespaces: the lists of its System V objects, and a socket for sock_diag(7).
 * Init opens them before its first command, and sends them through keeper_fd, all in one MESSAGE_GAUGES.
 * What this kernel lacks is /dev/null.
 */
enum box_gauge { BOX_GAUGE_SEGMENTS, BOX_GAUGE_MESSAGES, BOX_GAUGE_SEMAPHORES, BOX_GAUGE_SOCKETS, BOX_GAUGES };

struct box_process {
    pid_t pid;
    int pidfd;
};

/*
 * Makes the box and returns when its init serves. 0, or -1 with REASON: one sentence that says what failed, the usual
 * cause and what to do; everything that was made is gone again then. Must be called on a thread that lives as
 * long as the box (PR_SET_PDEATHSIG, prctl(2)).
 */
int box_start(const struct box_request *request, struct box_process *process, char *reason, size_t reason_size);

#endif
