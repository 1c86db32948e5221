#include "show.h"

#include "box/box.h"
#include "folder.h"
#include "settings.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_PERSON = 1000, NOBODY = 65534, HOMES = 2, PASSWD_LINE = 4096 };

/*
 * What holds keys, seen from a home: folders, and files whose folder is then not shown as a whole. Those that count
 * anywhere are so named in other homes and in copies of homes too.
 */
static const struct keys {
    const char *path;
    bool anywhere;
} keys[] = {
    {".ssh", true},
    {".aws", true},
    {".gnupg", true},
    {".kube", true},
    {".azure", true},
    {".netrc", true},
    {".git-credentials", true},
    {".password-store", true},
    {".config/sandlot", true},
    {".config/gcloud", true},
    {".config/gh", true},
    {".config/op", true},
    {".config/rclone", true},
    {".config/git/credentials", true},
    {".config/containers", false},
    {".config/google-chrome", false},
    {".config/chromium", false},
    {".config/composer/auth.json", false},
    {".docker", false},
    {".mozilla", false},
    {".thunderbird", false},
    {".claude", false},
    {".codex", false},
    {".local/share/keyrings", false},
    {".local/state/sandlot", true},
    {".npmrc", false},
    {".pypirc", false},
    {".pgpass", false},
    {".my.cnf", false},
    {".vault-token", false},
    {".terraform.d", false},
    {".cargo/credentials", false},
    {".cargo/credentials.toml", false},
    {".gem/credentials", false},
    {".m2/settings.xml", false},
    {".m2/settings-security.xml", false},
    {".gradle/gradle.properties", false},
    {".composer/auth.json", false},
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

/* What is the kernel's, or programs', and no files. */
static const char *const live[] = {"/proc", "/sys", "/dev", "/run"};

static const char name_below[] = "name the folders below it that are needed (none of them may hold keys)";

/* What a box has of its own under the same name. */
static const struct own {
    const char *path;
    const char *advice;
} own[] = {{"/", name_below},        {"/etc", name_below},
           {"/var", name_below},     {"/tmp", name_below},
           {"/var/tmp", name_below}, {"/home", "name the folders that are needed, of your own home alone"},
           {BOX_HOME, name_below},   {BOX_WORKSPACE, "say workspace= for what a box works on"}};

/* Judging one folder. */
struct judge {
    struct client *client;
    struct sandlot_call *call;
    const char *homes[HOMES]; /* the user's own: that of the environment, and the machine's; NULL: there is none */
    char passwd[PASSWD_LINE]; /* what the second lies in */
    char place[PATH_MAX];     /* as it was asked for, absolute */
    char real[PATH_MAX];
    int fd;
};

static enum sandlot_status refuse(const struct judge *judge, const char *why, const char *what, const char *advice)
{
    return sandlot_fail(judge->call, SANDLOT_INVALID_ARGUMENT, "show: the folder %.300s %s%.300s; %s", judge->place,
                        why, what, advice);
}

/* Is PATH the folder OUTER, or does it begin with that? */
static bool begins_with(const char *path, const char *outer)
{
    const size_t length = strlen(outer);

    return strncmp(path, outer, length) == 0 && (!path[length] || path[length] == '/');
}

/* ---- the path as it was asked for ---- */

/* Adds the names of PATH to the place, each behind one "/". False if there is no room, or one leads upwards. */
static bool add_names(struct judge *judge, const char *path)
{
    size_t used = strlen(judge->place);

    for (const char *at = path; *(at += strspn(at, "/"));) {
        const size_t length = strcspn(at, "/");
        const bool is_dot = length == 1 && *at == '.';

        if (length == 2 && strncmp(at, "..", 2) == 0)
            return false;
        if (used + length + 2 > sizeof(judge->place))
            return false;
        if (!is_dot)
            used += (size_t)sprintf(judge->place + used, "/%.*s", (int)length, at);
        at += length;
    }
    return true;
}

static bool has_controls(const char *path)
{
    for (; *path; path++)
        if ((unsigned char)*path < ' ' || *path == '\x7f')
            return true;
    return false;
}

static enum sandlot_status take_place(struct judge *judge, const char *path)
{
    const bool in_home = *path == '~' && (!path[1] || path[1] == '/');

    judge->place[0] = '\0';
    if (has_controls(path))
        return sandlot_fail(judge->call, SANDLOT_INVALID_ARGUMENT,
                            "show: a path holds control characters; rename that folder, or leave it out");
    if ((!in_home && *path != '/') || (in_home && !judge->homes[0]))
        return sandlot_fail(judge->call, SANDLOT_INVALID_ARGUMENT,
                            "show: \"%.500s\" is no absolute path; begin it with \"/\" or \"~/\"", path);
    if (!add_names(judge, in_home ? judge->homes[0] : "") || !add_names(judge, path + in_home))
        return sandlot_fail(judge->call, SANDLOT_INVALID_ARGUMENT,
                            "show: \"%.500s\" is too long, or goes upwards by \"..\"; write the path without", path);
    if (!judge->place[0])
        strcpy(judge->place, "/");
    return SANDLOT_OK;
}

/* ---- what was opened ---- */

static enum sandlot_status open_folder(struct judge *judge)
{
    char link[64];
    struct stat status;

    judge->fd = open(judge->place, O_PATH | O_CLOEXEC);
    if (judge->fd < 0 || fstat(judge->fd, &status) < 0)
        return refuse(judge, "cannot be opened: ", strerror(errno), "name one that is there, or leave it out");
    if (!S_ISDIR(status.st_mode))
        return refuse(judge, "is no folder", "", "name the folder that it lies in");
    snprintf(link, sizeof(link), "/proc/self/fd/%d", judge->fd);
    const ssize_t length = readlink(link, judge->real, sizeof(judge->real) - 1);

    judge->real[length > 0 ? length : 0] = '\0';
    return judge->real[0] == '/' && !has_controls(judge->real)
               ? SANDLOT_OK
               : refuse(judge, "has no path that can be shown", "", "is /proc mounted, and the folder there?");
}

/* ---- what is never shown ---- */

static enum sandlot_status refuse_live(const struct judge *judge)
{
    for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++)
        if (begins_with(judge->real, live[i]) || begins_with(judge->place, live[i]))
            return refuse(judge, "lies in ", live[i],
                          "leave it out: no box is shown devices, sockets and the kernel's own entries");
    return SANDLOT_OK;
}

