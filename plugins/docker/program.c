#include "program.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/end_marked.h>
#include <sandlot/sdk/pause.h>

#include <string.h>

enum {
    URGENT_MS = 900,
    GENTLE_MS = 10 * 1000,
    FIRST_LOOK_MS = 10,
    LONGEST_LOOK_MS = 500,
    LOOKS = 14,
    MARK_SIZE = PROGRAM_MARK + 16
};

/* ---- making ------------------------------------------------------------------------------------------------------ */

static enum sandlot_status post_exec(struct sandlot_call *call, const struct sandbox *sandbox, char *body, char **exec)
{
    static const int refusals[] = {404, 409, 500, 0};
    const struct engine_order order = {.method = "POST",
                                       .target = http_target("/containers/{}/exec", sandbox->id),
                                       .body = body,
                                       .accepted = refusals};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_error error;
    char said[ENGINE_SAID] = "";
    const char *id;
    int code = 0;
    enum sandlot_status status = engine_order(call, sandbox->docker, &order, &code, &answer, said);

    if (status != SANDLOT_OK)
        return status;
    if (code == 404)
        return sandlot_fail(call, SANDLOT_NOT_FOUND,
                            "there is no container %s at the engine any more; sandlot list shows those that there are",
                            sandbox->id);
    if (code >= 300)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "container %s takes no command: %.300s; attach to it again, which brings it to run",
                            sandbox->id, *said ? said : "the engine does not say why");
    if (!json_read_string(answer, "Id", &id, &error))
        return json_fail(call, "the container engine's answer to a command", &error);
    *exec = strdup(id);
    return *exec ? SANDLOT_OK : engine_no_memory(call);
}

static void mark_of(const struct program *program, char mark[MARK_SIZE])
{
    snprintf(mark, MARK_SIZE, "SANDLOT_JOB=%s", program->mark);
}

static void set_variables(struct json_builder *body, const struct program *program)
{
    const char *const *variable = program->command->environment;
    char mark[MARK_SIZE];
    char term[64];

    for (; variable && *variable; variable++)
        json_set_string(body, "Env[]", *variable);
    snprintf(term, sizeof(term), "TERM=%.50s", program->term ? program->term : "");
    if (program->term)
        json_set_string(body, "Env[]", term);
    mark_of(program, mark);
    json_set_string(body, "Env[]", mark);
}

enum sandlot_status program_make(struct program *program, const char *const *words, size_t count)
{
    struct json_builder body = {0};

    json_set_boolean(&body, "AttachStdin", program->terminal || program->command->input);
    json_set_boolean(&body, "AttachStdout", true);
    json_set_boolean(&body, "AttachStderr", true);
    json_set_boolean(&body, "Tty", program->terminal);
    json_set_string(&body, "WorkingDir", "/"); /* the usual one may have been removed */
    set_variables(&body, program);
    for (size_t i = 0; i < count; i++)
        json_set_string(&body, "Cmd[]", words[i]);
    char *text = json_finish(&body, NULL);

    if (!text)
        return sandlot_fail(program->call, SANDLOT_INVALID_ARGUMENT,
                            "the command or a variable of it is no UTF-8, which the engine does not take, or memory is "
                            "short; put it into a file of the sandbox");
    return post_exec(program->call, program->sandbox, text, &program->exec);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

enum sandlot_status program_start(struct program *program)
{
    struct docker *docker = program->sandbox->docker;
    const char *body = program->terminal ? "{\"Detach\":false,\"Tty\":true}" : "{\"Detach\":false,\"Tty\":false}";
    AUTO_FREE char *target = engine_target(docker, http_target("/exec/{}/start", program->exec));
    AUTO_RESPONSE struct http_response answer = {0};
    const struct http_upgrade_request request = {
        .method = "POST", .target = target, .protocol = "tcp", .body = body, .length = strlen(body), .answer = &answer};

