#include "network_policy.h"

#include "egress/policy.h"
#include "network_link.h"
#include "network_record.h"
#include "secrets.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT_MOST = 2 << 20 };

static const char *const words[] = {
    [SANDLOT_NETWORK_HOST] = "host", [SANDLOT_NETWORK_BELOW] = "below", [SANDLOT_NETWORK_CIDR] = "network"};

static bool add_entry(FILE *stream, const struct sandlot_network_entry *entry)
{
    const bool known = entry->kind >= SANDLOT_NETWORK_HOST && entry->kind <= SANDLOT_NETWORK_CIDR;

    return known && strcspn(entry->text, " \n\t") == strlen(entry->text) && *entry->text &&
           fprintf(stream, "%s %s %u\n", words[entry->kind], entry->text, entry->port) > 0;
}

/* Hosts may be reached where something is added to requests for them. */
static void add_credentials(FILE *stream, const struct sandlot_network_credential *credentials, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, "credential %s %d\n", credentials[i].host, PORT_HTTPS);
        if (credentials[i].plain)
            fprintf(stream, "credential %s %d\n", credentials[i].host, PORT_HTTP);
    }
}

/* The text form of NETWORK, and of COUNT CREDENTIALS in mode "allow", checked by the one who will obey it. */
static enum sandlot_status write_text(struct sandlot_call *call, const struct sandlot_network *network,
                                      const struct sandlot_network_credential *credentials, size_t credential_count,
                                      char **text)
{
    size_t length;
    struct policy policy;
    const size_t count = network->mode == SANDLOT_NETWORK_ALLOW ? network->entry_count : 0;

    if (count > POLICY_ENTRIES)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "local sandboxes take at most %d entries of a network list; %zu were asked for",
                            POLICY_ENTRIES, count);
    if (network->mode == SANDLOT_NETWORK_OPEN) {
        *text = strdup(POLICY_OPEN);
        return *text ? SANDLOT_OK : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    }
    FILE *stream = open_memstream(text, &length);
    size_t written = 0;

    if (!stream)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    while (written < count && add_entry(stream, &network->entries[written]))
        written++;
    if (network->mode == SANDLOT_NETWORK_ALLOW)
        add_credentials(stream, credentials, credential_count);
    const bool whole = fclose(stream) == 0;

    if (written < count)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "\"%.200s\" is no host or network that can be allowed",
                            network->entries[written].text);
    if (!whole || !policy_read(*text, &policy))
        return sandlot_fail(call, whole ? SANDLOT_INVALID_ARGUMENT : SANDLOT_INTERNAL,
                            whole ? "an entry of the network list is no host or network" : "out of memory");
    policy_clear(&policy);
    return SANDLOT_OK;
}

/* Is there what carries the packets of an open network? It runs as the box's user, whom root's device may not know. */
static enum sandlot_status check(struct sandlot_call *call, const struct sandlot_network *network)
{
    struct stat device;

    if (network->mode != SANDLOT_NETWORK_OPEN)
        return SANDLOT_OK;
    if (access(LINK_PROGRAM, X_OK) < 0)
        return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                            "an open network needs " LINK_PROGRAM ", which is not there; install the package passt, or "
                            "allow the hosts that are needed");
    if (stat(LINK_DEVICE, &device) < 0 || (geteuid() == 0 && (device.st_mode & 06) != 06) ||
        access(LINK_DEVICE, R_OK | W_OK) < 0)
        return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                            "an open network needs the device " LINK_DEVICE ", open to everybody: modprobe tun, and "
                            "chmod 666 " LINK_DEVICE "; or allow the hosts that are needed");
    return SANDLOT_OK;
}

static enum sandlot_status refuse_landlock(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "confinement \"landlock\" has no network that could be allowed; use \"full\"");
}

enum sandlot_status network_ask(struct sandlot_call *call, const struct settings *settings,
                                const struct sandlot_create *request, struct network_request *asked)
{
    const struct sandlot_network *network = SANDLOT_HAS(request, network) ? request->network : NULL;

    *asked = (struct network_request){.secrets_fd = -1};
    if (!network)
        return SANDLOT_OK;
    const bool some = network->mode != SANDLOT_NETWORK_OFF || network->credential_count > 0;

    if (some && settings->confinement == CONFINEMENT_LANDLOCK)
        return refuse_landlock(call);
    enum sandlot_status status = check(call, network);

    if (status == SANDLOT_OK && network->credential_count > 0)
        status = secrets_ask(call, network, &asked->credentials, &asked->secrets_fd);
    return status == SANDLOT_OK
               ? write_text(call, network, network->credentials, network->credential_count, &asked->text)
               : status;
}

