/* A program that embeds Sandlot, as it was written for the library of ABI 1.3: volumes, addresses of ports, jobs. */
#include <sandlot/sandlot.h>

#include <stdio.h>
#include <stdlib.h>
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

static bool see_volume(void *context, const struct sandlot_volume_state *volume)
{
    int *seen = context;

    *seen += strcmp(volume->name, "cache") == 0 && volume->has_bytes && volume->bytes == 3 && volume->writers == 1;
    return true;
}

static void use_volumes(struct sandlot *sandlot)
{
    const struct sandlot_target target = {.size = sizeof(target), .provider = "third_volumes"};
    struct sandlot_error error = {0};
    int seen = 0;

    check(sandlot_list_volumes(sandlot, &target, see_volume, &seen, &error) == 0 && seen == 1, "the volume", &error);
    check(sandlot_delete_volume(sandlot, &target, "cache", &error) == 0, "deleting it", &error);
    check(sandlot_list_volumes(sandlot, &target, see_volume, &seen, &error) == 0 && seen == 1, "it is gone", &error);
}

static void use_port(struct sandlot_session *session)
{
    struct sandlot_port_url url = {.size = sizeof(url)};
    struct sandlot_error error = {0};

    check(sandlot_port_url(session, 80, 0, &url, &error) == 0 && strcmp(url.url, "https://third.example") == 0,
          "an address", &error);
    sandlot_port_url_clear(&url);
    check(sandlot_port_url(session, 81, 0, &url, &error) < 0 && error.code == SANDLOT_CODE_NOT_SUPPORTED, "no address",
          &(struct sandlot_error){0});
    sandlot_error_clear(&error);
}

static void use_job(struct sandlot *sandlot, const char *id)
{
    const struct sandlot_target target = {.size = sizeof(target), .provider = "third_volumes"};
    struct sandlot_error error = {0};
    char *use = NULL;
    struct sandlot_job *job = sandlot_submit_snapshot(sandlot, &target, id, NULL, false, &use, &error);

    check(job && sandlot_job_wait(job, -1, &error) >= 0 && use && strcmp(use, "third") == 0, "a job", &error);
    sandlot_job_free(job);
    free(use);
}

int main(void)
{
    const struct sandlot_options options = {.size = sizeof(options), .no_environment_files = true};
    const char *const volumes[] = {"cache:/cache", NULL};
    const struct sandlot_session_options box = {.size = sizeof(box), .provider = "third_volumes", .volumes = volumes};
    struct sandlot_error error = {0};
    struct sandlot *sandlot = sandlot_open(&options, &error);
    struct sandlot_session *session = sandlot ? sandlot_session_open(sandlot, &box, &error) : NULL;

    check(session != NULL, "opening a session", &error);
    if (session) {
        use_volumes(sandlot);
        use_port(session);
        use_job(sandlot, sandlot_session_id(session));
    }
    check(sandlot_session_close(session, &error) == 0, "closing the session", &error);
    sandlot_close(sandlot);
    printf("built for %s, runs with %s: %d failures\n", SANDLOT_VERSION, sandlot_version(), failures);
    return failures > 0;
}
