#include "reach.h"

#include "../egress/policy.h"
#include "settle.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define GATE_NOTE "network.gate" /* in the box's folder: why it has no gate */

bool reach_is_open(const char *policy)
{
    return policy && strcmp(policy, POLICY_OPEN) == 0;
}

/* The list of POLICY, NULL: it has none. */
static const char *list_of(const char *policy)
{
    return policy && *policy && !reach_is_open(policy) ? policy : NULL;
}

static int open_folder(const struct keeper *keeper, const struct box *box)
{
    return openat(keeper->state.boxes_fd, box->id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Takes what has come of the gate. Where there is none programs that know the proxy go on as before; others find
 * nothing, as without a list, and whoever asks hears why. */
static void take_gate(const struct keeper *keeper, struct box *box, struct gate_sockets *sockets)
{
    const int error = gate_take(&box->gate, sockets) == 0 ? 0 : errno;
    AUTO_CLOSE int folder = open_folder(keeper, box);

    if (error) {
        dprintf(STDERR_FILENO, "sandbox %s: its gate cannot be made: %s\n", box->id, strerror(error));
        state_write(folder, GATE_NOTE, gate_problem(error));
    } else {
        unlinkat(folder, GATE_NOTE, 0);
    }
}

static void change_gate(const struct keeper *keeper, struct box *box, const char *before, const char *after,
                        struct gate_sockets *sockets)
{
    gate_begin(&box->gate, list_of(before), list_of(after));
    take_gate(keeper, box, sockets);
}

static int open_namespace(pid_t pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void reach_born(struct box *box, pid_t pid, int network_fd, const char *policy)
{
    /* One that was made ahead belongs to the keeper's user namespace. */
    int user_fd = network_fd >= 0 ? -1 : open_namespace(pid, "user");

    if (network_fd < 0)
        network_fd = open_namespace(pid, "net");
    settle_descriptor(&network_fd);
    settle_descriptor(&user_fd);
    outside_prepare(&box->outside, box, network_fd, user_fd);
    gate_prepare(&box->gate, network_fd, user_fd);
    gate_begin(&box->gate, NULL, list_of(policy));
}

static int begin_proxy(struct keeper *keeper, struct box *box, int listener_fd, const char *policy)
{
    char *copy = policy ? strdup(policy) : NULL;
    struct gate_sockets sockets;

    if (policy && !copy) {
        close(listener_fd);
        return -1;
    }
    take_gate(keeper, box, &sockets);
    return way_begin(keeper, box, listener_fd, &sockets, copy);
}

int reach_begin(struct keeper *keeper, struct box *box, int listener_fd, const char *policy, char *reason, size_t size)
{
    if (listener_fd < 0 || begin_proxy(keeper, box, listener_fd, policy) < 0)
        return -1;
    return reach_is_open(policy) ? outside_open(keeper, &box->outside, reason, size) : 0;
}

/* Opens the network of BOX. First its gate goes, which has the same addresses; where the network cannot be opened it
 * comes back. */
static int open_outside(struct keeper *keeper, struct box *box, char *reason, size_t size)
{
    struct gate_sockets sockets;

    change_gate(keeper, box, box->way.policy, NULL, &sockets);
    if (outside_open(keeper, &box->outside, reason, size) == 0)
        return 0;
    if (list_of(box->way.policy)) {
        char *copy = strdup(box->way.policy);

        change_gate(keeper, box, NULL, box->way.policy, &sockets);
        way_change(keeper, &box->way, &sockets, copy);
    }
    return -1;
}

int reach_change(struct keeper *keeper, struct box *box, const char *policy, char *reason, size_t size)
{
    AUTO_CLOSE int folder = open_folder(keeper, box);
    char *copy = strdup(policy);
    struct gate_sockets sockets;

    *reason = '\0';
    if (reach_is_open(policy) && !box->way.dead && open_outside(keeper, box, reason, size) < 0) {
        free(copy);
        return -1;
    }
    if (!reach_is_open(policy))
        outside_close(&box->outside);
    /* Noted first: what cannot be noted is not put in force. */
    if (!copy || folder < 0 || box->way.dead || state_write(folder, "network", policy) < 0) {
        free(copy);
        return -1;
    }
    change_gate(keeper, box, box->way.policy, policy, &sockets);
    return way_change(keeper, &box->way, &sockets, copy);
}

void reach_end(struct box *box)
{
    gate_end(&box->gate);
    way_end(&box->way);
    outside_end(&box->outside);
}
