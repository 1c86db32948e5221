/* glob and grep over 20,000 files, shown to a box as its workspace, beside others that look at the same files. */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS = 400, FILES_OF_FOLDER = 50, FILES = FOLDERS * FILES_OF_FOLDER, NEEDLE_EVERY = 400, TURNS = 25 };

#define NEEDLE "a needle in the haystack"

struct tree {
    struct sandlot_session *session;
    const char *path; /* on this machine */
    const char *const *ripgrep;
    size_t c_files;
};

/* ---- the files ---- */

static uint32_t next_number(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Text like that of a program; most files are small, and some are not. */
static void write_source(int folder, const char *name, bool with_needle, uint32_t *state)
{
    static const char *const words[] = {"int",    "static", "const", "return", "if",     "else",  "struct", "void",
                                        "size_t", "error",  "path",  "file",   "length", "count", "value",  "NULL"};
    uint32_t size = 300U << (next_number(state) % 6);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (!file)
        give_up("%s: %s", name, strerror(errno));
    for (uint32_t written = 0; written < size;) {
        int length = fprintf(file, "    %s", words[next_number(state) % 16]);
        for (uint32_t word = next_number(state) % 10; word > 0; word--)
            length += fprintf(file, " %s", words[next_number(state) % 16]);
        written += (uint32_t)length + 2;
        fputs(";\n", file);
    }
    if (with_needle)
        fputs("    " NEEDLE ";\n", file);
    if (fclose(file) != 0)
        give_up("%s: %s", name, strerror(errno));
}

static int make_folder(int parent, const char *name)
{
    if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
        give_up("%s: %s", name, strerror(errno));
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        give_up("%s: %s", name, strerror(errno));
    return folder;
}

/* Returns how many of the files are named *.c. */
static size_t make_tree(const char *path)
{
    static const char *const suffixes[] = {"c", "h", "py", "md", "txt"};
    uint32_t state = 2463534242U;
    size_t c_files = 0;
    int root = make_folder(AT_FDCWD, path);

    for (uint32_t i = 0; i < FILES; i++) {
        uint32_t number = i / FILES_OF_FOLDER;
        char name[32];
        snprintf(name, sizeof(name), "m%02u", number % 20);
        int module = make_folder(root, name);
        snprintf(name, sizeof(name), "sub%02u", number / 20);
        int folder = make_folder(module, name);
        uint32_t suffix = next_number(&state) % 5;
        snprintf(name, sizeof(name), "file%02u.%s", i % FILES_OF_FOLDER, suffixes[suffix]);
        write_source(folder, name, i % NEEDLE_EVERY == 0, &state);
        c_files += suffix == 0;
        close(folder);
        close(module);
    }
    close(root);
    return c_files;
}

/* ---- the contenders ---- */

static size_t walk(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    size_t count = 0;

    if (!folder)
        give_up("%s: %s", name, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count += entry->d_type == DT_DIR ? walk(dirfd(folder), entry->d_name) : 1;
    }
    closedir(folder);
    return count;
}

static void once_walk(void *context)
{
    const struct tree *tree = context;
    size_t count = walk(AT_FDCWD, tree->path);

    if (count != FILES)
        give_up("the walk saw %zu files instead of %d", count, FILES);
}

static bool count_file(void *context, const struct sandlot_file_entry *entry)
{
    size_t *count = context;

    *count += !entry->is_dir;
    return true;
}

static void once_glob(void *context)
{
    const struct tree *tree = context;
    struct sandlot_error error = {0};
    struct sandlot_glob request = {.size = sizeof(request), .pattern = "*.c"};
    size_t count = 0;

    if (sandlot_find_files(tree->session, &request, count_file, &count, NULL, &error) < 0)
        give_up("glob: %s", error.message);
    if (count != tree->c_files)
        give_up("glob: %zu files instead of %zu", count, tree->c_files);
}

static bool count_match(void *context, const struct sandlot_match *match)
{
    size_t *count = context;

    *count += match->text_length > 0;
    return true;
}

static void once_grep(void *context)
{
    const struct tree *tree = context;
    struct sandlot_error error = {0};
    struct sandlot_grep request = {.size = sizeof(request), .pattern = NEEDLE, .pattern_length = strlen(NEEDLE)};
    size_t count = 0;

    if (sandlot_search_files(tree->session, &request, count_match, &count, NULL, &error) < 0)
        give_up("grep: %s", error.message);
    if (count != FILES / NEEDLE_EVERY)
        give_up("grep: %zu lines instead of %d", count, FILES / NEEDLE_EVERY);
}

static void once_ripgrep(void *context)
{
    const struct tree *tree = context;

    run(tree->ripgrep);
}

void bench_trees(const struct bench *bench)
{
    char *path = bench_path(bench, "tree");
    char *workspace;
    struct tree tree = {.path = path, .c_files = make_tree(path)};
    const char *ripgrep[] = {"/usr/bin/rg", "-F", "--hidden", "--no-ignore", "-n", NEEDLE, path, NULL};

    if (asprintf(&workspace, "workspace=%s", path) < 0)
        give_up("out of memory");
    tree.session = open_box(bench->sandlot, NULL, (const char *const[]){workspace, NULL});
    tree.ripgrep = ripgrep;

    struct contender walkers[] = {{.once = once_glob, .context = &tree}, {.once = once_walk, .context = &tree}};
    compete(walkers, 2, TURNS);
    row("glob *.c over 20,000 files / a plain walk", walkers[0].median_us / walkers[1].median_us, 2, "x",
        "%.1f ms and %.1f ms", walkers[0].median_us / 1e3, walkers[1].median_us / 1e3);

    if (access(ripgrep[0], X_OK) == 0) {
        struct contender searchers[] = {{.once = once_grep, .context = &tree},
                                        {.once = once_ripgrep, .context = &tree}};
        compete(searchers, 2, TURNS);
        row("grep over 20,000 files / ripgrep", searchers[0].median_us / searchers[1].median_us, 1, "x",
            "%.1f ms and %.1f ms", searchers[0].median_us / 1e3, searchers[1].median_us / 1e3);
    } else {
        printf("%-58s not measured: ripgrep is not installed; run make deps\n", "grep over 20,000 files / ripgrep");
    }
    close_box(tree.session);
    free(workspace);
    free(path);
}
