/*
 * What the parts of the benchmark share. What is compared is measured in turns within one run, A B A B, so that both
 * meet the same machine; a figure is the ratio (or the difference) of the two medians. A figure in microseconds has
 * nothing beside it: it is the median of the quietest of several rounds.
 *
 * Like every embedding program the benchmark uses the public header alone.
 */
#ifndef SANDLOT_BENCH_H
#define SANDLOT_BENCH_H

#include "sandlot/sandlot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench {
    const char *command;      /* the command `sandlot` */
    const char *many_plugins; /* a folder with a thousand providers */
    const char *test_plugins; /* a folder with the providers only_execute and bulk */
    const char *folder;       /* for files of the benchmark, on the file system of the boxes */
    const char *node;         /* Node.js and the reference MCP server that runs on it; NULL: not there */
    const char *reference_server;
    struct sandlot *sandlot;
    bool slow; /* with what takes long */
};

/* ---- the parts ---- */

void bench_start(const struct bench *bench);
void bench_execute(const struct bench *bench);
void bench_boxes(const struct bench *bench, size_t boxes);
void bench_files(const struct bench *bench);
void bench_trees(const struct bench *bench);
void bench_transfers(const struct bench *bench);
void bench_derived(const struct bench *bench);
void bench_server(const struct bench *bench);
void bench_worker(const struct bench *bench);
void bench_bindings(const struct bench *bench);
void bench_vfs(const struct bench *bench);
void bench_snapshots(const struct bench *bench);
void bench_network(const struct bench *bench);
void bench_processes(const struct bench *bench);
void bench_ports(const struct bench *bench);
void bench_results(const struct bench *bench);

/* ---- measuring ---- */

enum { ROUNDS_MAXIMUM = 600 };

/* Something could not be measured: says so in a line "not ok ..." and ends with status 1. */
void give_up(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

double now_us(void);
double median(const double *samples, size_t count);

struct contender {
    void (*once)(void *context);
    void *context;
    void (*prepare)(void *context); /* before each turn, not measured; or NULL */
    double median_us;
    double p90_us;
};

/* ROUNDS turns of each after one that does not count. */
void compete(struct contender *contenders, size_t count, size_t rounds);

/* The same, several times, with what the quietest of these (the one with the lowest median) showed. */
void compete_quietest(struct contender *contenders, size_t count, size_t rounds, size_t times);

/* One line of the table: a time, a ratio of times, or what the whole machine has a part in. Above its target it is
 * marked "over", and that is all: other work on the machine makes it so. */
void row(const char *what, double measured, double target, const char *unit, const char *detail, ...)
    __attribute__((format(printf, 5, 6)));

/* One line of what is the same on every machine, such as the memory of our own processes: above its target it is
 * BROKEN, and told again in a line "not ok ...". */
void steady_row(const char *what, double measured, double target, const char *unit, const char *detail, ...)
    __attribute__((format(printf, 5, 6)));

/* How many lines were BROKEN. */
int broken_rows(void);

/* ---- processes ---- */

/* Runs a program to its end by vfork and exec (that is what posix_spawn does here); it must succeed. */
void run(const char *const *arguments);

/* run, for a contender: the context is the array of arguments. */
void once_run(void *arguments);

/* Starts a program with nothing to read and nobody to listen to. */
int start_quietly(const char *const *arguments);

/* Waits for it; it must succeed. */
void must_succeed(int process, const char *name);

/* The number after NAME in a file of lines "NAME:  number kB"; -1: not there. */
long kilobytes(const char *path, const char *name);

/* ---- sandboxes and files ---- */

/* A sandbox of PROVIDER (NULL: local) that lives until close_box. */
struct sandlot_session *open_box(struct sandlot *sandlot, const char *provider, const char *const *parameters);
void close_box(struct sandlot_session *session);

/* Runs a command, which must end with 0. */
void in_box(struct sandlot_session *session, const char *command);

/* Makes BENCH's file or folder NAME into a path; to be freed. */
char *bench_path(const struct bench *bench, const char *name);

/* The plugins of the tests are found, and only_execute, which uses the local provider from within, runs without the
 * wall of a worker. */
void test_plugins_begin(const struct bench *bench);
void test_plugins_end(void);

/* LENGTH bytes of text in lines of 64, ended by a NUL; to be freed. */
char *make_text(size_t length);

/* A file of such text. */
void make_text_file(const char *path, size_t length);

/* A file of LENGTH bytes that do not repeat. */
void make_file(const char *path, uint64_t length);

#endif