    if (!target)
        return engine_no_memory(program->call);
    return http_upgrade_open(program->call, docker->client, &request, &program->stream);
}

/* ---- ending ------------------------------------------------------------------------------------------------------ */

static char *end_body(const struct program *program, bool gently)
{
    struct json_builder body = {0};
    char mark[MARK_SIZE];

    mark_of(program, mark);
    json_set_string(&body, "WorkingDir", "/");
    json_set_string(&body, "Cmd[]", "sh");
    json_set_string(&body, "Cmd[]", "-c");
    json_set_string(&body, "Cmd[]", end_marked_script);
    json_set_string(&body, "Cmd[]", "sh");
    json_set_string(&body, "Cmd[]", mark);
    json_set_string(&body, "Cmd[]", gently ? "TERM" : "KILL");
    return json_finish(&body, NULL);
}

static enum sandlot_status order_end(struct sandlot_call *call, const struct program *program, bool gently)
{
    AUTO_FREE char *exec = NULL;
    enum sandlot_status status = post_exec(call, program->sandbox, end_body(program, gently), &exec);

    if (status != SANDLOT_OK)
        return status;
    const struct engine_order start = {.method = "POST",
                                       .target = http_target("/exec/{}/start", exec),
                                       .body = strdup("{\"Detach\":true,\"Tty\":false}"),
                                       .once = true};

    return engine_order(call, program->sandbox->docker, &start, NULL, NULL, NULL);
}

bool program_end(const struct program *program)
{
    struct attempt attempt;

    if (!program->exec)
        return true;
    attempt_begin_urgent(&attempt, program->call, URGENT_MS);
    enum sandlot_status status = order_end(&attempt.call, program, false);

    return status == SANDLOT_OK || status == SANDLOT_NOT_FOUND;
}

enum sandlot_status program_end_cut(const struct program *program)
{
    bool ended = program_end(program);

    return sandlot_fail(program->call, SANDLOT_UNAVAILABLE,
                        "the connection to the container engine ended before the command did, which %s",
                        ended ? "was ended too; try again"
                              : "may still run; see whether the engine works and what the command did, and try again");
}

enum sandlot_status program_end_gently(const struct program *program)
{
    struct attempt attempt;

    attempt_begin(&attempt, program->call, GENTLE_MS);
    enum sandlot_status status = order_end(&attempt.call, program, true);

    if (status == SANDLOT_OK || status == SANDLOT_NOT_FOUND)
        return SANDLOT_OK;
    program_end(program);
    if (sandlot_cancelled(program->call))
        return attempt_fail(&attempt, status);
    return sandlot_fail(program->call, SANDLOT_UNAVAILABLE,
                        "the command's time is over, and it may still run, for the container engine takes no order to "
                        "end it: %s; delete the sandbox",
                        *attempt.reason ? attempt.reason : "it does not say why");
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status look(struct program *program, bool *running, int *code)
{
    const struct engine_order order = {.method = "GET", .target = http_target("/exec/{}/json", program->exec)};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_error error;
    int64_t number = SANDLOT_EXIT_UNKNOWN;
    enum sandlot_status status = engine_order(program->call, program->sandbox->docker, &order, NULL, &answer, NULL);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_boolean(answer, "Running", running, &error) ||
        !json_find_integer(answer, "ExitCode", &number, &error))
        return json_fail(program->call, "the container engine's record of a command", &error);
    *code = number >= 0 && number <= 255 ? (int)number : SANDLOT_EXIT_UNKNOWN;
    return SANDLOT_OK;
}

enum sandlot_status program_code(struct program *program, bool *running, int *code)
{
    int pause_ms = FIRST_LOOK_MS;

    for (int i = 0;; i++) {
        enum sandlot_status status = look(program, running, code);

        if (status != SANDLOT_OK || !*running || i == LOOKS)
            return status;
        status = pause_longer(program->call, "the container engine", &pause_ms, LONGEST_LOOK_MS);
        if (status != SANDLOT_OK)
            return status;
    }
}

void program_clear(struct program *program)
{
    http_upgrade_close(program->stream);
    free(program->exec);
}
