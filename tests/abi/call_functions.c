/*
 * Loads a provider as the host does and calls the functions that no command of the command line reaches.
 *
 *   call_functions FILE SYMBOL ISOLATION WORKER
 *
 * FILE is 1.0/first_everything.c, built with whatever header; WORKER is the program for ISOLATION "process".
 */
#include "loader/loader.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct provider *provider;
    struct environment *environment;
    char id[128]; /* that the provider told last */
} scene;

static void created(void *context, const char *id, const char *working_dir)
{
    (void)context;
    (void)working_dir;
    snprintf(scene.id, sizeof(scene.id), "%s", id);
}

/* One call, from its beginning to a line that tells its outcome. */
#define CALL(name, ...)                                                                         \
    do {                                                                                        \
        struct host_call host_call;                                                             \
                                                                                                \
        host_call_init(&host_call, "abi", scene.environment, sandlot_now_ms() + 20000, -1);     \
        host_call.created = created;                                                            \
        enum sandlot_status status =                                                            \
            scene.provider->table.name(&host_call.call, scene.provider->instance, __VA_ARGS__); \
        printf("%s %d%s%s\n", #name, (int)status, host_call.message ? " " : "",                 \
               host_call.message ? host_call.message : "");                                     \
        host_call_clear(&host_call);                                                            \
    } while (0)

static enum sandlot_status add(const struct sandlot_listing *listing, const struct sandlot_listed *listed)
{
    (void)listing;
    printf("listed %s %s %" PRId64 " %s\n", listed->id, listed->state, listed->created_at_ms,
           listed->run_label ? listed->run_label : "-");
    return SANDLOT_OK;
}

static void next(const struct sandlot_listing *listing, const char *cursor)
{
    (void)listing;
    printf("next %s\n", cursor);
}

static enum sandlot_status print(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink;
    printf("result %.*s\n", (int)length, (const char *)bytes);
    return SANDLOT_OK;
}

static void call_all(void)
{
    const struct sandlot_label label = {"sandlot", "abi-1"};
    struct sandlot_create request = {
        .size = sizeof(request), .run_label = label.value, .labels = &label, .label_count = 1};
    const struct sandlot_listing listing = {.size = sizeof(listing), .add = add, .next = next};
    const struct sandlot_sink sink = {.size = sizeof(sink), .write = print};
    void *box = NULL;

    CALL(get_or_create, &request, &box);
    printf("created %s\n", scene.id);
    CALL(ready, box);
    CALL(ready, box);
    CALL(pause, "abi-1");
    CALL(resume, "abi-1");
    CALL(resume, "abi-1");
    CALL(snapshot, "abi-1", "abi", &sink);
    CALL(list_snapshots, NULL, &listing);
    CALL(list_snapshots, "snapshot-abi", &listing);
    request.run_label = "abi-2";
    CALL(fork, "abi-1", &request);
    printf("created %s\n", scene.id);
    CALL(list, NULL, &listing);
    CALL(list, "abi-1", &listing);
    CALL(fork, "nothing", &request);
    CALL(delete_snapshot, "abi");
    CALL(list_snapshots, NULL, &listing);
    CALL(delete_sandbox, "abi-2");
    CALL(delete_sandbox, "abi-1");
    scene.provider->table.release(scene.provider->instance, box);
}

int main(int count, char **arguments)
{
    if (count != 5)
        return 2;
    struct entry_points points = {0};
    struct sandlot_error error = {0};
    AUTO_FREE char *problem = NULL;
    AUTO_CLOSE int fd = open(arguments[1], O_RDONLY | O_CLOEXEC);

    if (fd < 0 || entry_points_read(fd, &points, &problem) != ENTRY_POINTS_FOUND)
        return 2;
    struct config_provider config = {.name = arguments[2], .class_path = arguments[1], .isolation = arguments[3]};
    const struct registry_entry entry = {.name = arguments[2],
                                         .source = REGISTRY_CONFIG,
                                         .config = &config,
                                         .path = arguments[1],
                                         .symbol = arguments[2],
                                         .winner = true,
                                         .working_dir = "/",
                                         .supports_sandbox_id = true,
                                         .note = points.items[0]};

    scene.environment = environment_load(true);
    worker_use_program(arguments[4]);
    scene.provider = provider_load(&entry, scene.environment, NULL, NULL, false, &error);
    if (scene.provider)
        call_all();
    else
        fprintf(stderr, "%s\n", error.message);
    int status = scene.provider ? 0 : 1;

    provider_unload(scene.provider);
    sandlot_error_clear(&error);
    environment_free(scene.environment);
    entry_points_clear(&points);
    return status;
}
