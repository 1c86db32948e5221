/*
 * sandlot/sdk/function_of.h - declares a function by the field of a struct that it is for: a provider's functions stand
 * in files of their own, and what each takes stands in the struct already.
 *
 *   FUNCTION_OF(sandlot_provider, execute, command_execute);      enum sandlot_status command_execute(call, ...)
 *   FUNCTION_OF(http_relay, find, ports_find);
 *
 * A definition that does not fit is an error of the compiler. For gcc and clang.
 */
#ifndef SANDLOT_SDK_FUNCTION_OF_H
#define SANDLOT_SDK_FUNCTION_OF_H

#include <sandlot/provider.h>

/* NAME is a function that MEMBER of struct STRUCT_ may point to. */
#define FUNCTION_OF(struct_, member, name) __typeof__(*((const struct struct_ *)NULL)->member) name

#endif
