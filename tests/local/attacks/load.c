/*
 * Using up what there is, and staying behind:
 *
 *   attack load fork                 forks for ever, waits for nobody
 *   attack load processes            forks until it is refused, says how many, ends them
 *   attack load memory MIB           touches so much; says "touched N" when it is done
 *   attack load memfd MIB            the same in a memory file
 *   attack load file PATH MIB        writes so much to PATH; says how much went in
 *   attack load files FOLDER N       makes so many empty files; says how many there are
 *   attack load descriptors          opens until it is refused; says how many
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
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEBIBYTE = 1 << 20, LONG_SECONDS = 600, MEETING_PORT = 18273 };

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

static const struct kind {
    const char *name;
    int (*run)(int count, char **arguments);
    int arguments;
} kinds[] = {
    {"fork", load_fork, 0},
    {"processes", load_processes, 0},
    {"memory", load_memory, 1},
    {"memfd", load_memfd, 1},
    {"file", load_file, 2},
    {"files", load_files, 2},
    {"descriptors", load_descriptors, 0},
    {"spin", load_spin, 0},
    {"flood", load_flood, 1},
    {"stay", load_stay, 1},
    {"leave", load_leave, 1},
    {"zombies", load_zombies, 1},
    {"listen", load_listen, 1},
    {"meet", load_meet, 1},
};

int load(int count, char **arguments)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, arguments[0]) == 0 && count > kinds[i].arguments)
            return kinds[i].run(count, arguments);
    fprintf(stderr, "attack: there is no such load, or an argument is missing\n");
    return 2;
}
