/*
 * A connection to a port is a program in the container; see sandlot/sdk/port_program.h. An engine has no other way that
 * always leads to the loopback: it publishes ports only when a container is made, never without a network, and an
 * address of the container is of use only to root's engine on this machine.
 */
#include "port.h"

#include "program.h"

#include <sandlot/sdk/frames.h>
#include <sandlot/sdk/port_program.h>

#include <string.h>

enum { LONGEST_FRAME = 16 << 20, LONGEST_COMPLAINT = 160, NOT_STARTED = 126, NOT_FOUND = 127 };

/* A connection under way. */
struct relay {
    struct program program;
    struct port_program port;
    struct frames reader;
    struct sandlot_sink streams;
    char complaint[LONGEST_COMPLAINT]; /* the beginning of what came by the second stream */
};

/* ---- what comes -------------------------------------------------------------------------------------------------- */

static enum sandlot_status on_frame(void *context, unsigned char stream, const void *payload, size_t length)
{
    struct relay *relay = context;

    if (stream == 1)
        return relay->port.sink.write(&relay->port.sink, payload, length);
    snprintf(relay->complaint, sizeof(relay->complaint), "%.*s", (int)(length < 256 ? length : 256),
             (const char *)payload);
    return SANDLOT_OK;
}

static enum sandlot_status take(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct relay *relay = sink->context;

    return frames_add(&relay->reader, bytes, length);
}

/* ---- how it went ------------------------------------------------------------------------------------------------- */

/* The program has ended without a word. */
static enum sandlot_status without_word(struct relay *relay)
{
    struct sandlot_call *call = relay->program.call;
    bool running = true;
    int code = 0;
    enum sandlot_status status = program_code(&relay->program, &running, &code);

    if (status != SANDLOT_OK)
        return status;
    if (!running && (code == NOT_STARTED || code == NOT_FOUND))
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the container has no shell that runs, and only programs in it reach its ports; use an "
                            "image with sh");
    return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                        "what was to carry a connection in the container ended at once (%s); try again",
                        *relay->complaint ? relay->complaint : "it does not say why");
}

static enum sandlot_status conclude(struct relay *relay, enum sandlot_status status)
{
    bool silent;

    if (status != SANDLOT_OK)
        program_end(&relay->program);
    status = port_program_conclude(relay->program.call, &relay->port, status, "the container", &silent);
    return silent ? without_word(relay) : status;
}

static enum sandlot_status carry(struct relay *relay, const struct sandlot_connection *connection)
{
    char port[8];
    const char *const words[] = {"sh", "-c", port_program_script, "sh", relay->program.mark, port};
    const struct http_upgrade_traffic traffic = {.input = connection->input, .output = &relay->streams, .wake_fd = -1};

    snprintf(port, sizeof(port), "%u", (unsigned)connection->port);
    enum sandlot_status status = program_make(&relay->program, words, sizeof(words) / sizeof(*words));

    if (status == SANDLOT_OK)
        status = program_start(&relay->program);
    if (status == SANDLOT_OK)
        status = http_upgrade_carry(relay->program.call, relay->program.stream, &traffic);
    return conclude(relay, status);
}

enum sandlot_status port_connect(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_connection *connection)
{
    const struct sandlot_command command = {.size = sizeof(command), .input = connection->input};
    struct relay relay = {.program = {.call = call, .sandbox = sandbox, .command = &command}};
    enum sandlot_status status = engine_meet(call, provider);

    if (status != SANDLOT_OK)
        return status;
    random_digits(relay.program.mark, PROGRAM_MARK);
    port_program_init(&relay.port, connection, relay.program.mark);
    frames_init(&relay.reader, call, &frame_format_engine, LONGEST_FRAME, on_frame, &relay);
    relay.streams = (struct sandlot_sink){.size = sizeof(relay.streams), .context = &relay, .write = take};
    status = carry(&relay, connection);
    frames_clear(&relay.reader);
    program_clear(&relay.program);
    return status;
}
