#include "remote_command_answer.h"

#include <inttypes.h>
#include <sandlot/sdk/digest.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 8 };

/* ---- checksums --------------------------------------------------------------------------------------------------- */

/* What four bits contribute to the remainder by the polynomial of POSIX. */
static const uint32_t nibbles[16] = {0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9, 0x130476dc, 0x17c56b6b,
                                     0x1a864db2, 0x1e475005, 0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61,
                                     0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd};

static uint32_t add_byte(uint32_t remainder, unsigned int byte)
{
    remainder = remainder << 4 ^ nibbles[remainder >> 28 ^ byte >> 4];
    return remainder << 4 ^ nibbles[remainder >> 28 ^ (byte & 15)];
}

uint32_t remote_cksum(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint32_t remainder = 0;

    for (size_t i = 0; i < length; i++)
        remainder = add_byte(remainder, at[i]);
    for (; length > 0; length >>= 8)
        remainder = add_byte(remainder, length & 255);
    return ~remainder;
}

/* Is TEXT, the first word that a checksum program has printed, that of BYTES? "-": there is no such program. */
static bool sum_agrees(const char *text, const char *bytes, size_t length)
{
    char expected[DIGEST_SIZE];

    if (strcmp(text, "-") == 0)
        return true;
    if (strlen(text) != DIGEST_SIZE - 1) {
        snprintf(expected, sizeof(expected), "%" PRIu32, remote_cksum(bytes, length));
        return strcmp(text, expected) == 0;
    }
    return digest_of(bytes, length, expected) && strcmp(text, expected) == 0;
}

/* ---- the output -------------------------------------------------------------------------------------------------- */

bool remote_output_open(struct remote_output *output, const struct sandlot_sink *sink, const char *seal)
{
    *output = (struct remote_output){.sink = sink};
    snprintf(output->seal, sizeof(output->seal), "\037\n%s\n", seal);
    output->bytes = malloc(REMOTE_SEAL_LENGTH + REMOTE_FRAME_MAXIMUM);
    return output->bytes != NULL;
}

void remote_output_close(struct remote_output *output)
{
    free(output->bytes);
    output->bytes = NULL;
}

static void pass_on(struct remote_output *output, const char *bytes, size_t length)
{
    if (length > 0 && output->status == SANDLOT_OK)
        output->status = output->sink->write(output->sink, bytes, length);
}

enum sandlot_status remote_output_finish(struct remote_output *output)
{
    pass_on(output, output->bytes, output->kept);
    output->kept = 0;
    return output->status;
}

/* How many bytes at the end of TEXT begin the seal. */
static size_t beginning_of_seal(const struct remote_output *output, const char *text, size_t length)
{
    size_t count = length < REMOTE_SEAL_LENGTH ? length : REMOTE_SEAL_LENGTH - 1;

    while (count > 0 && memcmp(text + length - count, output->seal, count) != 0)
        count--;
    return count;
}

