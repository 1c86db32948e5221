#include "image.h"

#include "download.h"
#include "image_config.h"
#include "rootfs.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/process.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { REFERENCE_MOST = 500, WORDS = 16, CONFIG_MOST = 1024 * 1024, DIGEST_LENGTH = 64 };

static const char digest_prefix[] = "sha256:";

/* One image on its way. */
struct request {
    struct client *client;
    struct sandlot_call *call;
    const char *reference;
    char *source; /* as skopeo wants it */
    bool plain;   /* its registry is this machine's own, and may speak HTTP */
    struct download download;
};

/* ---- the reference ---- */

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static enum sandlot_status check_reference(const struct request *request)
{
    const char *at = request->reference;
    const bool fine = *at && *at != '-' && strlen(at) <= REFERENCE_MOST;

    while ((unsigned char)*at > ' ' && *at != '\x7f')
        at++;
    if (fine && !*at)
        return SANDLOT_OK;
    return sandlot_fail(request->call, SANDLOT_INVALID_ARGUMENT,
                        "image: that is no reference; name one such as debian:12, registry.example/team/app:1, "
                        "oci:FOLDER:TAG or docker-archive:FILE");
}

/* The source for skopeo, to be freed: paths are absolute, for it runs elsewhere; all else is a registry's. */
static char *source_of(const char *reference)
{
    static const char *const of_paths[] = {"oci:", "docker-archive:"};
    const char *name = begins_with(reference, "docker://") ? reference + strlen("docker://") : reference;
    char *source = NULL;

    for (size_t i = 0; i < sizeof(of_paths) / sizeof(of_paths[0]); i++)
        if (begins_with(reference, of_paths[i])) {
            const char *path = reference + strlen(of_paths[i]);
            AUTO_FREE char *here = *path == '/' ? NULL : get_current_dir_name();
            const int made = asprintf(&source, "%s%s%s%s", of_paths[i], here ? here : "", here ? "/" : "", path);

            return made < 0 ? NULL : source;
        }
    return asprintf(&source, "docker://%s", name) < 0 ? NULL : source;
}

/* Is the registry of SOURCE on this machine's loopback interface? */
static bool is_loopback(const char *source)
{
    static const char *const names[] = {"localhost", "[::1]"};

    if (!begins_with(source, "docker://"))
        return false;
    const char *host = source + strlen("docker://");
    const size_t length = strcspn(host, "/");
    const char *port = memchr(host, ':', length);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (begins_with(host, names[i]) && strchr(":/", host[strlen(names[i])]))
            return true;
    /* An address and no name that begins like one. */
    return begins_with(host, "127.") && strspn(host, "0123456789.") == (port ? (size_t)(port - host) : length);
}

/* ---- skopeo ---- */

static const char **add_word(const char **words, const char *word)
{
    *words = word;
    return words + 1;
}

/* Where this machine has no policy of signatures, every image is as good as the next. */
static const char **add_policy(const char **words, const struct request *request, char *path, size_t size)
{
    const char *home = request->call->host->environment(request->call, "HOME");

    snprintf(path, size, "%s/.config/containers/policy.json", home ? home : "");
    if (access("/etc/containers/policy.json", F_OK) < 0 && access(path, F_OK) < 0)
        words = add_word(words, "--insecure-policy");
    return words;
}

static enum sandlot_status explain(struct request *request, enum sandlot_status status)
{
    if (request->download.exceeded)
        return sandlot_fail(request->call, SANDLOT_EXHAUSTED,
                            "image: %.300s is larger than disk_mb allows; give it more with disk_mb",
                            request->reference);
    if (status == SANDLOT_UNAVAILABLE && strcasestr(request->download.attempt.reason, strerror(ENOSPC)))
        return sandlot_fail(request->call, SANDLOT_EXHAUSTED,
                            "image: %.300s could not be fetched: there is no space left in the state folder %.600s; "
                            "free some, or set XDG_STATE_HOME to a folder on a larger disk",
                            request->reference, request->client->state_path);
    if (status == SANDLOT_UNAVAILABLE)
        return sandlot_fail(
            request->call, status,
            "image: %.300s could not be fetched: %.500s; check its name, and sign in with `skopeo login` "
            "where it is not public",
            request->reference, request->download.attempt.reason);
    if (status == SANDLOT_DEPENDENCY_MISSING)
        return sandlot_fail(request->call, status, "image: %.500s; install the packages skopeo and umoci",
                            request->download.attempt.reason);
    return attempt_fail(&request->download.attempt, status);
}