/* By its names, and not only by what it is: a bind mount of a home is one too. */
static enum sandlot_status refuse_own(const struct judge *judge)
{
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(judge->place, own[i].path) == 0 || strcmp(judge->real, own[i].path) == 0)
            return refuse(judge, "is one that a box has of its own", "", own[i].advice);
    if (begins_with(judge->place, BOX_WORKSPACE))
        return refuse(judge, "lies in the box's own " BOX_WORKSPACE, "", "say workspace= for what a box works on");
    return SANDLOT_OK;
}

/* Is the user's own home in the folder, or the folder in one of the user's own? */
static enum sandlot_status look_at_own_homes(const struct judge *judge, bool *inside)
{
    for (size_t i = 0; i < HOMES; i++) {
        AUTO_CLOSE int home = judge->homes[i] ? folder_of(judge->homes[i]) : -1;

        if (home >= 0 && folder_lies_within(home, judge->fd))
            return refuse(judge, "is or holds a home as a whole, ", judge->homes[i],
                          "name the folders below that home that are needed (none of them may hold keys)");
        *inside = *inside || (home >= 0 && folder_lies_within(judge->fd, home));
    }
    return SANDLOT_OK;
}

static bool is_own(const struct judge *judge, int home_fd)
{
    for (size_t i = 0; i < HOMES; i++) {
        AUTO_CLOSE int own_home = judge->homes[i] ? folder_of(judge->homes[i]) : -1;

        if (own_home >= 0 && folder_lies_within(own_home, home_fd) && folder_lies_within(home_fd, own_home))
            return true;
    }
    return false;
}