/* The frame is whole: its bytes go where they belong. */
static void take_frame(struct remote_output *output)
{
    size_t length = output->kept + output->length;

    output->offset += output->length;
    output->length = 0;
    if (output->sealed)
        return;
    const char *seal = memmem(output->bytes, length, output->seal, REMOTE_SEAL_LENGTH);

    output->sealed = seal != NULL;
    output->kept = seal ? 0 : beginning_of_seal(output, output->bytes, length);
    size_t passed = seal ? (size_t)(seal - output->bytes) : length - output->kept;

    pass_on(output, output->bytes, passed);
    memmove(output->bytes, output->bytes + passed, output->kept);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* -1: none. */
static int digit_of_base64(char c)
{
    static const unsigned char digits_and_one[256] = {
        ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
        ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
        ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
        ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
        ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
        ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
        ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
        ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64};

    return digits_and_one[(unsigned char)c] - 1;
}

static int digit_of_hexadecimal(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void put_byte(struct remote_answer *answer, uint32_t byte)
{
    struct remote_output *output = answer->output;

    if (output->length >= answer->promised) {
        answer->damaged = true;
        return;
    }
    output->bytes[output->kept + output->length++] = (char)(byte & 255);
}

/* The padding at the end of base64: what the digits before it say is all. */
static void take_padding(struct remote_answer *answer)
{
    if (!answer->padded && answer->digits == 2) {
        put_byte(answer, answer->bits >> 4);
    } else if (!answer->padded && answer->digits == 3) {
        put_byte(answer, answer->bits >> 10);
        put_byte(answer, answer->bits >> 2);
    } else if (!answer->padded) {
        answer->damaged = true;
    }
    answer->padded = true;
    answer->digits = 0;
}

static void take_digit(struct remote_answer *answer, char c)
{
    bool base64 = answer->kind == 'b';
    int digit = base64 ? digit_of_base64(c) : digit_of_hexadecimal(c);

    if (base64 && c == '=') {
        take_padding(answer);
        return;
    }
    if (digit < 0 || answer->padded) {
        answer->damaged = true;
        return;
    }
    answer->bits = answer->bits << (base64 ? 6 : 4) | (uint32_t)digit;
    if (++answer->digits < (base64 ? 4 : 2))
        return;
    if (base64) {
        put_byte(answer, answer->bits >> 16);
        put_byte(answer, answer->bits >> 8);
    }
    put_byte(answer, answer->bits);
    answer->digits = 0;
}

/* Takes whole groups of four digits, which are nearly all of a line: output is large. Returns what follows. */
static const char *take_groups(struct remote_answer *answer, const char *line)
{
    struct remote_output *output = answer->output;
    char *to = output->bytes + output->kept;

    for (; answer->promised - output->length >= 3; line += 4) {
        uint32_t bits = 0;

        for (int i = 0; i < 4; i++) {
            int digit = digit_of_base64(line[i]);

            if (digit < 0)
                return line;
            bits = bits << 6 | (uint32_t)digit;
        }
        to[output->length++] = (char)(bits >> 16);
        to[output->length++] = (char)(bits >> 8 & 255);
        to[output->length++] = (char)(bits & 255);
    }
    return line;
}

static void take_data(struct remote_answer *answer, const char *line)
{
    if (answer->kind == 'b' && answer->digits == 0 && !answer->padded && !answer->damaged)
        line = take_groups(answer, line);
    for (; *line && !answer->damaged; line++)
        if (*line != ' ')
            take_digit(answer, *line);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static bool read_number(const char *word, uint64_t most, uint64_t *number)
{
    size_t length = strlen(word);

    if (length == 0 || length > 18 || strspn(word, "0123456789") != length)
        return false;
    *number = strtoull(word, NULL, 10);
    return *number <= most;
}

static void begin_frame(struct remote_answer *answer, char *const *words, int count)
{
    answer->in_frame = true;
    answer->bits = 0;
    answer->digits = 0;
    answer->padded = false;
    answer->output->length = 0;
    answer->damaged = count != 4 || !read_number(words[1], INT64_MAX, &answer->at) ||
                      !read_number(words[2], REMOTE_FRAME_MAXIMUM, &answer->promised) || answer->promised == 0 ||
                      (strcmp(words[3], "b") != 0 && strcmp(words[3], "o") != 0) ||
                      answer->at != answer->output->offset; /* a hole; or known already, for an answer may come twice */
    answer->kind = answer->damaged ? 0 : words[3][0];
}

static void end_frame(struct remote_answer *answer, const char *sum)
{
    struct remote_output *output = answer->output;

    if (!answer->in_frame)
        return;
    answer->in_frame = false;
    if (answer->damaged || answer->digits != 0 || output->length != answer->promised ||
        !sum_agrees(sum, output->bytes + output->kept, output->length)) {
        output->length = 0;
        return;
    }
    answer->progressed = true;
    take_frame(output);
}

/* A line that says the same twice. */
static bool is_said_twice(char *const *words, int count, int half)
{
    if (count != 2 * half)
        return false;
    for (int i = 0; i < half; i++)
        if (strcmp(words[i], words[half + i]) != 0)
            return false;
    return true;
}

static void take_end(struct remote_answer *answer, char *const *words)
{
    uint64_t code = 0;
    uint64_t late = 0;
    uint64_t total = 0;

    if (!read_number(words[1], 255, &code) || !read_number(words[2], 1, &late) ||
        !read_number(words[3], INT64_MAX, &total) || total != answer->output->offset || !answer->output->sealed)
        return;
    answer->verdict = REMOTE_END;
    answer->code = (int)code;
    answer->late = late == 1;
}

static void take_words(struct remote_answer *answer, char *const *words, int count)
{
    uint64_t total = 0;

    if (count < 1 || answer->verdict != REMOTE_CUT)
        return;
    if (strcmp(words[0], "data") == 0) {
        begin_frame(answer, words, count);
    } else if (strcmp(words[0], "sum") == 0 && count > 1) {
        end_frame(answer, words[1]);
    } else if (strcmp(words[0], "end") == 0 && is_said_twice(words, count, 4)) {
        take_end(answer, words);
    } else if (strcmp(words[0], "error") == 0 && is_said_twice(words, count, 3)) {
        answer->verdict = REMOTE_ERROR;
        snprintf(answer->error, sizeof(answer->error), "%.15s", words[1]);
    } else if (strcmp(words[0], "lost") == 0 && is_said_twice(words, count, 2)) {
        if (read_number(words[1], INT64_MAX, &total) && total == answer->output->offset)
            answer->verdict = REMOTE_LOST;
    } else if (strcmp(words[0], "more") == 0 && count == 1) {
        answer->verdict = REMOTE_MORE;
    } else if (strcmp(words[0], "absent") == 0) {
        answer->verdict = REMOTE_ABSENT;
    } else if (strcmp(words[0], "killed") == 0 && count == 1) {
        answer->verdict = REMOTE_KILLED;
    }
}

static void take_line(struct remote_answer *answer)
{
    while (answer->used > 0 && answer->line[answer->used - 1] == '\r')
        answer->used--;
    answer->line[answer->used] = '\0';
    char *at = strstr(answer->line, answer->token);
    char *words[MOST_WORDS];
    int count = 0;

    answer->used = 0;
    if (!at) {
        if (answer->in_frame)
            take_data(answer, answer->line);
        return;
    }
    at += strlen(answer->token);
    for (char *rest = NULL, *word = strtok_r(at, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (count == MOST_WORDS)
            return;
        words[count++] = word;
    }
    take_words(answer, words, count);
}

static void end_line(struct remote_answer *answer)
{
    if (answer->too_long)
        answer->damaged = true; /* of a frame, if there is one: no line of ours is so long */
    else
        take_line(answer);
    answer->too_long = false;
    answer->used = 0;
}

static enum sandlot_status on_write(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct remote_answer *answer = sink->context;
    const char *at = bytes;

    while (length > 0 && answer->output->status == SANDLOT_OK) {
        const char *newline = memchr(at, '\n', length);
        size_t taken = newline ? (size_t)(newline - at) : length;
        size_t room = sizeof(answer->line) - 1 - answer->used;

        if (taken > room || answer->too_long) {
            answer->too_long = true;
        } else {
            memcpy(answer->line + answer->used, at, taken);
            answer->used += taken;
        }
        if (newline)
            end_line(answer);
        taken += newline != NULL;
        at += taken;
        length -= taken;
    }
    return answer->output->status;
}

void remote_answer_init(struct remote_answer *answer, struct remote_output *output, const char *token)
{
    *answer = (struct remote_answer){
        .sink = {.size = sizeof(answer->sink), .context = answer, .write = on_write}, .output = output, .token = token};
    output->length = 0;
}

void remote_answer_finish(struct remote_answer *answer)
{
    if (answer->used > 0)
        end_line(answer);
    answer->output->length = 0;
}
