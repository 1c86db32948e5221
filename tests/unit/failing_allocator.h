/*
 * An allocator that fails at the Nth call, for tests in which memory runs out at every place in turn. It takes the
 * place of the C library's in the whole program, which a sanitizer's has done already: then ALLOCATOR_REPLACED is 0.
 */
#ifndef SANDLOT_TESTS_FAILING_ALLOCATOR_H
#define SANDLOT_TESTS_FAILING_ALLOCATOR_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ALLOCATOR_REPLACED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ALLOCATOR_REPLACED 0
#endif
#endif
#ifndef ALLOCATOR_REPLACED
#define ALLOCATOR_REPLACED 1
#endif

/* Allocations until the one that fails; negative: none fails. */
static atomic_long countdown __attribute__((unused)) = -1; /* not every program asks, with a sanitizer */

/* How many allocations have not been freed. */
static atomic_long allocated __attribute__((unused)); /* not every program asks */

#if ALLOCATOR_REPLACED
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void __libc_free(void *pointer);

static bool allocation_fails(void)
{
    if (atomic_load(&countdown) < 0 || atomic_fetch_sub(&countdown, 1) != 0)
        return false;
    errno = ENOMEM;
    return true;
}

/* Visible, so that the shared libraries use them too. */
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library names its parameters __size and so on
// NOLINTBEGIN(misc-definitions-in-headers): each program includes this once
#define EVERYWHERE __attribute__((visibility("default")))

static void *counted(void *pointer)
{
    if (pointer)
        atomic_fetch_add(&allocated, 1);
    return pointer;
}

EVERYWHERE void *malloc(size_t size)
{
    return allocation_fails() ? NULL : counted(__libc_malloc(size));
}

EVERYWHERE void *calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : counted(__libc_calloc(count, size));
}

EVERYWHERE void *realloc(void *pointer, size_t size)
{
    if (allocation_fails())
        return NULL;
    return pointer ? __libc_realloc(pointer, size) : counted(__libc_realloc(pointer, size));
}

EVERYWHERE void free(void *pointer)
{
    if (pointer)
        atomic_fetch_sub(&allocated, 1);
    __libc_free(pointer);
}
// NOLINTEND(misc-definitions-in-headers)
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
#endif

#endif
