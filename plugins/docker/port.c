/*
 * A connection to a port is a program in the container that carries bytes between its own two ends and a server there.
 * An engine has no other way that always leads to the loopback: it publishes ports only when a container is made, never
 * without a network, and an address of the container is of use only to root's engine on this machine.
 *
 * Which program that is depends on what the image has: python3, perl (all of Debian) or BusyBox (Alpine). The first
 * line of what comes, behind the mark, tells how it went: "open", "closed" (nothing listens) or "lacking" (no program).
 */
#include "port.h"

#include "program.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/frames.h>

#include <string.h>

enum { LONGEST_FRAME = 16 << 20, LONGEST_LINE = 64, LONGEST_COMPLAINT = 160, NOT_STARTED = 126, NOT_FOUND = 127 };

/* $1 the mark, $2 the port. Who listens is what the kernel says, whose words are 127.0.0.1 and ::1 in hexadecimal
 * digits as this machine's processor has them. A server of all addresses is asked at 127.0.0.1. */
static const char relay_script[] =
    "at= p=$(printf %04X \"$2\")\n"
    "while read -r n l r s e; do\n"
    "    case $s:$l in\n"
    "    0A:0100007F:$p | 0A:7F000001:$p | 0A:00000000:$p | 0A:00000000000000000000000000000000:$p) at=127.0.0.1 ;;\n"
    "    0A:0000000000000000FFFF00000100007F:$p | 0A:00000000000000000000FFFF7F000001:$p) at=127.0.0.1 ;;\n"
    "    0A:00000000000000000000000001000000:$p | 0A:00000000000000000000000000000001:$p) at=${at:-::1} ;;\n"
    "    esac\n"
    "done 2>/dev/null <<END\n"
    "$(cat /proc/self/net/tcp /proc/self/net/tcp6 2>/dev/null)\n"
    "END\n"
    "[ \"$at\" ] || { echo \"$1 closed\"; exit; }\n"
    "if command -v python3 >/dev/null; then echo \"$1 open\"; exec python3 -c '\n"
    "import os, socket, sys, threading\n"
    "server = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
    "def send():\n"
    "    try:\n"
    "        for data in iter(lambda: os.read(0, 65536), b\"\"): server.sendall(data)\n"
    "        server.shutdown(socket.SHUT_WR)\n"
    "    except OSError: pass\n"
    "threading.Thread(target=send, daemon=True).start()\n"
    "for data in iter(lambda: server.recv(65536), b\"\"):\n"
    "    while data: data = data[os.write(1, data):]\n"
    "os._exit(0)' \"$at\" \"$2\"\n"
    "elif command -v perl >/dev/null; then echo \"$1 open\"; exec perl -e '\n"
    "use Socket qw(:DEFAULT inet_pton pack_sockaddr_in6);\n"
    "my ($at, $port) = @ARGV;\n"
    "my $six = $at =~ /:/;\n"
    "socket(my $server, $six ? AF_INET6 : AF_INET, SOCK_STREAM, 0) or die;\n"
    "connect($server, $six ? pack_sockaddr_in6($port, inet_pton(AF_INET6, $at)) : pack_sockaddr_in($port, "
    "inet_aton($at))) or die;\n"
    "sub carry { my ($from, $to) = @_; while (sysread($from, my $data, 65536)) {\n"
    "    while (length $data) { substr($data, 0, syswrite($to, $data) || exit) = \"\" } } }\n"
    "my $child = fork // die;\n"
    "if (!$child) { carry(*STDIN, $server); shutdown($server, 1); exit }\n"
    "carry($server, *STDOUT); kill KILL => $child' \"$at\" \"$2\"\n"
    "elif nc --help 2>&1 | grep -q BusyBox; then echo \"$1 open\"; exec nc \"$at\" \"$2\"\n"
    "elif busybox nc --help 2>&1 | grep -q BusyBox; then echo \"$1 open\"; exec busybox nc \"$at\" \"$2\"\n"
    "else echo \"$1 lacking\"; fi\n";

/* A connection under way. */
struct relay {
    struct program program;
    const struct sandlot_connection *connection;
    struct frames reader;
    struct sandlot_sink streams;
    char line[LONGEST_LINE]; /* the first one */
    size_t used;             /* of it */
    bool told;               /* it is whole */
    bool opened;
    char complaint[LONGEST_COMPLAINT]; /* the beginning of what came by the second stream */
};

/* ---- what comes -------------------------------------------------------------------------------------------------- */

static bool line_says(const struct relay *relay, const char *word)
{
    size_t mark = strlen(relay->program.mark);

    return relay->told && strncmp(relay->line, relay->program.mark, mark) == 0 && relay->line[mark] == ' ' &&
           strcmp(relay->line + mark + 1, word) == 0;
}

/* Takes the first line of what comes, or a part of it. Returns how many bytes that were. */
static size_t take_line(struct relay *relay, const char *bytes, size_t length)
{
    size_t taken = 0;

    while (taken < length && !relay->told) {
        char byte = bytes[taken++];

        relay->told = byte == '\n' || relay->used == sizeof(relay->line) - 1;
        relay->line[relay->used++] = byte;
    }
    if (relay->told)
        relay->line[relay->used - 1] = '\0';
    if (line_says(relay, "open")) {
        relay->opened = true;
        relay->connection->opened(relay->connection);
    }
    return taken;
}

static enum sandlot_status on_frame(void *context, unsigned char stream, const void *payload, size_t length)
{
    struct relay *relay = context;
    const struct sandlot_sink *output = relay->connection->output;
    size_t taken = 0;

    if (stream != 1) {
        snprintf(relay->complaint, sizeof(relay->complaint), "%.*s", (int)(length < 256 ? length : 256),
                 (const char *)payload);
        return SANDLOT_OK;
    }
    if (!relay->told)
        taken = take_line(relay, payload, length);
    return taken < length && relay->opened ? output->write(output, (const char *)payload + taken, length - taken)
                                           : SANDLOT_OK;
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
    struct sandlot_call *call = relay->program.call;
    const unsigned port = relay->connection->port;

    if (status != SANDLOT_OK)
        program_end(&relay->program, false);
    if (relay->opened)
        return status == SANDLOT_CANCELLED ? status : SANDLOT_OK;
    if (status != SANDLOT_OK)
        return status;
    if (line_says(relay, "closed"))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "nothing listens on port %u in the container", port);
    if (line_says(relay, "lacking"))
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the container has neither python3 nor perl nor BusyBox, one of which must carry the "
                            "connection to its port %u; use an image that has one",
                            port);
    return without_word(relay);
}

static enum sandlot_status carry(struct relay *relay)
{
    char port[8];
    const char *const words[] = {"sh", "-c", relay_script, "sh", relay->program.mark, port};
    const struct http_upgrade_traffic traffic = {
        .input = relay->connection->input, .output = &relay->streams, .wake_fd = -1};

    snprintf(port, sizeof(port), "%u", (unsigned)relay->connection->port);
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
    struct relay relay = {.program = {.call = call, .sandbox = sandbox, .command = &command}, .connection = connection};
    enum sandlot_status status = engine_meet(call, provider);

    if (status != SANDLOT_OK)
        return status;
    random_digits(relay.program.mark, PROGRAM_MARK);
    frames_init(&relay.reader, call, &frame_format_engine, LONGEST_FRAME, on_frame, &relay);
    relay.streams = (struct sandlot_sink){.size = sizeof(relay.streams), .context = &relay, .write = take};
    status = carry(&relay);
    frames_clear(&relay.reader);
    program_clear(&relay.program);
    return status;
}
