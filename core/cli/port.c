/* sandlot port: ports of a sandbox on this machine, or where its vendor's network has them. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/sandbox.h"
#include "cli/usage.h"
#include "operations/listener.h"
#include "session/session.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_FREE_FOR_ALL = 1024 };

/* "[LOCAL:]PORT", and what is made of it. */
struct mapping {
    uint16_t port;
    uint16_t local; /* with has_local; 0: a free one */
    bool has_local;
    struct sandlot_forward *forward;
    _Atomic enum sandlot_code said; /* the problem of the last connection */
};

/* Those of one command. */
struct mappings {
    struct mapping *all;
    size_t count;
};

/* ---- the words --------------------------------------------------------------------------------------------------- */

static bool parse_port(const char *text, size_t length, unsigned least, uint16_t *port)
{
    unsigned long number = strtoul(text, NULL, 10);

    if (length == 0 || length > 5 || strspn(text, "0123456789") < length || number < least || number > UINT16_MAX)
        return false;
    *port = (uint16_t)number;
    return true;
}

static int parse_mapping(const struct options *options, const char *text, struct mapping *mapping)
{
    const char *colon = strchr(text, ':');
    const char *port = colon ? colon + 1 : text;

    mapping->has_local = colon != NULL;
    if (colon && !parse_port(text, (size_t)(colon - text), 0, &mapping->local))
        return usage_error(options->command, "'%s': before the colon stands a port of this machine, 0 to 65535", text);
    if (!parse_port(port, strlen(port), 1, &mapping->port))
        return usage_error(options->command, "'%s': a port of a sandbox is a number from 1 to 65535", text);
    return 0;
}

static int parse(const struct options *options, struct mappings *mappings)
{
    mappings->count = options->argument_count - 1;
    mappings->all = calloc(mappings->count, sizeof(*mappings->all));
    int status = 0;

    if (!mappings->all)
        return usage_error(options->command, "out of memory");
    for (size_t i = 0; i < mappings->count && status == 0; i++)
        status = parse_mapping(options, options->arguments[i + 1], &mappings->all[i]);
    return status;
}

/* Does an earlier one listen where the one at INDEX shall? */
static bool is_taken_before(const struct mappings *mappings, size_t index)
{
    const uint16_t local = mappings->all[index].local;

    for (size_t i = 0; i < index && local; i++)
        if (mappings->all[i].local == local)
            return true;
    return false;
}

static int check(const struct options *options, const struct mappings *mappings)
{
    bool url = options->given & OPTION_URL;

    if (!*options->arguments[0])
        return usage_error(options->command, "the id is empty");
    if (url && (mappings->count > 1 || mappings->all[0].has_local || options->address))
        return usage_error(options->command, "--url is about one port of the sandbox and listens nowhere: give it PORT "
                                             "alone, without --address");
    if (!url && options->given & OPTION_SHOW_TOKEN)
        return usage_error(options->command, "--show-token goes with --url");
    for (size_t i = 1; i < mappings->count; i++)
        if (is_taken_before(mappings, i))
            return usage_error(options->command, "the port %u of this machine is given twice; give each its own",
                               (unsigned)mappings->all[i].local);
    return 0;
}

/* A port that is taken is told before anything is asked of a provider. */
static int try_to_listen(const struct options *options, const struct mappings *mappings)
{
    struct sandlot_error error = {0};
    int status = 0;

    for (size_t i = 0; i < mappings->count && status == 0; i++) {
        struct listener listener;

        if (!mappings->all[i].has_local)
            continue;
        if (listener_open(&listener, options->address, mappings->all[i].local, &error) < 0)
            status = report_error(options, &error);
        listener_close(&listener);
        sandlot_error_clear(&error);
    }
    return status;
}

/* ---- forwarding -------------------------------------------------------------------------------------------------- */

/* On threads of the forwarding. Of problems alike, one after the other, the first is enough. */
static void on_connection(void *context, const struct sandlot_error *problem)
{
    struct mapping *mapping = context;
    enum sandlot_code code = problem ? problem->code : SANDLOT_CODE_OK;

    if (atomic_exchange(&mapping->said, code) != code && problem)
        progress_line("sandlot: warning: a connection was closed: %s", problem->message);
}

