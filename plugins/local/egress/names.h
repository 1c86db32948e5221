/* Questions for names as a box asks them, and their answers: messages of the DNS (RFC 1035). No sockets. */
#ifndef SANDLOT_EGRESS_NAMES_H
#define SANDLOT_EGRESS_NAMES_H

#include "host.h"

enum { NAMES_MOST = 512 /* of a message */ };

struct names_question {
    size_t length;    /* of the header and the question, which an answer repeats; without a question 0 */
    struct host host; /* no name that could be on a list: "" */
    bool for_address; /* of version 4; all else about a name is not told */
    unsigned refusal; /* the code of the answer if it is not to be looked at further; 0: it is */
};

/* Reads LENGTH bytes. False: this is nothing that could be answered. */
bool names_read(const unsigned char *bytes, size_t length, struct names_question *question);

/* What is told of a name. */
enum names_answer { NAMES_UNKNOWN, NAMES_NOTHING /* there is such a name, but not that of it */, NAMES_ADDRESS };

/* Writes the answer to QUESTION, which was read from BYTES: VALUE, of version 4, for NAMES_ADDRESS. Its length. */
size_t names_write(const unsigned char *bytes, const struct names_question *question, enum names_answer answer,
                   const address *value, unsigned char result[NAMES_MOST]);

#endif
