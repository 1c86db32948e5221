#include "operations/listening.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LISTENS = 0x0A, /* TCP_LISTEN of the kernel's table */
    SHOWN = 8,
    OWN_PROXY = 3128, /* the way out of a local box (plugins/local): nobody has started it there */
    LINES = 4096
};

static void insert(struct listening *listening, uint16_t port)
{
    size_t at = 0;

    while (at < listening->count && listening->ports[at] < port)
        at++;
    if (listening->count == LISTENING_MOST || (at < listening->count && listening->ports[at] == port))
        return;
    memmove(&listening->ports[at + 1], &listening->ports[at], (listening->count - at) * sizeof(port));
    listening->ports[at] = port;
    listening->count++;
}

/* "   0: 0100007F:0BB8 00000000:0000 0A ..." */
static void add_line(struct listening *listening, const char *line)
{
    unsigned port;
    unsigned state;

    if (sscanf(line, " %*[0-9]: %*32[0-9A-Fa-f]:%4x %*32[0-9A-Fa-f]:%*4x %2x", &port, &state) == 2 &&
        state == LISTENS && port > 0 && port != OWN_PROXY)
        insert(listening, (uint16_t)port);
}

void listening_add(struct listening *listening, const char *table)
{
    for (const char *line = table; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        add_line(listening, line);
    }
}

bool listening_has(const struct listening *listening, uint16_t port)
{
    for (size_t i = 0; i < listening->count; i++)
        if (listening->ports[i] == port)
            return true;
    return false;
}

char *listening_text(const struct listening *listening)
{
    size_t shown = listening->count < SHOWN ? listening->count : SHOWN;
    bool all = shown == listening->count;
    char *text = NULL;

    if (shown == 0)
        return strdup("no other port has a server either");
    for (size_t i = 0; i < shown; i++)
        if (!text_append(&text, "%s%u",
                         i == 0                  ? ""
                         : all && i + 1 == shown ? " and "
                                                 : ", ",
                         (unsigned)listening->ports[i]))
            return NULL;
    if (!text_append(&text, "%s", !all ? " and more do" : shown == 1 ? " does" : " do"))
        return NULL;
    return text;
}

static bool look_at(struct sandlot_session *session, struct sandlot_cancellation *cancellation, const char *path,
                    struct listening *listening)
{
    const struct sandlot_read request = {
        .size = sizeof(request), .path = path, .has_limit = true, .limit = LINES, .cancellation = cancellation};
    struct sandlot_page page = {.size = sizeof(page)};
    struct sandlot_error error = {0};
    bool seen = sandlot_read_file(session, &request, &page, &error) == 0;

    if (seen && page.content)
        listening_add(listening, page.content);
    sandlot_page_clear(&page);
    sandlot_error_clear(&error);
    return seen;
}

bool listening_look(struct sandlot_session *session, struct sandlot_cancellation *cancellation,
                    struct listening *listening)
{
    *listening = (struct listening){0};
    /* That of process 1: seen from outside, /proc/net is that of who looks. */
    if (!look_at(session, cancellation, "/proc/1/net/tcp", listening))
        return false;
    look_at(session, cancellation, "/proc/1/net/tcp6", listening);
    return true;
}
