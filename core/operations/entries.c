#include "operations/entries.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024, FIRST_ITEMS = 64 };

/* Strings are laid one after the other into the newest block, which is the first of the list. */
struct text_block {
    struct text_block *next;
    size_t used;
    size_t capacity;
    char bytes[];
};

/* Room for LENGTH bytes that stays where it is. NULL when out of memory. */
static char *block_take(struct text_block **blocks, size_t length)
{
    struct text_block *block = *blocks;

    if (!block || block->capacity - block->used < length) {
        size_t capacity = length > BLOCK_BYTES ? length : BLOCK_BYTES;

        if (capacity > SIZE_MAX - sizeof(*block))
            return NULL;
        block = malloc(sizeof(*block) + capacity);
        if (!block)
            return NULL;
        *block = (struct text_block){.next = *blocks, .capacity = capacity};
        *blocks = block;
    }
    char *at = block->bytes + block->used;

    block->used += length;
    return at;
}

static void blocks_free(struct text_block *block)
{
    while (block) {
        struct text_block *next = block->next;

        free(block);
        block = next;
    }
}

/* Makes room for WANTED items of SIZE bytes in *ITEMS. */
static bool reserve(void **items, size_t *capacity, size_t wanted, size_t size)
{
    size_t larger = *capacity ? *capacity : FIRST_ITEMS;

    if (wanted <= *capacity)
        return true;
    while (larger < wanted && larger <= SIZE_MAX / 2)
        larger *= 2;
    void *grown = larger < wanted ? NULL : reallocarray(*items, larger, size);

    if (!grown)
        return false;
    *items = grown;
    *capacity = larger;
    return true;
}

static bool reserve_entries(struct entries *entries, size_t wanted)
{
    void *items = entries->items;
    bool enough = reserve(&items, &entries->capacity, wanted, sizeof(*entries->items));

    entries->items = items;
    return enough;
}

static bool reserve_matches(struct matches *matches, size_t wanted)
{
    void *items = matches->items;
    bool enough = reserve(&items, &matches->capacity, wanted, sizeof(*matches->items));

    matches->items = items;
    return enough;
}

struct sandlot_file_entry *entries_add(struct entries *entries, const char *directory, const char *name,
                                       size_t name_length)
{
    size_t length = directory ? strlen(directory) : 0;
    bool slash = directory && (length == 0 || directory[length - 1] != '/');

    if (!reserve_entries(entries, entries->count + 1))
        return NULL;
    char *path = block_take(&entries->blocks, length + slash + name_length + 1);

    if (!path)
        return NULL;
    if (length)
        memcpy(path, directory, length);
    if (slash)
        path[length++] = '/';
    if (name_length)
        memcpy(path + length, name, name_length);
    path[length + name_length] = '\0';
    struct sandlot_file_entry *entry = &entries->items[entries->count++];

    *entry = (struct sandlot_file_entry){.size = sizeof(*entry), .path = path};
    return entry;
}

static int compare_entries(const void *left, const void *right)
{
    const struct sandlot_file_entry *a = left;
    const struct sandlot_file_entry *b = right;

    return strcmp(a->path, b->path);
}

void entries_sort(struct entries *entries)
{
    if (entries->count > 1)
        qsort(entries->items, entries->count, sizeof(*entries->items), compare_entries);
}

void entries_clear(struct entries *entries)
{
    free(entries->items);
    blocks_free(entries->blocks);
    *entries = (struct entries){0};
}

const char *matches_path(struct matches *matches, const char *path)
{
    size_t length = strlen(path);
    char *copy = block_take(&matches->blocks, length + 1);

    if (!copy)
        return NULL;
    memcpy(copy, path, length + 1);
    matches->bytes += length;
    return copy;
}

bool matches_add(struct matches *matches, const char *path, int64_t line, const char *text, size_t length)
{
    if (length == 0)
        text = "";
    if (length && text[length - 1] == '\n')
        length--;
    if (length && text[length - 1] == '\r')
        length--;
    char *replaced = NULL;

    if (!text_utf8_valid(text, length)) {
        replaced = text_utf8_replace(text, length, &length);
        if (!replaced)
            return false;
        text = replaced;
    }
    char *copy = reserve_matches(matches, matches->count + 1) ? block_take(&matches->blocks, length + 1) : NULL;

    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        matches->items[matches->count++] = (struct sandlot_match){
            .size = sizeof(struct sandlot_match), .path = path, .line = line, .text = copy, .text_length = length};
        matches->bytes += length + sizeof(struct sandlot_match);
    }
    free(replaced);
    return copy != NULL;
}

static int compare_matches(const void *left, const void *right)
{
    const struct sandlot_match *a = left;
    const struct sandlot_match *b = right;
    int order = a->path == b->path ? 0 : strcmp(a->path, b->path);

    return order ? order : (a->line > b->line) - (a->line < b->line);
}

void matches_sort(struct matches *matches)
{
    if (matches->count > 1)
        qsort(matches->items, matches->count, sizeof(*matches->items), compare_matches);
}

/* Puts the blocks of FROM behind the first of *TO, which may still have room. */
static void blocks_join(struct text_block **to, struct text_block *from)
{
    if (!*to) {
        *to = from;
        return;
    }
    struct text_block *last = from;

    while (last && last->next)
        last = last->next;
    if (!last)
        return;
    last->next = (*to)->next;
    (*to)->next = from;
}

bool matches_join(struct matches *to, struct matches *from)
{
    if (!reserve_matches(to, to->count + from->count))
        return false;
    if (from->count)
        memcpy(to->items + to->count, from->items, from->count * sizeof(*from->items));
    to->count += from->count;
    to->bytes += from->bytes;
    blocks_join(&to->blocks, from->blocks);
    free(from->items);
    *from = (struct matches){0};
    return true;
}

void matches_clear(struct matches *matches)
{
    free(matches->items);
    blocks_free(matches->blocks);
    *matches = (struct matches){0};
}