static enum sandlot_status refuse_home(const struct judge *judge, const char *path)
{
    AUTO_CLOSE int home = strcmp(path, "/") == 0 ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (home < 0 || is_own(judge, home) ||
        (!folder_lies_within(judge->fd, home) && !folder_lies_within(home, judge->fd)))
        return SANDLOT_OK;
    return refuse(judge, "is, holds or lies in the home of others, ", path,
                  "copy what is needed into a folder of yours and name that");
}

/* Read directly: name service modules know more users than a folder can be compared with. Theirs lie in /home. */
static enum sandlot_status refuse_other_homes(const struct judge *judge)
{
    FILE *users = fopen("/etc/passwd", "re");
    char text[PASSWD_LINE];
    struct passwd entry = {0};
    struct passwd *found = NULL;
    enum sandlot_status status = refuse_home(judge, "/home");

    while (users && status == SANDLOT_OK && fgetpwent_r(users, &entry, text, sizeof(text), &found) == 0)
        if (entry.pw_uid == 0 || (entry.pw_uid >= FIRST_PERSON && entry.pw_uid != NOBODY))
            status = refuse_home(judge, entry.pw_dir);
    if (users)
        fclose(users);
    return status;
}

/* Does PATH hold the names of KEY, one after the other? */
static bool has_names(const char *path, const char *key)
{
    const size_t length = strlen(key);

    for (const char *at = strstr(path, key); at; at = strstr(at + 1, key))
        if (at > path && at[-1] == '/' && (!at[length] || at[length] == '/'))
            return true;
    return false;
}

static enum sandlot_status refuse_among_keys(const struct judge *judge, const char *key)
{
    return refuse(judge, "keeps keys, or lies in what does: ", key,
                  "leave it out; if the box needs a key, upload one that was made for it");
}

static enum sandlot_status refuse_with_keys(const struct judge *judge, const char *key)
{
    return refuse(judge, "holds what keeps keys: ", key, "name the other folders in it that are needed");
}

/* Keys where they are known to be, in HOME; PATH is where HOME has them. */
static enum sandlot_status refuse_keys_of(const struct judge *judge, const char *home, const char *path)
{
    char at[PATH_MAX];
    struct stat status;

    if (snprintf(at, sizeof(at), "%s/%s", home, path) >= (int)sizeof(at) || stat(at, &status) < 0)
        return SANDLOT_OK;
    AUTO_CLOSE int folder = folder_of(at);

    if (S_ISDIR(status.st_mode) && folder_lies_within(judge->fd, folder))
        return refuse_among_keys(judge, at);
    return folder_lies_within(folder, judge->fd) ? refuse_with_keys(judge, at) : SANDLOT_OK;
}

static enum sandlot_status refuse_one(const struct judge *judge, const struct keys *key)
{
    static const char config[] = ".config/";
    const char *config_home = judge->call->host->environment(judge->call, "XDG_CONFIG_HOME");
    enum sandlot_status status = SANDLOT_OK;

