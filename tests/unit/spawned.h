/* Programs that unit tests read from. By posix_spawn: to copy a process that has sanitizers takes longer than what most
 * of these programs do. */
#ifndef SANDLOT_TESTS_SPAWNED_H
#define SANDLOT_TESTS_SPAWNED_H

#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

struct spawned {
    pid_t pid;
    int output; /* to be read to its end and closed */
};

/* Starts FILE with WORDS, which NULL ends. INPUT: its standard input, -1: the test's. ERRORS: they are output too. */
static inline struct spawned spawn_program(const char *file, const char *const words[], int input, bool errors)
{
    struct spawned spawned;
    posix_spawn_file_actions_t actions;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    if (input >= 0)
        posix_spawn_file_actions_adddup2(&actions, input, 0);
    if (errors)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    assert_int_equal(posix_spawnp(&spawned.pid, file, &actions, NULL, (char *const *)(uintptr_t)words, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    spawned.output = ends[0];
    return spawned;
}

/* The same with COMMAND as the word behind "-c" for SHELL, which is one or two words. */
static inline struct spawned spawn_shell(const char *const shell[2], const char *command, int input, bool errors)
{
    const char *const one[] = {shell[0], "-c", command, NULL};
    const char *const two[] = {shell[0], shell[1], "-c", command, NULL};

    return spawn_program(shell[0], shell[1] ? two : one, input, errors);
}

#endif
