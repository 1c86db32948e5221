/*
 * Using up what there is, and staying behind:
 *
 *   attack load fork                 forks for ever, waits for nobody
 *   attack load processes            forks until it is refused, says how many, ends them
 *   attack load memory MIB           touches so much; says "touched N" when it is done
 *   attack load memfd MIB            the same in a memory file
 *   attack load memfds MIB           the same in memory files of 8 MiB
 *   attack load shared MIB           the same in memory that children would share
 *   attack load system-v MIB         the same in System V segments, which no process has attached in the end
 *   attack load messages MIB         the same in System V message queues
 *   attack load sockets MIB          the same in the queues of sockets that nobody reads from
 *   attack load datagrams MIB        the same, and the senders are closed
 *   attack load pieces MIB           the same in streams of single bytes
 *   attack load answers MIB          the same in answers of the kernel that nobody takes
 *   attack load mappings MIB         the same in the kernel's tables of what is mapped
 *   attack load ends MIB             the same in sockets that are never used
 *   attack load removed FOLDER MIB   writes so much into files of 8 MiB that it has removed but keeps open
 *   attack load mapped FOLDER MIB    the same, and keeps them mapped instead
 *   attack load undumpable KIND ...  another load in a process that nobody of its user may look into
 *   attack load thread KIND ...      another load in a process whose first thread has ended
 *   attack load deep FOLDER N MIB    writes so much into a folder that lies N deep
 *   attack load file PATH MIB        writes so much to PATH; says how much went in
 *   attack load files FOLDER N       makes so many empty files; says how many there are
 *   attack load descriptors          opens until it is refused; says how many
 *   attack load inotify              makes inotify instances until it is refused; says how many
 *   attack load terminals            the same with terminals
 *   attack load in-flight            sends descriptors that nobody receives until it is refused; says how many
 *   attack load spin [NAME]          two busy processes
 *   attack load flood MIB            so much output
 *   attack load stay NAME            a child, one in a session of its own and a daemon, which all ignore every signal
 *                                    they may and hold the output; then it waits itself
 *   attack load leave NAME           the same, but it ends itself at once
 *   attack load zombies N            leaves dead children of a dead parent behind
 *   attack load listen NAME          an abstract socket and a TCP port in this box; for another box to look for
 *   attack load meet NAME            1 if they are there
 */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MEBIBYTE = 1 << 20,
    PIECE = 8, /* MiB at a time */
    LONG_SECONDS = 600,
    HOLD_SECONDS = 30, /* several looks of the guard, on a busy machine too */
    MEETING_PORT = 18273,
    MESSAGE_DESCRIPTORS = 250,
    PIECE_BYTES = 768, /* of the kernel's for each piece of a stream */
    MAPPINGS = 60000
};

static char block[MEBIBYTE];

_Noreturn static int load_fork(int count, char **arguments)
{
    (void)count;
    (void)arguments;
    for (;;)
        if (fork() < 0)
            usleep(1000);
}

static int load_processes(int count, char **arguments)
{
    static pid_t children[10000];
    int started = 0;

    (void)count;
    (void)arguments;
    while (started < (int)(sizeof(children) / sizeof(children[0])) && (children[started] = fork()) >= 0)
        if (children[started++] == 0) {
            pause();
            _exit(0);
        }
    for (int i = 0; i < started; i++)
        kill(children[i], SIGKILL);
    while (wait(NULL) > 0)
        continue;
    printf("%d\n", started);
    return 0;
}

