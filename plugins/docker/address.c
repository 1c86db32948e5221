#include "address.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/digest.h>
#include <sandlot/sdk/json.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_FILE = 4 << 20, LONGEST_PEM = 256 << 10 };

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory to look for a container engine; free some");
}

static const char *variable(struct sandlot_call *call, const char *name)
{
    return call->host->environment(call, name);
}

__attribute__((format(printf, 1, 2))) static char *text(const char *format, ...)
{
    va_list arguments;
    char *made = NULL;

    va_start(arguments, format);
    if (vasprintf(&made, format, arguments) < 0)
        made = NULL;
    va_end(arguments);
    return made;
}

/* ---- docker's files ---------------------------------------------------------------------------------------------- */

char *address_config_folder(struct sandlot_call *call)
{
    const char *folder = variable(call, "DOCKER_CONFIG");
    const char *home = variable(call, "HOME");

    return folder ? strdup(folder) : text("%s/.docker", home ? home : "");
}

static struct json_object *read_document(const char *path)
{
    FILE *file = fopen(path, "re");
    AUTO_FREE char *bytes = malloc(LONGEST_FILE);
    size_t length = file && bytes ? fread(bytes, 1, LONGEST_FILE, file) : 0;

    if (file)
        fclose(file);
    return length > 0 ? json_read_document(bytes, length, NULL) : NULL;
}

struct json_object *address_config(struct sandlot_call *call)
{
    AUTO_FREE char *folder = address_config_folder(call);
    AUTO_FREE char *path = folder ? text("%s/config.json", folder) : NULL;

    return path ? read_document(path) : NULL;
}

/* What is in the file NAME in FOLDER if it is there, to be freed. */
static char *content_of(const char *folder, const char *name)
{
    AUTO_FREE char *path = text("%s/%s", folder, name);
    FILE *file = path ? fopen(path, "re") : NULL;
    char *content = file ? calloc(1, LONGEST_PEM + 1) : NULL;
    size_t length = content ? fread(content, 1, LONGEST_PEM, file) : 0;

    if (file)
        fclose(file);
    if (length > 0)
        return content;
    free(content);
    return NULL;
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static enum sandlot_status bad_address(struct sandlot_call *call, const char *said)
{
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                        "\"%.200s\" is no address of a container engine; write unix:///path, tcp://host:port or "
                        "ssh://user@host (parameter base_url, or DOCKER_HOST)",
                        said);
}

static enum sandlot_status check_socket(struct sandlot_call *call, const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                            "there is no container engine at %.200s (%s); start it, or set DOCKER_HOST to where it is",
                            path, strerror(errno));
    if (access(path, R_OK | W_OK) != 0)
        return sandlot_fail(call, SANDLOT_AUTH,
                            "you may not use the container engine at %.200s (%s); join its group, which is as good as "
                            "being root, or use a rootless engine: systemctl --user start podman.socket",
                            path, strerror(errno));
    return SANDLOT_OK;
}

static enum sandlot_status use_socket(struct sandlot_call *call, struct address *address, const char *path)
{
    if (*path != '/')
        return bad_address(call, address->said);
    address->socket = strdup(path);
    address->base_url = strdup("http://docker");
    return address->socket && address->base_url ? check_socket(call, path) : no_memory(call);
}

/* The words after "--" of ssh are one host: nothing in them may be an option. */
static enum sandlot_status use_ssh(struct sandlot_call *call, struct address *address, const char *rest)
{
    size_t authority = strcspn(rest, "/");

    if (authority == 0 || *rest == '-' || strpbrk(rest, "?#") || memchr(rest, ' ', authority))
        return bad_address(call, address->said);
    const char *at = memchr(rest, '@', authority);

    if (at && memchr(rest, ':', (size_t)(at - rest)))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the address of the container engine has a password, which ssh does not take; use a key");
    address->ssh = strdup(rest);
    address->base_url = strdup("http://127.0.0.1"); /* of which libcurl looks nothing up */
    return address->ssh && address->base_url ? SANDLOT_OK : no_memory(call);
}

static bool wants_tls(struct sandlot_call *call)
{
    return variable(call, "DOCKER_TLS_VERIFY") || variable(call, "DOCKER_TLS") || variable(call, "DOCKER_CERT_PATH");
}

/* The port that docker uses where none is said in AUTHORITY, of LENGTH bytes, with its colon. */
static const char *usual_port(const struct address *address, const char *authority, size_t length, bool tls)
{
    const char *bracket = memrchr(authority, ']', length);
    const char *host = bracket ? bracket : authority;

    bool http = strncmp(address->said, "http://", 7) == 0 || strncmp(address->said, "https://", 8) == 0;

    if (http || memchr(host, ':', length - (size_t)(host - authority)))
        return "";
    return tls ? ":2376" : ":2375";
}

/* FOLDER: of the files for TLS; NULL: the usual one, if TLS is wanted. */
static enum sandlot_status use_tcp(struct sandlot_call *call, struct address *address, const char *rest, bool tls,
                                   const char *folder)
{
    AUTO_FREE char *usual = folder ? NULL : address_config_folder(call);
    const char *said = variable(call, "DOCKER_CERT_PATH");
    size_t authority = strcspn(rest, "/");

    tls = tls || folder || wants_tls(call);
    if (authority == 0 || memchr(rest, '@', authority))
        return bad_address(call, address->said);
    folder = folder ? folder : said ? said : usual;
    address->base_url = text("%s://%s%.*s%s%s", tls ? "https" : "http", *rest == ':' ? "localhost" : "", (int)authority,
                             rest, usual_port(address, rest, authority, tls), rest + authority);
    if (tls && folder) {
        address->ca = content_of(folder, "ca.pem");
        address->certificate = content_of(folder, "cert.pem");
        address->key = content_of(folder, "key.pem");
    }
    return address->base_url ? SANDLOT_OK : no_memory(call);
}

