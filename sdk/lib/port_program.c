#include <sandlot/sdk/port_program.h>

#include <string.h>

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
