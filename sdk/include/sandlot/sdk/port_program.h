/*
 * sandlot/sdk/port_program.h - connections to ports for services that run programs in a sandbox but lead to none of its
 * ports: a program there carries the bytes between its own two ends and the server.
 *
 *   struct port_program program;
 *   const char *const words[] = {"sh", "-c", port_program_script, "sh", mark, "8080"};
 *
 *   port_program_init(&program, connection, mark);
 *   status = run(words, connection->input, &program.sink);
 *   status = port_program_conclude(call, &program, status, "the container", &silent);
 *
 * Which program that is depends on what the sandbox has: python3, perl (all of Debian) or BusyBox (Alpine). It reaches
 * the sandbox's own loopback, whatever its network is. The end of its input closes that side alone; it ends when the
 * server closes the other one.
 */
#ifndef SANDLOT_SDK_PORT_PROGRAM_H
#define SANDLOT_SDK_PORT_PROGRAM_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PORT_PROGRAM_MARK = 32 }; /* digits of a mark; see random_digits */

/* For `sh -c`, which reads none of its input. $1 is the mark, $2 the port. */
extern const char port_program_script[];

/* A connection under way. */
struct port_program {
    struct sandlot_sink sink; /* takes what the program prints; its context is this struct, which must not be moved */
    bool opened;              /* the server has accepted */
    const struct sandlot_connection *connection; /* these are private */
    const char *mark;
    char line[PORT_PROGRAM_MARK + 32];
    size_t used;
    bool told;
};

/* MARK: digits that nobody can guess, by which the program's own first line is known. */
void port_program_init(struct port_program *program, const struct sandlot_connection *connection, const char *mark);

/* What connect_port returns once the program has ended, or its output has with STATUS. PLACE is what the user calls
 * the sandbox. *SILENT: the program has said nothing and STATUS is SANDLOT_OK; the provider has to tell why. */
enum sandlot_status port_program_conclude(struct sandlot_call *call, const struct port_program *program,
                                          enum sandlot_status status, const char *place, bool *silent);

#ifdef __cplusplus
}
#endif

#endif
