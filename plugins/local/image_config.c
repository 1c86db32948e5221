#include "image_config.h"

#include <sandlot/sdk/cleanup.h>

#include <fcntl.h>
#include <json-c/json.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { PASSWD_LINE = 4096, PASSWD_MOST = 1024 * 1024 };

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '\x7f')
            return false;
    return true;
}

/* A text of the table CONFIG without control characters; NULL: there is none. */
static const char *text_of(struct json_object *config, const char *key)
{
    struct json_object *value = NULL;

    if (!json_object_object_get_ex(config, key, &value) || !json_object_is_type(value, json_type_string))
        return NULL;
    const char *text = json_object_get_string(value);

    return strlen(text) == (size_t)json_object_get_string_len(value) && is_plain(text) ? text : NULL;
}

static bool add_variable(char **environment, const char *name, const char *value)
{
    char *grown = NULL;

    if (asprintf(&grown, "%s%s%s%s%c", *environment ? *environment : "", name, *name ? "=" : "", value,
                 ENVIRONMENT_END) < 0)
        return false;
    free(*environment);
    *environment = grown;
    return true;
}

/* One of Env, "NAME=value". What no program could have is left out. */
static bool add_entry(char **environment, struct json_object *entry)
{
    const char *text = json_object_is_type(entry, json_type_string) ? json_object_get_string(entry) : "";

    if (*text == '=' || !strchr(text, '=') || strchr(text, ENVIRONMENT_END))
        return true;
    return add_variable(environment, "", text);
}

static bool read_environment(struct json_object *config, struct image *image)
{
    struct json_object *entries = NULL;

    if (!json_object_object_get_ex(config, "Env", &entries) || !json_object_is_type(entries, json_type_array))
        return true;
    for (size_t i = 0; i < json_object_array_length(entries); i++)
        if (!add_entry(&image->environment, json_object_array_get_idx(entries, i)))
            return false;
    return true;
}

/* The image's list of users. No link of it leads out of it, and no pipe in its place holds anybody up. */
static FILE *open_users(int root_fd)
{
    const struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    AUTO_CLOSE int fd = (int)syscall(SYS_openat2, root_fd, "etc/passwd", &how, sizeof(how));
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > PASSWD_MOST)
        return NULL;
    FILE *users = fdopen(fd, "r");

    if (users)
        take_fd(&fd);
    return users;
}

static bool is_user(const struct passwd *entry, const char *user)
{
    char number[16];

    snprintf(number, sizeof(number), "%u", entry->pw_uid);
    return strcmp(user, entry->pw_name) == 0 || strcmp(user, number) == 0;
}

/* USER, a name or number, as the image knows it. TEXT: what the entry lies in. */
static bool find_user(int root_fd, const char *user, struct passwd *entry, char *text, size_t size)
{
    FILE *users = open_users(root_fd);
    struct passwd *found = NULL;

    while (users && fgetpwent_r(users, entry, text, size, &found) == 0)
        if (is_user(entry, user))
            break;
        else
            found = NULL;
    if (users)
        fclose(users);
    return found;
}

/* Name and home come from the image's user; the number does not, for a box has one. */
static bool read_user(struct json_object *config, int root_fd, struct image *image)
{
    const char *said = text_of(config, "User");
    char user[256];
    char text[PASSWD_LINE];
    struct passwd entry = {0};

    snprintf(user, sizeof(user), "%.*s", said ? (int)strcspn(said, ":") : 0, said ? said : "");
    if (!*user)
        strcpy(user, "root");
    const bool found = find_user(root_fd, user, &entry, text, sizeof(text));
    const char *name = found ? entry.pw_name : user;
    const bool has_home = found && *entry.pw_dir == '/' && is_plain(entry.pw_dir);

    image->root = found ? entry.pw_uid == 0 : strcmp(user, "root") == 0 || strcmp(user, "0") == 0;
    return add_variable(&image->environment, "HOME",
                        has_home      ? entry.pw_dir
                        : image->root ? "/root"
                                      : "/") &&
           add_variable(&image->environment, "USER", name) && add_variable(&image->environment, "LOGNAME", name);
}

/* Of a shell form the program alone; a box's commands come to it as -c, as in all but odd ones. */
static const char *shell_of(struct json_object *config)
{
    struct json_object *words = NULL;
    struct json_object *first = NULL;

    if (json_object_object_get_ex(config, "Shell", &words) && json_object_is_type(words, json_type_array))
        first = json_object_array_get_idx(words, 0);
    const char *text = json_object_is_type(first, json_type_string) ? json_object_get_string(first) : "";

    return *text == '/' && is_plain(text) ? text : NULL;
}

static bool copy_path(const char *text, char **copy)
{
    *copy = text && *text == '/' && text[1] ? strdup(text) : NULL;
    return *copy || !text || *text != '/' || !text[1];
}

/* Without empty names, "." and "..", as container engines understand it: a box can make it where it is not there. */
static void clean(char *path)
{
    char *to = path;

    for (const char *at = path; *at;) {
        const char *name = at + strspn(at, "/");
        const size_t length = strcspn(name, "/");

        at = name + length;
        if (length == 2 && memcmp(name, "..", 2) == 0)
            while (to > path && *--to != '/')
                continue;
        else if (length > 1 || (length == 1 && *name != '.')) {
            *to++ = '/';
            memmove(to, name, length);
            to += length;
        }
    }
    *to = '\0';
}

static bool read_start_dir(struct json_object *config, struct image *image)
{
    if (!copy_path(text_of(config, "WorkingDir"), &image->start_dir))
        return false;
    if (image->start_dir)
        clean(image->start_dir);
    if (image->start_dir && !*image->start_dir) {
        free(image->start_dir);
        image->start_dir = NULL;
    }
    return true;
}

bool image_config_read(const char *text, int root_fd, struct image *image)
{
    struct json_object *whole = json_tokener_parse(text);
    struct json_object *config = NULL;

    /* An image without "config" says nothing, which is not wrong. */
    json_object_object_get_ex(whole, "config", &config);
    const bool fine = json_object_is_type(whole, json_type_object) && read_environment(config, image) &&
                      read_user(config, root_fd, image) && read_start_dir(config, image) &&
                      copy_path(shell_of(config), &image->shell);

    json_object_put(whole);
    return fine;
}
