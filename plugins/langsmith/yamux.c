#include "yamux.h"

#include <arpa/inet.h>
#include <string.h>

enum { STREAM = 1 /* who opens the session takes odd numbers */ };

void yamux_init(struct yamux *yamux)
{
    *yamux = (struct yamux){.may_send = YAMUX_WINDOW, .may_come = YAMUX_WINDOW};
}

static uint32_t number_at(const unsigned char *bytes)
{
    uint32_t number;

    memcpy(&number, bytes, sizeof(number));
    return ntohl(number);
}

static void take_flags(struct yamux *yamux, unsigned flags)
{
    yamux->broken = yamux->broken || (flags & YAMUX_RESET);
    yamux->ending = yamux->ending || (flags & YAMUX_END);
    yamux->ended = yamux->ending && yamux->left == 0;
}

/* A head is complete. True: PIECE is to be acted upon. */
static bool take_head(struct yamux *yamux, struct yamux_piece *piece)
{
    const unsigned flags = (unsigned)yamux->head[2] << 8 | yamux->head[3];
    const uint32_t length = number_at(yamux->head + 8);
    const bool ours = number_at(yamux->head + 4) == STREAM;

    yamux->head_length = 0;
    switch (yamux->head[0] == 0 ? yamux->head[1] : YAMUX_GOODBYE) {
    case YAMUX_DATA:
        yamux->left = length;
        yamux->skipped = !ours;
        yamux->broken = ours && length > yamux->may_come;
        break;
    case YAMUX_ROOM:
        if (ours)
            yamux->may_send += length < UINT32_MAX - yamux->may_send ? length : UINT32_MAX - yamux->may_send;
        break;
    case YAMUX_PING:
        *piece = (struct yamux_piece){.kind = YAMUX_PING, .ping = length};
        return flags & YAMUX_OPEN;
    default:
        yamux->broken = true;
    }
    if (ours)
        take_flags(yamux, flags);
    return false;
}

/* Bytes of a frame. True: they are those of the stream. */
static bool take_bytes(struct yamux *yamux, struct yamux_input *input, struct yamux_piece *piece)
{
    const size_t length = input->length < yamux->left ? input->length : yamux->left;

    *piece = (struct yamux_piece){.kind = YAMUX_DATA, .bytes = input->bytes, .length = length};
    input->bytes += length;
    input->length -= length;
    yamux->left -= (uint32_t)length;
    if (yamux->skipped)
        return false;
    yamux->may_come -= (uint32_t)length;
    take_flags(yamux, 0);
    return true;
}

bool yamux_take(struct yamux *yamux, struct yamux_input *input, struct yamux_piece *piece)
{
    while (input->length > 0 && !yamux->broken) {
        if (yamux->left > 0) {
            if (take_bytes(yamux, input, piece))
                return true;
            continue;
        }
        yamux->head[yamux->head_length++] = *input->bytes++;
        input->length--;
        if (yamux->head_length == YAMUX_HEAD && take_head(yamux, piece))
            return true;
    }
    return false;
}

void yamux_write(unsigned char head[YAMUX_HEAD], enum yamux_kind kind, unsigned flags, uint32_t length)
{
    const uint32_t numbers[] = {htonl(kind == YAMUX_PING ? 0 : STREAM), htonl(length)};

    head[0] = 0;
    head[1] = (unsigned char)kind;
    head[2] = (unsigned char)(flags >> 8);
    head[3] = (unsigned char)flags;
    memcpy(head + 4, numbers, sizeof(numbers));
}
