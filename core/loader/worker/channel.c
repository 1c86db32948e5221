#include "loader/worker/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    WATCH_NS = 100 * 1000, /* longer than the other side needs for a piece */
    ALIGNMENT = 64
};

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

int channel_make_watch(void)
{
    return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

void channel_set_watch(int watch, bool readable)
{
    const struct itimerspec when = {.it_value = {.tv_nsec = readable}}; /* long ago, or never */

    timerfd_settime(watch, TFD_TIMER_ABSTIME, &when, NULL);
}

/* ---- the pulse --------------------------------------------------------------------------------------------------- */

void channel_beat(struct channel_pulse *own)
{
    atomic_store(&own->processor, (uint32_t)sched_getcpu());
    atomic_fetch_add(&own->beats, 1);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool channel_watch(const struct channel_pulse *other, uint32_t seen)
{
    bool possible = atomic_load(&other->processor) != (uint32_t)sched_getcpu();
    int64_t end = possible ? now_ns() + WATCH_NS : 0;

    while (atomic_load(&other->beats) == seen)
        if (!possible || now_ns() >= end)
            return false;
    return true;
}

/* What a record takes of the ring. */
static uint32_t padded(size_t length)
{
    return (uint32_t)((length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

/* ---- the worker's end -------------------------------------------------------------------------------------------- */

/* Waits until there is room for another record of LENGTH bytes. */
static void wait_for_room(struct channel_memory *memory, size_t length)
{
    uint32_t put = atomic_load(&memory->put);
    uint32_t filled = atomic_load(&memory->filled) + padded(length);

    for (;;) {
        uint32_t beats = atomic_load(&memory->host.beats);
        uint32_t emptied = atomic_load(&memory->emptied);

        if (filled - emptied <= CHANNEL_RING && put - atomic_load(&memory->taken) < CHANNEL_RECORDS)
            return;
        if (channel_watch(&memory->host, beats))
            continue;
        atomic_store(&memory->worker_sleeps, 1);
        if (atomic_load(&memory->emptied) != emptied)
            continue;
        struct timespec limit = {.tv_sec = 1};

        syscall(SYS_futex, &memory->emptied, FUTEX_WAIT, emptied, &limit, NULL, 0);
    }
}

int32_t channel_write(struct channel_memory *memory, uint32_t stream, const void *bytes, size_t length,
                      void (*doorbell)(void *context), void *context)
{
    const unsigned char *from = bytes;

    while (length > 0 && atomic_load(&memory->stopped) == 0) {
        uint32_t at = atomic_load(&memory->filled) % CHANNEL_RING;
        size_t piece = length < CHANNEL_PIECE ? length : CHANNEL_PIECE;

        piece = piece < CHANNEL_RING - at ? piece : CHANNEL_RING - at;
        wait_for_room(memory, piece);
        memcpy(memory->ring + at, from, piece);
        memory->records[atomic_load(&memory->put) % CHANNEL_RECORDS] = (struct channel_record){stream, (uint32_t)piece};
        atomic_fetch_add(&memory->filled, padded(piece));
        atomic_fetch_add(&memory->put, 1);
        channel_beat(&memory->worker);
        if (atomic_load(&memory->host_sleeps) && atomic_exchange(&memory->host_sleeps, 0))
            doorbell(context);
        from += piece;
        length -= piece;
    }
    return atomic_load(&memory->stopped);
}

/* ---- the host's end ---------------------------------------------------------------------------------------------- */

/* Record NUMBER, read once: the worker may change it while we look. */
static struct channel_record record_at(const struct channel_memory *memory, uint32_t number)
{
    const volatile struct channel_record *record = &memory->records[number % CHANNEL_RECORDS];

    return (struct channel_record){record->stream, record->length};
}

enum channel_look channel_look(const struct channel_reader *reader, struct channel_piece *piece)
{
    const struct channel_memory *memory = reader->memory;
    uint32_t count = atomic_load(&memory->put) - reader->taken;
    uint32_t at = reader->emptied % CHANNEL_RING;

    if (count == 0)
        return CHANNEL_EMPTY;
    *piece = (struct channel_piece){record_at(memory, reader->taken).stream, memory->ring + at, 0, 0};
    while (count <= CHANNEL_RECORDS && piece->records < count && piece->length % ALIGNMENT == 0) {
        struct channel_record next = record_at(memory, reader->taken + piece->records);
        size_t room = CHANNEL_RING - at - piece->length;

        room = room < CHANNEL_PIECE - piece->length ? room : CHANNEL_PIECE - piece->length;
        if (next.stream != piece->stream || next.length == 0 || next.length > room)
            break;
        piece->length += next.length;
        piece->records++;
    }
    return piece->records > 0 ? CHANNEL_PIECE_READY : CHANNEL_NONSENSE;
}

void channel_take(struct channel_reader *reader, const struct channel_piece *piece)
{
    struct channel_memory *memory = reader->memory;

    reader->taken += piece->records;
    reader->emptied += padded(piece->length);
    uint32_t bytes = atomic_load(&memory->filled) - reader->emptied;
    uint32_t records = atomic_load(&memory->put) - reader->taken;
    bool has_room = bytes <= CHANNEL_RING / 2 && records <= CHANNEL_RECORDS / 2;

    atomic_store(&memory->taken, reader->taken);
    atomic_store(&memory->emptied, reader->emptied);
    channel_beat(&memory->host);
    /* Not for every piece: a worker that waits for a full ring is to find half of it empty. */
    if ((has_room || records == 0) && atomic_load(&memory->worker_sleeps) && atomic_exchange(&memory->worker_sleeps, 0))
        syscall(SYS_futex, &memory->emptied, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool channel_fall_asleep(const struct channel_reader *reader)
{
    atomic_store(&reader->memory->host_sleeps, 1);
    if (atomic_load(&reader->memory->put) == reader->taken)
        return true;
    channel_wake_up(reader);
    return false;
}

void channel_wake_up(const struct channel_reader *reader)
{
    atomic_store(&reader->memory->host_sleeps, 0);
}
