#include "agent.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void ignore_piece(struct input *input, const char *bytes, size_t length)
{
    (void)bytes;
    link_credit(&input->agent->link, input->channel, length);
}

static void ignore_end(struct input *input, const char *broken)
{
    (void)broken;
    input_forget(input);
}

struct input *input_begin(struct agent *agent, uint32_t channel)
{
    struct input *input = claim(sizeof *input);
    input->agent = agent;
    input->channel = channel;
    input->watch.fd = -1;
    input->take = ignore_piece;
    input->end = ignore_end;
    LIST_INSERT_HEAD(&agent->inputs, input, entry);
    return input;
}

struct input *input_of(struct agent *agent, uint32_t channel)
{
    struct input *input = LIST_FIRST(&agent->inputs);
    while (input && input->channel != channel)
        input = LIST_NEXT(input, entry);
    return input;
}

static void let_go(struct input *input)
{
    if (input->watch.fd >= 0)
        watch_end(&input->watch);
    link_credit(&input->agent->link, input->channel, input->waiting.length);
    bytes_free(&input->waiting);
    json_object_put(input->message);
    input->message = NULL;
}

void input_forget(struct input *input)
{
    let_go(input);
    LIST_REMOVE(input, entry);
    free(input);
}

void input_ignore(struct input *input)
{
    if (input->ended) {
        input_forget(input);
        return;
    }
    let_go(input);
    input->take = ignore_piece;
    input->end = ignore_end;
}

/* ---- what a command reads ---- */

static void write_waiting(struct input *input)
{
    ssize_t written = 0;
    if (input->waiting.length > 0)
        written = write(input->watch.fd, input->waiting.data, input->waiting.length);
    if (written < 0 && errno != EAGAIN && errno != EINTR) {
        input_ignore(input);
        return;
    }
    if (written > 0) {
        bytes_drop(&input->waiting, (size_t)written);
        link_credit(&input->agent->link, input->channel, (size_t)written);
    }
    if (input->waiting.length == 0 && input->ended)
        input_forget(input);
    else
        watch_set(&input->watch, input->waiting.length > 0 ? EPOLLOUT : 0);
}

static void pipe_ready(struct watch *watch, uint32_t events)
{
    struct input *input = container_of(watch, struct input, watch);
    if (events & EPOLLERR)
        input_ignore(input); /* nobody reads it any more */
    else
        write_waiting(input);
}

static void feed_piece(struct input *input, const char *bytes, size_t length)
{
    bytes_add(&input->waiting, bytes, length);
    write_waiting(input);
}

static void feed_end(struct input *input, const char *broken)
{
    (void)broken; /* a command sees an end, whatever the reason */
    input->ended = true;
    write_waiting(input);
}

void input_feed(struct input *input, int fd)
{
    input->take = feed_piece;
    input->end = feed_end;
    watch_begin(&input->watch, input->agent->poll, fd, pipe_ready);
    watch_set(&input->watch, 0);
}
