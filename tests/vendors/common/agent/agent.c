#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINK_FD = 3 };

/* ---- messages ---- */

const char *text_of(struct json_object *message, const char *key)
{
    struct json_object *value = json_object_object_get(message, key);
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

int64_t number_of(struct json_object *message, const char *key, int64_t otherwise)
{
    struct json_object *value = json_object_object_get(message, key);
    return value ? json_object_get_int64(value) : otherwise;
}

bool is_set(struct json_object *message, const char *key)
{
    struct json_object *value = json_object_object_get(message, key);
    return json_object_is_type(value, json_type_boolean) ? json_object_get_boolean(value) : value != NULL;
}

uint32_t channel_of(struct json_object *message)
{
    return (uint32_t)number_of(message, "channel", 0);
}

/* Appends the parts of PATH, which begins anew with "/". */
static void walk(char *to, const char *path)
{
    if (*path == '/')
        *to = '\0';
    while (*path) {
        size_t length = strcspn(path, "/");
        char *last = strrchr(to, '/');
        if (length == 2 && strncmp(path, "..", 2) == 0) {
            if (last)
                *last = '\0';
        } else if (length > 0 && !(length == 1 && *path == '.')) {
            sprintf(to + strlen(to), "/%.*s", (int)length, path);
        }
        path += length;
        path += strspn(path, "/");
    }
}

const char *path_of(struct agent *agent, struct json_object *message, const char *key)
{
    const char *name = text_of(message, key);
    if (!name)
        name = "";
    char *path = claim(strlen(agent->home) + strlen(name) + 4);
    walk(path, agent->home);
    walk(path, name);
    json_object_object_add(message, key, json_object_new_string(*path ? path : "/"));
    free(path);
    return text_of(message, key);
}

static void reply(struct agent *agent, struct json_object *message, const char *key, struct json_object *value)
{
    struct json_object *answer = json_object_new_object();
    json_object_object_add(answer, "id", json_object_get(json_object_object_get(message, "id")));
    json_object_object_add(answer, key, value);
    link_send(&agent->link, answer);
}

void answer(struct agent *agent, struct json_object *message, struct json_object *result)
{
    reply(agent, message, "result", result ? result : json_object_new_object());
}

void refuse(struct agent *agent, struct json_object *message, const char *code, const char *what, const char *text, ...)
{
    struct json_object *error = json_object_new_object();
    char *words = NULL;
    va_list arguments;
    va_start(arguments, text);
    if (vasprintf(&words, text, arguments) < 0)
        words = NULL;
    va_end(arguments);
    json_object_object_add(error, "code", json_object_new_string(code));
    json_object_object_add(error, "message", json_object_new_string(words ? words : code));
    if (what)
        json_object_object_add(error, "what", json_object_new_string(what));
    free(words);
    reply(agent, message, "error", error);
}

const char *code_of(int number)
{
    const char *name = strerrorname_np(number);
    return name ? name : "EIO";
}

void refuse_errno(struct agent *agent, struct json_object *message, const char *call, const char *path)
{
    int number = errno;
    refuse(agent, message, code_of(number), NULL, "%s: %s, %s '%s'", code_of(number), strerror(number), call, path);
}

struct json_object *event_of(const char *event, uint32_t channel)
{
    struct json_object *message = json_object_new_object();
    json_object_object_add(message, "event", json_object_new_string(event));
    json_object_object_add(message, "channel", json_object_new_int64(channel));
    return message;
}

/* The system's calls would take such a text for a shorter one. */
static bool has_nul(struct json_object *value)
{
    if (json_object_is_type(value, json_type_string))
        return strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value);
    if (json_object_is_type(value, json_type_array))
        for (size_t i = 0; i < json_object_array_length(value); i++)
            if (has_nul(json_object_array_get_idx(value, i)))
                return true;
    if (json_object_is_type(value, json_type_object)) {
        json_object_object_foreach(value, key, member)
        {
            (void)key;
            if (has_nul(member))
                return true;
        }
    }
    return false;
}

