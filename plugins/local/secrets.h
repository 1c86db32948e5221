/* The credentials of a box, on the provider's side: checked, and handed to the box's proxy past everybody else. */
#ifndef SANDLOT_LOCAL_SECRETS_H
#define SANDLOT_LOCAL_SECRETS_H

#include <sandlot/provider.h>

/*
 * Checks the credentials of NETWORK, which has at least one. *LINES is what may be known of them (settings.h), to be
 * freed; *FD the memory file of credentials.h, to be closed. An error is told to the host; both may be set all the
 * same.
 */
enum sandlot_status secrets_ask(struct sandlot_call *call, const struct sandlot_network *network, char **lines,
                                int *fd);

/*
 * The credentials in LINES, which is cut up for them, COUNT of them, to be freed: host, header, plain. NULL: out of
 * memory.
 */
struct sandlot_network_credential *secrets_read(char *lines, size_t *count);

#endif
