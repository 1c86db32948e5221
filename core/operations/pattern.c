#include "operations/pattern.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/excerpt.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_BYTES = 16 * 1024 };

/* What a component is; the most usual ones are decided without looking at each character. */
enum kind {
    KIND_DEEP,    /* "**": any number of components */
    KIND_LITERAL, /* nothing special in it */
    KIND_SUFFIX,  /* "*" and a literal end, which may be empty */
    KIND_GENERAL
};

struct component {
    enum kind kind;
    const char *text;
    size_t length;
    const char *last_close; /* the last "]", or NULL: no set is closed after it */
};

/* One way to read the braces. */
struct alternative {
    char *text;
    bool bare; /* matches the base name */
    struct component *components;
    size_t count;
};

struct pattern {
    struct alternative *alternatives;
    size_t count;
    size_t capacity;
};

/* ---- braces ---------------------------------------------------------------------------------------------------- */

/* An open brace on the way through a pattern. */
struct brace {
    size_t at;
    bool comma;
    uint64_t before;  /* alternatives of the elements before this one */
    uint64_t element; /* of this element so far */
    uint64_t joined;  /* of all groups in it, should the brace turn out to be literal */
};

static uint64_t bounded(uint64_t number)
{
    return number > PATTERN_ALTERNATIVES ? PATTERN_ALTERNATIVES + 1 : number;
}

static void multiply(struct brace *brace, uint64_t by)
{
    brace->element = bounded(brace->element * by);
    brace->joined = bounded(brace->joined * by);
}

/*
 * Finds the first brace of TEXT that begins a group of two elements or more, *OPEN and *CLOSE (equal: there is
 * none). Returns how many alternatives TEXT has; anything above PATTERN_ALTERNATIVES is one too many. STACK has room
 * for a brace per byte, and one.
 */
static uint64_t scan_braces(const char *text, struct brace *stack, size_t *open, size_t *close)
{
    struct brace *top = stack;

    *open = *close = 0;
    *top = (struct brace){.element = 1, .joined = 1};
    for (size_t i = 0; text[i]; i++) {
        if (text[i] == '{') {
            *++top = (struct brace){.at = i, .element = 1, .joined = 1};
        } else if (text[i] == ',' && top != stack) {
            top->comma = true;
            top->before = bounded(top->before + top->element);
            top->element = 1;
        } else if (text[i] == '}' && top != stack) {
            struct brace group = *top--;

            multiply(top, group.comma ? bounded(group.before + group.element) : group.element);
            if (group.comma && (*open == *close || group.at < *open)) {
                *open = group.at;
                *close = i;
            }
        }
    }
    for (; top != stack; top--)
        multiply(top - 1, top->joined);
    return stack->element;
}

/* Where the element at AT ends: at a comma or the closing brace of its own group. */
static size_t element_end(const char *text, size_t at, size_t close)
{
    size_t depth = 0;

    for (; at < close; at++) {
        if (text[at] == '{')
            depth++;
        else if (text[at] == '}')
            depth--;
        else if (text[at] == ',' && depth == 0)
            break;
    }
    return at;
}

/* ---- components ------------------------------------------------------------------------------------------------ */

static struct component component_of(const char *text, size_t length)
{
    struct component component = {
        .kind = KIND_GENERAL, .text = text, .length = length, .last_close = memrchr(text, ']', length)};
    size_t literal = strcspn(text, "*?[/");

    if (length == 2 && memcmp(text, "**", 2) == 0)
        component.kind = KIND_DEEP;
    else if (literal >= length)
        component.kind = KIND_LITERAL;
    else if (text[0] == '*' && 1 + strcspn(text + 1, "*?[/") >= length)
        component.kind = KIND_SUFFIX;
    return component;
}

static const char *next_component(const char *path, size_t *length)
{
    path += strspn(path, "/");
    *length = strcspn(path, "/");
    return *length ? path : NULL;
}

/*
 * Splits ALTERNATIVE. Two "**" in a row are one; one at the end wants at least one more name, so a "*" comes after
 * it. A "/" at the end asks for directories alone: nothing then matches, and no component is left.
 */
