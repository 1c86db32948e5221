/* What the shared object says of itself in its ELF tables, read with libelf without running or mapping any of it. */
#ifndef SANDLOT_CONFORMANCE_OBJECT_H
#define SANDLOT_CONFORMANCE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names {
    char **items;
    size_t count;
};

struct object {
    uint64_t size; /* of the file */
    bool is_shared;
    bool fits_machine; /* class, byte order and machine are this program's */
    unsigned machine;
    char *note; /* the text of our note; NULL: there is none */
    size_t note_length;
    bool has_relro;
    bool binds_now;
    bool has_text_relocations;
    bool names_stack; /* a PT_GNU_STACK is there */
    bool executable_stack;
    bool writable_code; /* a segment that is writable and executable */
    bool has_debug_information;
    bool has_symbol_table; /* was not stripped */
    char *run_path;        /* RPATH and RUNPATH; NULL: none */
    struct names exported;
    struct names undefined;
    struct names needed;
    char why[256]; /* what stopped object_read */
};

/* False: it is no ELF file, or a damaged one; object->why says more. To be cleared in any case. */
bool object_read(const char *path, struct object *object);

bool names_have(const struct names *names, const char *name);

void object_clear(struct object *object);

#endif
