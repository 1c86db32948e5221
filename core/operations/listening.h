/* Which ports servers in a sandbox listen on, as the kernel tells in /proc: a hint for people, which the sandbox can
 * forge. */
#ifndef SANDLOT_OPERATIONS_LISTENING_H
#define SANDLOT_OPERATIONS_LISTENING_H

#include <sandlot/sandlot.h>

enum { LISTENING_MOST = 256 };

/* Ports in rising order, each once. */
struct listening {
    uint16_t ports[LISTENING_MOST];
    size_t count;
};

/* Adds what TABLE, the text of /proc/net/tcp or tcp6, has of it. */
void listening_add(struct listening *listening, const char *table);

bool listening_has(const struct listening *listening, uint16_t port);

/* "3000 and 5173 do", at most eight of them; "no other port has a server either". To be freed; NULL: out of memory. */
char *listening_text(const struct listening *listening);

/* One look into the sandbox. False: it cannot be told. */
bool listening_look(struct sandlot_session *session, struct sandlot_cancellation *cancellation,
                    struct listening *listening);

#endif