static bool split(struct alternative *alternative, bool slashed)
{
    size_t text_length = strlen(alternative->text);
    size_t length;
    /* at most every other byte begins a component, and there may be one more "*" */
    struct component *components = calloc(text_length / 2 + 2, sizeof(*components));
    size_t count = 0;

    if (!components)
        return false;
    for (const char *at = alternative->text; (at = next_component(at, &length)); at += length) {
        struct component component = component_of(at, length);

        if (length == 1 && at[0] == '.')
            continue;
        if (component.kind != KIND_DEEP || count == 0 || components[count - 1].kind != KIND_DEEP)
            components[count++] = component;
    }
    bool deep_end = count && components[count - 1].kind == KIND_DEEP;

    if (deep_end)
        components[count++] = component_of("*", 1);
    else if (text_length && alternative->text[text_length - 1] == '/')
        count = 0;
    alternative->bare = !slashed && !deep_end;
    alternative->components = components;
    alternative->count = count;
    return true;
}

static bool has_parent(const char *text)
{
    size_t length;

    for (const char *at = text; (at = next_component(at, &length)); at += length) {
        if (length == 2 && at[0] == '.' && at[1] == '.')
            return true;
    }
    return false;
}

/* ---- compiling ------------------------------------------------------------------------------------------------- */

/* Takes TEXT as one more alternative, whose braces may still be to be expanded. */
static bool add_alternative(struct pattern *pattern, char *text)
{
    if (pattern->count == pattern->capacity) {
        size_t capacity = pattern->capacity ? pattern->capacity * 2 : 1;
        struct alternative *grown = reallocarray(pattern->alternatives, capacity, sizeof(*grown));

        if (!grown) {
            free(text);
            return false;
        }
        pattern->alternatives = grown;
        pattern->capacity = capacity;
    }
    pattern->alternatives[pattern->count++] = (struct alternative){.text = text};
    return true;
}

/* Replaces alternative number AT by one for each element of its group from OPEN to CLOSE. */
static bool expand_group(struct pattern *pattern, size_t at, size_t open, size_t close)
{
    AUTO_FREE char *text = TAKE(pattern->alternatives[at].text);
    bool first = true;

    for (size_t begin = open + 1; begin <= close;) {
        size_t end = element_end(text, begin, close);
        char *expanded = text_format("%.*s%.*s%s", (int)open, text, (int)(end - begin), text + begin, text + close + 1);

        if (!expanded)
            return false;
        if (first)
            pattern->alternatives[at].text = expanded;
        else if (!add_alternative(pattern, expanded))
            return false;
        first = false;
        begin = end + 1;
    }
    return true;
}

/* Expands braces until none is left; scan_braces has said that this comes to an end soon. */
static bool expand(struct pattern *pattern, struct brace *stack)
{
    for (size_t i = 0; i < pattern->count;) {
        size_t open;
        size_t close;

        scan_braces(pattern->alternatives[i].text, stack, &open, &close);
        if (open == close)
            i++;
        else if (!expand_group(pattern, i, open, close))
            return false;
    }
    return true;
}

static int fill(struct pattern *pattern, const char *text, struct sandlot_error *error)
{
    AUTO_FREE struct brace *stack = calloc(strlen(text) + 1, sizeof(*stack));
    AUTO_FREE char *shown = excerpt(text, strlen(text), EXCERPT_PATH);
    bool slashed = strchr(text, '/');
    size_t open;
    size_t close;

    if (!stack || !shown)
        return error_no_memory(error);
    if (scan_braces(text, stack, &open, &close) > PATTERN_ALTERNATIVES)
        return error_set(error, SANDLOT_CODE_PATTERN_TOO_BROAD,
                         "Pattern '%s' has more than %d alternatives in its braces: use '*', or several searches",
                         shown, PATTERN_ALTERNATIVES);
    char *copy = strdup(text);

    if (!copy || !add_alternative(pattern, copy) || !expand(pattern, stack))
        return error_no_memory(error);
    for (size_t i = 0; i < pattern->count; i++) {
        if (has_parent(pattern->alternatives[i].text))
            return error_set(error, SANDLOT_CODE_INVALID_PATTERN,
                             "Pattern '%s' has a '..' component: name the directory to search in as the path instead",
                             shown);
        if (!split(&pattern->alternatives[i], slashed))
            return error_no_memory(error);
    }
    return 0;
}

