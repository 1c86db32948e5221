#include "gate.h"

#include "../box/loopback.h"
#include "../egress/policy.h"
#include "../network_link.h"
#include "../protocol.h"
#include "gate_link.h"
#include "routes.h"
#include "rtnetlink.h"

#include <sandlot/sdk/cleanup.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sandlot/provider.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { WORK_LIMIT_MS = 10000, MAPPED_BITS = 96 };

/* What a child of the keeper does in the namespaces, since a process of many threads cannot enter them. */
struct work {
    const struct gate *gate;
    struct policy before;
    struct policy after;
    uint16_t ports[GATE_PORTS];
    size_t port_count;
    bool version_6; /* there are addresses of it to lead to */
};

/* ---- what the list needs ---- */

static void add_port(struct work *work, uint16_t port)
{
    for (size_t i = 0; i < work->port_count; i++)
        if (work->ports[i] == port)
            return;
    if (work->port_count < GATE_PORTS)
        work->ports[work->port_count++] = port;
}

static void add_ports(struct work *work)
{
    for (size_t i = 0; i < work->after.count; i++) {
        const uint16_t port = work->after.entries[i].port;

        add_port(work, port ? port : PORT_HTTPS);
        if (!port)
            add_port(work, PORT_HTTP);
    }
}

static address address_of(const char *text)
{
    address value = {0};

    address_parse(text, &value);
    return value;
}

/* Are these addresses of the two ends of the pair? They lead where they lead. */
static bool is_of_link(const struct policy_entry *entry)
{
    const address four = address_of(LINK_ADDRESS);
    const address six = address_of(LINK_ADDRESS_6);

    return (entry->bits >= MAPPED_BITS + strtoul(LINK_BITS, NULL, 10) &&
            address_in(&entry->host.address, &four, MAPPED_BITS + (unsigned)strtoul(LINK_BITS, NULL, 10))) ||
           (entry->bits >= GATE_BITS_6 && address_in(&entry->host.address, &six, GATE_BITS_6));
}

static bool is_routed(const struct policy_entry *entry)
{
    return entry->kind == POLICY_NETWORK && !is_of_link(entry);
}

static bool is_of_version_6(const struct policy_entry *entry)
{
    return !address_is_version_4(&entry->host.address) || entry->bits < MAPPED_BITS;
}

static bool has_network(const struct policy *policy, const struct policy_entry *wanted)
{
    for (size_t i = 0; i < policy->count; i++)
        if (policy->entries[i].kind == POLICY_NETWORK && policy->entries[i].bits == wanted->bits &&
            address_equals(&policy->entries[i].host.address, &wanted->host.address))
            return true;
    return false;
}

/* ---- in the child ---- */

static int change_networks(int fd, const struct policy *from, const struct policy *unless, enum route_change wanted,
                           bool in_gate)
{
    const address gateways[2] = {address_of(LINK_GATEWAY), address_of(LINK_GATEWAY_6)};

    for (size_t i = 0; i < from->count; i++) {
        const struct policy_entry *entry = &from->entries[i];
        const address *network = &entry->host.address;

        if (!is_routed(entry) || (unless && has_network(unless, entry)))
            continue;
        if ((in_gate ? routes_take_in(fd, wanted, network, entry->bits)
                     : routes_lead(fd, wanted, network, entry->bits, &gateways[is_of_version_6(entry)])) < 0 &&
            wanted == ROUTE_ADD && !is_of_version_6(entry))
            return -1;
    }
    return 0;
}

/* What is new first: of what stays no packet is lost. */
static int change_routes(int fd, const struct work *work, bool in_gate)
{
    if (change_networks(fd, &work->after, NULL, ROUTE_ADD, in_gate) < 0)
        return -1;
    return change_networks(fd, &work->before, &work->after, ROUTE_REMOVE, in_gate);
}

