#include "loader/worker/wire.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 4096 - 32, LEAST_CAPACITY = 1024 };

/* ---- memory ------------------------------------------------------------------------------------------------------ */

struct wire_block {
    struct wire_block *older;
    size_t used;
    size_t size;
    _Alignas(16) unsigned char bytes[];
};

void *wire_allocate(struct wire_arena *arena, size_t size)
{
    struct wire_block *block = arena->newest;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + 15) / 16 * 16;
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;

        block = malloc(sizeof(*block) + room);
        if (!block)
            return NULL;
        *block = (struct wire_block){.older = arena->newest, .size = room};
        arena->newest = block;
    }
    void *memory = block->bytes + block->used;

    block->used += size;
    return memset(memory, 0, size);
}

void wire_arena_clear(struct wire_arena *arena)
{
    while (arena->newest) {
        struct wire_block *block = arena->newest;

        arena->newest = block->older;
        free(block);
    }
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* LENGTH bytes more, rounded up to 8, for the caller to fill; NULL when there is no memory. */
static unsigned char *extend(struct wire_writer *writer, size_t length)
{
    size_t padded = (length + 7) / 8 * 8;

    if (!writer->failed && writer->capacity - writer->length < padded) {
        size_t capacity = (writer->length + padded) * 2;
        unsigned char *grown = realloc(writer->bytes, capacity > LEAST_CAPACITY ? capacity : LEAST_CAPACITY);

        writer->failed = !grown;
        writer->bytes = grown ? grown : writer->bytes;
        writer->capacity = grown ? (capacity > LEAST_CAPACITY ? capacity : LEAST_CAPACITY) : writer->capacity;
    }
    if (writer->failed)
        return NULL;
    unsigned char *at = writer->bytes + writer->length;

    memset(at + length, 0, padded - length);
    writer->length += padded;
    return at;
}

void wire_put_number(struct wire_writer *writer, uint64_t number)
{
    unsigned char *at = extend(writer, sizeof(number));

    if (at)
        memcpy(at, &number, sizeof(number));
}

static void put_text(struct wire_writer *writer, const char *text)
{
    size_t length = text ? strlen(text) + 1 : 0;

    wire_put_number(writer, length);
    unsigned char *at = extend(writer, length);

    if (at && text)
        memcpy(at, text, length);
}

uint64_t wire_get_number(struct wire_reader *reader)
{
    uint64_t number = 0;

    if (reader->failed || (size_t)(reader->end - reader->at) < sizeof(number)) {
        reader->failed = true;
        return 0;
    }
    memcpy(&number, reader->at, sizeof(number));
    reader->at += sizeof(number);
    return number;
}

/* A text in the bytes themselves. */
static const char *get_text(struct wire_reader *reader)
{
    uint64_t length = wire_get_number(reader);
    size_t left = (size_t)(reader->end - reader->at);

    if (reader->failed || length == 0)
        return NULL;
    if (length > left || (length + 7) / 8 * 8 > left || reader->at[length - 1] != '\0') {
        reader->failed = true;
        return NULL;
    }
    const char *text = (const char *)reader->at;

    reader->at += (length + 7) / 8 * 8;
    return text;
}

/* A number of things that take at least 8 bytes each. */
static size_t get_count(struct wire_reader *reader)
{
    uint64_t count = wire_get_number(reader);

    if (count <= (uint64_t)(reader->end - reader->at) / sizeof(uint64_t))
        return (size_t)count;
    reader->failed = true;
    return 0;
}

static void *allocate(struct wire_reader *reader, const struct wire_side *side, size_t size)
{
    void *memory = wire_allocate(side->arena, size);

    reader->failed = reader->failed || !memory;
    return memory;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static uint64_t load_number(enum wire_kind kind, const void *at)
{
    int32_t narrow;
    uint64_t number = 0;

    switch (kind) {
    case WIRE_BOOL:
        return *(const unsigned char *)at != 0;
    case WIRE_INT32:
        memcpy(&narrow, at, sizeof(narrow));
        return (uint64_t)(int64_t)narrow;
    default:
        memcpy(&number, at, wire_width(kind)); /* the low bytes come first */
        return number;
    }
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied by their low bytes");

static void store_number(enum wire_kind kind, void *at, uint64_t number)
{
    if (kind == WIRE_BOOL)
        number = number != 0;
    memcpy(at, &number, wire_width(kind));
}

static void *load_pointer(const void *at)
{
    void *pointer;

    memcpy(&pointer, at, sizeof(pointer));
    return pointer;
}

static void store_pointer(void *at, const void *pointer)
{
    memcpy(at, &pointer, sizeof(pointer));
}

static bool is_number(enum wire_kind kind)
{
    return kind >= WIRE_BOOL && kind <= WIRE_DOUBLE;
}

static bool is_text(enum wire_kind kind)
{
    return kind == WIRE_TEXT || kind == WIRE_KEPT_TEXT;
}

/* The number of elements that stands beside an array; see WIRE_COUNT. */
static size_t load_count(const void *at)
{
    size_t count;

    memcpy(&count, at, sizeof(count));
    return count;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_struct(struct wire_writer *writer, const struct wire_side *side, const struct wire_struct *type,
                       const void *from);

static void put_texts(struct wire_writer *writer, const char *const *texts)
{
    size_t count = 0;

    while (texts && texts[count])
        count++;
    wire_put_number(writer, texts ? count + 1 : 0);
    for (size_t i = 0; i < count; i++)
        put_text(writer, texts[i]);
}

/* What the elements are apart: the rows of another header may be longer or shorter than ours. */
static size_t stride_of(const struct wire_struct *type, const void *first)
{
    size_t size = type->sized ? load_count(first) : type->size;

    return size >= sizeof(size_t) ? size : type->size;
}

static void put_array(struct wire_writer *writer, const struct wire_side *side, const struct wire_struct *type,
                      const unsigned char *first, size_t count)
{
    size_t stride = count > 0 && first ? stride_of(type, first) : 0;

    count = first ? count : 0;
    wire_put_number(writer, count);
    for (size_t i = 0; i < count; i++)
        put_struct(writer, side, type, first + i * stride);
}

/* OWNER: the struct of which AT is a field. COUNT_AT: where the number of elements stands. */
static void put_value(struct wire_writer *writer, const struct wire_side *side, const struct wire_value *value,
                      const void *at, const void *count_at, const void *owner)
{
    int fd;

    if (is_number(value->kind)) {
        wire_put_number(writer, load_number(value->kind, at));
        return;
    }
    if (is_text(value->kind)) {
        put_text(writer, load_pointer(at));
        return;
    }
    switch (value->kind) {
    case WIRE_TEXTS:
        put_texts(writer, load_pointer(at));
        return;
    case WIRE_STRUCT:
        wire_put_number(writer, load_pointer(at) != NULL);
        if (load_pointer(at))
            put_struct(writer, side, value->of, load_pointer(at));
        return;
    case WIRE_ARRAY:
        put_array(writer, side, value->of, load_pointer(at), load_count(count_at));
        return;
    case WIRE_WATCH:
        memcpy(&fd, at, sizeof(fd));
        wire_put_number(writer, side->watch_out && fd >= 0 ? side->watch_out(side->context, owner, fd) : 0);
        return;
    case WIRE_DESCRIPTOR:
        memcpy(&fd, at, sizeof(fd));
        wire_put_number(writer, side->descriptor_out && fd >= 0 ? side->descriptor_out(side->context, fd) : 0);
        return;
    case WIRE_CAPACITY:
        wire_put_number(writer, load_number(WIRE_UINT64, at));
        return;
    case WIRE_HANDLE:
    case WIRE_LAST_HANDLE:
        wire_put_number(writer, side->handle_out ? side->handle_out(side->context, load_pointer(at)) : 0);
        return;
    default:
        return;
    }
}

/* Nothing, where the struct of the other header has no such field. */
static void put_nothing(struct wire_writer *writer, const struct wire_value *value)
{
    if (value->kind != WIRE_COUNT)
        wire_put_number(writer, 0);
}

static void put_struct(struct wire_writer *writer, const struct wire_side *side, const struct wire_struct *type,
                       const void *from)
{
    size_t size = type->sized ? load_count(from) : type->size;
    const unsigned char *bytes = from;

    if (type->functions)
        wire_put_number(writer, side->object_out ? side->object_out(side->context, type, from) : 0);
    for (size_t i = 0; i < type->field_count; i++) {
        const struct wire_value *field = &type->fields[i];
        const struct wire_value *count = field->kind == WIRE_ARRAY ? field + 1 : field;

        if (count->offset + wire_width(count->kind) <= size)
            put_value(writer, side, field, bytes + field->offset, bytes + count->offset, from);
        else
            put_nothing(writer, field);
    }
}

static void put_call(struct wire_writer *writer, const struct wire_side *side, const struct sandlot_call *call)
{
    bool watched = side->watch_out && call->cancel_fd >= 0;

    wire_put_number(writer, (uint64_t)call->deadline_ms);
    wire_put_number(writer, watched ? side->watch_out(side->context, call, call->cancel_fd) : 0);
}

void wire_write_arguments(struct wire_writer *writer, const struct wire_side *side,
                          const struct wire_function *function, void *const *arguments)
{
    for (size_t i = 0; i < function->argument_count; i++) {
        const struct wire_value *value = &function->arguments[i];

        if (value->kind == WIRE_CALL && side->watch_out)
            put_call(writer, side, load_pointer(arguments[i]));
        else if (value->out && value->kind != WIRE_STRUCT)
            continue;
        else if (value->out)
            put_struct(writer, side, value->of, load_pointer(arguments[i]));
        else
            put_value(writer, side, value, arguments[i], arguments[value->kind == WIRE_ARRAY ? i + 1 : i], NULL);
    }
}

void wire_write_results(struct wire_writer *writer, const struct wire_side *side, const struct wire_function *function,
                        const void *result, void *const *arguments, uint64_t new_handle)
{
    if (is_text(function->result))
        put_text(writer, load_pointer(result));
    else if (function->result != WIRE_NOTHING)
        wire_put_number(writer, load_number(function->result, result));
    for (size_t i = 0; i < function->argument_count; i++) {
        const struct wire_value *value = &function->arguments[i];

        if (value->kind == WIRE_NEW_HANDLE)
            wire_put_number(writer, new_handle);
        else if (value->out && value->kind == WIRE_STRUCT)
            put_struct(writer, side, value->of, load_pointer(arguments[i]));
        else if (value->out)
            wire_put_number(writer, load_number(value->kind, load_pointer(arguments[i])));
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void get_struct(struct wire_reader *reader, const struct wire_side *side, const struct wire_struct *type,
                       void *to, size_t size);

static const char *get_kept_text(struct wire_reader *reader, const struct wire_side *side, enum wire_kind kind)
{
    const char *text = get_text(reader);

    return text && kind == WIRE_KEPT_TEXT ? side->keep ? side->keep(side->context, text) : NULL : text;
}

static const char **get_texts(struct wire_reader *reader, const struct wire_side *side)
{
    size_t count = get_count(reader);

    if (reader->failed || count == 0)
        return NULL;
    const char **texts = allocate(reader, side, count * sizeof(*texts));

    for (size_t i = 0; texts && i < count - 1; i++) {
        texts[i] = get_text(reader);
        reader->failed = reader->failed || !texts[i];
    }
    return texts;
}

static void *get_array(struct wire_reader *reader, const struct wire_side *side, const struct wire_struct *type,
                       size_t *count)
{
    *count = get_count(reader);
    unsigned char *first = *count > 0 ? allocate(reader, side, *count * type->size) : NULL;

    for (size_t i = 0; first && i < *count && !reader->failed; i++)
        get_struct(reader, side, type, first + i * type->size, type->size);
    return first;
}

static void *get_new_struct(struct wire_reader *reader, const struct wire_side *side, const struct wire_struct *type)
{
    void *to = allocate(reader, side, type->size);

    if (to)
        get_struct(reader, side, type, to, type->size);
    return to;
}

static void get_descriptor(struct wire_reader *reader, const struct wire_side *side, void *at)
{
    uint64_t number = wire_get_number(reader);
    int fd = -1;

    if (number > 0 && (!side->descriptor_in || !side->descriptor_in(side->context, number, &fd)))
        reader->failed = true;
    memcpy(at, &fd, sizeof(fd));
}

static void get_watch(struct wire_reader *reader, const struct wire_side *side, void *at)
{
    uint64_t number = wire_get_number(reader);
    int fd = number > 0 && side->watch_in ? side->watch_in(side->context, number) : -1;

    memcpy(at, &fd, sizeof(fd));
}

static void get_handle(struct wire_reader *reader, const struct wire_side *side, void *at)
{
    uint64_t number = wire_get_number(reader);
    void *handle = NULL;

    if (!side->handle_in || !side->handle_in(side->context, number, &handle))
        reader->failed = true;
    store_pointer(at, handle);
}

/* COUNT_AT: where the number of an array's elements goes. */
static void get_value(struct wire_reader *reader, const struct wire_side *side, const struct wire_value *value,
                      void *at, void *count_at)
{
    size_t count;

    if (is_number(value->kind)) {
        store_number(value->kind, at, wire_get_number(reader));
        return;
    }
    if (is_text(value->kind)) {
        store_pointer(at, get_kept_text(reader, side, value->kind));
        return;
    }
    switch (value->kind) {
    case WIRE_TEXTS:
        store_pointer(at, get_texts(reader, side));
        return;
    case WIRE_STRUCT:
        store_pointer(at, wire_get_number(reader) && !reader->failed ? get_new_struct(reader, side, value->of) : NULL);
        return;
    case WIRE_ARRAY:
        store_pointer(at, get_array(reader, side, value->of, &count));
        memcpy(count_at, &count, sizeof(count));
        return;
    case WIRE_WATCH:
        get_watch(reader, side, at);
        return;
    case WIRE_DESCRIPTOR:
        get_descriptor(reader, side, at);
        return;
    case WIRE_HANDLE:
    case WIRE_LAST_HANDLE:
        get_handle(reader, side, at);
        return;
    default:
        return;
    }
}

/* Fills TO, SIZE bytes long; what it has no room for is read and left out. */
static void get_struct(struct wire_reader *reader, const struct wire_side *side, const struct wire_struct *type,
                       void *to, size_t size)
{
    unsigned char *bytes = to;

    if (type->sized)
        memcpy(to, &size, sizeof(size));
    if (type->functions) {
        uint64_t number = wire_get_number(reader);

        if (!side->object_in || !side->object_in(side->context, type, number, to))
            reader->failed = true;
    }
    for (size_t i = 0; i < type->field_count && !reader->failed; i++) {
        const struct wire_value *field = &type->fields[i];
        const struct wire_value *count = field->kind == WIRE_ARRAY ? field + 1 : field;
        uint64_t nowhere;

        if (count->offset + wire_width(count->kind) <= size)
            get_value(reader, side, field, bytes + field->offset, bytes + count->offset);
        else
            get_value(reader, side, field, &nowhere, &nowhere);
    }
}

/* A pointer to a place of its own for what the function stores. */
static void get_out(struct wire_reader *reader, const struct wire_side *side, const struct wire_value *value, void *at)
{
    if (value->kind == WIRE_STRUCT)
        store_pointer(at, get_new_struct(reader, side, value->of));
    else
        store_pointer(at, allocate(reader, side, sizeof(uint64_t)));
}

static void get_call(struct wire_reader *reader, const struct wire_side *side, void *at)
{
    int64_t deadline_ms = (int64_t)wire_get_number(reader);
    uint64_t watch = wire_get_number(reader);
    void *call = NULL;

    if (!side->call_in(side->context, deadline_ms, watch, &call))
        reader->failed = true;
    store_pointer(at, call);
}

static void get_buffer(struct wire_reader *reader, const struct wire_side *side, void *at, void *capacity_at)
{
    uint64_t capacity = wire_get_number(reader);
    void *buffer = side->buffer_in ? side->buffer_in(side->context, &capacity) : NULL;

    reader->failed = reader->failed || !buffer;
    store_pointer(at, buffer);
    memcpy(capacity_at, &capacity, sizeof(capacity));
}

void **wire_read_arguments(struct wire_reader *reader, const struct wire_side *side,
                           const struct wire_function *function)
{
    size_t count = function->argument_count;
    void **addresses = allocate(reader, side, count * sizeof(*addresses));
    uint64_t *cells = allocate(reader, side, count * sizeof(*cells));

    for (size_t i = 0; addresses && cells && i < count && !reader->failed; i++) {
        const struct wire_value *value = &function->arguments[i];

        addresses[i] = &cells[i];
        if (value->out || value->kind == WIRE_NEW_HANDLE)
            get_out(reader, side, value, &cells[i]);
        else if (value->kind == WIRE_CALL && side->call_in)
            get_call(reader, side, &cells[i]);
        else if (value->kind == WIRE_CALL || value->kind == WIRE_SELF)
            store_pointer(&cells[i], side->self_in(side->context));
        else if (value->kind == WIRE_BUFFER)
            get_buffer(reader, side, &cells[i], &cells[i + 1]);
        else if (value->kind == WIRE_BYTES)
            reader->failed = true; /* they go through the ring */
        else
            get_value(reader, side, value, &cells[i], &cells[value->kind == WIRE_ARRAY ? i + 1 : i]);
    }
    return reader->failed ? NULL : addresses;
}

/* Results of closures are widened to a register. */
static void get_result(struct wire_reader *reader, const struct wire_side *side, const struct wire_function *function,
                       void *result)
{
    if (is_text(function->result))
        store_pointer(result, get_kept_text(reader, side, function->result));
    else if (function->result == WIRE_INT32)
        *(ffi_sarg *)result = (int32_t)wire_get_number(reader);
    else if (function->result != WIRE_NOTHING)
        *(ffi_arg *)result = wire_get_number(reader);
}

bool wire_read_results(struct wire_reader *reader, const struct wire_side *side, const struct wire_function *function,
                       void *result, void *const *arguments, uint64_t *new_handle)
{
    *new_handle = 0;
    get_result(reader, side, function, result);
    for (size_t i = 0; i < function->argument_count && !reader->failed; i++) {
        const struct wire_value *value = &function->arguments[i];
        void *at = value->out ? load_pointer(arguments[i]) : NULL;

        if (value->kind == WIRE_NEW_HANDLE)
            *new_handle = wire_get_number(reader);
        else if (value->out && value->kind == WIRE_STRUCT)
            get_struct(reader, side, value->of, at, value->of->sized ? load_count(at) : value->of->size);
        else if (value->out)
            store_number(value->kind, at, wire_get_number(reader));
    }
    return !reader->failed;
}

void wire_no_result(const struct wire_function *function, void *result)
{
    if (function->result != WIRE_NOTHING)
        *(ffi_arg *)result = 0;
}