/* Runs WORDS in the folder of the download. TEXT (NULL: not wanted) is to be freed. Credentials are where skopeo finds
 * them by itself, never among the words. */
static enum sandlot_status run_skopeo(struct request *request, const char *const *words, char **text)
{
    AUTO_FREE char *temporary = NULL;

    /* What it unpacks on the way counts too. */
    if (asprintf(&temporary, "TMPDIR=%s", request->download.path) < 0)
        return sandlot_fail(request->call, SANDLOT_INTERNAL, "out of memory");
    const char *const environment[] = {temporary, NULL};
    const struct process_options options = {.arguments = words,
                                            .environment = environment,
                                            .working_dir = request->download.path,
                                            .output_limit = CONFIG_MOST,
                                            .failure = SANDLOT_UNAVAILABLE};
    const enum sandlot_status status = process_read(&request->download.attempt.call, &options, text, NULL);

    return status == SANDLOT_OK ? status : explain(request, status);
}

/* `skopeo inspect` with the words of OPTIONS, ended by NULL. */
static enum sandlot_status inspect(struct request *request, const char *const *options, char **text)
{
    const char *words[WORDS] = {"skopeo"};
    char path[512];
    const char **next = add_policy(words + 1, request, path, sizeof(path));

    next = add_word(next, "inspect");
    for (; *options; options++)
        next = add_word(next, *options);
    if (request->plain)
        next = add_word(next, "--tls-verify=false");
    add_word(next, request->source);
    return run_skopeo(request, words, text);
}

/* The key of what the registry has now. */
static enum sandlot_status find_key(struct request *request, char key[ARCHIVE_KEY_SIZE])
{
    const char *const options[] = {"--no-tags", "--format", "{{.Digest}}", NULL};
    AUTO_FREE char *digest = NULL;
    const enum sandlot_status status = inspect(request, options, &digest);

    if (status != SANDLOT_OK)
        return status;
    const char *number = digest && begins_with(digest, digest_prefix) ? digest + strlen(digest_prefix) : "";

    if (strlen(number) != DIGEST_LENGTH)
        return sandlot_fail(request->call, SANDLOT_INTERNAL,
                            "image: skopeo told no digest of %.300s; is it version 1.9 or later?", request->reference);
    snprintf(key, ARCHIVE_KEY_SIZE, IMAGE_KEY "%s", number);
    return settings_archive_valid(key) ? SANDLOT_OK
                                       : sandlot_fail(request->call, SANDLOT_INTERNAL,
                                                      "image: the digest of %.300s is none", request->reference);
}

static enum sandlot_status copy(struct request *request)
{
    const char *words[WORDS] = {"skopeo"};
    char path[512];
    const char **next = add_policy(words + 1, request, path, sizeof(path));

    next = add_word(add_word(next, "copy"), "--quiet");
    if (request->plain)
        next = add_word(next, "--src-tls-verify=false");
    next = add_word(next, request->source);
    add_word(next, "oci:layout:" IMAGE_TAG);
    return run_skopeo(request, words, NULL);
}

/* ---- fetching and unpacking ---- */

/* What is left of a text that is given to a box. */
struct rest {
    const char *text;
};

static enum sandlot_status read_rest(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    struct rest *rest = source->context;
    const size_t left = strlen(rest->text);

    *length = left < capacity ? left : capacity;
    memcpy(buffer, rest->text, *length);
    rest->text += *length;
    return SANDLOT_OK;
}

static enum sandlot_status unpack(struct request *request, const char *key, const char *config, int64_t disk_mb)
{
    struct rest rest = {config};
    const struct sandlot_source source = {sizeof(source), &rest, read_rest, -1};
    AUTO_FREE char *folder = NULL;