/* What leads to the gate whatever is on the list. */
static int add_fixed_routes(int fd, bool in_gate)
{
    const address names = address_of(GATE_NAMES);
    const address resolver = address_of(LINK_RESOLVER);
    const address gateway = address_of(LINK_GATEWAY);

    if (in_gate)
        return routes_take_in(fd, ROUTE_ADD, &names, MAPPED_BITS + GATE_NAMES_BITS) == 0 &&
                       routes_take_in(fd, ROUTE_ADD, &resolver, MAPPED_BITS + 32) == 0
                   ? 0
                   : -1;
    return routes_lead(fd, ROUTE_ADD, &names, MAPPED_BITS + GATE_NAMES_BITS, &gateway) == 0 &&
                   routes_lead(fd, ROUTE_ADD, &resolver, MAPPED_BITS + 32, &gateway) == 0
               ? 0
               : -1;
}

/* A socket that listens beside one of the list before, which its owner is about to close. */
static int listen_on(int family, int type, const struct sockaddr *here, socklen_t size)
{
    AUTO_CLOSE int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int one = 1;
    const int zero = 0;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) < 0)
        return -1;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    if (bind(fd, here, size) < 0 || (type == SOCK_STREAM && listen(fd, SOMAXCONN) < 0))
        return -1;
    return take_fd(&fd);
}

static int listen_for_names(int type)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(GATE_RESOLVER_PORT)};

    inet_pton(AF_INET, LINK_RESOLVER, &here.sin_addr);
    return listen_on(AF_INET, type, (struct sockaddr *)&here, sizeof(here));
}

/* On every address of both versions, where the kernel speaks both. */
static int listen_on_port(uint16_t port)
{
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = listen_on(AF_INET6, SOCK_STREAM, (const struct sockaddr *)&six, sizeof(six));

    return fd >= 0 ? fd : listen_on(AF_INET, SOCK_STREAM, (const struct sockaddr *)&four, sizeof(four));
}

static int make_sockets(const struct work *work, struct gate_sockets *sockets)
{
    sockets->fds[sockets->count++] = listen_for_names(SOCK_DGRAM);
    sockets->fds[sockets->count++] = listen_for_names(SOCK_STREAM);
    for (size_t i = 0; i < work->port_count; i++)
        sockets->fds[sockets->count++] = listen_on_port(work->ports[i]);
    for (size_t i = 0; i < sockets->count; i++)
        if (sockets->fds[i] < 0)
            return -1;
    return 0;
}

/* Enters the gate, which is made if there is none. */
static int enter_gate(const struct work *work)
{
    const bool made = work->gate->fd >= 0;

    /* Safe: into a network that only leads to a box. */
    if (made ? setns(work->gate->fd, CLONE_NEWNET) < 0 : unshare(CLONE_NEWNET) < 0)
        return -1;
    AUTO_CLOSE int fd = rtnetlink_open(0);

    if (fd < 0 || (!made && (loopback_start() < 0 || gate_link_make(fd, work->gate->network_fd) < 0)) ||
        gate_link_start(fd, GATE_END_GATE, work->version_6) < 0 || add_fixed_routes(fd, true) < 0)
        return -1;
    return change_routes(fd, work, true);
}

/* And then the box's network, where what leads to the gate is made last. */
static int enter_box(const struct work *work)
{
    if (setns(work->gate->network_fd, CLONE_NEWNET) < 0)
        return -1;
    AUTO_CLOSE int fd = rtnetlink_open(0);

    if (fd < 0 || gate_link_start(fd, GATE_END_BOX, work->version_6) < 0 || add_fixed_routes(fd, false) < 0)
        return -1;
    return change_routes(fd, work, false);
}

static int open_gate(const struct work *work, int *gate_fd, struct gate_sockets *sockets)
{
    if (enter_gate(work) < 0 || make_sockets(work, sockets) < 0)
        return -1;
    *gate_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    return *gate_fd >= 0 && enter_box(work) == 0 ? 0 : -1;
}

static int close_gate(const struct work *work)
{
    return setns(work->gate->network_fd, CLONE_NEWNET) == 0 ? gate_link_remove() : -1;
}

/* Says what it has made, or in a message of no descriptors what has failed. */
static _Noreturn void work_and_tell(const struct work *work, int keeper_fd)
{
    struct gate_sockets sockets = {.count = 0};
    int fds[GATE_SOCKETS + 1];
    int error = 0;

    if (work->gate->user_fd >= 0 && setns(work->gate->user_fd, CLONE_NEWUSER) < 0)
        error = errno;
    else if ((work->port_count > 0 ? open_gate(work, &fds[0], &sockets) : close_gate(work)) < 0)
        error = errno ? errno : EIO;
    memcpy(fds + 1, sockets.fds, sockets.count * sizeof(int));
    protocol_send(keeper_fd, MESSAGE_DONE, &error, sizeof(error), fds, error || !sockets.count ? 0 : sockets.count + 1,
                  sandlot_now_ms() + WORK_LIMIT_MS);
    _exit(0);
}

