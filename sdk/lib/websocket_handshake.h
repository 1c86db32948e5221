/* The opening handshake of WebSocket (RFC 6455, section 4), as text. */
#ifndef SANDLOT_SDK_WEBSOCKET_HANDSHAKE_H
#define SANDLOT_SDK_WEBSOCKET_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>

enum { HANDSHAKE_KEY = 32 };

/* A new random key. False: the system has no random bytes. */
bool handshake_key(char key[HANDSHAKE_KEY]);

/* The lines that ask for a WebSocket; to be freed, NULL when out of memory. PROTOCOLS may be NULL. */
char *handshake_headers(const char *key, const char *protocols);

/* Is HEAD the answer to KEY, with a protocol that was offered or none? *PROTOCOL is then a copy of it, or NULL. */
bool handshake_accepted(const char *head, size_t length, const char *key, const char *protocols, char **protocol);

#endif
