/* Single files in a live box of `local`, through the library: no process takes part. */
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SMALL = 2048, LARGER = 10240, ENTRIES = 100, COMMANDS = 32, QUIET_ROUNDS = 9, TURNS = 200 };

static const char PLACE[] = "the only place";
static const char OTHER[] = "an other place";

struct file {
    struct sandlot_session *session;
    const char *text;
    size_t length;
    bool edited; /* OTHER stands where PLACE was */
};

static void once_read(void *context)
{
    const struct file *file = context;
    struct sandlot_error error = {0};
    struct sandlot_read request = {.size = sizeof(request), .path = "small.txt"};
    struct sandlot_page page = {.size = sizeof(page)};

    if (sandlot_read_file(file->session, &request, &page, &error) < 0)
        give_up("read: %s", error.message);
    if (page.content_length + 1 != SMALL)
        give_up("read: %zu bytes instead of %d", page.content_length, SMALL - 1);
    sandlot_page_clear(&page);
}

static void write_text(const struct file *file, const char *path)
{
    struct sandlot_error error = {0};
    struct sandlot_write request = {
        .size = sizeof(request), .path = path, .content = file->text, .content_length = file->length};

    if (sandlot_write_file(file->session, &request, &error) < 0)
        give_up("write: %s", error.message);
}

static void once_write(void *context)
{
    write_text(context, "small.txt");
}

static void once_edit(void *context)
{
    struct file *file = context;
    const char *from = file->edited ? OTHER : PLACE;
    const char *to = file->edited ? PLACE : OTHER;
    struct sandlot_error error = {0};
    struct sandlot_edit request = {.size = sizeof(request),
                                   .path = "larger.txt",
                                   .old_string = from,
                                   .old_length = strlen(from),
                                   .new_string = to,
                                   .new_length = strlen(to)};

    if (sandlot_edit_file(file->session, &request, NULL, &error) < 0)
        give_up("edit: %s", error.message);
    file->edited = !file->edited;
}

static bool count_entry(void *context, const struct sandlot_file_entry *entry)
{
    size_t *count = context;

    *count += entry->path[0] != '\0';
    return true;
}

static void once_list(void *context)
{
    const struct file *file = context;
    struct sandlot_error error = {0};
    struct sandlot_ls request = {.size = sizeof(request), .path = "hundred"};
    size_t count = 0;

    if (sandlot_list_directory(file->session, &request, count_entry, &count, &error) < 0)
        give_up("ls: %s", error.message);
    if (count != ENTRIES)
        give_up("ls: %zu entries instead of %d", count, ENTRIES);
}

/* What the kernel takes for such a listing by itself, of the FOLDER beside the boxes. */
static void once_list_plainly(void *folder)
{
    DIR *directory = opendir(folder);
    size_t count = 0;

    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        struct stat status;
        if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            count += S_ISREG(status.st_mode);
    }
    if (directory)
        closedir(directory);
    if (count != ENTRIES)
        give_up("%s: %zu files instead of %d", (const char *)folder, count, ENTRIES);
}

static char *make_hundred(const struct bench *bench)
{
    char *folder = bench_path(bench, "hundred");

    if (mkdir(folder, 0700) < 0)
        give_up("no folder %s can be made", folder);
    for (int i = 1; i <= ENTRIES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "hundred/file%d.txt", i);
        char *path = bench_path(bench, name);
        make_text_file(path, 2);
        free(path);
    }
    return folder;
}

static void show(const char *what, const struct contender *turns, double target)
{
    row(what, turns->median_us, target, "us", "p90 %.0f us; the quietest of %d rounds", turns->p90_us, QUIET_ROUNDS);
}

/* Commands that are under way and wait. */
static void start_commands(struct sandlot_session *session, struct sandlot_job **jobs)
{
    static const struct sandlot_execution sleeping = {.size = sizeof(sleeping), .command = "sleep 60"};
    struct sandlot_error error = {0};

    for (size_t i = 0; i < COMMANDS; i++)
        if (!(jobs[i] = sandlot_submit_execute(session, &sleeping, &error)))
            give_up("execute: %s", error.message);
    in_box(session, "until [ \"$(ps -e -o comm= | grep -c '^sleep$')\" = 32 ]; do sleep 0.02; done");
}

static void end_commands(struct sandlot_job **jobs)
{
    for (size_t i = 0; i < COMMANDS; i++)
        sandlot_job_free(jobs[i]);
}

/* A read while nothing runs, and while many commands are under way, in turns. */
static void measure_beside_commands(struct file *file)
{
    struct sandlot_job *jobs[COMMANDS];
    double alone = 0;
    double beside = 0;

    for (int i = 0; i < QUIET_ROUNDS; i++) {
        struct contender reading = {.once = once_read, .context = file};
        compete(&reading, 1, TURNS);
        alone = i == 0 || reading.median_us < alone ? reading.median_us : alone;
        start_commands(file->session, jobs);
        compete(&reading, 1, TURNS);
        beside = i == 0 || reading.median_us < beside ? reading.median_us : beside;
        end_commands(jobs);
    }
    row("read of 2 KiB beside 32 commands under way / alone", beside / alone, 1.15, "x", "%.1f us and %.1f us", beside,
        alone);
}

void bench_files(const struct bench *bench)
{
    struct sandlot_session *session = open_box(bench->sandlot, NULL, NULL);
    char *small_text = make_text(SMALL);
    char *larger_text = make_text(LARGER);
    char *hundred = make_hundred(bench);
    struct file small = {.session = session, .text = small_text, .length = SMALL};
    struct file larger = {.session = session, .text = larger_text, .length = LARGER};

    memcpy(larger_text + LARGER / 2, PLACE, strlen(PLACE));
    write_text(&small, "small.txt");
    write_text(&larger, "larger.txt");
    in_box(session, "mkdir hundred && cd hundred && for i in $(seq 100); do echo $i > file$i.txt; done");

    struct contender turns[] = {{.once = once_read, .context = &small},
                                {.once = once_write, .context = &small},
                                {.once = once_edit, .context = &larger},
                                {.once = once_list, .context = &small},
                                {.once = once_list_plainly, .context = hundred}};
    compete_quietest(turns, 5, TURNS, QUIET_ROUNDS);
    show("read of a file of 2 KiB", &turns[0], 30);
    show("atomic write of 2 KiB", &turns[1], 300);
    show("edit of a file of 10 KiB", &turns[2], 300);
    show("ls of 100 entries", &turns[3], 80);
    row("ls of 100 entries / readdir and fstatat alone", turns[3].median_us / turns[4].median_us, 1.3, "x",
        "%.1f us and %.1f us", turns[3].median_us, turns[4].median_us);
    measure_beside_commands(&small);

    close_box(session);
    free(small_text);
    free(larger_text);
    free(hundred);
}
