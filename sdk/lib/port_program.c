#include <sandlot/sdk/port_program.h>

#include <string.h>

/* The first line, behind the mark, tells how it went: "open", "closed" (nothing listens) or "lacking" (no program).
 * Who listens is what the kernel says, whose words are 127.0.0.1 and ::1 in hexadecimal
 * digits as this machine's processor has them. A server of all addresses is asked at 127.0.0.1. */
const char port_program_script[] =
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

static bool line_says(const struct port_program *program, const char *word)
{
    size_t mark = strlen(program->mark);

    return program->told && strncmp(program->line, program->mark, mark) == 0 && program->line[mark] == ' ' &&
           strcmp(program->line + mark + 1, word) == 0;
}

/* Takes the first line of what comes, or a part of it. Returns how many bytes that were. */
static size_t take_line(struct port_program *program, const char *bytes, size_t length)
{
    size_t taken = 0;

    while (taken < length && !program->told) {
        char byte = bytes[taken++];

        program->told = byte == '\n' || program->used == sizeof(program->line) - 1;
        program->line[program->used++] = byte;
    }
    if (program->told)
        program->line[program->used - 1] = '\0';
    if (line_says(program, "open")) {
        program->opened = true;
        program->connection->opened(program->connection);
    }
    return taken;
}

static enum sandlot_status take(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct port_program *program = sink->context;
    const struct sandlot_sink *output = program->connection->output;
    size_t taken = program->told ? 0 : take_line(program, bytes, length);

    return taken < length && program->opened ? output->write(output, (const char *)bytes + taken, length - taken)
                                             : SANDLOT_OK;
}

void port_program_init(struct port_program *program, const struct sandlot_connection *connection, const char *mark)
{
    *program = (struct port_program){.connection = connection, .mark = mark};
    program->sink = (struct sandlot_sink){.size = sizeof(program->sink), .context = program, .write = take};
}

enum sandlot_status port_program_conclude(struct sandlot_call *call, const struct port_program *program,
                                          enum sandlot_status status, const char *place, bool *silent)
{
    const unsigned port = program->connection->port;

    *silent = false;
    if (program->opened)
        return status == SANDLOT_CANCELLED ? status : SANDLOT_OK;
    if (status != SANDLOT_OK)
        return status;
    if (line_says(program, "closed"))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "nothing listens on port %u in %s", port, place);
    if (line_says(program, "lacking"))
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "%s has neither python3 nor perl nor BusyBox, one of which must carry the connection to "
                            "its port %u; use an image that has one",
                            place, port);
    *silent = true;
    return SANDLOT_OK;
}
