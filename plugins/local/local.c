/*
 * The provider `local`: sandboxes on this machine. What a sandbox is stands in box/; who owns it in keeper/; this is
 * the side that runs in the user's program.
 */
#include "box/box.h"
#include "changes.h"
#include "client.h"
#include "execute.h"
#include "folder.h"
#include "image.h"
#include "network_policy.h"
#include "parameters.h"
#include "port.h"
#include "rootfs.h"
#include "sandbox.h"
#include "settings.h"
#include "show.h"
#include "snapshots.h"
#include "terminal.h"
#include "volume.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sandlot/provider.h>
#include <string.h>
#include <sys/stat.h>

SANDLOT_PARAMETERS(local, LOCAL_PARAMETERS)

/* What open makes. */
struct local {
    struct client client;
    struct settings settings; /* of the parameters; its strings are the host's */
    const char *confinement;
    const char *storage;
    int64_t snapshots_mb;
    const char *show; /* an array in JSON */
    const char *image;
};

static enum sandlot_status local_open(struct sandlot_call *call, void **provider, const char *workspace,
                                      const char *rootfs, int64_t memory_mb, int64_t processes, int64_t disk_mb,
                                      int64_t open_files, double cpus, const char *confinement, const char *storage,
                                      bool fake_root, const char *show, const char *image, int64_t snapshots_mb)
{
    struct local *local = calloc(1, sizeof(*local));

    if (!local)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    local->confinement = confinement;
    local->storage = storage;
    local->snapshots_mb = snapshots_mb;
    local->show = show;
    local->image = image;
    local->settings = (struct settings){
        .workspace = (char *)(uintptr_t)workspace,
        .rootfs = (char *)(uintptr_t)rootfs,
        .memory_mb = memory_mb,
        .processes = processes,
        .disk_mb = disk_mb,
        .open_files = open_files,
        .cpus = cpus,
        .fake_root = fake_root,
    };
    enum sandlot_status status = client_init(&local->client, call);

    if (status == SANDLOT_OK) {
        *provider = local;
        return SANDLOT_OK;
    }
    client_clear(&local->client);
    free(local);
    return status;
}

static void local_close(void *provider)
{
    struct local *local = provider;

    client_clear(&local->client);
    free(local);
}

static enum sandlot_status check_numbers(struct sandlot_call *call, const struct settings *settings)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"memory_mb", settings->memory_mb},
                   {"processes", settings->processes},
                   {"disk_mb", settings->disk_mb},
                   {"open_files", settings->open_files}};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int64_t minimum = 0;
        int64_t maximum = 0;

        settings_range(numbers[i].name, &minimum, &maximum);
        if (numbers[i].value < minimum || numbers[i].value > maximum)
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                "%s = %" PRId64 " is out of range; it must be between %" PRId64 " and %" PRId64,
                                numbers[i].name, numbers[i].value, minimum, maximum);
    }
    if (!isnan(settings->cpus) && !(settings->cpus >= 0.01 && settings->cpus <= MAXIMUM_CPUS))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "cpus is out of range; it must be between 0.01 and %d",
                            MAXIMUM_CPUS);
    return SANDLOT_OK;
}

static enum sandlot_status check_confinement(struct sandlot_call *call, const char *word, const char *image,
                                             struct settings *settings)
{
    if (!word || strcmp(word, "full") == 0) {
        settings->confinement = CONFINEMENT_FULL;
        return SANDLOT_OK;
    }
    if (strcmp(word, "landlock") != 0)
        return sandlot_fail(
            call, SANDLOT_INVALID_ARGUMENT,
            "confinement = \"%.40s\" is unknown; it must be \"full\" or \"landlock\" (whether the provider runs in "
            "a process of its own is another key: isolation, with \"process\" or \"none\")",
            word);
    settings->confinement = CONFINEMENT_LANDLOCK;
    if (settings->rootfs || settings->fake_root || image)
        return sandlot_fail(
            call, SANDLOT_INVALID_ARGUMENT,
            "%s needs confinement = \"full\": \"landlock\" has no view of the files of its own; leave it out",
            image              ? "image"
            : settings->rootfs ? "rootfs"
                               : "fake_root");
    return SANDLOT_OK;
}

