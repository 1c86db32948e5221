/*
 * A program that embeds Sandlot, as it was written for the first library. It uses the functions of sandlot.h with the
 * provider first_everything, says what does not work, and does the same as programs with an older and a newer header
 * would: with structs that are shorter and longer.
 */
#include <sandlot/sandlot.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void check(bool good, const char *what, struct sandlot_error *error)
{
    if (!good || (error && error->message)) {
        failures++;
        printf("failed: %s: %s\n", what, error && error->message ? error->message : "another outcome");
    }
    if (error)
        sandlot_error_clear(error);
}

static void execute(struct sandlot_session *session)
{
    const char *const environment[] = {"ADDED=yes", NULL};
    const struct sandlot_execution command = {
        .size = sizeof(command), .command = "echo $ADDED; exit 5", .timeout_ms = 20000, .environment = environment};
    struct sandlot_result result = {.size = sizeof(result)};
    struct sandlot_error error = {0};

    check(sandlot_execute(session, &command, &result, &error) == 0, "execute", &error);
    check(result.has_exit_code && result.exit_code == 5 && result.output && strcmp(result.output, "yes\n") == 0 &&
              result.output_length == 4 && result.output_total == 4 && !result.truncated && !result.timed_out,
          "the result", NULL);
    sandlot_result_clear(&result);
}

/* A program with a later header: what it leaves zero the library need not know, what it sets it must refuse. */
static void execute_with_longer_structs(struct sandlot_session *session)
{
    struct {
        struct sandlot_execution known;
        uint64_t later;
    } command = {.known = {.size = sizeof(command), .command = "echo longer"}};
    struct {
        struct sandlot_result known;
        uint64_t later;
    } result = {.known = {.size = sizeof(result)}, .later = 7};
    struct sandlot_error error = {0};

    check(sandlot_execute(session, &command.known, &result.known, &error) == 0, "longer structs", &error);
    check(result.known.output && strcmp(result.known.output, "longer\n") == 0 && result.known.size == sizeof(result),
          "the longer result", NULL);
    sandlot_result_clear(&result.known);
    command.later = 1;
    check(sandlot_execute(session, &command.known, &result.known, &error) == -1 && error.code == SANDLOT_CODE_USAGE,
          "a setting that the library does not know", NULL);
    sandlot_error_clear(&error);
}

/* And one with an earlier header, in whose time there was less. */
static void execute_with_shorter_structs(struct sandlot_session *session)
{
    const struct sandlot_execution command = {.size = offsetof(struct sandlot_execution, timeout_ms),
                                              .command = "echo shorter",
                                              .timeout_ms = INT64_MIN,
                                              .has_input = true,
                                              .input_fd = -77};
    struct sandlot_result result = {.size = offsetof(struct sandlot_result, output_total), .output_total = 77};
    struct sandlot_error error = {0};

    check(sandlot_execute(session, &command, &result, &error) == 0, "shorter structs", &error);
    check(result.output && strcmp(result.output, "shorter\n") == 0 && result.output_total == 77, "the shorter result",
          NULL);
    sandlot_result_clear(&result);
}

static bool count_entry(void *context, const struct sandlot_file_entry *entry)
{
    int *count = context;

    *count += entry->path != NULL;
    return true;
}

static bool count_match(void *context, const struct sandlot_match *match)
{
    int *count = context;

    *count += match->line == 1 && strcmp(match->text, "hullo") == 0;
    return true;
}