/* ---- in the keeper ---- */

static int take_result(struct gate *gate, struct received *message, struct gate_sockets *sockets)
{
    int error = EPROTO;

    if (message->header.length == sizeof(error))
        memcpy(&error, message->body, sizeof(error));
    for (size_t i = 1; !error && i < message->fd_count; i++)
        sockets->fds[sockets->count++] = received_take_fd(message, i);
    if (gate->fd >= 0)
        close(take_fd(&gate->fd));
    if (!error)
        gate->fd = received_take_fd(message, 0);
    received_clear(message);
    errno = error;
    return error ? -1 : 0;
}

/* 0, or an errno. */
static int start_maker(struct gate *gate, const struct work *work)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return errno;
    AUTO_CLOSE int theirs = pair[1];

    gate->maker_fd = pair[0];
    gate->maker_pid = _Fork(); /* the keeper has threads: thread.h */
    if (gate->maker_pid == 0)
        work_and_tell(work, theirs);
    if (gate->maker_pid > 0)
        return 0;
    const int error = errno;

    close(take_fd(&gate->maker_fd));
    return error;
}

static void end_maker(struct gate *gate)
{
    if (gate->maker_fd < 0)
        return;
    kill(gate->maker_pid, SIGKILL);
    while (waitpid(gate->maker_pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(take_fd(&gate->maker_fd));
}

void gate_prepare(struct gate *gate, int network_fd, int user_fd)
{
    *gate = (struct gate){network_fd, user_fd, -1, -1, -1, 0};
}

static bool prepare_work(struct work *work, const char *before, const char *after)
{
    if (!policy_read(before ? before : "", &work->before) || !policy_read(after ? after : "", &work->after))
        return false;
    add_ports(work);
    for (size_t i = 0; i < work->after.count; i++)
        work->version_6 |= is_routed(&work->after.entries[i]) && is_of_version_6(&work->after.entries[i]);
    return true;
}

void gate_begin(struct gate *gate, const char *before, const char *after)
{
    struct work work = {.gate = gate};

    gate->error = 0;
    if (!prepare_work(&work, gate->fd >= 0 ? before : NULL, after))
        gate->error = ENOMEM;
    else if (work.port_count > 0 || gate->fd >= 0)
        gate->error = gate->network_fd < 0 ? ENOENT : start_maker(gate, &work);
    policy_clear(&work.before);
    policy_clear(&work.after);
}

int gate_take(struct gate *gate, struct gate_sockets *sockets)
{
    struct received message;

    sockets->count = 0;
    errno = gate->error;
    if (gate->maker_fd < 0)
        return gate->error ? -1 : 0;
    const bool told = protocol_receive(gate->maker_fd, &message, sandlot_now_ms() + WORK_LIMIT_MS, -1) == PROTOCOL_OK;

    end_maker(gate);
    if (told)
        return take_result(gate, &message, sockets);
    errno = EIO;
    return -1;
}

const char *gate_problem(int error)
{
    switch (error) {
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
        return "this kernel has no devices of the kind veth; modprobe veth, or use a kernel with CONFIG_VETH";
    case ENOSPC:
    case EUSERS:
        return "no more network namespaces can be made; raise the sysctl user.max_net_namespaces, or delete sandboxes";
    case EPERM:
    case EACCES:
        return "network namespaces, or devices in them, are forbidden; let AppArmor or the outer container allow them";
    default:
        return "its gate could not be made; keeper.log in the state folder of local sandboxes says why";
    }
}

void gate_end(struct gate *gate)
{
    end_maker(gate);
    if (gate->fd >= 0)
        close(take_fd(&gate->fd));
}

void gate_sockets_close(struct gate_sockets *sockets)
{
    for (size_t i = 0; i < sockets->count; i++)
        close(sockets->fds[i]);
    sockets->count = 0;
}
