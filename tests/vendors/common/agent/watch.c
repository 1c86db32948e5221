#include "watch.h"

#include <unistd.h>

void watch_begin(struct watch *watch, int poll, int fd, void (*ready)(struct watch *, uint32_t))
{
    *watch = (struct watch){.poll = poll, .fd = fd, .ready = ready};
}

void watch_set(struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (watch->on && watch->events == events)
        return;
    epoll_ctl(watch->poll, watch->on ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &event);
    watch->on = true;
    watch->events = events;
}

void watch_off(struct watch *watch)
{
    if (watch->on)
        epoll_ctl(watch->poll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->on = false;
}

void watch_end(struct watch *watch)
{
    watch_off(watch);
    close(watch->fd);
    watch->fd = -1;
}

void watch_one(int poll, int wait_ms)
{
    struct epoll_event event;
    if (epoll_wait(poll, &event, 1, wait_ms) != 1)
        return;
    struct watch *watch = event.data.ptr;
    watch->ready(watch, event.events);
}
