/*
 * bait FOLDER NAME MARKER: what a machine has that a box must not find, planted for attack_test.sh.
 *
 * FOLDER/hits grows by a line for every visitor. Once everything is in place FOLDER/bait says where it is, for
 * attack.c; the process then waits for SIGTERM, or for its parent's end, and takes everything away again. MARKER, which
 * is also in its arguments and its environment, is the secret text; in FOLDER/bait it stands backwards.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

enum { LISTENERS = 6, IPC_BYTES = 4096 };

static struct pollfd listeners[LISTENERS];
static nfds_t listener_count;
static const char *name;
static const char *marker;
static volatile sig_atomic_t finished;
static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
    if (number == SIGUSR1)
        signalled = 1;
    else
        finished = 1;
}

static void fail(const char *what)
{
    fprintf(stderr, "bait: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void hit(const char *what)
{
    int fd = open("hits", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0) {
        dprintf(fd, "%s\n", what);
        close(fd);
    }
}

static void add_listener(int fd)
{
    listeners[listener_count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void listen_unix(bool abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int length = snprintf(address.sun_path + abstract, sizeof(address.sun_path) - 1, "%s", abstract ? name : "socket");
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length + 1);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, abstract ? size : (socklen_t)sizeof(address)) < 0 ||
        listen(fd, 8) < 0)
        fail("unix socket");
    if (!abstract)
        chmod("socket", 0777);
    add_listener(fd);
}

/* On all addresses of both versions; with PORT 0 the kernel chooses. Returns the port. */
static int listen_ip(int type)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    socklen_t size = sizeof(address);
    int off = 0;
    int fd = socket(AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || (type == SOCK_STREAM && listen(fd, 64) < 0) ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        fail("internet socket");
    add_listener(fd);
    return ntohs(address.sin6_port);
}

static void answer(int fd)
{
    struct sockaddr_storage visitor = {0};
    socklen_t size = sizeof(visitor);
    char text[64];
    int type = 0;
    socklen_t type_size = sizeof(type);

    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size);
    if (type == SOCK_DGRAM) {
        if (recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&visitor, &size) < 0)
            return;
        hit("datagram");
        sendto(fd, marker, strlen(marker), 0, (struct sockaddr *)&visitor, size);
        return;
    }
    int connection = accept4(fd, (struct sockaddr *)&visitor, &size, SOCK_CLOEXEC);

    if (connection < 0)
        return;
    hit(visitor.ss_family == AF_UNIX ? "unix connection" : "tcp connection");
    close(connection);
}

/* The first address of this machine that is not a loopback; "" if there is none. */
static void own_address(char *text, size_t size)
{
    struct ifaddrs *all = NULL;

    *text = '\0';
    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *one = all; one && !*text; one = one->ifa_next)
        if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && !(one->ifa_flags & IFF_LOOPBACK))
            inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr, text,
                      (socklen_t)size);
    freeifaddrs(all);
}

struct ipc {
    key_t key;
    int segment;
    int semaphores;
    int messages;
    mqd_t queue;
    char posix_name[256];
};

