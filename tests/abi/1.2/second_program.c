/* A program that embeds Sandlot, as it was written for the library of ABI 1.2: what a sandbox may reach, and processes.
 */
#include <sandlot/sandlot.h>

#include <stdio.h>
#include <string.h>

static int failures;

static void check(bool good, const char *what, struct sandlot_error *error)
{
    if (!good || error->message) {
        failures++;
        printf("failed: %s: %s\n", what, error->message ? error->message : "another outcome");
    }
    sandlot_error_clear(error);
}

struct seen {
    char mode[16];
    char note[64];
};

static void see(void *context, const struct sandlot_network_state *state)
{
    struct seen *seen = context;

    snprintf(seen->mode, sizeof(seen->mode), "%s", state->mode ? state->mode : "none");
    snprintf(seen->note, sizeof(seen->note), "%s", state->note ? state->note : "");
}

static void use_network(struct sandlot_session *session)
{
    const struct sandlot_network_change open = {.size = sizeof(open), .mode = "open"};
    struct sandlot_error error = {0};
    struct seen seen = {0};

    check(sandlot_show_network(session, see, &seen, NULL, &error) == 0, "what it may reach", &error);
    check(strcmp(seen.mode, "off") == 0 && strcmp(seen.note, "it is only kept in mind") == 0, seen.mode, &error);
    check(sandlot_can_change_network(session) && sandlot_change_network(session, &open, &error) == 0, "a change",
          &error);
    check(sandlot_show_network(session, see, &seen, NULL, &error) == 0 && strcmp(seen.mode, "open") == 0, "after it",
          &error);
    check(!sandlot_has_network_log(session), "there is no log", &error);
}

static void use_processes(struct sandlot_session *session)
{
    const struct sandlot_start start = {.size = sizeof(start), .command = "exit 3"};
    struct sandlot_process process = {.size = sizeof(process)};
    struct sandlot_error error = {0};
    char id[SANDLOT_PROCESS_ID_SIZE];
    struct sandlot_follow follow = {.size = sizeof(follow), .id = id, .wait_ms = 60000};

    check(sandlot_start_process(session, &start, id, &error) == 0, "a process", &error);
    check(sandlot_follow_process(session, &follow, NULL, &process, &error) == 0, "its end", &error);
    check(process.state == SANDLOT_PROCESS_EXITED && process.has_exit_code && process.exit_code == 3, "its exit code",
          &error);
    sandlot_process_clear(&process);
}

int main(void)
{
    const struct sandlot_options options = {.size = sizeof(options), .no_environment_files = true};
    const struct sandlot_session_options box = {.size = sizeof(box), .provider = "second_network", .network = "off"};
    struct sandlot_error error = {0};
    struct sandlot *sandlot = sandlot_open(&options, &error);
    struct sandlot_session *session = sandlot ? sandlot_session_open(sandlot, &box, &error) : NULL;

    check(session != NULL, "opening a session", &error);
    if (session) {
        use_network(session);
        use_processes(session);
    }
    check(sandlot_session_close(session, &error) == 0, "closing the session", &error);
    sandlot_close(sandlot);
    printf("built for %s, runs with %s: %d failures\n", SANDLOT_VERSION, sandlot_version(), failures);
    return failures > 0;
}
