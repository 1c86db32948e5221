#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

int thread_start(void *(*run)(void *), size_t size)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE;
    /* cppcheck-suppress invalidFunctionArg ; -1 is what MAP_ANONYMOUS wants */
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;

    /* The lowest page is the guard that pthread_create(3) would make of a stack of its own. */
    if (stack == MAP_FAILED || mprotect(stack, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE) < 0 ||
        madvise(stack, size, MADV_DONTFORK) < 0)
        return -1;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    errno = pthread_attr_setstack(&attributes, stack, size);
    if (errno == 0)
        errno = pthread_create(&thread, &attributes, run, NULL);
    pthread_attr_destroy(&attributes);
    return errno ? -1 : 0;
}