static enum sandlot_status check_storage(struct sandlot_call *call, const char *word, struct settings *settings)
{
    if (!word || strcmp(word, "disk") == 0)
        return SANDLOT_OK;
    if (strcmp(word, "memory") != 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "storage = \"%.40s\" is unknown; it must be \"disk\" or \"memory\"", word);
    settings->in_memory = true;
    if (settings->confinement == CONFINEMENT_FULL)
        return SANDLOT_OK;
    return sandlot_fail(
        call, SANDLOT_INVALID_ARGUMENT,
        "storage = \"memory\" needs confinement = \"full\": \"landlock\" can mount nothing; leave it out");
}

static bool is_file(const char *path)
{
    struct stat status;

    return path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static enum sandlot_status check_folder(struct sandlot_call *call, const char *name, const char *path)
{
    AUTO_CLOSE int fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;
    struct stat status;

    if (!path)
        return SANDLOT_OK;
    if (fd < 0 || fstat(fd, &status) < 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "%s: the folder %.700s cannot be opened: %s; name one that is there", name, path,
                            strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "%s: %.700s is not a folder; name one", name, path);
    if (faccessat(fd, ".", R_OK | X_OK, AT_EACCESS) < 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "%s: the folder %.700s cannot be read: %s; name one that you can read", name, path,
                            strerror(errno));
    return SANDLOT_OK;
}

/* A box that sees Sandlot's own state could speak to the keeper in its user's name, and to other boxes. */
static enum sandlot_status check_apart_from_state(struct sandlot_call *call, struct local *local, const char *name,
                                                  const char *path)
{
    enum sandlot_status status = SANDLOT_OK;
    int state_fd = path ? client_state(&local->client, call, &status) : -1;
    AUTO_CLOSE int fd = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    if (!path || state_fd < 0)
        return status;
    if (fd >= 0 && !folder_lies_within(state_fd, fd) && !folder_lies_within(fd, state_fd))
        return SANDLOT_OK;
    return sandlot_fail(
        call, SANDLOT_INVALID_ARGUMENT,
        "%s: the folder %.500s must lie apart from Sandlot's state, %.300s; name a folder below it, or set "
        "XDG_STATE_HOME to one elsewhere",
        name, path, local->client.state_path);
}

/* Checks the parameters and makes SETTINGS of them. Its strings stay the host's. */
static enum sandlot_status check_settings(struct sandlot_call *call, struct local *local, struct settings *settings)
{
    *settings = local->settings;
    enum sandlot_status status = check_numbers(call, settings);

    if (status == SANDLOT_OK)
        status = check_confinement(call, local->confinement, local->image, settings);
    if (status == SANDLOT_OK && local->image && settings->rootfs)
        status = sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                              "image and rootfs exclude each other: both are a root file system; leave one out");
    if (status == SANDLOT_OK)
        status = check_storage(call, local->storage, settings);
    if (status == SANDLOT_OK)
        status = check_folder(call, "workspace", settings->workspace);
    if (status == SANDLOT_OK)
        status = check_apart_from_state(call, local, "workspace", settings->workspace);
    if (is_file(settings->rootfs))
        return status; /* whether it is an archive turns out when it is unpacked */
    if (status == SANDLOT_OK)
        status = check_folder(call, "rootfs", settings->rootfs);
    if (status == SANDLOT_OK)
        status = check_apart_from_state(call, local, "rootfs", settings->rootfs);
    return status;
}

/* What is to be done before a new box is used, once the host can delete it. */
static enum sandlot_status equip(struct sandlot_call *call, const struct sandbox *box, const struct settings *settings)
{
    sandbox_log_limits(box, call, settings->cpus > 0);
    network_warn(box, call);
    if (settings->confinement != CONFINEMENT_LANDLOCK || !settings->workspace)
        return SANDLOT_OK;
    return sandbox_copy_workspace(box, call, settings->workspace, (uint64_t)settings->disk_mb << 20);
}

/* The keeper has made box ID, which hangs on CONNECTION: tells the host, and says to whom the box belongs. */
static enum sandlot_status take_over(struct local *local, struct sandlot_call *call, const struct settings *settings,
                                     const char *id, int connection, void **sandbox)
{
    enum sandlot_status status = SANDLOT_OK;
    AUTO_CLOSE int lease = connection;
    struct sandbox *box = sandbox_open(&local->client, call, id, &status);

    if (!box)
        return status;
    call->host->created(call, id, box->working_dir);
    status = equip(call, box, settings);
    if (status == SANDLOT_OK && settings->keep) {
        /* Only now: until the host knows the id, the box goes when this process does. */
        if (protocol_send(lease, MESSAGE_KEEP, NULL, 0, NULL, 0, sandlot_now_ms() + 1000) != PROTOCOL_OK)
            status = sandlot_fail(call, SANDLOT_UNAVAILABLE, "the keeper of local sandboxes ended; try again");
    } else if (status == SANDLOT_OK && !client_lease(&local->client, id, take_fd(&lease))) {
        status = sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    }
    if (status != SANDLOT_OK)
        sandbox_free(box);
    else
        *sandbox = box;
    return status;
}

