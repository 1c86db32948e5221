#include "ssh.h"

#include <sandlot/sdk/random.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ACCEPT_S = 30, LOOKS = 50, LOOK_NS = 2 * 1000 * 1000 };

/* Cuts what is behind the first MARK off TEXT. NULL: it has none. */
static char *cut(char *text, int mark)
{
    char *found = strchr(text, mark);

    if (found)
        *found++ = '\0';
    return found;
}

/* Words as docker's command has them. Whatever the far side has, its own command knows where the engine is. */
static void make_words(struct ssh *ssh, char *host, char *path, char *option)
{
    char *user = NULL;
    char *at = strrchr(host, '@');
    size_t count = 0;

    if (at) {
        user = host;
        *at = '\0';
        host = at + 1;
    }
    char *port = cut(host, ':');
    const char *const beginning[] = {"ssh", "-o", "ConnectTimeout=30", "-o", "BatchMode=yes", "-T"};

    for (; count < sizeof(beginning) / sizeof(*beginning); count++)
        ssh->words[count] = beginning[count];
    if (user)
        ssh->words[count++] = "-l", ssh->words[count++] = user;
    if (port)
        ssh->words[count++] = "-p", ssh->words[count++] = port;
    ssh->words[count++] = "--";
    ssh->words[count++] = host;
    ssh->words[count++] = "docker";
    if (*path)
        ssh->words[count++] = option;
    ssh->words[count++] = "system dial-stdio";
}

/* The far side's shell reads the words once more: a path that has anything to say to it is none. */
static bool is_plain(const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";

    return path[strspn(path, plain)] == '\0';
}

bool ssh_init(struct ssh *ssh, const char *address)
{
    size_t host = strcspn(address, "/");
    const char *path = address[host] == '/' && address[host + 1] ? address + host : "";
    int length = asprintf(&ssh->text, "%.*s%c--host=unix://%s", (int)host, address, '\0', path);

    pthread_mutex_init(&ssh->lock, NULL);
    ssh->errors = -1;
    if (length < 0 || !is_plain(path)) {
        ssh->text = length < 0 ? NULL : ssh->text;
        return false;
    }
    char *option = ssh->text + host + 1;

    make_words(ssh, ssh->text, option + strlen("--host=unix://"), option);
    ssh->errors = memfd_create("sandlot-ssh", MFD_CLOEXEC);
    return true;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* In the child: waits for the connection of its parent, whom alone it serves, and becomes the program. */
static void serve(const struct ssh *ssh, int listener, pid_t parent)
{
    struct ucred peer = {0};
    socklen_t length = sizeof(peer);
    sigset_t none;

    alarm(ACCEPT_S);
    int fd = accept(listener, NULL, NULL);

    alarm(0);
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.pid != parent)
        _exit(1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    dup2(fd, 0);
    dup2(fd, 1);
    if (ssh->errors >= 0)
        dup2(ssh->errors, 2);
    if (fd > 2)
        close(fd);
    execvp("ssh", (char *const *)ssh->words);
    dprintf(2, "ssh cannot be started: %s", strerror(errno));
    _exit(127);
}

static pid_t start(const struct ssh *ssh, int listener)
{
    pid_t parent = getpid();
    pid_t program = fork();

    if (program == 0)
        serve(ssh, listener, parent);
    return program < 0 ? 0 : program;
}

/* A socket that waits for one connection, under a name that nobody can guess. */
static int listen_anywhere(struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    char name[33];

    random_digits(name, sizeof(name) - 1);
    snprintf(any.sun_path + 1, sizeof(any.sun_path) - 1, "sandlot-%s", name);
    *address = any; /* whole: the zeros behind it are part of such a name */
    if (fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0 && listen(fd, 1) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool remember(struct ssh *ssh, pid_t program, int fd)
{
    bool done = false;

    pthread_mutex_lock(&ssh->lock);
    for (size_t i = 0; i < SSH_MOST && !done; i++)
        if (ssh->connections[i].program == 0) {
            ssh->connections[i].program = program;
            ssh->connections[i].fd = fd;
            done = true;
        }
    pthread_mutex_unlock(&ssh->lock);
    return done;
}

/* It ends by itself once its input has; one that does not is ended. */
static void end(pid_t program)
{
    const struct timespec moment = {0, LOOK_NS};

    for (int i = 0; i < LOOKS; i++) {
        if (waitpid(program, NULL, WNOHANG) != 0)
            return;
        if (i == LOOKS / 2)
            kill(program, SIGTERM);
        nanosleep(&moment, NULL);
    }
    kill(program, SIGKILL);
    while (waitpid(program, NULL, 0) < 0 && errno == EINTR)
        continue;
}

int ssh_dial(void *context, struct sockaddr_un *address)
{
    struct ssh *ssh = context;
    int listener = listen_anywhere(address);
    int fd = listener >= 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    pid_t program = fd >= 0 ? start(ssh, listener) : 0;

    if (listener >= 0)
        close(listener);
    if (program != 0 && remember(ssh, program, fd))
        return fd;
    if (fd >= 0)
        close(fd);
    if (program != 0)
        end(program);
    return -1;
}

void ssh_hang_up(void *context, int fd)
{
    struct ssh *ssh = context;
    pid_t program = 0;

    pthread_mutex_lock(&ssh->lock);
    for (size_t i = 0; i < SSH_MOST; i++)
        if (ssh->connections[i].program != 0 && ssh->connections[i].fd == fd) {
            program = ssh->connections[i].program;
            ssh->connections[i].program = 0;
        }
    pthread_mutex_unlock(&ssh->lock);
    shutdown(fd, SHUT_RDWR);
    if (program != 0)
        end(program);
}

const char *ssh_reason(struct ssh *ssh)
{
    pthread_mutex_lock(&ssh->lock);
    off_t size = ssh->errors >= 0 ? lseek(ssh->errors, 0, SEEK_END) : 0;
    off_t from = size > SSH_SAID - 1 ? size - (SSH_SAID - 1) : 0;
    ssize_t length = size > 0 ? pread(ssh->errors, ssh->said, SSH_SAID - 1, from) : 0;

    ssh->said[length > 0 ? length : 0] = '\0';
    for (char *at = ssh->said; *at; at++)
        if ((unsigned char)*at < ' ' || *at == '\x7f')
            *at = ' ';
    for (size_t last = strlen(ssh->said); last > 0 && ssh->said[last - 1] == ' '; last--)
        ssh->said[last - 1] = '\0';
    pthread_mutex_unlock(&ssh->lock);
    return ssh->said;
}

void ssh_clear(struct ssh *ssh)
{
    if (!ssh->text)
        return;
    if (ssh->errors >= 0)
        close(ssh->errors);
    pthread_mutex_destroy(&ssh->lock);
    free(ssh->text);
}
