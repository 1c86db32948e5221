#include "loader/worker/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What stands before every piece in the ring; pieces begin at multiples of its size. */
struct record {
    uint32_t stream;
    uint32_t length;
};

#define PADDING UINT32_MAX /* as a stream: the rest of the ring is not used this time */
enum { ROOM_WANTED = 1 << 15 /* smaller pieces are not worth the turn when the ring is full */ };

int channel_make_memory(void)
{
    int fd = memfd_create("sandlot-worker", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    /* A worker that made the file smaller would make the host's next access to it a SIGBUS. */
    if (ftruncate(fd, sizeof(struct channel_memory)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    int error = errno;

    close(fd);
    errno = error;
    return -1;
}

struct channel_memory *channel_map(int fd)
{
    void *memory = mmap(NULL, sizeof(struct channel_memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void channel_unmap(struct channel_memory *memory)
{
    if (memory)
        munmap(memory, sizeof(*memory));
}

static uint32_t padded(size_t length)
{
    return (uint32_t)((length + sizeof(struct record) - 1) / sizeof(struct record) * sizeof(struct record));
}

/* ---- the worker's end -------------------------------------------------------------------------------------------- */

/* Waits until there is room for WANTED bytes; returns how many there are. */
static uint32_t wait_for_room(struct channel_memory *memory, uint32_t head, uint32_t wanted)
{
    for (;;) {
        uint32_t tail = atomic_load(&memory->tail);
        uint32_t room = CHANNEL_RING - (head - tail);

        if (room >= wanted)
            return room;
        atomic_store(&memory->worker_sleeps, 1);
        if (atomic_load(&memory->tail) != tail)
            continue;
        struct timespec limit = {.tv_sec = 1};

        syscall(SYS_futex, &memory->tail, FUTEX_WAIT, tail, &limit, NULL, 0);
    }
}

static void publish(struct channel_memory *memory, uint32_t head, void (*doorbell)(void *context), void *context)
{
    atomic_store(&memory->head, head);
    if (atomic_load(&memory->host_sleeps) && atomic_exchange(&memory->host_sleeps, 0))
        doorbell(context);
}

int32_t channel_write(struct channel_memory *memory, uint32_t stream, const void *bytes, size_t length,
                      void (*doorbell)(void *context), void *context)
{
    const unsigned char *from = bytes;

    while (length > 0 && atomic_load(&memory->stopped) == 0) {
        uint32_t head = atomic_load(&memory->head);
        uint32_t to_end = CHANNEL_RING - head % CHANNEL_RING;
        size_t piece = length < CHANNEL_PIECE ? length : CHANNEL_PIECE;
        struct record record = {stream, 0};

        if (to_end <= sizeof(record)) {
            wait_for_room(memory, head, to_end);
            record.stream = PADDING;
            memcpy(memory->ring + head % CHANNEL_RING, &record, sizeof(record));
            publish(memory, head + to_end, doorbell, context);
            continue;
        }
        piece = piece < to_end - sizeof(record) ? piece : to_end - sizeof(record);
        uint32_t wanted = sizeof(record) + padded(piece < ROOM_WANTED ? piece : ROOM_WANTED);
        uint32_t room = wait_for_room(memory, head, wanted);

        piece = piece < room - sizeof(record) ? piece : room - sizeof(record);
        record.length = (uint32_t)piece;
        memcpy(memory->ring + head % CHANNEL_RING + sizeof(record), from, piece);
        memcpy(memory->ring + head % CHANNEL_RING, &record, sizeof(record));
        publish(memory, head + (uint32_t)sizeof(record) + padded(piece), doorbell, context);
        from += piece;
        length -= piece;
    }
    return atomic_load(&memory->stopped);
}

/* ---- the host's end ---------------------------------------------------------------------------------------------- */

enum channel_look channel_look(const struct channel_reader *reader, struct channel_piece *piece)
{
    uint32_t used = atomic_load(&reader->memory->head) - reader->tail;
    uint32_t at = reader->tail % CHANNEL_RING;
    struct record record;

    if (used == 0)
        return CHANNEL_EMPTY;
    if (used > CHANNEL_RING || used < sizeof(record) || used % sizeof(record) != 0)
        return CHANNEL_NONSENSE;
    memcpy(&record, reader->memory->ring + at, sizeof(record)); /* once: the worker may change it while we look */
    size_t length = record.stream == PADDING ? 0 : record.length;

    if (length > used - sizeof(record) || length > CHANNEL_RING - at - sizeof(record))
        return CHANNEL_NONSENSE;
    *piece = (struct channel_piece){record.stream, reader->memory->ring + at + sizeof(record), length,
                                    (uint32_t)sizeof(record) + padded(length)};
    if (record.stream == PADDING)
        piece->bytes = NULL;
    return CHANNEL_PIECE_READY;
}

void channel_take(struct channel_reader *reader, const struct channel_piece *piece)
{
    struct channel_memory *memory = reader->memory;
    uint32_t used = atomic_load(&memory->head) - (reader->tail + piece->taken);

    reader->tail += piece->taken;
    atomic_store(&memory->tail, reader->tail);
    /* Not for every piece: a worker that waits for a full ring is to find half of it empty. */
    if (used <= CHANNEL_RING / 2 && atomic_load(&memory->worker_sleeps) && atomic_exchange(&memory->worker_sleeps, 0))
        syscall(SYS_futex, &memory->tail, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool channel_fall_asleep(const struct channel_reader *reader)
{
    atomic_store(&reader->memory->host_sleeps, 1);
    if (atomic_load(&reader->memory->head) == reader->tail)
        return true;
    channel_wake_up(reader);
    return false;
}

void channel_wake_up(const struct channel_reader *reader)
{
    atomic_store(&reader->memory->host_sleeps, 0);
}
