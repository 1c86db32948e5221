/* A stream of the HTTP client that begins without a request of ours. */
#ifndef SANDLOT_SDK_HTTP_UPGRADE_INTERNAL_H
#define SANDLOT_SDK_HTTP_UPGRADE_INTERNAL_H

#include <sandlot/sdk/http_upgrade.h>

/* Connects to URL, over TLS where that says so, and sends nothing. KIND as in http_raw_init. */
enum sandlot_status http_upgrade_connect(struct sandlot_call *call, struct http_client *client, const char *url,
                                         const char *kind, struct http_upgrade **stream);

enum sandlot_status http_upgrade_send(struct sandlot_call *call, struct http_upgrade *stream, const char *bytes,
                                      size_t length);

#endif