static void use_files(struct sandlot_session *session)
{
    const struct sandlot_write write = {
        .size = sizeof(write), .path = "folder/a.txt", .content = "hello\n", .content_length = 6};
    const struct sandlot_edit edit = {.size = sizeof(edit),
                                      .path = "folder/a.txt",
                                      .old_string = "e",
                                      .old_length = 1,
                                      .new_string = "u",
                                      .new_length = 1};
    const struct sandlot_read read = {.size = sizeof(read), .path = "folder/a.txt"};
    const struct sandlot_ls ls = {.size = sizeof(ls), .path = "folder"};
    const struct sandlot_glob glob = {.size = sizeof(glob), .pattern = "*.txt"};
    const struct sandlot_grep grep = {.size = sizeof(grep), .pattern = "ull", .pattern_length = 3};
    const struct sandlot_remove remove = {.size = sizeof(remove), .path = "folder"};
    struct sandlot_page page = {.size = sizeof(page)};
    struct sandlot_error error = {0};
    uint64_t occurrences = 0;
    bool truncated = true;
    int count = 0;

    check(sandlot_write_file(session, &write, &error) == 0, "write", &error);
    check(sandlot_edit_file(session, &edit, &occurrences, &error) == 0 && occurrences == 1, "edit", &error);
    check(sandlot_read_file(session, &read, &page, &error) == 0 && strcmp(page.content, "hullo") == 0 &&
              page.next_offset == -1,
          "read", &error);
    sandlot_page_clear(&page);
    check(sandlot_list_directory(session, &ls, count_entry, &count, &error) == 0 && count == 1, "ls", &error);
    check(sandlot_find_files(session, &glob, count_entry, &count, &truncated, &error) == 0 && count == 2 && !truncated,
          "glob", &error);
    check(sandlot_search_files(session, &grep, count_match, &count, &truncated, &error) == 0 && count == 3 &&
              !truncated,
          "grep", &error);
    check(sandlot_remove_file(session, &remove, &error) == 0, "remove", &error);
    check(sandlot_read_file(session, &read, &page, &error) == -1 && error.code == SANDLOT_CODE_FILE_NOT_FOUND,
          "a file that is gone", NULL);
    sandlot_error_clear(&error);
}

static void transfer(struct sandlot_session *session)
{
    FILE *file = tmpfile();
    char path[512];
    char text[16] = "";

    if (!file || fputs("moved\n", file) < 0 || fflush(file) != 0)
        exit(2);
    rewind(file);
    snprintf(path, sizeof(path), "%s/moved", sandlot_session_working_dir(session));
    const struct sandlot_transfer_item item = {.size = sizeof(item), .path = path, .fd = fileno(file)};
    const struct sandlot_transfer_request request = {.size = sizeof(request), .items = &item, .count = 1};
    struct sandlot_error error = {0};

    check(sandlot_upload(session, &request, &error) == 0, "upload", &error);
    check(ftruncate(fileno(file), 0) == 0 && lseek(fileno(file), 0, SEEK_SET) == 0, "an empty file", NULL);
    check(sandlot_download(session, &request, &error) == 0, "download", &error);
    check(pread(fileno(file), text, sizeof(text), 0) == 6 && strcmp(text, "moved\n") == 0, "what was moved", NULL);
    fclose(file);
}

static void window(void *context, uint16_t *rows, uint16_t *columns)
{
    (void)context;
    *rows = 30;
    *columns = 90;
}

static bool collect(void *context, const void *bytes, size_t length)
{
    char *text = context;
    size_t used = strlen(text);

    if (used + length < 256)
        memcpy(text + used, bytes, length);
    return true;
}

static void use_terminal(struct sandlot_session *session)
{
    char text[257] = "";
    int ends[2];

    if (pipe(ends) != 0)
        exit(2);
    close(ends[1]); /* nothing is typed */
    const struct sandlot_terminal_request request = {.size = sizeof(request),
                                                     .command = "echo shown; exit 4",
                                                     .term = "vt100",
                                                     .input_fd = ends[0],
                                                     .resized_fd = -1,
                                                     .window = window,
                                                     .output = collect,
                                                     .context = text};
    struct sandlot_error error = {0};
    int exit_code = 0;

    check(sandlot_run_terminal(session, &request, &exit_code, &error) == 0 && exit_code == 4, "terminal", &error);
    check(strcmp(text, "vt100 30 x 90\nshown\n") == 0, "what the terminal shows", NULL);
    close(ends[0]);
}