/* Without a port of this machine the same one, if everybody may have it and nobody has. */
static int open_one(const struct options *options, struct sandlot_session *session, struct mapping *mapping,
                    struct sandlot_error *error)
{
    struct sandlot_forward_request request = {.size = sizeof(request),
                                              .port = mapping->port,
                                              .local_port = mapping->local,
                                              .address = options->address,
                                              .connection = on_connection,
                                              .context = mapping};
    struct sandlot_error taken = {0};

    if (!mapping->has_local && mapping->port >= FIRST_FREE_FOR_ALL) {
        request.local_port = mapping->port;
        mapping->forward = sandlot_forward_open(session, &request, &taken);
        request.local_port = 0;
    }
    bool is_taken = taken.code == SANDLOT_CODE_OK || taken.code == SANDLOT_CODE_CONFLICT;

    if (!mapping->forward && is_taken)
        mapping->forward = sandlot_forward_open(session, &request, error);
    else if (!mapping->forward)
        error_set(error, taken.code, "%s", taken.message);
    sandlot_error_clear(&taken);
    return mapping->forward ? 0 : -1;
}

static int open_all(const struct options *options, struct sandlot_session *session, struct mappings *mappings,
                    struct sandlot_error *error)
{
    for (size_t i = 0; i < mappings->count; i++)
        if (open_one(options, session, &mappings->all[i], error) < 0)
            return -1;
    return 0;
}

static void close_all(struct mappings *mappings)
{
    for (size_t i = 0; i < mappings->count; i++)
        sandlot_forward_close(mappings->all[i].forward);
}

static struct json_object *mapping_object(const struct options *options, const struct mapping *mapping)
{
    struct json_object *object = json_object_new_object();
    struct json_object *addresses = json_object_new_array();

    json_object_object_add(object, "port", json_object_new_int(mapping->port));
    json_object_object_add(object, "local_port", json_object_new_int(sandlot_forward_port(mapping->forward)));
    json_object_array_add(addresses, json_text(options->address ? options->address : "127.0.0.1"));
    if (!options->address)
        json_object_array_add(addresses, json_text("::1"));
    json_object_object_add(object, "addresses", addresses);
    return object;
}

static void print_mappings(const struct options *options, const char *id, const struct mappings *mappings)
{
    struct json_object *object = json_object_new_object();
    struct json_object *ports = json_object_new_array();
    const char *address = options->address ? options->address : "127.0.0.1";
    bool six = strchr(address, ':') != NULL;

    json_object_object_add(object, "id", json_text(id));
    json_object_object_add(object, "ports", ports);
    for (size_t i = 0; i < mappings->count; i++) {
        const struct mapping *mapping = &mappings->all[i];

        json_object_array_add(ports, mapping_object(options, mapping));
        if (!options->json)
            output_format("%s%s%s:%u -> %u\n", six ? "[" : "", address, six ? "]" : "",
                          (unsigned)sandlot_forward_port(mapping->forward), (unsigned)mapping->port);
    }
    if (options->json)
        output_json(json_object_get(object));
    json_object_put(object);
}

/* Until a signal comes, or the sandbox has gone. */
static int wait_for_end(const struct context *context, const char *id, const struct mappings *mappings,
                        struct sandlot_error *error)
{
    AUTO_FREE struct pollfd *fds = calloc(mappings->count + 1, sizeof(*fds));

    if (!fds)
        return error_no_memory(error);
    fds[mappings->count] = (struct pollfd){cancellation_fd(context->cancellation), POLLIN, 0};
    for (size_t i = 0; i < mappings->count; i++)
        fds[i] = (struct pollfd){sandlot_forward_descriptor(mappings->all[i].forward), POLLIN, 0};
    while (poll(fds, mappings->count + 1, -1) <= 0)
        continue;
    if (fds[mappings->count].revents)
        return error_set(error, SANDLOT_CODE_CANCELLED, "the ports are closed again");
    return error_set(error, SANDLOT_CODE_SANDBOX_NOT_FOUND, "sandbox %s has gone, and its ports with it", id);
}

static void warn_of_address(const struct options *options)
{
    const char *address = options->address;

    if (address && strncmp(address, "127.", 4) != 0 && strcmp(address, "::1") != 0)
        progress_line("sandlot: warning: everybody who reaches %s reaches the sandbox", address);
}

