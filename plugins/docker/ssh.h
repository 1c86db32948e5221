/* Connections to an engine on another machine, each through an ssh of its own: what docker's command does. */
#ifndef SANDLOT_DOCKER_SSH_H
#define SANDLOT_DOCKER_SSH_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

enum { SSH_WORDS = 16, SSH_MOST = 64, SSH_SAID = 320 };

struct ssh {
    char *text; /* of the words */
    const char *words[SSH_WORDS + 1];
    pthread_mutex_t lock; /* of what follows */
    struct {
        pid_t program; /* 0: a free place */
        int fd;        /* of our side */
    } connections[SSH_MOST];
    int errors;          /* a file in memory: what the programs say of themselves; -1: none */
    char said[SSH_SAID]; /* the newest of that, after ssh_reason */
};

/* ADDRESS: what is behind ssh://, "user@host:port/path". False: out of memory. */
bool ssh_init(struct ssh *ssh, const char *address);
void ssh_clear(struct ssh *ssh);

/* For http_options: CONTEXT is the struct ssh. */
int ssh_dial(void *context, struct sockaddr_un *address);
void ssh_hang_up(void *context, int fd);

/* What the newest program that failed has said, as one line; "" for nothing. */
const char *ssh_reason(struct ssh *ssh);

#endif
