/*
 * What a sandbox prints may be hostile to the terminal on which it is shown: sequences that write the clipboard, change
 * the title, answer for the keyboard or move over what was printed before. This filter lets text, newlines, tabs,
 * carriage returns and colours (SGR) through and drops every other control. It works on a stream: sequences and
 * characters may be split anywhere.
 */
#ifndef SANDLOT_CLI_TERMINAL_FILTER_H
#define SANDLOT_CLI_TERMINAL_FILTER_H

#include <stdbool.h>
#include <stddef.h>

enum { TERMINAL_FILTER_SEQUENCE = 64, TERMINAL_FILTER_SLACK = TERMINAL_FILTER_SEQUENCE + 8 };

/* Zero at the beginning of a stream. */
struct terminal_filter {
    enum {
        FILTER_TEXT = 0,
        FILTER_ESCAPE,     /* after ESC */
        FILTER_CSI,        /* after ESC [ */
        FILTER_STRING,     /* in OSC, DCS, SOS, PM or APC */
        FILTER_STRING_END, /* after ESC in one of these */
        FILTER_C2          /* after the byte C2, which begins U+0080 to U+00BF */
    } state;
    char sequence[TERMINAL_FILTER_SEQUENCE]; /* the parameters of a CSI so far */
    size_t length;
    unsigned int continuation; /* bytes that the character at hand still needs */
    bool coloured;             /* a colour is set and was not reset */
};

/* Filters LENGTH bytes into OUT, which has room for LENGTH + TERMINAL_FILTER_SLACK. Returns the number of bytes there.
 */
size_t terminal_filter(struct terminal_filter *filter, const void *bytes, size_t length, char *out);

/* The end of the stream: what is left to write, into OUT of TERMINAL_FILTER_SLACK bytes, so that no colour stays
 * behind. */
size_t terminal_filter_end(struct terminal_filter *filter, char *out);

#endif