void network_request_clear(struct network_request *asked)
{
    if (asked->secrets_fd >= 0)
        close(asked->secrets_fd);
    free(asked->text);
    free(asked->credentials);
    *asked = (struct network_request){.secrets_fd = -1};
}

/* ---- what holds ---- */

/* The file NAME of the box's folder, to be freed; NULL with errno: ENOENT if there is none. */
static char *read_file(const struct sandbox *sandbox, const char *name)
{
    AUTO_CLOSE int fd = openat(sandbox->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0 || status.st_size > TEXT_MOST)
        return NULL;
    char *text = malloc((size_t)status.st_size + 1);
    const ssize_t got = text ? read(fd, text, (size_t)status.st_size) : -1;

    if (got >= 0) {
        text[got] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

/* Cuts LINE, one of write_text's, into an entry whose text is its own. */
static bool read_entry(char *line, struct sandlot_network_entry *entry)
{
    const char *word = strsep(&line, " ");

    entry->text = strsep(&line, " ");
    entry->port = (uint16_t)(line ? strtoul(line, NULL, 10) : 0);
    for (enum sandlot_network_kind kind = SANDLOT_NETWORK_HOST; kind <= SANDLOT_NETWORK_CIDR; kind++)
        if (strcmp(word, words[kind]) == 0)
            entry->kind = kind;
    return entry->text && entry->kind;
}

/* The credentials that the box was made with, to be freed with *LINES, in which their texts are. NULL with an error. */
static struct sandlot_network_credential *read_credentials(const struct sandbox *sandbox, struct sandlot_call *call,
                                                           char **lines, size_t *count, enum sandlot_status *status)
{
    *lines = read_file(sandbox, "credentials");
    if (!*lines && errno == ENOENT)
        *lines = strdup("");
    struct sandlot_network_credential *list = *lines ? secrets_read(*lines, count) : NULL;

    if (!list)
        *status = sandlot_fail(call, SANDLOT_INTERNAL, "what is added to requests of sandbox %s cannot be read: %s",
                               sandbox->id, strerror(errno));
    return list;
}

static enum sandlot_status tell(const struct sandbox *sandbox, struct sandlot_call *call, char *text, const char *note,
                                const struct sandlot_network_view *view)
{
    const bool open = strcmp(text, POLICY_OPEN) == 0;
    const bool off = !*text;
    enum sandlot_status status = SANDLOT_OK;
    AUTO_FREE char *credential_lines = NULL;
    struct sandlot_network network = {.size = sizeof(network)};
    AUTO_FREE struct sandlot_network_credential *credentials =
        read_credentials(sandbox, call, &credential_lines, &network.credential_count, &status);
    size_t lines = 0;

    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    AUTO_FREE struct sandlot_network_entry *entries = calloc(lines + 1, sizeof(*entries));

    if (!entries || !credentials)
        return entries ? status : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    for (char *line; !open && (line = strsep(&text, "\n")) && *line && network.entry_count < lines;)
        if (read_entry(line, &entries[network.entry_count]))
            network.entry_count++;
    network.entries = entries;
    network.credentials = credentials;
    network.mode = open ? SANDLOT_NETWORK_OPEN : off ? SANDLOT_NETWORK_OFF : SANDLOT_NETWORK_ALLOW;
    view->tell(view, &network, note);
    return SANDLOT_OK;
}

/* What is the matter with the list of SANDBOX, to be freed; NULL: nothing. */
static char *lacks_gate(const struct sandbox *sandbox)
{
    AUTO_FREE char *why = read_file(sandbox, "network.gate");
    char *note = NULL;

    if (!why || asprintf(&note, "what is on the list is reached by programs that heed http_proxy, and by no others: %s",
                         why) < 0)
        return NULL;
    return note;
}

void network_warn(const struct sandbox *sandbox, struct sandlot_call *call)
{
    AUTO_FREE char *note = lacks_gate(sandbox);

    if (note)
        call->host->log(call, SANDLOT_LOG_WARNING, note);
}

enum sandlot_status network_show(const struct sandbox *sandbox, struct sandlot_call *call,
                                 const struct sandlot_network_view *view)
{
    const bool ended = faccessat(sandbox->folder_fd, "network.ended", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    AUTO_FREE char *lack = lacks_gate(sandbox);
    const char *note = ended ? "its proxy has ended, so nothing leaves it any more; create another sandbox" : lack;
    AUTO_FREE char *text = read_file(sandbox, "network");

    if (ended && SANDLOT_HAS(view, broken))
        view->broken(view);
    if (text)
        return tell(sandbox, call, text, note, view);
    if (errno != ENOENT)
        return sandlot_fail(call, SANDLOT_INTERNAL, "the network list of sandbox %s cannot be read: %s", sandbox->id,
                            strerror(errno));
    view->tell(view, NULL, note);
    return SANDLOT_OK;
}

/* ---- another policy ---- */

/* The text form of NETWORK for a living box, whose own credentials stay. */
static enum sandlot_status write_change(const struct sandbox *sandbox, struct sandlot_call *call,
                                        const struct sandlot_network *network, char **text)
{
    enum sandlot_status status = SANDLOT_OK;
    AUTO_FREE char *lines = NULL;
    size_t count;
    AUTO_FREE struct sandlot_network_credential *credentials = read_credentials(sandbox, call, &lines, &count, &status);

    return credentials ? write_text(call, network, credentials, count, text) : status;
}

enum sandlot_status network_change(const struct sandbox *sandbox, struct sandlot_call *call,
                                   const struct sandlot_network *network)
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *body = NULL;
    struct received reply;
    int fd;
    enum sandlot_status status = check(call, network);

    if (status == SANDLOT_OK && network->credential_count > 0)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "credentials cannot be added to a living sandbox; create another one with them");
    if (status == SANDLOT_OK && sandbox->landlock) /* which is always off */
        return network->mode == SANDLOT_NETWORK_OFF ? SANDLOT_OK : refuse_landlock(call);
    if (status == SANDLOT_OK)
        status = write_change(sandbox, call, network, &text);
    if (status != SANDLOT_OK)
        return status;
    if (asprintf(&body, "%s\n%s", sandbox->id, text) < 0) {
        body = NULL;
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    }
    status = client_ask(sandbox->client, call, MESSAGE_NETWORK, body, false, &reply, &fd);
    if (status != SANDLOT_OK)
        return status;
    if (fd < 0)
        return sandbox_ended(sandbox, call);
    received_clear(&reply);
    close(fd);
    network_warn(sandbox, call);
    return SANDLOT_OK;
}

/* ---- the log ---- */

static enum sandlot_status add_decision(const struct network_record *record, const struct sandlot_network_log *log)
{
    const struct sandlot_network_decision decision = {.size = sizeof(decision),
                                                      .number = record->number,
                                                      .at_ms = record->at_ms,
                                                      .allowed = record->allowed,
                                                      .port = record->port,
                                                      .host = record->host,
                                                      .rule = *record->rule ? record->rule : NULL,
                                                      .reason = *record->reason ? record->reason : NULL,
                                                      .bytes_in = record->bytes_in,
                                                      .bytes_out = record->bytes_out,
                                                      .duration_ms = record->duration_ms};

    return log->add(log, &decision);
}

/* The records of the ring, COUNT of them, from the oldest on; *OLDEST is its place. */
static size_t read_ring(int fd, struct network_record *ring, size_t *oldest)
{
    const ssize_t got = pread(fd, ring, NETWORK_RECORDS * sizeof(*ring), 0);
    const size_t count = got > 0 ? (size_t)got / sizeof(*ring) : 0;

    *oldest = 0;
    for (size_t i = 0; i < count; i++)
        if (ring[i].number && ring[i].number < ring[*oldest].number)
            *oldest = i;
    return count;
}

enum sandlot_status network_log(const struct sandbox *sandbox, struct sandlot_call *call, uint64_t after,
                                const struct sandlot_network_log *log)
{
    AUTO_CLOSE int fd = openat(sandbox->folder_fd, "network.log", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    enum sandlot_status status = SANDLOT_OK;
    uint64_t last = after;
    size_t oldest;

    if (fd < 0) /* nobody has asked for anything */
        return sandbox_exists(sandbox->client->state_fd, sandbox->id) ? SANDLOT_OK : sandbox_ended(sandbox, call);
    AUTO_FREE struct network_record *ring = calloc(NETWORK_RECORDS, sizeof(*ring));

    if (!ring)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    const size_t count = read_ring(fd, ring, &oldest);

    for (size_t i = 0; i < count && status == SANDLOT_OK; i++) {
        struct network_record *record = &ring[(oldest + i) % count];

        record->host[sizeof(record->host) - 1] = record->rule[sizeof(record->rule) - 1] = '\0';
        record->reason[sizeof(record->reason) - 1] = '\0';
        /* One that was overwritten while the ring was read comes with the next look. */
        if (record->number <= last)
            continue;
        last = record->number;
        status = add_decision(record, log);
    }
    return status;
}
