#include "processes.h"

#include <sandlot/sdk/cleanup.h>

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct process {
    pid_t pid;
    pid_t parent;
};

/* All processes that /proc shows, in the order of their numbers. */
struct table {
    struct process *entries;
    size_t count;
    size_t capacity;
};

/* What is to be ended. */
struct tree {
    pid_t root;
    const pid_t *spared;
    size_t count;
};

static void close_listing(DIR **listing)
{
    if (*listing)
        closedir(*listing);
}

int64_t processes_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The parent of the process whose folder NAME of /proc is. 0: it is gone, or dead already. */
static pid_t parent_of(int proc_fd, const char *name)
{
    char path[32];
    char text[256];
    int parent = 0;

    snprintf(path, sizeof path, "%.16s/stat", name);
    AUTO_CLOSE int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

    if (length <= 0)
        return 0;
    text[length] = '\0';
    /* The name in parentheses is the process's own choice and may contain more of them. */
    const char *end = strrchr(text, ')');

    if (!end || strlen(end) < 4 || end[2] == 'Z' || end[2] == 'X' || sscanf(end + 4, "%d", &parent) != 1)
        return 0;
    return parent;
}

static bool add(struct table *table, pid_t pid, pid_t parent)
{
    if (table->count == table->capacity) {
        const size_t capacity = table->capacity ? table->capacity * 2 : 64;
        struct process *entries = realloc(table->entries, capacity * sizeof *entries);

        if (!entries)
            return false;
        table->entries = entries;
        table->capacity = capacity;
    }
    table->entries[table->count++] = (struct process){pid, parent};
    return true;
}

static void read_table(struct table *table)
{
    __attribute__((cleanup(close_listing))) DIR *listing = opendir("/proc");
    const struct dirent *entry;

    table->count = 0;
    while (listing && (entry = readdir(listing))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        const pid_t parent = parent_of(dirfd(listing), entry->d_name);

        if (parent > 0 && !add(table, (pid_t)strtol(entry->d_name, NULL, 10), parent))
            return;
    }
}

static const struct process *find(const struct table *table, pid_t pid)
{
    size_t low = 0;
    size_t high = table->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (table->entries[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->count && table->entries[low].pid == pid ? &table->entries[low] : NULL;
}

static bool is_spared(const struct tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->spared[i] == pid)
            return true;
    return false;
}

static bool is_in_tree(const struct table *table, const struct process *process, const struct tree *tree)
{
    /* Processes come and go during a look, so that parents can seem to form a ring. */
    for (size_t steps = 0; process && steps <= table->count; steps++) {
        if (is_spared(tree, process->pid) || process->pid == tree->root)
            return false;
        if (process->parent == tree->root)
            return true;
        process = find(table, process->parent);
    }
    return false;
}

/* Leaves only the members of TREE in TABLE. */
static void look(struct table *table, const struct tree *tree)
{
    struct table members = {NULL, 0, 0};

    read_table(table);
    for (size_t i = 0; i < table->count; i++)
        if (is_in_tree(table, &table->entries[i], tree) &&
            !add(&members, table->entries[i].pid, table->entries[i].parent))
            break;
    free(table->entries);
    *table = members;
}

void processes_signal(pid_t root, int signal)
{
    const struct tree tree = {root, NULL, 0};
    struct table table = {NULL, 0, 0};

    look(&table, &tree);
    for (size_t i = 0; i < table.count; i++)
        kill(table.entries[i].pid, signal);
    free(table.entries);
}

void processes_kill(pid_t root, const pid_t *spared, size_t count, int64_t deadline_ms)
{
    const struct tree tree = {root, spared, count};
    struct table stopped = {NULL, 0, 0};
    bool found = true;

    while (found) {
        struct table table = {NULL, 0, 0};

        found = false;
        look(&table, &tree);
        for (size_t i = 0; i < table.count; i++)
            if (!find(&stopped, table.entries[i].pid)) {
                kill(table.entries[i].pid, SIGSTOP);
                found = true;
            }
        free(stopped.entries);
        stopped = table;
        if (processes_now_ms() >= deadline_ms)
            break;
    }
    for (size_t i = 0; i < stopped.count; i++)
        kill(stopped.entries[i].pid, SIGKILL);
    free(stopped.entries);
}

size_t processes_of_user(uid_t uid)
{
    __attribute__((cleanup(close_listing))) DIR *listing = opendir("/proc");
    const struct dirent *entry;
    struct stat status;
    char path[32];
    size_t threads = 0;

    while (listing && (entry = readdir(listing))) {
        snprintf(path, sizeof path, "%.16s/task", entry->d_name);
        /* A folder has one link for itself, one for its name, and one for each folder in it. */
        if (isdigit((unsigned char)entry->d_name[0]) && fstatat(dirfd(listing), path, &status, 0) == 0 &&
            status.st_uid == uid && status.st_nlink > 2)
            threads += status.st_nlink - 2;
    }
    return threads;
}