static void make_ipc(struct ipc *ipc)
{
    ipc->key = (key_t)(0x5a000000 | (getpid() & 0xffffff));
    ipc->segment = shmget(ipc->key, IPC_BYTES, IPC_CREAT | IPC_EXCL | 0666);
    ipc->semaphores = semget(ipc->key, 1, IPC_CREAT | IPC_EXCL | 0666);
    ipc->messages = msgget(ipc->key, IPC_CREAT | IPC_EXCL | 0666);
    if (ipc->segment < 0 || ipc->semaphores < 0 || ipc->messages < 0)
        fail("System V objects");
    char *memory = shmat(ipc->segment, NULL, 0);

    if (memory != (void *)-1)
        snprintf(memory, IPC_BYTES, "%s", marker);
    snprintf(ipc->posix_name, sizeof(ipc->posix_name), "/%s", name);
    int fd = shm_open(ipc->posix_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    ipc->queue = mq_open(ipc->posix_name, O_RDWR | O_CREAT | O_EXCL, 0666, NULL);
    if (fd < 0 || dprintf(fd, "%s\n", marker) < 0 || fchmod(fd, 0666) < 0)
        fail("POSIX shared memory");
    close(fd);
    /* Searched for by description only; a key of the process's own rings would not outlive it. */
    syscall(SYS_add_key, "user", name, marker, strlen(marker), -5 /* KEY_SPEC_USER_SESSION_KEYRING */);
}

static void remove_ipc(const struct ipc *ipc)
{
    long key = syscall(SYS_keyctl, 10 /* KEYCTL_SEARCH */, -5, "user", name, 0);

    shmctl(ipc->segment, IPC_RMID, NULL);
    semctl(ipc->semaphores, 0, IPC_RMID);
    msgctl(ipc->messages, IPC_RMID, NULL);
    shm_unlink(ipc->posix_name);
    mq_unlink(ipc->posix_name);
    if (key >= 0)
        syscall(SYS_keyctl, 9 /* KEYCTL_UNLINK */, key, -5);
}

static void write_inodes(FILE *file)
{
    static const char *const paths[] = {"/root", "/home", "/var",     "/run",   "/tmp", "/opt", "/srv",     "/mnt",
                                        "/boot", "/sys",  "/var/log", "/media", "/etc", "/dev", "/dev/shm", "/"};
    struct stat status;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (stat(paths[i], &status) == 0)
            fprintf(file, "INODE=%u:%u:%lu:%s\n", major(status.st_dev), minor(status.st_dev),
                    (unsigned long)status.st_ino, paths[i]);
}

/* Written under another name first: whoever sees `bait` sees all of it. */
static void tell(const struct ipc *ipc, int tcp_port, int udp_port)
{
    FILE *file = fopen("bait.new", "we");
    char address[INET_ADDRSTRLEN];
    struct stat disk;

    if (!file)
        fail("bait.new");
    own_address(address, sizeof(address));
    fprintf(file, "NAME=%s\nPID=%d\nTCP_PORT=%d\nUDP_PORT=%d\nHOST_ADDRESS=%s\n", name, (int)getpid(), tcp_port,
            udp_port, address);
    fprintf(file, "IPC_KEY=%d\nINTRUDER_KEY=%d\nSHM_ID=%d\n", (int)ipc->key, (int)(ipc->key ^ 0x01000000),
            ipc->segment);
    if (stat("/", &disk) == 0)
        fprintf(file, "DISK_MAJOR=%u\nDISK_MINOR=%u\n", major(disk.st_dev), minor(disk.st_dev));
    write_inodes(file);
    fputs("MARKER_BACKWARDS=", file);
    for (size_t i = strlen(marker); i > 0; i--)
        fputc(marker[i - 1], file);
    fputc('\n', file);
    if (fclose(file) != 0 || rename("bait.new", "bait") < 0)
        fail("bait");
}

static void serve(void)
{
    while (!finished) {
        if (poll(listeners, listener_count, -1) > 0)
            for (nfds_t i = 0; i < listener_count; i++)
                if (listeners[i].revents)
                    answer(listeners[i].fd);
        if (signalled)
            hit("signal");
        signalled = 0;
    }
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = on_signal};
    struct ipc ipc;

    if (argc != 4) {
        fprintf(stderr, "usage: bait FOLDER NAME MARKER\n");
        return 2;
    }
    name = argv[2];
    marker = argv[3];
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (chdir(argv[1]) < 0)
        fail(argv[1]);
    listen_unix(false);
    listen_unix(true);
    int tcp_port = listen_ip(SOCK_STREAM);
    int udp_port = listen_ip(SOCK_DGRAM);

    make_ipc(&ipc);
    tell(&ipc, tcp_port, udp_port);
    serve();
    remove_ipc(&ipc);
    return 0;
}