static void forward(const struct context *context, struct sandlot_session *session, struct mappings *mappings,
                    struct sandlot_error *error)
{
    const char *id = sandlot_session_id(session);

    if (open_all(context->options, session, mappings, error) == 0) {
        warn_of_address(context->options);
        print_mappings(context->options, id, mappings);
        if (!output_failed())
            wait_for_end(context, id, mappings, error);
    }
    close_all(mappings);
}

/* ---- the vendor's address ---------------------------------------------------------------------------------------- */

static struct json_object *url_object(const struct options *options, const char *id, uint16_t port,
                                      const struct sandlot_port_url *url)
{
    struct json_object *object = json_object_new_object();
    AUTO_FREE char *expires = time_text(url->expires_at_ms);
    AUTO_FREE char *name = url->header ? strndup(url->header, strcspn(url->header, ":")) : NULL;

    json_object_object_add(object, "id", json_text(id));
    json_object_object_add(object, "port", json_object_new_int(port));
    json_object_object_add(object, "url", json_text(url->url));
    json_object_object_add(object, "header", json_text(options->given & OPTION_SHOW_TOKEN ? url->header : name));
    json_object_object_add(object, "expires_at", json_text(expires));
    json_object_object_add(object, "public", json_object_new_boolean(url->is_public));
    return object;
}

static void print_url(const struct options *options, const char *id, uint16_t port, const struct sandlot_port_url *url)
{
    bool shows = options->given & OPTION_SHOW_TOKEN;

    if (url->is_public)
        progress_line("sandlot: warning: this address is public: whoever knows it gets in");
    if (options->json) {
        output_json(url_object(options, id, port, url));
        return;
    }
    output_line(url->url);
    if (url->header && shows)
        output_line(url->header);
    else if (url->header)
        progress_line("sandlot: every request needs the header %.*s; --show-token prints it",
                      (int)strcspn(url->header, ":"), url->header);
}

static void tell_url(const struct options *options, struct sandlot_session *session, uint16_t port,
                     struct sandlot_error *error)
{
    struct sandlot_port_url url = {.size = sizeof(url)};

    if (sandlot_port_url(session, port, 0, &url, error) == 0)
        print_url(options, sandlot_session_id(session), port, &url);
    sandlot_port_url_clear(&url);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static int use(const struct context *context, struct sandlot_session *session, const void *input)
{
    struct mappings *mappings = *(struct mappings *const *)input;
    struct sandlot_error error = {0};
    struct sandlot_error closing = {0};

    if (context->options->given & OPTION_URL)
        tell_url(context->options, session, mappings->all[0].port, &error);
    else
        forward(context, session, mappings, &error);
    sandbox_close(context, session, &closing);
    int status = 0;

    /* A signal is how this ends. */
    if (error_is_set(&error) && error.code != SANDLOT_CODE_CANCELLED)
        status = report_error(context->options, &error);
    else if (error_is_set(&closing))
        status = error_exit_status(closing.code);
    sandlot_error_clear(&error);
    sandlot_error_clear(&closing);
    return context_status(status);
}

/* What the provider cannot is told before there is anything to do with a sandbox. */
static int check_provider(const struct context *context)
{
    const struct registry_entry *entry = registry_find(context->sandlot->registry, context->provider, NULL);
    struct sandlot_error error = {0};
    int status = 0;

    /* What is wrong with one that cannot be used, and what one without a note can, is told when it is opened. */
    if (entry && !entry->problem && entry->note.name &&
        session_check_ports(context->sandlot, context->provider, entry->note.capabilities,
                            context->options->given & OPTION_URL, &error) < 0)
        status = report_error(context->options, &error);
    sandlot_error_clear(&error);
    return status;
}

int command_port(const struct options *options)
{
    struct options own = *options;
    struct mappings mappings = {0};
    struct mappings *input = &mappings;
    int status = parse(options, &mappings);

    own.sandbox_id = options->arguments[0];
    if (status == 0)
        status = check(options, &mappings);
    if (status == 0)
        status = try_to_listen(options, &mappings);
    if (status == 0)
        status = sandbox_command(&own, check_provider, use, &input);
    free(mappings.all);
    return status;
}