    if (asprintf(&folder, "%s/layout", request->download.path) < 0)
        return sandlot_fail(request->call, SANDLOT_INTERNAL, "out of memory");
    const struct image_layout layout = {request->reference, key, folder, &source};

    request->call->host->progress(request->call, "unpacking image", 0, 0);
    return rootfs_unpack_image(request->client, request->call, &layout, disk_mb);
}

static enum sandlot_status fetch(struct request *request, const char *key, int64_t disk_mb)
{
    const char *const options[] = {"--config", "--raw", NULL};
    char key_afterwards[ARCHIVE_KEY_SIZE];
    AUTO_FREE char *config = NULL;

    request->call->host->log(request->call, SANDLOT_LOG_INFO,
                             "image: it is fetched and unpacked, which is done once for each version of it");
    enum sandlot_status status = copy(request);

    if (status == SANDLOT_OK)
        status = inspect(request, options, &config);
    if (status == SANDLOT_OK)
        status = find_key(request, key_afterwards);
    download_stop(&request->download);
    if (status != SANDLOT_OK)
        return status;
    if (strcmp(key, key_afterwards) != 0)
        return sandlot_fail(request->call, SANDLOT_UNAVAILABLE,
                            "image: %.300s was changed while it was fetched; try again", request->reference);
    return unpack(request, key, config, disk_mb);
}

/* The text of the file PATH, at most CONFIG_MOST bytes, to be freed; NULL: it cannot be read. */
static char *read_config(int state_fd, const char *path)
{
    AUTO_CLOSE int fd = openat(state_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *text = fd >= 0 ? malloc(CONFIG_MOST + 1) : NULL;
    size_t length = 0;
    ssize_t got = -1;

    while (text && length < CONFIG_MOST && (got = read(fd, text + length, CONFIG_MOST - length)) > 0)
        length += (size_t)got;
    if (text && got < 0) {
        free(text);
        return NULL;
    }
    if (text)
        text[length] = '\0';
    return text;
}

static enum sandlot_status read_image(const struct request *request, struct image *image)
{
    const int state_fd = request->client->state_fd;
    char path[2 * ARCHIVE_KEY_SIZE];

    snprintf(path, sizeof(path), "rootfs/%s/home/" IMAGE_CONFIG, image->key);
    AUTO_FREE char *config = read_config(state_fd, path);

    snprintf(path, sizeof(path), "rootfs/%s/upper/" IMAGE_FOLDER, image->key);
    AUTO_CLOSE int root = openat(state_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (config && root >= 0 && image_config_read(config, root, image))
        return SANDLOT_OK;
    return sandlot_fail(request->call, SANDLOT_INVALID_ARGUMENT,
                        "image: the configuration of %.300s cannot be read; is it an image of a root file system?",
                        request->reference);
}

static enum sandlot_status prepare(struct request *request, int64_t disk_mb, struct image *image)
{
    enum sandlot_status status =
        download_begin(request->client, request->call, (uint64_t)disk_mb << 20, &request->download);

    if (status == SANDLOT_OK)
        status = find_key(request, image->key);
    if (status == SANDLOT_OK && !rootfs_is_unpacked(request->client, image->key))
        status = fetch(request, image->key, disk_mb);
    download_end(&request->download);
    return status == SANDLOT_OK ? read_image(request, image) : status;
}

enum sandlot_status image_prepare(struct client *client, struct sandlot_call *call, const char *reference,
                                  int64_t disk_mb, struct image *image)
{
    struct request request = {.client = client, .call = call, .reference = reference};

    memset(image, 0, sizeof(*image));
    enum sandlot_status status = check_reference(&request);

    if (status != SANDLOT_OK)
        return status;
    request.source = source_of(reference);
    if (!request.source)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    request.plain = is_loopback(request.source);
    status = prepare(&request, disk_mb, image);
    free(request.source);
    return status;
}

void image_clear(struct image *image)
{
    free(image->environment);
    free(image->start_dir);
    free(image->shell);
    memset(image, 0, sizeof(*image));
}
