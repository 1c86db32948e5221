/*
 * The file operations of a provider that can only run commands: each is one command, and here stands what it takes
 * beside the plain command that a person would have written, run in the same box in the same way.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 2048, TURNS = 60, TREE_FILES = 1000 };

#define NEEDLE "a needle in the haystack"

struct operation {
    struct sandlot_session *session;
    const char *command; /* the plain one */
    const char *text;
    bool edited;
};

/* What both sides of all rows work on. */
static const char SETUP[] = "mkdir hundred tree && cd hundred && for i in $(seq 100); do echo $i > file$i.txt; done && "
                            "cd ../tree && for d in $(seq 20); do mkdir d$d; for i in $(seq 50); do "
                            "seq 400 > d$d/f$i.c; done; done && echo '" NEEDLE "' >> d7/f7.c && "
                            "for d in $(seq 20); do for i in $(seq 25); do mv d$d/f$i.c d$d/f$i.h; done; done && "
                            "echo '" NEEDLE "' >> d9/f9.h";

static void once_plain(void *context)
{
    const struct operation *operation = context;

    in_box(operation->session, operation->command);
}

static void must(int failed, const char *what, const struct sandlot_error *error)
{
    if (failed)
        give_up("%s: %s", what, error->message);
}

static void once_read(void *context)
{
    const struct operation *operation = context;
    struct sandlot_error error = {0};
    struct sandlot_read request = {.size = sizeof(request), .path = "small.txt"};
    struct sandlot_page page = {.size = sizeof(page)};

    must(sandlot_read_file(operation->session, &request, &page, &error), "read", &error);
    if (page.content_length + 1 != SMALL)
        give_up("read: %zu bytes instead of %d", page.content_length, SMALL - 1);
    sandlot_page_clear(&page);
}

static void once_write(void *context)
{
    const struct operation *operation = context;
    struct sandlot_error error = {0};
    struct sandlot_write request = {
        .size = sizeof(request), .path = "small.txt", .content = operation->text, .content_length = SMALL};

    must(sandlot_write_file(operation->session, &request, &error), "write", &error);
}

static void once_edit(void *context)
{
    struct operation *operation = context;
    const char *from = operation->edited ? "<b>" : "<a>";
    const char *to = operation->edited ? "<a>" : "<b>";
    struct sandlot_error error = {0};
    struct sandlot_edit request = {.size = sizeof(request),
                                   .path = "edited.txt",
                                   .old_string = from,
                                   .old_length = 3,
                                   .new_string = to,
                                   .new_length = 3};

    must(sandlot_edit_file(operation->session, &request, NULL, &error), "edit", &error);
    operation->edited = !operation->edited;
}

static bool count_entry(void *context, const struct sandlot_file_entry *entry)
{
    size_t *count = context;

    *count += entry->path[0] != '\0';
    return true;
}

static void expect_count(const char *what, size_t count, size_t wanted)
{
    if (count != wanted)
        give_up("%s: %zu instead of %zu", what, count, wanted);
}

static void once_list(void *context)
{
    const struct operation *operation = context;
    struct sandlot_error error = {0};
    struct sandlot_ls request = {.size = sizeof(request), .path = "hundred"};
    size_t count = 0;

    must(sandlot_list_directory(operation->session, &request, count_entry, &count, &error), "ls", &error);
    expect_count("ls", count, 100);
}

static void once_glob(void *context)
{
    const struct operation *operation = context;
    struct sandlot_error error = {0};
    struct sandlot_glob request = {.size = sizeof(request), .pattern = "*.c", .path = "tree"};
    size_t count = 0;

    must(sandlot_find_files(operation->session, &request, count_entry, &count, NULL, &error), "glob", &error);
    expect_count("glob", count, TREE_FILES / 2);
}

static bool count_match(void *context, const struct sandlot_match *match)
{
    size_t *count = context;

    *count += match->text_length > 0;
    return true;
}

static void once_grep(void *context)
{
    const struct operation *operation = context;
    struct sandlot_error error = {0};
    struct sandlot_grep request = {
        .size = sizeof(request), .pattern = NEEDLE, .pattern_length = strlen(NEEDLE), .path = "tree"};
    size_t count = 0;

    must(sandlot_search_files(operation->session, &request, count_match, &count, NULL, &error), "grep", &error);
    expect_count("grep", count, 2);
}

static void before_remove(void *context)
{
    const struct operation *operation = context;

    in_box(operation->session, "mkdir -p away/below && touch away/1 away/2 away/below/3");
}

static void once_remove(void *context)
{
    const struct operation *operation = context;
    struct sandlot_error error = {0};
    struct sandlot_remove request = {.size = sizeof(request), .path = "away"};

    must(sandlot_remove_file(operation->session, &request, &error), "rm", &error);
}

/* A plain command that writes TEXT. */
static char *command_that_writes(const char *text)
{
    char *command;

    if (asprintf(&command, "cat > plain.txt <<'END_OF_TEXT'\n%sEND_OF_TEXT\n", text) < 0)
        give_up("out of memory");
    return command;
}

static void measure_operations(struct sandlot_session *session)
{
    char *text = make_text(SMALL);
    char *write_command = command_that_writes(text);
    const struct {
        const char *name;
        const char *plain_name;
        const char *command;
        void (*once)(void *context);
        void (*prepare)(void *context);
    } rows[] = {
        {"read of 2 KiB", "cat", "cat small.txt", once_read, NULL},
        {"write of 2 KiB", "cat >", write_command, once_write, NULL},
        {"edit of 10 KiB", "sed -i", "sed -i 's/<a>/<a>/' plain_edited.txt", once_edit, NULL},
        {"ls of 100 entries", "ls -la", "ls -la hundred", once_list, NULL},
        {"glob of 1,000 files", "find", "find tree -type f -name '*.c'", once_glob, NULL},
        {"grep in 1,000 files", "grep -rnF", "grep -rnF '" NEEDLE "' tree", once_grep, NULL},
        {"rm of a directory", "rm -rf", "rm -rf away", once_remove, before_remove},
    };

    once_write(&(struct operation){.session = session, .text = text});
    in_box(session, "for i in 1 2 3 4 5; do cat small.txt; done > edited.txt; echo '<a>' >> edited.txt; "
                    "cp edited.txt plain_edited.txt");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct operation operation = {.session = session, .command = rows[i].command, .text = text};
        struct contender turns[] = {
            {.once = rows[i].once, .context = &operation, .prepare = rows[i].prepare},
            {.once = once_plain, .context = &operation, .prepare = rows[i].prepare},
        };
        char what[100];
        compete(turns, 2, TURNS);
        snprintf(what, sizeof(what), "through commands: %s / %s", rows[i].name, rows[i].plain_name);
        row(what, turns[0].median_us / turns[1].median_us, 2, "x", "%.2f ms and %.2f ms", turns[0].median_us / 1e3,
            turns[1].median_us / 1e3);
    }
    free(write_command);
    free(text);
}

void bench_derived(const struct bench *bench)
{
    struct sandlot_error error = {0};

    test_plugins_begin(bench);
    struct sandlot *sandlot = sandlot_open(NULL, &error);

    if (!sandlot)
        give_up("%s", error.message);
    struct sandlot_session *session = open_box(sandlot, "only_execute", NULL);

    in_box(session, SETUP);
    measure_operations(session);
    close_box(session);
    sandlot_close(sandlot);
    test_plugins_end();
}
