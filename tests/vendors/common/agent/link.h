/*
 * The agent's end of the wire to the emulator, as ../link.mjs has it: frames of eight bytes of header (length, kind,
 * stream, channel) and a payload. Messages are JSON; data flows under a window per stream.
 */
#ifndef AGENT_LINK_H
#define AGENT_LINK_H

#include "bytes.h"
#include "watch.h"

#include <json-c/json.h>
#include <stdint.h>
#include <sys/queue.h>

enum { LINK_PIECE = 1 << 16 };

/* A stream that we write. */
struct outlet {
    TAILQ_ENTRY(outlet) entry;
    uint32_t channel;
    unsigned stream;
    size_t left;                           /* of its window */
    void (*resume)(struct outlet *outlet); /* there may be room again */
};

struct link {
    struct watch watch;
    struct bytes in, out;
    bool full; /* somebody has been told to wait until what is in `out` has gone */
    TAILQ_HEAD(outlets, outlet) outlets;
    void (*message)(struct link *link, struct json_object *message);
    void (*data)(struct link *link, uint32_t channel, const char *bytes, size_t length);
    void (*end)(struct link *link, uint32_t channel);
    void (*closed)(struct link *link);
};

/* Whoever calls has set the functions above. */
void link_begin(struct link *link, int poll, int fd);
/* Writes what is waiting; whether streams went on by that. */
bool link_flush(struct link *link);
/* Takes MESSAGE. */
void link_send(struct link *link, struct json_object *message);
/* Tells the writer of an input that LENGTH of its bytes have been used. */
void link_credit(struct link *link, uint32_t channel, size_t length);

void outlet_begin(struct link *link, struct outlet *outlet, uint32_t channel, unsigned stream,
                  void (*resume)(struct outlet *));
/* How many bytes may be sent now, at most LINK_PIECE; after 0 `resume` is called when there is room. */
size_t outlet_room(struct link *link, const struct outlet *outlet);
void outlet_send(struct link *link, struct outlet *outlet, const char *bytes, size_t length);
void outlet_end(struct link *link, struct outlet *outlet);

#endif