    if (key->anywhere && (has_names(judge->real, key->path) || has_names(judge->place, key->path)))
        return refuse_among_keys(judge, key->path);
    if (key->anywhere && faccessat(judge->fd, key->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return refuse_with_keys(judge, key->path);
    for (size_t i = 0; i < HOMES && status == SANDLOT_OK; i++)
        if (judge->homes[i])
            status = refuse_keys_of(judge, judge->homes[i], key->path);
    if (status == SANDLOT_OK && config_home && strncmp(key->path, config, strlen(config)) == 0)
        status = refuse_keys_of(judge, config_home, key->path + strlen(config));
    return status;
}

/* A box that sees Sandlot's own state could speak to the keeper in its user's name, and to other boxes. */
static enum sandlot_status refuse_state(const struct judge *judge)
{
    enum sandlot_status status = SANDLOT_OK;
    const int state = client_state(judge->client, judge->call, &status);

    if (state < 0)
        return status;
    if (folder_lies_within(judge->fd, state))
        return refuse_among_keys(judge, judge->client->state_path);
    return folder_lies_within(state, judge->fd) ? refuse_with_keys(judge, judge->client->state_path) : SANDLOT_OK;
}

static enum sandlot_status check_readable(const struct judge *judge)
{
    struct stat status;

    if (faccessat(judge->fd, ".", R_OK | X_OK, AT_EACCESS) < 0 || fstat(judge->fd, &status) < 0)
        return refuse(judge, "cannot be read: ", strerror(errno), "name one that you can read");
    /* A box of root is another user, and nothing is shown to it under another owner. */
    if (geteuid() == 0 && (status.st_mode & 0005) != 0005)
        return refuse(judge, "is closed to other users, and so to boxes of root", "",
                      "open it with chmod o+rx, or run Sandlot as an ordinary user");
    return SANDLOT_OK;
}

/* Judges the folder that is open. */
static enum sandlot_status judge_folder(const struct judge *judge)
{
    bool in_own_home = false;
    enum sandlot_status status = refuse_live(judge);

    if (status == SANDLOT_OK)
        status = refuse_own(judge);
    if (status == SANDLOT_OK)
        status = look_at_own_homes(judge, &in_own_home);
    for (size_t i = 0; i < KEYS && status == SANDLOT_OK; i++)
        status = refuse_one(judge, &keys[i]);
    if (status == SANDLOT_OK)
        status = refuse_state(judge);
    if (status == SANDLOT_OK && !in_own_home)
        status = refuse_other_homes(judge);
    return status == SANDLOT_OK ? check_readable(judge) : status;
}

/* ---- the list ---- */

static enum sandlot_status add(struct judge *judge, char **list)
{
    struct stat status;

    if (fstat(judge->fd, &status) == 0) {
        const struct shown shown = {judge->place, judge->real, status.st_dev, status.st_ino};

        if (settings_add_shown(list, &shown))
            return SANDLOT_OK;
    }
    return sandlot_fail(judge->call, SANDLOT_INTERNAL, "out of memory");
}

static enum sandlot_status judge_path(struct judge *judge, const char *path, char **list)
{
    enum sandlot_status status = take_place(judge, path);

    if (status != SANDLOT_OK)
        return status;
    status = open_folder(judge);
    AUTO_CLOSE int fd = judge->fd;

    if (status == SANDLOT_OK)
        status = judge_folder(judge);
    return status == SANDLOT_OK ? add(judge, list) : status;
}

/* The home of the environment may be another one than the machine's: the user's keys are in both. */
static void find_homes(struct judge *judge)
{
    struct passwd entry;
    struct passwd *found = NULL;
    const char *home = judge->call->host->environment(judge->call, "HOME");

    if (home && *home == '/')
        judge->homes[0] = home;
    if (getpwuid_r(geteuid(), &entry, judge->passwd, sizeof(judge->passwd), &found) == 0 && found &&
        *found->pw_dir == '/' && found->pw_dir[1])
        judge->homes[judge->homes[0] ? 1 : 0] = found->pw_dir;
}

/* What is no string as JSON, which is no absolute path. */
static const char *text_of(struct json_object *path)
{
    return path ? json_object_get_string(path) : "null";
}

static int compare_paths(const void *left, const void *right)
{
    struct json_object *const *one = left;
    struct json_object *const *other = right;

    return strcmp(text_of(*one), text_of(*other));
}

enum sandlot_status show_judge(struct client *client, struct sandlot_call *call, const char *json, char **list)
{
    struct judge judge = {.client = client, .call = call, .fd = -1};
    struct json_object *paths = json && *json ? json_tokener_parse(json) : NULL;
    const size_t count = json_object_is_type(paths, json_type_array) ? json_object_array_length(paths) : 0;
    enum sandlot_status status = SANDLOT_OK;

    *list = NULL;
    if (count > 0) /* a box that is shown none need not wait for the lookup of its user */
        find_homes(&judge);
    if (count > SHOWN_MOST)
        status = sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "show: %zu folders are too many; name at most %d", count,
                              SHOWN_MOST);
    if (count > 1)
        json_object_array_sort(paths, compare_paths);
    for (size_t i = 0; i < count && status == SANDLOT_OK; i++)
        status = judge_path(&judge, text_of(json_object_array_get_idx(paths, i)), list);
    json_object_put(paths);
    return status;
}
