/*
 * sandlot/sdk/end_marked.h - how a program is ended of which its service tells no process: by a variable that it was
 * started with.
 *
 *   snprintf(mark, sizeof(mark), "SANDLOT_JOB=%s", digits); // one of the program's variables; see random_digits
 *   const char *const words[] = {"sh", "-c", end_marked_script, "sh", mark, "KILL", NULL};
 *
 * What has come of it goes with it, also what has given up its variables or has a session of its own, but not who had
 * left it before: a child of nobody, of a session whose first program has ended.
 */
#ifndef SANDLOT_SDK_END_MARKED_H
#define SANDLOT_SDK_END_MARKED_H

#ifdef __cplusplus
extern "C" {
#endif

/* For `sh -c`, which needs grep and a readable /proc. $1 is NAME=VALUE, whose VALUE nobody can guess; $2 the first
 * signal: TERM, after which there are two seconds before the next, or KILL. Its exit code says nothing. */
extern const char end_marked_script[];

#ifdef __cplusplus
}
#endif

#endif
