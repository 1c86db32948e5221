/*
 * What would take a command each, one after the other in one process: for tables whose rows differ in what the service
 * does alone.
 *
 *   series PROVIDER ID PARAMETER=VALUE...
 *
 * Each line of standard input is one call, in a session of its own on sandbox ID, and gets one line of an answer:
 *
 *   exec COMMAND        its exit code and what it printed, with | for each end of a line
 *   download PATH FILE  ok
 *   list                the ids of all sandboxes
 *
 * or the name of an error, with what it says. Ends with its input; a status other than 0 is the sanitizers'.
 */
#include <sandlot/sandlot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int execute(struct sandlot_session *session, const char *command, struct sandlot_error *error)
{
    const struct sandlot_execution execution = {.size = sizeof(execution), .command = command};
    struct sandlot_result result = {.size = sizeof(result)};

    if (sandlot_execute(session, &execution, &result, error) != 0)
        return -1;
    printf("%d ", result.exit_code);
    for (size_t i = 0; i < result.output_length; i++)
        putchar(result.output[i] == '\n' ? '|' : result.output[i]);
    putchar('\n');
    sandlot_result_clear(&result);
    return 0;
}

static void done(void *context, size_t index, const char *path, const struct sandlot_error *problem, uint64_t bytes)
{
    (void)context;
    (void)index;
    (void)path;
    (void)problem; /* the first one, and there is one file, is the call's */
    (void)bytes;
}

static int download(struct sandlot_session *session, char *words, struct sandlot_error *error)
{
    char *local = strchr(words, ' ');
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = words, .local_path = local ? local + 1 : ""};
    const struct sandlot_transfer_request request = {.size = sizeof(request), .items = &item, .count = 1, .done = done};

    if (local)
        *local = '\0';
    if (sandlot_download(session, &request, error) != 0)
        return -1;
    puts("ok");
    return 0;
}

static int in_session(struct sandlot *sandlot, const struct sandlot_session_options *options, char *line,
                      struct sandlot_error *error)
{
    struct sandlot_session *session = sandlot_session_open(sandlot, options, error);
    char *words = strchr(line, ' ');
    int failed = -1;

    if (session && strncmp(line, "exec ", strlen("exec ")) == 0)
        failed = execute(session, words + 1, error);
    else if (session && strncmp(line, "download ", strlen("download ")) == 0)
        failed = download(session, words + 1, error);
    sandlot_session_close(session, NULL);
    return failed;
}

static bool on_listed(void *context, const struct sandlot_listed_sandbox *sandbox)
{
    (void)context;
    printf("%s ", sandbox->id);
    return true;
}

static int list(struct sandlot *sandlot, const struct sandlot_session_options *options, struct sandlot_error *error)
{
    const struct sandlot_target target = {sizeof(target), options->provider, options->parameters, NULL};

    if (sandlot_list(sandlot, &target, on_listed, NULL, error) != 0)
        return -1;
    putchar('\n');
    return 0;
}

int main(int count, char **words)
{
    struct sandlot_error error = {0};
    struct sandlot *sandlot = count > 2 ? sandlot_open(NULL, &error) : NULL;
    const struct sandlot_session_options options = {.size = sizeof(options),
                                                    .provider = words[1],
                                                    .sandbox_id = words[2],
                                                    .parameters = (const char *const *)(words + 3)};
    char *line = NULL;
    size_t room = 0;

    if (!sandlot)
        return 2;
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        int failed =
            strcmp(line, "list") == 0 ? list(sandlot, &options, &error) : in_session(sandlot, &options, line, &error);

        if (failed)
            printf("%s: %s\n", sandlot_code_name(error.code), error.message ? error.message : "no such call");
        sandlot_error_clear(&error);
        fflush(stdout);
    }
    free(line);
    sandlot_close(sandlot);
    return 0;
}
