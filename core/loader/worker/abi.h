/*
 * What crosses between the host and a worker process, as data: every function of the provider ABI with its arguments,
 * every struct with its fields. Both sides of the wire are driven by these tables and have no code for any one
 * function.
 *
 * A function or field that is added to sandlot/provider.h gets a row here, and that is all.
 */
#ifndef SANDLOT_LOADER_WORKER_ABI_H
#define SANDLOT_LOADER_WORKER_ABI_H

#include <ffi.h>
#include <sandlot/provider.h>

enum wire_kind {
    WIRE_NOTHING, /* only as a result: void */
    WIRE_BOOL,
    WIRE_UINT16,
    WIRE_INT32,
    WIRE_UINT32,
    WIRE_INT64,
    WIRE_UINT64, /* size_t too */
    WIRE_DOUBLE,
    WIRE_TEXT,        /* const char *, may be NULL; lives as long as the call */
    WIRE_KEPT_TEXT,   /* the same, but lives until the provider is unloaded */
    WIRE_TEXTS,       /* const char *const *, ended by NULL; may be NULL */
    WIRE_STRUCT,      /* pointer to one struct, may be NULL */
    WIRE_ARRAY,       /* pointer to structs, whose number stands in the WIRE_COUNT that follows */
    WIRE_COUNT,       /* size_t; itself it does not cross */
    WIRE_WATCH,       /* a descriptor to be polled, never read: the other side gets one of its own that follows it */
    WIRE_DESCRIPTOR,  /* a descriptor that is given away */
    WIRE_CALL,        /* struct sandlot_call */
    WIRE_SELF,        /* the struct whose function this is */
    WIRE_BYTES,       /* const void *, as long as the WIRE_LENGTH that follows says; go through the ring */
    WIRE_LENGTH,      /* size_t */
    WIRE_BUFFER,      /* void * to be filled, as large as the WIRE_CAPACITY that follows says; through shared memory */
    WIRE_CAPACITY,    /* size_t */
    WIRE_HANDLE,      /* void *, what the provider stored */
    WIRE_LAST_HANDLE, /* the same, and the provider frees it */
    WIRE_NEW_HANDLE   /* void **, where the provider stores one */
};

struct wire_struct;

/* One argument of a function or one field of a struct. */
struct wire_value {
    enum wire_kind kind;
    bool out; /* argument only: a pointer through which the result is stored */
    uint16_t offset;
    const struct wire_struct *of; /* of WIRE_STRUCT and WIRE_ARRAY */
};

struct wire_function {
    const char *name;
    size_t offset; /* of the pointer in its struct */
    enum wire_kind result;
    const struct wire_value *arguments;
    size_t argument_count;
    bool in_place;       /* bytes that it writes to a sink are not parsed there: they may be read from shared memory */
    bool keep_arguments; /* the provider may use its texts until the handle that it stores is freed */
};

struct wire_struct {
    const char *name;
    size_t size;
    bool sized; /* begins with its own size */
    const struct wire_value *fields;
    size_t field_count;
    const struct wire_function *functions; /* those that the other side may call back; NULL: plain data */
    size_t function_count;
    size_t context_offset; /* of the field `context`, if it has functions */
};

/* The services of struct sandlot_host; they belong to the call. */
enum { WIRE_HOST_FAIL, WIRE_HOST_LOG, WIRE_HOST_ENVIRONMENT, WIRE_HOST_PROGRESS, WIRE_HOST_CREATED };
extern const struct wire_struct wire_host;

/* What the worker tells of the library that it has loaded. Texts lie in the library or in the message. */
struct wire_table {
    uint64_t size; /* of the provider's table */
    uint32_t abi_major;
    uint32_t abi_minor;
    const char *name;
    uint32_t flags;
    uint64_t functions; /* bit N: function N of wire_functions is there */
    const struct sandlot_parameter *parameters;
    size_t parameter_count;
};

/* The functions that the host may call: those of struct sandlot_provider, and one that loads the library. */
enum {
    WIRE_LOAD,
    WIRE_OPEN,
    WIRE_GET_OR_CREATE,
    WIRE_FIRST_CALLABLE = WIRE_GET_OR_CREATE,
    WIRE_READY,
    WIRE_FUNCTION_COUNT = 29
};
extern const struct wire_function wire_functions[WIRE_FUNCTION_COUNT];

enum { WIRE_MOST_PARAMETERS = 256, WIRE_MOST_ARGUMENTS = WIRE_MOST_PARAMETERS + 2 };

/* The type of `load`: dlopen and the entry function; what is wrong goes to host->fail. */
typedef enum sandlot_status (*wire_load)(struct sandlot_call *call, const char *path, const char *symbol,
                                         struct wire_table *table);

/* The description of `open` for a provider with these parameters. ARGUMENTS has room for WIRE_MOST_ARGUMENTS. False:
 * there are too many, or one of an unknown kind. */
bool wire_describe_open(const struct sandlot_parameter *parameters, size_t count, struct wire_value *arguments,
                        struct wire_function *function);

/* How libffi calls FUNCTION. TYPES has room for its arguments and must live as long as CIF. */
bool wire_prepare(const struct wire_function *function, ffi_cif *cif, ffi_type **types);

/* How many bytes a value of KIND takes in a struct or as an argument. */
size_t wire_width(enum wire_kind kind);

#endif
