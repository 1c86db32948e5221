/* The opening handshake of WebSocket (RFC 6455, section 4), as text. */
#ifndef SANDLOT_SDK_WEBSOCKET_HANDSHAKE_H
#define SANDLOT_SDK_WEBSOCKET_HANDSHAKE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

enum { HANDSHAKE_KEY = 32 };

/* A new random key. False: the system has no random bytes. */
bool handshake_key(char key[HANDSHAKE_KEY]);

/* What to send to URL (http or https); to be freed, NULL when out of memory. PROTOCOLS may be NULL. */
char *handshake_request(const char *url, const struct curl_slist *headers, const char *user_agent, const char *key,
                        const char *protocols);

/* The status of the answer that begins at HEAD; 0 if it is none. */
int handshake_status(const char *head);

/* How many bytes HEAD announces behind itself; 0 if it does not say. */
size_t handshake_body_length(const char *head, size_t length);

/* Is HEAD the answer to KEY, with a protocol that was offered or none? *PROTOCOL is then a copy of it, or NULL. */
bool handshake_accepted(const char *head, size_t length, const char *key, const char *protocols, char **protocol);

#endif
