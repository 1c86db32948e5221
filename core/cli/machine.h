/* What this machine offers for sandboxes: the facts that `doctor` prints. */
#ifndef SANDLOT_CLI_MACHINE_H
#define SANDLOT_CLI_MACHINE_H

#include <stddef.h>

struct machine_fact {
    const char *name;   /* a key in the JSON form */
    char *value;        /* for people too; NULL when out of memory */
    const char *advice; /* what to do about it; NULL: it is fine */
};

enum { MACHINE_FACTS = 10 };

/* Fills at most MACHINE_FACTS facts and returns their number. To be cleared. */
size_t machine_facts(struct machine_fact *facts);

void machine_facts_clear(struct machine_fact *facts, size_t count);

#endif
