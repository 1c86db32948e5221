/*
 * Of TOML, what Modal's tools write and people add by hand: tables, and keys with a text, a truth value or a number in
 * one line. Anything else is passed over where it concerns other keys and is an error where it concerns ours.
 */
#include "profile.h"

#include "message.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct reader {
    const char *at;
    const char *end; /* of the line at hand */
    int line;
    const char *wanted;
    struct profile now;    /* the table at hand */
    struct profile chosen; /* so far */
    int rank;              /* of it: 0 none, 1 "default", 2 active, 3 the one that is wanted */
    const char *fault;
};

void profile_clear(struct profile *profile)
{
    free(profile->name);
    free(profile->token_id);
    free(profile->token_secret);
    free(profile->server_url);
    free(profile->environment);
    free(profile->image_builder_version);
    *profile = (struct profile){0};
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r'))
        reader->at++;
}

static bool at_end(struct reader *reader)
{
    skip_blanks(reader);
    return reader->at == reader->end || *reader->at == '#';
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static size_t put_utf8(char *to, unsigned long code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    to[0] = (char)(0xe0 | code >> 12);
    to[1] = (char)(0x80 | (code >> 6 & 63));
    to[2] = (char)(0x80 | (code & 63));
    return 3;
}

/* What stands behind a backslash; 0 bytes if that is nothing. */
static size_t read_escape(struct reader *reader, char *to)
{
    static const char plain[] = "btnfr\"\\";
    static const char meaning[] = "\b\t\n\f\r\"\\";
    char digits[5] = "";
    const char *found = reader->at < reader->end && *reader->at ? strchr(plain, *reader->at) : NULL;

    if (found) {
        reader->at++;
        *to = meaning[found - plain];
        return 1;
    }
    if (reader->end - reader->at < 5 || *reader->at != 'u')
        return 0;
    memcpy(digits, reader->at + 1, 4);
    for (int i = 0; i < 4; i++)
        if (!isxdigit((unsigned char)digits[i]))
            return 0;
    unsigned long code = strtoul(digits, NULL, 16);

    reader->at += 5;
    return code == 0 || (code >= 0xd800 && code < 0xe000) ? 0 : put_utf8(to, code);
}

/* A text in quotes; NULL with a fault if it is none. */
static char *read_quoted(struct reader *reader)
{
    char quote = *reader->at++;
    char *text = malloc((size_t)(reader->end - reader->at) + 1);
    size_t used = 0;

    while (text && reader->at < reader->end && *reader->at != quote) {
        char one = *reader->at++;
        size_t length = 1;

        text[used] = one;
        if (one == '\\' && quote == '"')
            length = read_escape(reader, text + used);
        if (length == 0)
            break;
        used += length;
    }
    if (text && reader->at < reader->end && *reader->at == quote) {
        reader->at++;
        text[used] = '\0';
        return text;
    }
    reader->fault = text ? "a text that does not end, or an escape that is none" : "there is not enough memory";
    free(text);
    return NULL;
}

static char *read_bare(struct reader *reader)
{
    const char *begin = reader->at;

    while (reader->at < reader->end && (isalnum((unsigned char)*reader->at) || strchr("-_.", *reader->at)))
        reader->at++;
    char *text = reader->at > begin ? strndup(begin, (size_t)(reader->at - begin)) : NULL;

    if (!text)
        reader->fault = "a name is missing";
    return text;
}

static char *read_word(struct reader *reader)
{
    bool quoted = reader->at < reader->end && (*reader->at == '"' || *reader->at == '\'');

    return quoted ? read_quoted(reader) : read_bare(reader);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static int rank_of(const struct reader *reader, const struct profile *profile)
{
    if (!profile->name)
        return 0;
    if (reader->wanted)
        return strcmp(profile->name, reader->wanted) == 0 ? 3 : 0;
    return profile->active ? 2 : strcmp(profile->name, "default") == 0 ? 1 : 0;
}

static void end_table(struct reader *reader)
{
    int rank = rank_of(reader, &reader->now);

    if (rank == 2 && reader->rank == 2)
        reader->fault = "more than one profile is active";
    if (rank > reader->rank) {
        profile_clear(&reader->chosen);
        reader->chosen = reader->now;
        reader->now = (struct profile){0};
        reader->rank = rank;
    }
    profile_clear(&reader->now);
}

static void read_table(struct reader *reader)
{
    end_table(reader);
    reader->at++;
    skip_blanks(reader);
    if (reader->fault || !(reader->now.name = read_word(reader)))
        return;
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at++ != ']' || !at_end(reader))
        reader->fault = "the name of a table does not end with ]";
}

static void set_text(struct reader *reader, char **field)
{
    char *text = reader->at < reader->end && (*reader->at == '"' || *reader->at == '\'') ? read_quoted(reader) : NULL;

    if (!text && !reader->fault)
        reader->fault = "a text in quotes is expected";
    free(*field);
    *field = text;
}

static bool read_truth(struct reader *reader)
{
    AUTO_FREE char *word = read_word(reader);
    bool truth = word && (strcmp(word, "true") == 0 || strcmp(word, "1") == 0);

    if (word && !truth && strcmp(word, "false") != 0 && strcmp(word, "0") != 0)
        reader->fault = "true or false is expected";
    return truth;
}

static void read_key(struct reader *reader)
{
    AUTO_FREE char *key = read_word(reader);

    skip_blanks(reader);
    if (!key)
        return;
    if (reader->at == reader->end || *reader->at++ != '=') {
        reader->fault = "there is no = behind a key";
        return;
    }
    skip_blanks(reader);
    struct profile *now = &reader->now;

    if (strcmp(key, "token_id") == 0)
        set_text(reader, &now->token_id);
    else if (strcmp(key, "token_secret") == 0)
        set_text(reader, &now->token_secret);
    else if (strcmp(key, "server_url") == 0)
        set_text(reader, &now->server_url);
    else if (strcmp(key, "environment") == 0)
        set_text(reader, &now->environment);
    else if (strcmp(key, "image_builder_version") == 0)
        set_text(reader, &now->image_builder_version);
    else if (strcmp(key, "active") == 0)
        now->active = read_truth(reader);
    else if (strcmp(key, "sandbox_v2") == 0)
        now->sandbox_v1 = !read_truth(reader);
    else
        reader->at = reader->end;
    if (!reader->fault && !at_end(reader))
        reader->fault = "something stands behind a value";
}

bool profile_read(const char *text, size_t length, const char *wanted, struct profile *profile, char *reason,
                  size_t capacity)
{
    struct reader reader = {.wanted = wanted};

    for (size_t at = 0; at < length && !reader.fault;) {
        const char *newline = memchr(text + at, '\n', length - at);

        reader.at = text + at;
        reader.end = newline ? newline : text + length;
        reader.line++;
        at = (size_t)(reader.end - text) + 1;
        if (at_end(&reader))
            continue;
        if (*reader.at == '[')
            read_table(&reader);
        else
            read_key(&reader);
    }
    if (!reader.fault)
        end_table(&reader);
    profile_clear(&reader.now);
    *profile = reader.chosen;
    if (!reader.fault)
        return true;
    snprintf(reason, capacity, "line %d: %s", reader.line, reader.fault);
    profile_clear(profile);
    return false;
}
