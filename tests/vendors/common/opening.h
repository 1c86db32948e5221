/*
 * How the programs beside this open a provider: its parameters are as if nothing had been said of them, but for
 * base_url and what the environment has as PARAMETER_NAME.
 */
#ifndef SANDLOT_TESTS_OPENING_H
#define SANDLOT_TESTS_OPENING_H

#include <dlfcn.h>
#include <ffi.h>
#include <sandlot/provider.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_MS = 60 * 1000, MOST_PARAMETERS = 64 };

/* The value of one parameter, as open takes it. */
union value {
    const char *text;
    int64_t integer;
    double number;
    bool boolean;
};

static ffi_type *set_value(const struct sandlot_parameter *parameter, const char *base_url, union value *value)
{
    char name[64];

    snprintf(name, sizeof(name), "PARAMETER_%s", parameter->name);
    const char *said = getenv(name);

    said = said ? said : *parameter->default_text ? parameter->default_text : NULL;
    switch (parameter->kind) {
    case SANDLOT_PARAMETER_integer:
        value->integer = said ? strtoll(said, NULL, 10) : SANDLOT_ABSENT_INTEGER;
        return &ffi_type_sint64;
    case SANDLOT_PARAMETER_float:
        value->number = said ? strtod(said, NULL) : NAN;
        return &ffi_type_double;
    case SANDLOT_PARAMETER_boolean:
        value->boolean = said && strcmp(said, "true") == 0;
        return &ffi_type_uint8;
    default:
        value->text = strcmp(parameter->name, "base_url") == 0 ? base_url : said;
        return &ffi_type_pointer;
    }
}

static enum sandlot_status open_provider(struct sandlot_call *call, const struct sandlot_provider *table,
                                         const char *base_url, void **provider)
{
    ffi_type *types[MOST_PARAMETERS + 2] = {&ffi_type_pointer, &ffi_type_pointer};
    union value values[MOST_PARAMETERS];
    void *arguments[MOST_PARAMETERS + 2] = {&call, &provider};
    ffi_arg result = SANDLOT_INTERNAL;
    ffi_cif interface;

    for (size_t i = 0; i < table->parameter_count && i < MOST_PARAMETERS; i++) {
        types[i + 2] = set_value(&table->parameters[i], base_url, &values[i]);
        arguments[i + 2] = &values[i];
    }
    if (ffi_prep_cif(&interface, FFI_DEFAULT_ABI, (unsigned int)table->parameter_count + 2, &ffi_type_uint, types) ==
        FFI_OK)
        ffi_call(&interface, table->open, &result, arguments);
    return (enum sandlot_status)result;
}

#endif