static void use_tools(struct sandlot_session *session)
{
    const struct sandlot_tool_call call = {
        .size = sizeof(call), .name = "execute", .arguments = "{\"command\":\"echo from a tool\"}"};
    struct sandlot_tool_answer answer = {.size = sizeof(answer)};
    struct sandlot_error error = {0};
    char *tools = sandlot_tools(sandlot_session_can_execute(session));

    check(tools && strstr(tools, "\"execute\""), "tools", NULL);
    free(tools);
    check(sandlot_call_tool(session, &call, &answer, &error) == 0 && !answer.is_error &&
              strstr(answer.content, "from a tool"),
          "a tool", &error);
    sandlot_tool_answer_clear(&answer);
}

static bool count_sandbox(void *context, const struct sandlot_listed_sandbox *sandbox)
{
    int *count = context;

    *count += sandbox->mine && strcmp(sandbox->provider, "first_everything") == 0;
    return true;
}

static void use_jobs(struct sandlot *sandlot, struct sandlot_session *session)
{
    const struct sandlot_execution slow = {.size = sizeof(slow), .command = "sleep 20"};
    const struct sandlot_execution quick = {.size = sizeof(quick), .command = "echo quick"};
    const struct sandlot_target target = {.size = sizeof(target), .provider = "first_everything"};
    struct sandlot_result result = {.size = sizeof(result)};
    struct sandlot_error error = {0};
    int count = 0;
    struct sandlot_job *job = sandlot_submit_execute(session, &quick, &error);
    struct pollfd done = {job ? sandlot_job_descriptor(job) : -1, POLLIN, 0};

    check(job && poll(&done, 1, 20000) == 1 && sandlot_job_wait(job, -1, &error) == SANDLOT_JOB_DONE, "a job", &error);
    check(job && sandlot_job_result(job, &result) == 0 && strcmp(result.output, "quick\n") == 0, "its result", NULL);
    sandlot_result_clear(&result);
    sandlot_job_free(job);
    job = sandlot_submit_execute(session, &slow, &error);
    check(job && sandlot_job_wait(job, 50, &error) == SANDLOT_JOB_RUNNING, "a job that runs", &error);
    if (job)
        sandlot_job_cancel(job);
    check(job && sandlot_job_wait(job, 20000, &error) == SANDLOT_JOB_FAILED && error.code == SANDLOT_CODE_CANCELLED,
          "a job that is cancelled", NULL);
    sandlot_error_clear(&error);
    sandlot_job_free(job);
    check(sandlot_list(sandlot, &target, count_sandbox, &count, &error) == 0 && count == 1, "list", &error);
}

int main(void)
{
    const struct sandlot_options options = {.size = sizeof(options), .no_environment_files = true};
    const struct sandlot_session_options box = {.size = sizeof(box), .provider = "first_everything"};
    struct sandlot_error error = {0};
    struct sandlot *sandlot = sandlot_open(&options, &error);
    struct sandlot_session *session = sandlot ? sandlot_session_open(sandlot, &box, &error) : NULL;

    check(session != NULL, "opening a session", &error);
    check(strcmp(sandlot_code_name(SANDLOT_CODE_UNKNOWN_PROVIDER), "unknown_provider") == 0 &&
              strcmp(sandlot_code_name(SANDLOT_CODE_TRUNCATED_TRANSPORT), "truncated_transport") == 0,
          "names of codes", NULL);
    if (session) {
        check(strcmp(sandlot_session_provider(session), "first_everything") == 0 && sandlot_session_id(session),
              "whose session it is", NULL);
        execute(session);
        execute_with_longer_structs(session);
        execute_with_shorter_structs(session);
        use_files(session);
        transfer(session);
        use_terminal(session);
        use_tools(session);
        use_jobs(sandlot, session);
    }
    check(sandlot_session_close(session, &error) == 0, "closing the session", &error);
    check(!sandlot || sandlot_collect_garbage(sandlot, NULL, NULL, NULL, &error) == 0, "garbage", &error);
    sandlot_close(sandlot);
    printf("built for %s, runs with %s: %d failures\n", SANDLOT_VERSION, sandlot_version(), failures);
    return failures > 0;
}
