#include "lower.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>

#include <dlfcn.h>
#include <ffi.h>
#include <limits.h>
#include <string.h>

enum { MOST_PARAMETERS = 64 };

/* ---- the library ----------------------------------------------------------------------------------------------------
 */

/* Looks for the built-in providers beside FILE, a program or library of Sandlot's. */
static bool look_beside(const char *file, char found[PATH_MAX])
{
    static const char *const places[] = {"local.so", "../builtins/local.so", "builtins/local.so",
                                         "../lib/sandlot/builtins/local.so"};
    char folder[PATH_MAX];
    char path[PATH_MAX + 64];

    if (!realpath(file, folder))
        return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *slash = strrchr(folder, '/');

        snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - folder), folder, places[i]);
        if (access(path, R_OK) == 0 && realpath(path, found))
            return true;
    }
    return false;
}

/* Where local.so lies, from the program that runs this (sandlot-worker lies beside it) or from this library. */
static bool find_library(char found[PATH_MAX])
{
    static const char here;
    Dl_info own;

    if (look_beside("/proc/self/exe", found))
        return true;
    return dladdr(&here, &own) && look_beside(own.dli_fname, found);
}

static sandlot_entry entry_of(void *library)
{
    void *found = library ? dlsym(library, "local") : NULL;
    sandlot_entry entry = NULL;

    memcpy(&entry, &found, sizeof(entry)); /* ISO C has no cast from an object to a function */
    return entry;
}

static bool fits(const struct sandlot_provider *table)
{
    return table->abi_major == SANDLOT_ABI_MAJOR && SANDLOT_HAS(table, fork) && table->execute && table->open_root &&
           table->list && table->open && table->snapshot && table->list_snapshots && table->delete_snapshot &&
           table->fork && table->parameter_count <= MOST_PARAMETERS;
}

static enum sandlot_status load(struct sandlot_call *call, struct lower *lower, const char *file)
{
    char found[PATH_MAX];

    if (!file && find_library(found))
        file = found;
    if (!file)
        return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                            "the provider local, whose boxes vfs stands on, was not found beside Sandlot; install it, "
                            "or name its file as local_library");
    lower->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    sandlot_entry entry = entry_of(lower->library);

    if (!entry)
        return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                            "%.500s is not the provider local: %.300s; correct local_library, or install Sandlot anew",
                            file, lower->library ? "it has no such entry point" : dlerror());
    lower->table = entry(call);
    if (lower->table && fits(lower->table))
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                        "the provider local in %.500s is of a version that vfs cannot stand on; install both anew",
                        file);
}

/* ---- opening --------------------------------------------------------------------------------------------------------
 */

/* Its host, who is asked where the state folder is. */
struct lending {
    struct attempt attempt; /* first: calls lead back to it */
    const char *state_home;
};

static const char *lend_environment(struct sandlot_call *call, const char *name)
{
    const struct lending *lending = (const void *)call;
    struct sandlot_call *outer = lending->attempt.outer;

    if (strcmp(name, "XDG_STATE_HOME") == 0)
        return lending->state_home;
    return outer->host->environment(outer, name);
}

/* An argument of its `open`. */
union argument {
    const char *text;
    int64_t integer;
    double number;
    bool is_true;
};

static const char *text_of(const struct sandlot_parameter *row, const struct lower_parameter *parameters)
{
    while (parameters->name && strcmp(parameters->name, row->name) != 0)
        parameters++;
    return parameters->name && parameters->text ? parameters->text : row->default_text;
}

static ffi_type *convert(const struct sandlot_parameter *row, const char *text, union argument *argument)
{
    const bool said = text && *text;

    switch (row->kind) {
    case SANDLOT_PARAMETER_integer:
        argument->integer = said ? strtoll(text, NULL, 10) : SANDLOT_ABSENT_INTEGER;
        return &ffi_type_sint64;
    case SANDLOT_PARAMETER_float:
        argument->number = said ? strtod(text, NULL) : NAN;
        return &ffi_type_double;
    case SANDLOT_PARAMETER_boolean:
        argument->is_true = said && strcmp(text, "true") == 0;
        return &ffi_type_uint8;
    default:
        argument->text = said ? text : NULL;
        return &ffi_type_pointer;
    }
}

static const struct sandlot_parameter *row_of(const struct sandlot_provider *table, size_t i)
{
    return (const void *)((const char *)table->parameters + i * table->parameters->size);
}

static enum sandlot_status call_open(struct lower *lower, struct sandlot_call *call,
                                     const struct lower_parameter *parameters)
{
    const size_t count = lower->table->parameter_count;
    union argument arguments[MOST_PARAMETERS];
    void **instance = &lower->instance;
    ffi_type *types[MOST_PARAMETERS + 2] = {&ffi_type_pointer, &ffi_type_pointer};
    void *values[MOST_PARAMETERS + 2] = {&call, &instance};
    ffi_arg result = SANDLOT_INTERNAL;
    ffi_cif cif;

    for (size_t i = 0; i < count; i++) {
        const struct sandlot_parameter *row = row_of(lower->table, i);

        types[i + 2] = convert(row, text_of(row, parameters), &arguments[i]);
        values[i + 2] = &arguments[i];
    }
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, (unsigned)count + 2, &ffi_type_uint32, types) == FFI_OK)
        ffi_call(&cif, lower->table->open, &result, values);
    return (enum sandlot_status)result;
}

enum sandlot_status lower_open(struct sandlot_call *call, struct lower *lower, const char *file, const char *state_home,
                               const struct lower_parameter *parameters)
{
    struct lending lending = {.state_home = state_home};
    enum sandlot_status status = load(call, lower, file);

    if (status != SANDLOT_OK)
        return status;
    attempt_begin(&lending.attempt, call, 0);
    lending.attempt.host.environment = lend_environment;
    status = call_open(lower, &lending.attempt.call, parameters);
    lower->opened = status == SANDLOT_OK;
    return lower->opened ? status : attempt_fail(&lending.attempt, status);
}

void lower_close(struct lower *lower)
{
    if (lower->opened && lower->table->close)
        lower->table->close(lower->instance);
    if (lower->library)
        dlclose(lower->library);
    *lower = (struct lower){0};
}