struct pattern *pattern_compile(const char *text, struct sandlot_error *error)
{
    if (!*text) {
        error_set(error, SANDLOT_CODE_INVALID_PATTERN, "The pattern is empty: '*' finds every file, '*.c' those in C");
        return NULL;
    }
    if (strlen(text) > PATTERN_BYTES) {
        error_set(error, SANDLOT_CODE_PATTERN_TOO_BROAD,
                  "The pattern is longer than %d bytes: use a shorter one, or several searches", PATTERN_BYTES);
        return NULL;
    }
    struct pattern *pattern = calloc(1, sizeof(*pattern));

    if (!pattern) {
        error_no_memory(error);
        return NULL;
    }
    if (fill(pattern, text, error) == 0)
        return pattern;
    pattern_free(pattern);
    return NULL;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    for (size_t i = 0; i < pattern->count; i++) {
        free(pattern->alternatives[i].text);
        free(pattern->alternatives[i].components);
    }
    free(pattern->alternatives);
    free(pattern);
}

/* ---- one name against one component ---------------------------------------------------------------------------- */

enum { NO_CHARACTER = 0x110000 }; /* what is not UTF-8 lies above all characters, byte by byte */

/* The length of the character at TEXT, 1 where it is none. */
static size_t character_length(const char *text, const char *end)
{
    unsigned char first = (unsigned char)*text;
    size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;

    return size > 1 && size <= (size_t)(end - text) && text_utf8_valid(text, size) ? size : 1;
}

/* Takes one character off *TEXT. */
static uint32_t take_character(const char **text, const char *end)
{
    const unsigned char *at = (const unsigned char *)*text;
    size_t size = character_length(*text, end);
    uint32_t value = at[0];

    *text += size;
    if (size == 1)
        return value < 0x80 ? value : NO_CHARACTER + value;
    value &= 0x7fu >> size;
    for (size_t i = 1; i < size; i++)
        value = value << 6 | (at[i] & 0x3fu);
    return value;
}

/* Where the set that begins at *AT, which is "[", is closed. NULL: it is not. */
static const char *set_end(const struct component *component, const char *at)
{
    const char *end = component->text + component->length;

    at++;
    if (at < end && (*at == '!' || *at == '^'))
        at++;
    at++; /* a "]" that comes first is an ordinary member */
    return component->last_close && at <= component->last_close ? memchr(at, ']', (size_t)(end - at)) : NULL;
}

/* Is CHARACTER in the set from AT, which is "[", to CLOSE? */
static bool set_holds(const char *at, const char *close, uint32_t character)
{
    bool negated = *++at == '!' || *at == '^';
    bool found = false;

    at += negated;
    while (at < close) {
        uint32_t low = take_character(&at, close);
        uint32_t high = low;

        if (close - at >= 2 && *at == '-') {
            at++;
            high = take_character(&at, close);
        }
        found |= low <= character && character <= high;
    }
    return found != negated;
}

/* Matches what is at *AT of the component, no "*", with one character or byte of *NAME, and goes past both. */
static bool match_one(const struct component *component, const char **at, const char **name, const char *name_end)
{
    if (**at == '?') {
        ++*at;
        *name += character_length(*name, name_end);
        return true;
    }
    const char *close = **at == '[' ? set_end(component, *at) : NULL;

    if (close) {
        const char *open = *at;

        *at = close + 1;
        return set_holds(open, close, take_character(name, name_end));
    }
    return *(*at)++ == *(*name)++;
}

/* Only the last "*" is ever tried again: what an earlier one could take over, the later one can. */
static bool match_general(const struct component *component, const char *name, size_t length)
{
    const char *at = component->text;
    const char *end = at + component->length;
    const char *name_end = name + length;
    const char *after_star = NULL;
    const char *retry = NULL;

    while (name < name_end) {
        if (at < end && *at == '*') {
            after_star = ++at;
            retry = name;
            continue;
        }
        if (at < end && match_one(component, &at, &name, name_end))
            continue;
        if (!after_star)
            return false;
        retry += character_length(retry, name_end);
        name = retry;
        at = after_star;
    }
    while (at < end && *at == '*')
        at++;
    return at == end;
}

