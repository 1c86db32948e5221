/* The one library of this process: loading it, and what its table has. */
#include "loader/library.h"
#include "loader/worker/program/program.h"

#include <stdlib.h>
#include <string.h>

/* Sizes that a stranger's table may say of itself. */
enum { LARGEST_TABLE = 65536, LARGEST_ROW = 4096 };
#define LEAST_ROW (offsetof(struct sandlot_parameter, help) + sizeof(const char *))

static struct {
    struct provider_function functions[WIRE_FUNCTION_COUNT];
    struct wire_function open; /* as the parameters make it */
    struct wire_value open_arguments[WIRE_MOST_ARGUMENTS];
    struct sandlot_parameter *rows;
} provider;

static enum sandlot_status load(struct sandlot_call *call, const char *path, const char *symbol,
                                struct wire_table *table);

static bool prepare(uint64_t number, const struct wire_function *function, void (*pointer)(void))
{
    struct provider_function *prepared = &provider.functions[number];

    prepared->types = calloc(function->argument_count + 1, sizeof(*prepared->types));
    if (!prepared->types || !wire_prepare(function, &prepared->cif, prepared->types))
        return false;
    prepared->function = function;
    prepared->pointer = pointer;
    return true;
}

const struct provider_function *provider_function(uint64_t number)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool there = number < WIRE_FUNCTION_COUNT;

    pthread_mutex_lock(&lock);
    if (number == WIRE_LOAD && !provider.functions[number].pointer)
        there = prepare(number, &wire_functions[number], (void (*)(void))load);
    pthread_mutex_unlock(&lock);
    return there && provider.functions[number].pointer ? &provider.functions[number] : NULL;
}

static const char out_of_memory[] = "out of memory";

/* The rows as this header has them; a row that says that it is of another size than the first one stays empty, and the
 * host refuses it. NULL, or what is wrong. */
static const char *copy_rows(const struct sandlot_provider *from, struct wire_table *table)
{
    size_t count = from->parameter_count;

    if (count == 0)
        return NULL;
    if (count > WIRE_MOST_PARAMETERS || !from->parameters)
        return "its table of parameters makes no sense: their number is wrong; install another version of it";
    size_t stride = from->parameters->size;

    if (stride < LEAST_ROW || stride > LARGEST_ROW || stride % _Alignof(struct sandlot_parameter) != 0)
        return "its table of parameters makes no sense: the size of its rows is wrong; install another version of it";
    provider.rows = calloc(count, sizeof(*provider.rows));
    for (size_t i = 0; provider.rows && i < count; i++) {
        const struct sandlot_parameter *row = (const void *)((const char *)from->parameters + i * stride);

        if (row->size == stride)
            memcpy(&provider.rows[i], row, stride < sizeof(*row) ? stride : sizeof(*row));
        provider.rows[i].size = sizeof(*row);
    }
    table->parameters = provider.rows;
    table->parameter_count = count;
    return provider.rows ? NULL : out_of_memory;
}

/* Everything that the table has, as far as both sides know it. */
static bool take_functions(const struct sandlot_provider *from, struct wire_table *table)
{
    for (uint64_t i = WIRE_OPEN; i < WIRE_FUNCTION_COUNT; i++) {
        const struct wire_function *function = &wire_functions[i];
        void (*pointer)(void) = NULL;

        if (function->offset + sizeof(pointer) <= from->size)
            memcpy(&pointer, (const char *)from + function->offset, sizeof(pointer));
        if (!pointer)
            continue;
        if (i == WIRE_OPEN) {
            function = &provider.open;
            if (!wire_describe_open(table->parameters, table->parameter_count, provider.open_arguments, &provider.open))
                continue; /* the host refuses these parameters before it would open anything */
        }
        if (!prepare(i, function, pointer))
            return false;
        table->functions |= UINT64_C(1) << i;
    }
    return true;
}

/* Only the size and the major version are in the same place in every version of the table. */
static enum sandlot_status describe(struct sandlot_call *call, const struct sandlot_provider *from,
                                    struct wire_table *table)
{
    table->size = from->size;
    if (from->size < offsetof(struct sandlot_provider, name) || from->size > LARGEST_TABLE)
        return SANDLOT_OK;
    table->abi_major = from->abi_major;
    table->abi_minor = from->abi_minor;
    if (from->abi_major != SANDLOT_ABI_MAJOR ||
        from->size < offsetof(struct sandlot_provider, parameter_count) + sizeof(from->parameter_count))
        return SANDLOT_OK;
    table->name = from->name;
    table->flags = from->flags;
    const char *fault = copy_rows(from, table);

    if (!fault && !take_functions(from, table))
        fault = out_of_memory;
    return fault ? call->host->fail(call, SANDLOT_DEPENDENCY_MISSING, fault) : SANDLOT_OK;
}

/* SANDLOT_DEPENDENCY_MISSING: it cannot be loaded; SANDLOT_UNSUPPORTED: it refuses this host, and may have said why. */
static enum sandlot_status load(struct sandlot_call *call, const char *path, const char *symbol,
                                struct wire_table *table)
{
    char why[LIBRARY_REASON];
    void *library = library_open(path, why);
    sandlot_entry entry = library ? library_entry(library, path, symbol, why) : NULL;

    *table = (struct wire_table){0};
    if (!entry)
        return call->host->fail(call, SANDLOT_DEPENDENCY_MISSING, why);
    const struct sandlot_provider *from = entry(call);

    return from ? describe(call, from, table) : SANDLOT_UNSUPPORTED;
}
