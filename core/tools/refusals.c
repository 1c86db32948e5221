#include "tools/refusals.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "config/value.h"

#include <json-c/json.h>
#include <string.h>
#include <time.h>

enum { MOST_NAMED = 3, LONGEST_HOST = 100, LONGEST_REASON = 100 };

struct refusals {
    int64_t begin_ms;
    char *hosts;               /* "a.example.com:443 (not on the list), ..." */
    struct json_object *seen;  /* an entry for each place, so that each counts once */
    struct json_object *allow; /* the entries that would have helped some of them, likewise */
};

int64_t refusals_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* An address of IPv6 stands in brackets before a port. A name that was only looked up has none. */
static char *place_of(const char *host, unsigned port, bool with_port)
{
    bool is_wide = strchr(host, ':');

    return with_port ? text_format(is_wide ? "[%.*s]:%u" : "%.*s:%u", LONGEST_HOST, host, port)
                     : text_format("%.*s", LONGEST_HOST, host);
}

/* Of an address also a usual port is named: some are let through with it alone. */
static void add_entry(struct json_object *entries, const char *host, unsigned port)
{
    bool is_address = strchr(host, ':') || host[strspn(host, "0123456789.")] == '\0';
    AUTO_FREE char *entry = place_of(host, port, port && (is_address || (port != 80 && port != 443)));

    if (entry)
        json_object_object_add(entries, entry, NULL);
}

static bool add(void *context, const struct sandlot_network_event *event)
{
    struct refusals *refusals = context;

    if (event->allowed || event->at_ms < refusals->begin_ms)
        return true;
    AUTO_FREE char *host = text_visible(event->host);
    AUTO_FREE char *reason = text_visible(event->reason ? event->reason : "denied");
    AUTO_FREE char *place = host ? place_of(host, event->port, event->port) : NULL;

    if (!place || !reason || json_object_object_get_ex(refusals->seen, place, NULL) ||
        json_object_object_add(refusals->seen, place, NULL) < 0)
        return true;
    if (json_object_object_length(refusals->seen) <= MOST_NAMED)
        text_append(&refusals->hosts, "%s%s (%.*s)", refusals->hosts ? ", " : "", place, LONGEST_REASON, reason);
    /* Other reasons, such as what a name resolves to, no entry of its name does away with. */
    if (json_object_object_length(refusals->allow) < MOST_NAMED && strstr(reason, "on the list") &&
        strlen(host) <= LONGEST_HOST)
        add_entry(refusals->allow, host, event->port);
    return true;
}

/* The entries, each quoted and behind BEFORE. */
static char *entries_text(struct json_object *entries, const char *before)
{
    char *text = NULL;

    json_object_object_foreach(entries, entry, unused)
    {
        AUTO_FREE char *quoted = text_shell_quote(entry);

        (void)unused;
        if (quoted)
            text_append(&text, "%s%s", before, quoted);
    }
    return text;
}

static char *advice(const struct sandlot_session *session, const struct refusals *refusals, bool going)
{
    bool living = !going && sandlot_can_change_network(session);
    AUTO_FREE char *id = text_shell_quote(sandlot_session_id(session));
    AUTO_FREE char *entries = entries_text(refusals->allow, living ? " " : " --allow ");

    if (!id || !entries)
        return strdup("");
    if (going)
        return text_format(" To allow it:%s", entries);
    if (living)
        return text_format(" Ask the user to allow it: sandlot network allow %s%s", id, entries);
    return text_format(" Ask the user for a sandbox made with%s", entries);
}

/* The line about the denials; NULL: none. */
static char *denials(struct sandlot_session *session, int64_t begin_ms, bool going,
                     struct sandlot_cancellation *cancellation)
{
    struct json_object *seen AUTO_JSON = json_object_new_object();
    struct json_object *allow AUTO_JSON = json_object_new_object();
    struct refusals refusals = {.begin_ms = begin_ms, .seen = seen, .allow = allow};
    char *line = NULL;

    if (!seen || !allow || !sandlot_has_network_log(session))
        return NULL;
    sandlot_read_network_log(session, 0, add, &refusals, cancellation, NULL);
    int unnamed = json_object_object_length(seen) - MOST_NAMED;
    AUTO_FREE char *more = unnamed > 0 ? text_format(" and %d more", unnamed) : strdup("");
    AUTO_FREE char *how = advice(session, &refusals, going);

    if (refusals.hosts && more && how)
        line = text_format("[The network refused: %s%s.%s]", refusals.hosts, more, how);
    free(refusals.hosts);
    return line;
}

/* What the provider or the machine lacks is no reason why a command fails, and is told by `network show`. */
static void take_break(void *context, const struct sandlot_network_state *state)
{
    char **note = context;

    *note = state->broken && state->note ? text_visible(state->note) : NULL;
}

char *refusals_since(struct sandlot_session *session, int64_t begin_ms, bool going,
                     struct sandlot_cancellation *cancellation)
{
    AUTO_FREE char *note = NULL;
    char *line = denials(session, begin_ms, going, cancellation);

    sandlot_show_network(session, take_break, &note, cancellation, NULL);
    if (note)
        text_append(&line, "%s[Its network: %s]", line ? " " : "", note);
    return line;
}