/* Has the keeper make the box. */
static enum sandlot_status ask_keeper(struct local *local, struct sandlot_call *call, struct settings *settings,
                                      const struct sandlot_create *request, struct received *reply, int *connection)
{
    struct network_request network;
    enum sandlot_status status = network_ask(call, settings, request, &network);

    /* A fork of which nothing is known may reach what its original does. */
    settings->network = network.text ? network.text : settings->network;
    settings->credentials = network.credentials;
    AUTO_FREE char *text = status == SANDLOT_OK ? settings_write(settings) : NULL;

    if (text)
        status =
            client_ask_with(&local->client, call, MESSAGE_CREATE, text, network.secrets_fd, true, reply, connection);
    else if (status == SANDLOT_OK)
        status = sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    settings->network = settings->credentials = NULL;
    network_request_clear(&network);
    return status;
}

/* WANTED says everything, also what is shown. */
static enum sandlot_status create_judged(struct local *local, struct sandlot_call *call, const struct settings *wanted,
                                         const struct sandlot_create *request, void **sandbox)
{
    struct settings settings = *wanted;
    struct received reply = {0};
    int connection = -1;

    settings.idle_ttl_ms = request->idle_ttl_ms;
    settings.hard_ttl_ms = request->hard_ttl_ms;
    settings.keep = request->flags & SANDLOT_CREATE_KEEP;
    AUTO_FREE char *volumes = NULL;
    enum sandlot_status status = volume_judge(call, &settings, request, &volumes);

    if (status != SANDLOT_OK)
        return status;
    settings.volumes = volumes;
    snprintf(settings.run_label, sizeof(settings.run_label), "%s", request->run_label ? request->run_label : "");
    status = ask_keeper(local, call, &settings, request, &reply, &connection);
    if (status != SANDLOT_OK)
        return status;
    if (reply.header.kind == MESSAGE_CREATED) {
        status = take_over(local, call, &settings, reply.body, connection, sandbox);
    } else {
        close(connection);
        status =
            sandlot_fail(call, SANDLOT_INTERNAL, "the keeper of local sandboxes gave an answer that makes no sense");
    }
    received_clear(&reply);
    return status;
}

static enum sandlot_status create(struct local *local, struct sandlot_call *call, const struct settings *wanted,
                                  const struct sandlot_create *request, void **sandbox)
{
    struct settings settings = *wanted;
    AUTO_FREE char *show = NULL;
    const enum sandlot_status status = show_judge(&local->client, call, local->show, &show);

    settings.show = show;
    return status == SANDLOT_OK ? create_judged(local, call, &settings, request, sandbox) : status;
}

/* In /proc nothing can be made, and the host's file tools see nothing. */
static bool starts_in_proc(struct sandlot_call *call, const struct image *image)
{
    const char *path = image->start_dir;
    char text[512];

    if (!path || strncmp(path, "/proc", 5) != 0 || (path[5] && path[5] != '/'))
        return false;
    snprintf(text, sizeof(text),
             "image: its working directory %.300s lies in /proc; commands start in /workspace instead", path);
    call->host->log(call, SANDLOT_LOG_WARNING, text);
    return true;
}

/* With what the image says of who starts in it. */
static enum sandlot_status create_from_image(struct local *local, struct sandlot_call *call,
                                             const struct settings *wanted, const struct sandlot_create *request,
                                             void **sandbox)
{
    struct settings settings = *wanted;
    struct image image;
    enum sandlot_status status = image_prepare(&local->client, call, local->image, settings.disk_mb, &image);

    settings.archive = image.key;
    settings.image = (char *)(uintptr_t)local->image;
    settings.fake_root = settings.fake_root || image.root;
    settings.environment = image.environment;
    settings.shell = image.shell;
    if (!settings.workspace && !starts_in_proc(call, &image))
        settings.start_dir = image.start_dir;
    if (status == SANDLOT_OK)
        status = create(local, call, &settings, request, sandbox);
    image_clear(&image);
    return status;
}