static bool match_component(const struct component *component, const char *name, size_t length)
{
    if (name[0] == '.' && component->text[0] != '.')
        return false;
    switch (component->kind) {
    case KIND_LITERAL:
        return length == component->length && memcmp(name, component->text, length) == 0;
    case KIND_SUFFIX:
        return length + 1 >= component->length &&
               memcmp(name + length + 1 - component->length, component->text + 1, component->length - 1) == 0;
    case KIND_GENERAL:
    case KIND_DEEP:
        break;
    }
    return match_general(component, name, length);
}

/* ---- a path against an alternative ----------------------------------------------------------------------------- */

/*
 * Does the path match, or (BELOW) could anything below it? As with "*" in a name, only the last "**" is tried again.
 * That
 * "**" takes no dot names changes nothing: a later one is kept from a dot name only where an earlier one is too.
 */
static bool match_path(const struct alternative *alternative, const char *path, bool below)
{
    const struct component *components = alternative->components;
    size_t at = 0;
    size_t after_deep = 0; /* 0: none was met */
    const char *retry = NULL;
    size_t length;

    for (;;) {
        path += strspn(path, "/");
        length = strcspn(path, "/");
        if (length == 0 && (below ? at < alternative->count : at == alternative->count))
            return true;
        if (length == 0 && !below)
            return false;
        if (length && at < alternative->count && components[at].kind == KIND_DEEP) {
            after_deep = ++at;
            retry = path;
            continue;
        }
        if (length && at < alternative->count && match_component(&components[at], path, length)) {
            at++;
            path += length;
            continue;
        }
        if (!after_deep || *retry == '.')
            return false;
        /* the "**" takes one name more */
        retry += strcspn(retry, "/");
        retry += strspn(retry, "/");
        path = retry;
        at = after_deep;
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool pattern_matches(const struct pattern *pattern, const char *relative)
{
    const char *name = base_name(relative);
    size_t length = strlen(name);

    for (size_t i = 0; i < pattern->count; i++) {
        const struct alternative *alternative = &pattern->alternatives[i];

        if (!alternative->count || !length)
            continue;
        /* the last component, never a "**", must fit in any case, and seldom does */
        if (match_component(&alternative->components[alternative->count - 1], name, length) &&
            (alternative->bare || match_path(alternative, relative, false)))
            return true;
    }
    return false;
}

bool pattern_may_enter(const struct pattern *pattern, const char *relative)
{
    for (size_t i = 0; i < pattern->count; i++) {
        const struct alternative *alternative = &pattern->alternatives[i];

        if (alternative->count && (alternative->bare || match_path(alternative, relative, true)))
            return true;
    }
    return false;
}

static size_t literal_directories(const struct alternative *alternative)
{
    size_t count = 0;

    while (!alternative->bare && count + 1 < alternative->count && alternative->components[count].kind == KIND_LITERAL)
        count++;
    return count;
}

/* How many of the first COUNT components of A are also those of B. */
static size_t same_components(const struct alternative *a, const struct alternative *b, size_t count)
{
    size_t limit = literal_directories(b);
    size_t same = 0;

    while (same < count && same < limit && a->components[same].length == b->components[same].length &&
           memcmp(a->components[same].text, b->components[same].text, a->components[same].length) == 0)
        same++;
    return same;
}

char *pattern_directory(const struct pattern *pattern)
{
    const struct alternative *first = &pattern->alternatives[0];
    size_t count = literal_directories(first);

    for (size_t i = 1; i < pattern->count; i++)
        count = same_components(first, &pattern->alternatives[i], count);
    char *directory = malloc(strlen(first->text) + 1);
    size_t length = 0;

    if (!directory)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            directory[length++] = '/';
        memcpy(directory + length, first->components[i].text, first->components[i].length);
        length += first->components[i].length;
    }
    directory[length] = '\0';
    return directory;
}

/* 0: any number. */
static size_t depth_of(const struct alternative *alternative)
{
    if (alternative->bare)
        return 0;
    for (size_t i = 0; i < alternative->count; i++)
        if (alternative->components[i].kind == KIND_DEEP)
            return 0;
    return alternative->count;
}

size_t pattern_depth(const struct pattern *pattern)
{
    size_t deepest = 0;

    for (size_t i = 0; i < pattern->count; i++) {
        size_t depth = depth_of(&pattern->alternatives[i]);

        if (depth == 0)
            return 0;
        if (depth > deepest)
            deepest = depth;
    }
    return deepest;
}
