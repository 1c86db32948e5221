/* What epoll watches: one descriptor each, which belongs to its watch. */
#ifndef AGENT_WATCH_H
#define AGENT_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

struct watch {
    int poll, fd;
    bool on;
    uint32_t events;
    void (*ready)(struct watch *watch, uint32_t events);
};

/* Nothing is watched yet. */
void watch_begin(struct watch *watch, int poll, int fd, void (*ready)(struct watch *, uint32_t));
/* EPOLLERR and EPOLLHUP come in any case. */
void watch_set(struct watch *watch, uint32_t events);
void watch_off(struct watch *watch);
/* Closes the descriptor. */
void watch_end(struct watch *watch);
/* Waits at most WAIT_MS (-1: without an end) and calls what is ready: one, for it may end any other. */
void watch_one(int poll, int wait_ms);

#endif