static int load_memory(int count, char **arguments)
{
    long size = strtol(arguments[1], NULL, 10);
    long touched = 0;

    (void)count;
    for (; touched < size; touched++) {
        char *piece = mmap(NULL, MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (piece == MAP_FAILED)
            break;
        memset(piece, 'x', MEBIBYTE);
    }
    printf("touched %ld\n", touched);
    return 0;
}

static long fill(int fd, long size)
{
    long written = 0;

    memset(block, 'x', sizeof(block));
    while (written < size && write(fd, block, sizeof(block)) == (ssize_t)sizeof(block))
        written++;
    return written;
}

static int load_memfd(int count, char **arguments)
{
    (void)count;
    printf("touched %ld\n", fill(memfd_create("load", MFD_CLOEXEC), strtol(arguments[1], NULL, 10)));
    return 0;
}

/* What holds the memory is there when the sum is said, and stays until the process is ended or has waited. */
static int touched(long size)
{
    printf("touched %ld\n", size);
    fflush(stdout);
    sleep(HOLD_SECONDS);
    puts("held on");
    return 0;
}

static int load_memfds(int count, char **arguments)
{
    const long size = strtol(arguments[1], NULL, 10);
    long sum = 0;
    long written = PIECE;

    (void)count;
    for (; sum < size && written == PIECE; sum += written)
        written = fill(memfd_create("load", MFD_CLOEXEC), PIECE);
    return touched(sum);
}

static int load_shared(int count, char **arguments)
{
    const long size = strtol(arguments[1], NULL, 10);
    long sum = 0;

    (void)count;
    for (; sum < size; sum += PIECE) {
        char *piece = mmap(NULL, PIECE * MEBIBYTE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (piece == MAP_FAILED)
            break;
        memset(piece, 'x', PIECE * MEBIBYTE);
        /* What is not in the process's tables any more is still in the segment. */
        madvise(piece, PIECE * MEBIBYTE, MADV_DONTNEED);
    }
    return touched(sum);
}

static int load_system_v(int count, char **arguments)
{
    const long size = strtol(arguments[1], NULL, 10);
    long sum = 0;

    (void)count;
    for (; sum < size; sum += PIECE) {
        const int id = shmget(IPC_PRIVATE, PIECE * MEBIBYTE, IPC_CREAT | 0600);
        char *piece = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

        if (piece == (char *)-1)
            break;
        memset(piece, 'x', PIECE * MEBIBYTE);
        shmdt(piece);
    }
    return touched(sum);
}

static int load_messages(int count, char **arguments)
{
    static struct {
        long type;
        char text[8000];
    } message = {.type = 1};
    const long size = strtol(arguments[1], NULL, 10) * MEBIBYTE;
    long sum = 0;

    (void)count;
    for (int id; sum < size && (id = msgget(IPC_PRIVATE, IPC_CREAT | 0600)) >= 0;)
        while (sum < size && msgsnd(id, &message, sizeof(message.text), IPC_NOWAIT) == 0)
            sum += (long)sizeof(message.text);
    return touched(sum / MEBIBYTE);
}

/* Fills what FD can send without a reader. The bytes. */
static long stuff(int fd, size_t piece)
{
    const int much = 64 * MEBIBYTE;
    long sum = 0;

    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &much, sizeof(much));
    for (ssize_t sent; (sent = send(fd, block, piece, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0;)
        sum += sent;
    return sum;
}

static int load_sockets(int count, char **arguments)
{
    const long size = strtol(arguments[1], NULL, 10) * MEBIBYTE;
    long sum = 0;

    (void)count;
    for (int pair[2]; sum < size && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;)
        sum += stuff(pair[0], 65536) + stuff(pair[1], 65536);
    return touched(sum / MEBIBYTE);
}

static int load_datagrams(int count, char **arguments)
{
    const long size = strtol(arguments[1], NULL, 10) * MEBIBYTE;
    long sum = 0;

    (void)count;
    for (int pair[2]; sum < size && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0;) {
        sum += stuff(pair[0], 100000);
        close(pair[0]);
    }
    return touched(sum / MEBIBYTE);
}

static int load_pieces(int count, char **arguments)
{
    const long size = strtol(arguments[1], NULL, 10) * MEBIBYTE;
    long sum = 0;

    (void)count;
    for (int pair[2]; sum < size && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;) {
        sum += stuff(pair[0], 1) * PIECE_BYTES;
        close(pair[0]);
    }
    return touched(sum / MEBIBYTE);
}

/* As many answers as a socket takes. The bytes, about. */
static long ask_without_end(void)
{
    const struct {
        struct nlmsghdr header;
        struct ifinfomsg loopback;
    } question = {{.nlmsg_len = sizeof(question), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
                  {.ifi_index = 1}};
    const int much = 64 * MEBIBYTE;
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    long sum = 0;

    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &much, sizeof(much));
    for (int i = 0; i < 100 && send(fd, &question, sizeof(question), MSG_DONTWAIT) > 0; i++)
        sum += 4096;
    return sum;
}

static int load_answers(int count, char **arguments)
{
    const long size = strtol(arguments[1], NULL, 10) * MEBIBYTE;
    long sum = 0;
    long got = 1;

    (void)count;
    for (; sum < size && got > 0; sum += got)
        got = ask_without_end();
    return touched(sum / MEBIBYTE);
}

/* Has FILL in children, each of which takes MIB, until it is SIZE. Who loses one is not as large as it says. */
static int in_children(void (*fill_child)(void), long each, long size)
{
    long sum = 0;
    int ready[2];
    char byte;

    if (pipe(ready) < 0)
        return 1;
    for (; sum < size; sum += each) {
        const pid_t pid = fork();

        if (pid == 0) {
            fill_child();
            if (write(ready[1], "x", 1) == 1)
                sleep(LONG_SECONDS);
            _exit(1);
        }
        if (pid < 0 || read(ready[0], &byte, 1) != 1 || waitpid(-1, NULL, WNOHANG) != 0)
            break;
    }
    touched(sum);
    return 0;
}

static void fill_mappings(void)
{
    const long page = 4096;
    char *pages = mmap(NULL, MAPPINGS * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    for (long i = 0; i < MAPPINGS && pages != MAP_FAILED; i += 2)
        mprotect(pages + i * page, (size_t)page, PROT_NONE);
}

static int load_mappings(int count, char **arguments)
{
    (void)count;
    return in_children(fill_mappings, 16, strtol(arguments[1], NULL, 10));
}

static void fill_ends(void)
{
    while (socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
        continue;
}

static int load_ends(int count, char **arguments)
{
    (void)count;
    return in_children(fill_ends, 8, strtol(arguments[1], NULL, 10));
}

/* Files that have no name any more. */
static int keep_removed(char **arguments, bool mapped)
{
    const long size = strtol(arguments[2], NULL, 10);
    char path[512];
    long sum = 0;

    signal(SIGXFSZ, SIG_IGN);
    snprintf(path, sizeof(path), "%s/removed", arguments[1]);
    for (long written = PIECE; sum < size && written == PIECE; sum += written) {
        const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        if (fd < 0 || unlink(path) < 0)
            break;
        written = fill(fd, PIECE);
        if (mapped && (mmap(NULL, PIECE * MEBIBYTE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED || close(fd) < 0))
            break;
    }
    return touched(sum);
}

static int load_removed(int count, char **arguments)
{
    return count < 3 ? 1 : keep_removed(arguments, false);
}

static int load_mapped(int count, char **arguments)
{
    return count < 3 ? 1 : keep_removed(arguments, true);
}

static int load_deep(int count, char **arguments)
{
    const long depth = count < 4 ? 0 : strtol(arguments[2], NULL, 10);
    const long size = count < 4 ? 0 : strtol(arguments[3], NULL, 10);
    long sum = 0;
    char name[32];

    if (chdir(arguments[1]) < 0)
        return 1;
    for (long i = 0; i < depth; i++)
        if (mkdir("d", 0700) < 0 || chdir("d") < 0)
            return 1;
    for (long written = PIECE; sum < size && written == PIECE; sum += written) {
        snprintf(name, sizeof(name), "file-%ld", sum);
        written = fill(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), PIECE);
    }
    return touched(sum);
}

static int load_inotify(int count, char **arguments)
{
    int made = 0;

    (void)count;
    (void)arguments;
    while (made < 100000 && inotify_init1(IN_CLOEXEC) >= 0)
        made++;
    printf("%d\n", made);
    return 0;
}

static int load_terminals(int count, char **arguments)
{
    int made = 0;

    (void)count;
    (void)arguments;
    while (made < 100000 && posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0)
        made++;
    printf("%d\n", made);
    return 0;
}

/* Sends as many descriptors as one message may have. False when it is refused. */
static bool send_descriptors(int fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(MESSAGE_DESCRIPTORS * sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS,
                            .cmsg_len = CMSG_LEN(MESSAGE_DESCRIPTORS * sizeof(int))}};
    char byte = 'x';
    struct iovec part = {&byte, 1};
    const struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

    memset(CMSG_DATA(&control.header), 0, MESSAGE_DESCRIPTORS * sizeof(int)); /* standard input, again and again */
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

static int load_in_flight(int count, char **arguments)
{
    int sent = 0;

    (void)count;
    (void)arguments;
    for (int pair[2], before = -1; sent > before && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;)
        for (before = sent; send_descriptors(pair[0]);)
            sent += MESSAGE_DESCRIPTORS;
    printf("%d\n", sent);
    return 0;
}

static int load_file(int count, char **arguments)
{
    int fd = count < 3 ? -1 : open(arguments[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (fd < 0) {
        perror("open");
        return 1;
    }
    signal(SIGXFSZ, SIG_IGN);
    printf("wrote %ld\n", fill(fd, strtol(arguments[2], NULL, 10)));
    return 0;
}

static int load_files(int count, char **arguments)
{
    long wanted = count < 3 ? 0 : strtol(arguments[2], NULL, 10);
    long made = 0;
    char name[32];

    if (chdir(arguments[1]) < 0)
        return 1;
    for (; made < wanted; made++) {
        snprintf(name, sizeof(name), "file-%ld", made);
        int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

        if (fd < 0)
            break;
        close(fd);
    }
    printf("made %ld\n", made);
    return 0;
}

static int load_descriptors(int count, char **arguments)
{
    int opened = 0;

    (void)count;
    (void)arguments;
    while (opened < 1000000 && dup(STDIN_FILENO) >= 0)
        opened++;
    printf("%d\n", opened);
    return 0;
}

_Noreturn static int load_spin(int count, char **arguments)
{
    (void)count;
    (void)arguments;
    signal(SIGTERM, SIG_IGN);
    fork();
    for (volatile unsigned long turns = 0;; turns++)
        continue;
}

static int load_flood(int count, char **arguments)
{
    (void)count;
    return fill(STDOUT_FILENO, strtol(arguments[1], NULL, 10)) < 0;
}

static void ignore_signals(void)
{
    for (int number = 1; number < SIGRTMAX; number++)
        if (number != SIGCHLD)
            signal(number, SIG_IGN);
}

_Noreturn static void linger(void)
{
    for (;;)
        sleep(LONG_SECONDS);
}

/* Each way out of a process tree: an ordinary child, a session of its own, and a daemon whose parent is gone. */
static int load_leave(int count, char **arguments)
{
    (void)count;
    (void)arguments;
    ignore_signals();
    if (fork() == 0)
        linger();
    if (fork() == 0) {
        setsid();
        linger();
    }
    pid_t parent = fork();

    if (parent == 0) {
        setsid();
        if (fork() == 0)
            linger();
        _exit(0);
    }
    waitpid(parent, NULL, 0);
    puts("started");
    fflush(stdout);
    return 0;
}

_Noreturn static int load_stay(int count, char **arguments)
{
    load_leave(count, arguments);
    linger();
}

static int load_zombies(int count, char **arguments)
{
    (void)count;
    for (long i = strtol(arguments[1], NULL, 10); i > 0; i--) {
        pid_t pid = fork();

        if (pid == 0) {
            if (fork() == 0)
                usleep(100000);
            _exit(0);
        }
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
    return 0;
}

static struct sockaddr_un meeting_name(const char *name, socklen_t *size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                        (size_t)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", name));
    return address;
}

static struct sockaddr_in meeting_address(void)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(MEETING_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int load_listen(int count, char **arguments)
{
    socklen_t size;
    struct sockaddr_un name = meeting_name(arguments[1], &size);
    struct sockaddr_in port = meeting_address();
    int local = socket(AF_UNIX, SOCK_STREAM, 0);
    int network = socket(AF_INET, SOCK_STREAM, 0);

    (void)count;
    if (bind(local, (struct sockaddr *)&name, size) < 0 || listen(local, 8) < 0 ||
        bind(network, (struct sockaddr *)&port, sizeof(port)) < 0 || listen(network, 8) < 0) {
        perror("listen");
        return 1;
    }
    pid_t pid = fork();

    if (pid == 0)
        linger();
    return pid < 0;
}

static int load_meet(int count, char **arguments)
{
    socklen_t size;
    struct sockaddr_un name = meeting_name(arguments[1], &size);
    struct sockaddr_in port = meeting_address();
    int local = socket(AF_UNIX, SOCK_STREAM, 0);
    int network = socket(AF_INET, SOCK_STREAM, 0);

    (void)count;
    return connect(local, (struct sockaddr *)&name, size) == 0 ||
           connect(network, (struct sockaddr *)&port, sizeof(port)) == 0;
}

/* The load that the further arguments name, in a process that has closed itself to its user. */
static int load_undumpable(int count, char **arguments)
{
    return prctl(PR_SET_DUMPABLE, 0) < 0 || load(count - 1, arguments + 1);
}

static int thread_count;
static char **thread_arguments;

static void *run_load(void *nothing)
{
    exit(load(thread_count - 1, thread_arguments + 1));
    return nothing;
}

/* The same in a process whose first thread has ended, and with it what /proc/PID/fd shows. */
static int load_thread(int count, char **arguments)
{
    pthread_t thread;

    thread_count = count;
    thread_arguments = arguments;
    if (pthread_create(&thread, NULL, run_load, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}

static const struct kind {
    const char *name;
    int (*run)(int count, char **arguments);
    int arguments;
} kinds[] = {
    {"fork", load_fork, 0},           {"processes", load_processes, 0},
    {"memory", load_memory, 1},       {"memfd", load_memfd, 1},
    {"memfds", load_memfds, 1},       {"shared", load_shared, 1},
    {"system-v", load_system_v, 1},   {"messages", load_messages, 1},
    {"sockets", load_sockets, 1},     {"datagrams", load_datagrams, 1},
    {"pieces", load_pieces, 1},       {"answers", load_answers, 1},
    {"mappings", load_mappings, 1},   {"ends", load_ends, 1},
    {"removed", load_removed, 2},     {"mapped", load_mapped, 2},
    {"deep", load_deep, 3},           {"file", load_file, 2},
    {"files", load_files, 2},         {"descriptors", load_descriptors, 0},
    {"inotify", load_inotify, 0},     {"terminals", load_terminals, 0},
    {"in-flight", load_in_flight, 0}, {"undumpable", load_undumpable, 1},
    {"thread", load_thread, 1},       {"spin", load_spin, 0},
    {"flood", load_flood, 1},         {"stay", load_stay, 1},
    {"leave", load_leave, 1},         {"zombies", load_zombies, 1},
    {"listen", load_listen, 1},       {"meet", load_meet, 1},
};

int load(int count, char **arguments)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, arguments[0]) == 0 && count > kinds[i].arguments)
            return kinds[i].run(count, arguments);
    fprintf(stderr, "attack: there is no such load, or an argument is missing\n");
    return 2;
}
