#include "ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS = 50, LOOK_NS = 2 * 1000 * 1000 };

extern char **environ;

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

static pid_t start(const struct ssh *ssh, int fd)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t program = 0;

    sigemptyset(&none);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return 0;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return 0;
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    posix_spawnattr_setsigmask(&attributes, &none);
    int failed = posix_spawn_file_actions_adddup2(&actions, fd, 0) | posix_spawn_file_actions_adddup2(&actions, fd, 1);

    if (ssh->errors >= 0)
        failed |= posix_spawn_file_actions_adddup2(&actions, ssh->errors, 2);
    if (failed || posix_spawnp(&program, "ssh", &actions, &attributes, (char *const *)ssh->words, environ) != 0)
        program = 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return program;
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

int ssh_dial(void *context)
{
    struct ssh *ssh = context;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    pid_t program = start(ssh, pair[1]);

    close(pair[1]);
    if (program == 0 || !remember(ssh, program, pair[0])) {
        close(pair[0]);
        if (program != 0)
            end(program);
        return -1;
    }
    return pair[0];
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