static enum sandlot_status create_from_archive(struct local *local, struct sandlot_call *call,
                                               const struct settings *wanted, const struct sandlot_create *request,
                                               void **sandbox)
{
    struct settings settings = *wanted;
    char key[ARCHIVE_KEY_SIZE];
    const enum sandlot_status status = rootfs_unpack(&local->client, call, settings.rootfs, settings.disk_mb, key);

    settings.rootfs = NULL;
    settings.archive = key;
    return status == SANDLOT_OK ? create(local, call, &settings, request, sandbox) : status;
}

/* The snapshot decides what the box begins as; for what else it is given, such as limits, the parameters count. */
static void take_basis(struct settings *settings, const struct settings *basis)
{
    settings->workspace = basis->workspace;
    settings->rootfs = basis->rootfs;
    settings->archive = basis->archive;
    settings->image = basis->image;
    settings->layers = basis->layers;
    settings->root_layers = basis->root_layers;
    settings->start_dir = basis->start_dir;
    settings->shell = basis->shell;
    settings->environment = basis->environment;
    settings->fake_root = basis->fake_root;
    settings->base_ms = basis->base_ms;
}

static bool differs(const char *given, const char *kept)
{
    return given && (!kept || strcmp(given, kept) != 0);
}

/* What the image was called is not known of every snapshot. */
static bool other_image(const char *given, const struct settings *basis)
{
    return given && (!basis->archive || (basis->image && strcmp(given, basis->image) != 0));
}

/* Says which parameters have no effect. */
static void tell_ignored(const struct local *local, struct sandlot_call *call, const struct settings *given,
                         const struct settings *basis)
{
    const char *name = differs(given->workspace, basis->workspace) ? "workspace"
                       : differs(given->rootfs, basis->rootfs)     ? "rootfs"
                       : other_image(local->image, basis)          ? "image"
                       : given->fake_root && !basis->fake_root     ? "fake_root"
                                                                   : NULL;
    const char *kept = name && strcmp(name, "image") == 0 && basis->image ? basis->image : NULL;
    char text[512];

    if (!name)
        return;
    snprintf(text, sizeof(text), "%s: not used, because the sandbox begins as its snapshot does%s%.300s; leave it out",
             name, kept ? ", with " : "", kept ? kept : "");
    call->host->log(call, SANDLOT_LOG_WARNING, text);
}

static enum sandlot_status create_from_snapshot(struct local *local, struct sandlot_call *call,
                                                const struct settings *wanted, const struct sandlot_create *request,
                                                void **sandbox)
{
    struct settings settings = *wanted;
    struct snapshot_basis basis;

    if (settings.confinement == CONFINEMENT_LANDLOCK)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "a sandbox with confinement = \"landlock\" starts from no snapshot: nothing can be laid "
                            "over its files; use confinement = \"full\"");
    enum sandlot_status status = snapshot_find(&local->client, call, request->snapshot, &basis);

    if (status == SANDLOT_OK) {
        tell_ignored(local, call, &settings, &basis.settings);
        take_basis(&settings, &basis.settings);
        status = create(local, call, &settings, request, sandbox);
    }
    snapshot_basis_clear(&basis);
    return status;
}

static enum sandlot_status local_get_or_create(struct sandlot_call *call, void *provider,
                                               const struct sandlot_create *request, void **sandbox)
{
    struct local *local = provider;
    struct settings settings;
    enum sandlot_status status = check_settings(call, local, &settings);

    if (status != SANDLOT_OK)
        return status;
    if (request->snapshot && !request->sandbox_id)
        return create_from_snapshot(local, call, &settings, request, sandbox);
    if (!request->sandbox_id && local->image)
        return create_from_image(local, call, &settings, request, sandbox);
    if (!request->sandbox_id && is_file(settings.rootfs))
        return create_from_archive(local, call, &settings, request, sandbox);
    if (!request->sandbox_id)
        return create(local, call, &settings, request, sandbox);
    struct sandbox *found = sandbox_open(&local->client, call, request->sandbox_id, &status);

    if (found && found->working_dir)
        call->host->created(call, found->id, found->working_dir);
    *sandbox = found;
    return status;
}

static void local_release(void *provider, void *sandbox)
{
    (void)provider;
    sandbox_free(sandbox);
}