static enum sandlot_status use(struct sandlot_call *call, struct address *address, const char *said, const char *folder)
{
    const char *rest = strstr(said, "://");
    size_t scheme = rest ? (size_t)(rest - said) : 0;

    address->said = strdup(said);
    if (!address->said)
        return no_memory(call);
    if (!rest)
        return *said == '/' ? use_socket(call, address, said) : use_tcp(call, address, said, false, folder);
    rest += 3;
    if (scheme == 4 && strncmp(said, "unix", 4) == 0)
        return use_socket(call, address, rest);
    if (scheme == 3 && strncmp(said, "ssh", 3) == 0)
        return use_ssh(call, address, rest);
    if ((scheme == 3 && strncmp(said, "tcp", 3) == 0) || (scheme == 4 && strncmp(said, "http", 4) == 0))
        return use_tcp(call, address, rest, false, folder);
    if (scheme == 5 && strncmp(said, "https", 5) == 0)
        return use_tcp(call, address, rest, true, folder);
    return bad_address(call, said);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

/* Contexts lie in folders that are called by the digest of their names. */
static enum sandlot_status read_context(struct sandlot_call *call, const char *name, const char *folder,
                                        struct address *address)
{
    char digits[DIGEST_SIZE];
    const char *host = NULL;
    bool unverified = false;

    if (!digest_of(name, strlen(name), digits))
        return no_memory(call);
    AUTO_FREE char *path = text("%s/contexts/meta/%s/meta.json", folder, digits);
    AUTO_FREE char *files = text("%s/contexts/tls/%s/docker", folder, digits);
    AUTO_DOCUMENT struct json_object *document = path ? read_document(path) : NULL;

    if (!document || !json_read_string(document, "Endpoints.docker.Host", &host, NULL))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "there is no context \"%.100s\" of docker with an address in %.200s; see docker context ls",
                            name, folder);
    json_find_boolean(document, "Endpoints.docker.SkipTLSVerify", &unverified, NULL);
    if (unverified)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the context \"%.100s\" of docker wants TLS without a check of who answers, which Sandlot "
                            "does not do; give it the engine's ca.pem",
                            name);
    return use(call, address, host, files && access(files, F_OK) == 0 ? files : NULL);
}

static enum sandlot_status use_context(struct sandlot_call *call, const char *name, struct address *address)
{
    AUTO_FREE char *folder = address_config_folder(call);

    return folder ? read_context(call, name, folder, address) : no_memory(call);
}

/* ---- the usual sockets ------------------------------------------------------------------------------------------- */

static bool usable(const char *path)
{
    return access(path, R_OK | W_OK) == 0;
}

/* PATHS: where engines listen, in the order in which they are looked for; each to be freed. */
static void usual_sockets(struct sandlot_call *call, char *paths[4])
{
    const char *runtime = variable(call, "XDG_RUNTIME_DIR");
    AUTO_FREE char *own = runtime ? strdup(runtime) : text("/run/user/%u", (unsigned)getuid());

    paths[0] = strdup("/var/run/docker.sock");
    paths[1] = own ? text("%s/docker.sock", own) : NULL;
    paths[2] = own ? text("%s/podman/podman.sock", own) : NULL;
    paths[3] = strdup("/run/podman/podman.sock");
}

static enum sandlot_status use_usual(struct sandlot_call *call, struct address *address)
{
    char *paths[4];
    const char *found = NULL;
    bool closed = false;

    usual_sockets(call, paths);
    for (size_t i = 0; i < 4; i++) {
        closed = closed || (paths[i] && access(paths[i], F_OK) == 0);
        if (!found && paths[i] && usable(paths[i]))
            found = paths[i];
    }
    enum sandlot_status status = SANDLOT_OK;

    if (found || closed)
        status = use(call, address, found ? found : "/var/run/docker.sock", NULL);
    else
        status = sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                              "no container engine was found; start one (systemctl --user start podman.socket, or "
                              "systemctl start docker), or set DOCKER_HOST to where it is");
    for (size_t i = 0; i < 4; i++)
        free(paths[i]);
    return status;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* What docker's configuration says, and what it does not say. PARAMETER: the context that one names, NULL: none. */
static enum sandlot_status use_configured(struct sandlot_call *call, const char *parameter, struct address *address)
{
    AUTO_DOCUMENT struct json_object *config = address_config(call);
    const char *named = parameter ? parameter : variable(call, "DOCKER_CONTEXT");
    const char *podman = variable(call, "CONTAINER_HOST");

    if (!named && config)
        json_find_string(config, "currentContext", &named, NULL);
    if (named && *named && strcmp(named, "default") != 0)
        return use_context(call, named, address);
    return podman ? use(call, address, podman, NULL) : use_usual(call, address);
}

enum sandlot_status address_find(struct sandlot_call *call, const struct parameters *parameters,
                                 struct address *address)
{
    const char *host = variable(call, "DOCKER_HOST");
    const char *context = parameter_is_said(parameters->context) ? parameters->context : NULL;
    const char *folder = parameter_is_said(parameters->cert_path) ? parameters->cert_path : NULL;

    *address = (struct address){0};
    if (parameter_is_said(parameters->base_url))
        return use(call, address, parameters->base_url, folder);
    if (host && (!context || strcmp(context, "default") == 0))
        return use(call, address, host, folder);
    return use_configured(call, context, address);
}

void address_clear(struct address *address)
{
    free(address->said);
    free(address->base_url);
    free(address->socket);
    free(address->ssh);
    free(address->ca);
    free(address->certificate);
    if (address->key)
        explicit_bzero(address->key, strlen(address->key));
    free(address->key);
    *address = (struct address){0};
}