/* ---- operations ---- */

/* All but this process and the box's init. */
static void freeze(struct agent *agent, struct json_object *message)
{
    kill(-1, SIGSTOP);
    answer(agent, message, NULL);
}

static void thaw(struct agent *agent, struct json_object *message)
{
    kill(-1, SIGCONT);
    answer(agent, message, NULL);
}

static const struct operation {
    const char *name;
    void (*act)(struct agent *agent, struct json_object *message);
} operations[] = {
    {"run", commands_run},    {"kill", commands_kill}, {"stat", files_stat},   {"list", files_list},
    {"read", files_read},     {"write", files_write},  {"mkdir", files_mkdir}, {"remove", files_remove},
    {"rename", files_rename}, {"chmod", files_chmod},  {"freeze", freeze},     {"thaw", thaw},
};

static void act(struct agent *agent, struct json_object *message)
{
    const char *name = text_of(message, "operation");
    if (is_set(message, "input"))
        input_begin(agent, channel_of(message));
    if (has_nul(message)) {
        refuse(agent, message, "ERR_INVALID_ARG_VALUE", NULL, "a text has a null byte");
        return;
    }
    for (size_t i = 0; name && i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(operations[i].name, name) == 0) {
            operations[i].act(agent, message);
            return;
        }
    }
    refuse(agent, message, "EIO", NULL, "there is no such operation");
}

/* ---- the link ---- */

/* The emulator may end a stream early because its own source broke. */
static void take_message(struct link *link, struct json_object *message)
{
    struct agent *agent = container_of(link, struct agent, link);
    const char *event = text_of(message, "event"), *words = text_of(message, "message");
    struct input *input;
    if (!event)
        act(agent, message);
    else if (strcmp(event, "dialled") == 0)
        outside_dialled(agent, message);
    else if (strcmp(event, "broken") == 0 && (input = input_of(agent, channel_of(message))))
        input->end(input, words ? words : "the source broke");
}

static void take_data(struct link *link, uint32_t channel, const char *bytes, size_t length)
{
    struct input *input = input_of(container_of(link, struct agent, link), channel);
    if (input)
        input->take(input, bytes, length);
}

static void take_end(struct link *link, uint32_t channel)
{
    struct input *input = input_of(container_of(link, struct agent, link), channel);
    if (input)
        input->end(input, NULL);
}

/* The emulator has gone, and its boxes go with it. */
static void closed(struct link *link)
{
    (void)link;
    kill(getpid(), SIGKILL);
}

/* SETTINGS: {home, environment} */
static bool agent_begin(struct agent *agent, struct json_object *settings)
{
    agent->home = text_of(settings, "home");
    agent->environment = json_object_object_get(settings, "environment");
    agent->nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    agent->poll = epoll_create1(EPOLL_CLOEXEC);
    agent->link = (struct link){.message = take_message, .data = take_data, .end = take_end, .closed = closed};
    link_begin(&agent->link, agent->poll, LINK_FD);
    return agent->home && agent->environment && agent->nothing >= 0 && agent->poll >= 0 && outside_begin(agent);
}

int main(int count, char **words)
{
    struct agent agent = {0};
    struct json_object *settings = count == 2 ? json_tokener_parse(words[1]) : NULL;
    umask(022);
    signal(SIGPIPE, SIG_IGN);
    close_range(LINK_FD, ~0U, CLOSE_RANGE_CLOEXEC);
    fcntl(LINK_FD, F_SETFL, O_NONBLOCK);
    if (!agent_begin(&agent, settings)) {
        perror("agent: it cannot begin");
        return EXIT_FAILURE;
    }
    struct json_object *ready = json_object_new_object();
    json_object_object_add(ready, "event", json_object_new_string("ready"));
    link_send(&agent.link, ready);
    for (;;) {
        int wait;
        do
            wait = commands_settle(&agent);
        while (link_flush(&agent.link));
        watch_one(agent.poll, wait);
    }
}