static enum sandlot_status local_delete(struct sandlot_call *call, void *provider, const char *id)
{
    struct local *local = provider;
    enum sandlot_status status = SANDLOT_OK;
    int state_fd = client_state(&local->client, call, &status);
    struct received reply;
    int connection;

    if (state_fd < 0)
        return status;
    if (sandbox_id_valid(id) && sandbox_exists(state_fd, id)) {
        status = client_ask(&local->client, call, MESSAGE_DELETE, id, true, &reply, &connection);
        if (status != SANDLOT_OK)
            return status;
        received_clear(&reply);
        close(connection);
    }
    client_release_lease(&local->client, id);
    return SANDLOT_OK;
}

static uint64_t snapshots_limit(const struct local *local)
{
    return local->snapshots_mb > 0 ? (uint64_t)local->snapshots_mb << 20 : 0;
}

/* Its id is its name: RESULT is told nothing. */
static enum sandlot_status local_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                          const struct sandlot_sink *result)
{
    struct local *local = provider;

    (void)result;
    return snapshot_make(&local->client, call, id, name, false, snapshots_limit(local));
}

static enum sandlot_status local_snapshot_with_base(struct sandlot_call *call, void *provider, const char *id,
                                                    const char *name, const struct sandlot_sink *result)
{
    struct local *local = provider;

    (void)result;
    return snapshot_make(&local->client, call, id, name, true, snapshots_limit(local));
}

static enum sandlot_status local_list_snapshots(struct sandlot_call *call, void *provider, const char *cursor,
                                                const struct sandlot_listing *listing)
{
    struct local *local = provider;

    if (cursor)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "local snapshots are listed in one page; leave the cursor "
                            "out");
    return snapshots_list(&local->client, call, listing);
}

static enum sandlot_status local_delete_snapshot(struct sandlot_call *call, void *provider, const char *name)
{
    struct local *local = provider;

    return snapshot_delete(&local->client, call, name);
}

/* The copy is as its original: parameters count for neither. */
static enum sandlot_status local_fork(struct sandlot_call *call, void *provider, const char *id,
                                      const struct sandlot_create *request)
{
    struct local *local = provider;
    struct snapshot_basis basis;
    void *sandbox = NULL;
    enum sandlot_status status = snapshot_of_fork(&local->client, call, id, snapshots_limit(local), &basis);

    if (status == SANDLOT_OK)
        status = create_judged(local, call, &basis.settings, request, &sandbox);
    const bool leaves = basis.leaves || status != SANDLOT_OK;

    snapshot_basis_clear(&basis);
    sandbox_free(sandbox);
    if (leaves)
        snapshots_sweep(&local->client, call);
    return status;
}

static enum sandlot_status add_listed(struct sandlot_call *call, const struct sandlot_listing *listing,
                                      const char *record)
{
    AUTO_FREE char *id = fields_get(record, "id");
    AUTO_FREE char *label = fields_get(record, "run_label");
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = id,
                                          .state = "running",
                                          .created_at_ms = fields_get_number(record, "created_ms"),
                                          .run_label = label && *label ? label : NULL};

    return id ? listing->add(listing, &listed) : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
}

static enum sandlot_status local_list(struct sandlot_call *call, void *provider, const char *cursor,
                                      const struct sandlot_listing *listing)
{
    struct local *local = provider;
    struct received reply;
    int fd;

    if (cursor)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "local sandboxes are listed in one page; leave the cursor out");
    enum sandlot_status status = SANDLOT_OK;
    const int state_fd = client_state(&local->client, call, &status);

    if (state_fd < 0)
        return status;
    /* Where no keeper serves there are no sandboxes; what a killed one left behind, the next one removes. */
    status = client_ask(&local->client, call, MESSAGE_LIST, "", sandbox_leaves_any(state_fd), &reply, &fd);
    AUTO_CLOSE int connection = fd;

    while (status == SANDLOT_OK && connection >= 0) {
        uint32_t kind = reply.header.kind;

        if (kind == MESSAGE_LISTED)
            status = add_listed(call, listing, reply.body);
        received_clear(&reply);
        if (kind != MESSAGE_LISTED || status != SANDLOT_OK)
            break;
        enum protocol_result result =
            protocol_receive(connection, &reply, sandlot_now_ms() + sandlot_remaining_ms(call, 10000), call->cancel_fd);

        if (result != PROTOCOL_OK)
            return client_broken(call, result, "the keeper of local sandboxes");
    }
    return status;
}

