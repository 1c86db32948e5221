/* All pages of what the provider itself lists, and in it the sandboxes of this run: by their labels and their ids. */
#ifndef SANDLOT_CONFORMANCE_LISTING_H
#define SANDLOT_CONFORMANCE_LISTING_H

#include "direct.h"

/* Calls EACH for every sandbox of every page. A listing that does not end is SANDLOT_INTERNAL or SANDLOT_TIMEOUT, with
 * words in direct->message. */
enum sandlot_status listing_read(struct direct *direct,
                                 void (*each)(void *context, const struct sandlot_listed *sandbox), void *context);

/* Sandboxes of this run that are listed. To be cleared. */
struct found {
    const struct kit *kit;
    char **ids;
    size_t count;
    bool incomplete; /* memory ran out */
};

enum sandlot_status listing_find_ours(struct direct *direct, struct found *found);
void found_clear(struct found *found);

/* The label of what is listed, "" where it has none. */
const char *listed_label(const struct sandlot_listed *sandbox);

#endif