static enum sandlot_status local_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_command *command, const struct sandlot_sink *output,
                                         struct sandlot_exit *result)
{
    (void)provider;
    return execute_command(sandbox, call, command, output, result);
}

static enum sandlot_status local_open_root(struct sandlot_call *call, void *provider, void *sandbox,
                                           struct sandlot_root *root)
{
    (void)provider;
    return sandbox_root(sandbox, call, root);
}

static enum sandlot_status local_terminal(struct sandlot_call *call, void *provider, void *sandbox,
                                          const struct sandlot_terminal *terminal, struct sandlot_exit *result)
{
    (void)provider;
    return terminal_run(sandbox, call, terminal, result);
}

static enum sandlot_status local_set_network(struct sandlot_call *call, void *provider, void *sandbox,
                                             const struct sandlot_network *network)
{
    (void)provider;
    return network_change(sandbox, call, network);
}

static enum sandlot_status local_show_network(struct sandlot_call *call, void *provider, void *sandbox,
                                              const struct sandlot_network_view *view)
{
    (void)provider;
    return network_show(sandbox, call, view);
}

static enum sandlot_status local_network_log(struct sandlot_call *call, void *provider, void *sandbox, uint64_t after,
                                             const struct sandlot_network_log *log)
{
    (void)provider;
    return network_log(sandbox, call, after, log);
}

static enum sandlot_status local_connect_port(struct sandlot_call *call, void *provider, void *sandbox,
                                              const struct sandlot_connection *connection)
{
    (void)provider;
    return port_connect(sandbox, call, connection);
}

static enum sandlot_status local_changes(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_changes *changes)
{
    (void)provider;
    return changes_tell(sandbox, call, changes);
}

static enum sandlot_status local_list_volumes(struct sandlot_call *call, void *provider, const char *cursor,
                                              const struct sandlot_volume_listing *listing)
{
    struct local *local = provider;

    return volume_list(&local->client, call, cursor, listing);
}

static enum sandlot_status local_delete_volume(struct sandlot_call *call, void *provider, const char *name)
{
    struct local *local = provider;

    return volume_delete(&local->client, call, name);
}

static const struct sandlot_provider local_provider = {
    SANDLOT_TABLE(local),
    .flags = SANDLOT_STREAMS_OUTPUT | SANDLOT_ENDS_WITH_POWER,
    .close = local_close,
    .get_or_create = local_get_or_create,
    .release = local_release,
    .delete_sandbox = local_delete,
    .list = local_list,
    .snapshot = local_snapshot,
    .snapshot_with_base = local_snapshot_with_base,
    .list_snapshots = local_list_snapshots,
    .delete_snapshot = local_delete_snapshot,
    .fork = local_fork,
    .execute = local_execute,
    .open_root = local_open_root,
    .terminal = local_terminal,
    .set_network = local_set_network,
    .show_network = local_show_network,
    .network_log = local_network_log,
    .connect_port = local_connect_port,
    .changes = local_changes,
    .list_volumes = local_list_volumes,
    .delete_volume = local_delete_volume,
};

#define LOCAL_METADATA(M)                                                                              \
    M(description, "Sandboxes on this machine: no cloud, no key")                                      \
    M(package, "sandlot")                                                                              \
    M(working_dir, "/workspace")                                                                       \
    M(capabilities, "list files streaming terminal ports changes snapshot snapshot-base fork volumes") \
    M(snapshot_name, "yes")                                                                            \
    M(capabilities, "network-off network-open network-hosts network-ports network-cidrs")              \
    M(capabilities, "network-credentials network-live network-log")                                    \
    M(confined, "no")                                                                                  \
    M(environment, "XDG_STATE_HOME XDG_CONFIG_HOME HOME")                                              \
    M(inside, "You are the user sandlot (uid 1000), not root, and cannot become root.")                \
    M(inside, "The system is the Linux of the user's machine, with its programs, read-only.")          \
    M(inside, "You may write in the working directory, $HOME, /tmp and new folders in /.")             \
    M(inside_network, "There is no network but the sandbox's own loopback. The user can allow more.")  \
    M(inside_unless, "rootfs image confinement fake_root")
SANDLOT_ENTRY_POINT(local, LOCAL_METADATA, LOCAL_PARAMETERS);
