#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors that nftw keeps open. */
enum { DEPTH = 64, DEFAULT_MODE = 0644, ALL_MODES = 07777 };

/* ---- what they are ---- */

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "directory";
    case S_IFLNK:
        return "symlink";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "device";
    }
}

static struct json_object *described(const struct stat *status)
{
    struct json_object *what = json_object_new_object();
    double time = (double)status->st_mtim.tv_sec * 1e3 + (double)status->st_mtim.tv_nsec / 1e6;
    json_object_object_add(what, "type", json_object_new_string(kind_of(status->st_mode)));
    json_object_object_add(what, "size", json_object_new_int64(status->st_size));
    json_object_object_add(what, "mode", json_object_new_int((int)(status->st_mode & ALL_MODES)));
    json_object_object_add(what, "uid", json_object_new_int64(status->st_uid));
    json_object_object_add(what, "gid", json_object_new_int64(status->st_gid));
    json_object_object_add(what, "mtimeMs", json_object_new_double(time));
    return what;
}

void files_stat(struct agent *agent, struct json_object *message)
{
    const char *name = path_of(agent, message, "name");
    struct stat status;
    char target[PATH_MAX];
    ssize_t length = 0;
    if (fstatat(AT_FDCWD, name, &status, is_set(message, "follow") ? 0 : AT_SYMLINK_NOFOLLOW) != 0 ||
        (S_ISLNK(status.st_mode) && (length = readlink(name, target, sizeof target)) < 0)) {
        refuse_errno(agent, message, is_set(message, "follow") ? "stat" : "lstat", name);
        return;
    }
    struct json_object *what = described(&status);
    if (S_ISLNK(status.st_mode))
        json_object_object_add(what, "target", json_object_new_string_len(target, (int)length));
    answer(agent, message, what);
}

/* JSON has no other names. */
static bool is_utf8(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : 1;
        if ((*at >= 0x80 && *at < 0xc2) || *at > 0xf4)
            return false;
        for (at++; more > 0; more--, at++)
            if ((*at & 0xc0) != 0x80)
                return false;
    }
    return true;
}

/* Nothing where it has gone since. */
static void add_entry(struct json_object *entries, int folder, const char *name)
{
    struct stat status;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !is_utf8(name) ||
        fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    struct json_object *entry = described(&status);
    json_object_object_add(entry, "name", json_object_new_string(name));
    json_object_array_add(entries, entry);
}

void files_list(struct agent *agent, struct json_object *message)
{
    const char *name = path_of(agent, message, "name");
    struct json_object *result, *entries;
    struct dirent **names;
    int count = scandir(name, &names, NULL, alphasort), folder;
    if (count < 0) {
        refuse_errno(agent, message, "scandir", name);
        return;
    }
    result = json_object_new_object();
    entries = json_object_new_array();
    folder = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < count; i++) {
        add_entry(entries, folder, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    close(folder);
    json_object_object_add(result, "entries", entries);
    answer(agent, message, result);
}

/* ---- what is in them ---- */

/* A file on its way to the emulator, which holds no other up: each piece waits for room. */
struct reading {
    struct outlet outlet;
    struct agent *agent;
    int fd;
    int64_t offset, left;
};

static void reading_end(struct reading *reading, int problem)
{
    struct link *link = &reading->agent->link;
    if (problem) {
        struct json_object *event = event_of("failed", reading->outlet.channel);
        char text[128];
        snprintf(text, sizeof text, "%s: %s, read", code_of(problem), strerror(problem));
        json_object_object_add(event, "code", json_object_new_string(code_of(problem)));
        json_object_object_add(event, "message", json_object_new_string(text));
        link_send(link, event);
    }
    outlet_end(link, &reading->outlet);
    close(reading->fd);
    free(reading);
}

static void reading_go_on(struct outlet *outlet)
{
    struct reading *reading = container_of(outlet, struct reading, outlet);
    char piece[LINK_PIECE];
    while (reading->left > 0) {
        size_t room = outlet_room(&reading->agent->link, outlet);
        if (room == 0)
            return;
        if ((int64_t)room > reading->left)
            room = (size_t)reading->left;
        ssize_t length = pread(reading->fd, piece, room, reading->offset);
        if (length <= 0) {
            reading_end(reading, length < 0 ? errno : 0);
            return;
        }
        outlet_send(&reading->agent->link, outlet, piece, (size_t)length);
        reading->offset += length;
        reading->left -= length;
    }
    reading_end(reading, 0);
}

static void reading_begin(struct agent *agent, struct json_object *message, int fd, const struct stat *status)
{
    struct reading *reading = claim(sizeof *reading);
    struct json_object *result = json_object_new_object();
    json_object_object_add(result, "size", json_object_new_int64(status->st_size));
    json_object_object_add(result, "status", described(status));
    answer(agent, message, result);
    outlet_begin(&agent->link, &reading->outlet, channel_of(message), 0, reading_go_on);
    reading->agent = agent;
    reading->fd = fd;
    reading->offset = number_of(message, "offset", 0);
    reading->left = number_of(message, "length", INT64_MAX);
    reading_go_on(&reading->outlet);
}

/* The descriptor must wait for nobody: so there is none of a pipe. */
static const char *unreadable(const struct stat *status)
{
    if (S_ISDIR(status->st_mode))
        return "EISDIR";
    return S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode) ? "EINVAL" : NULL;
}

void files_read(struct agent *agent, struct json_object *message)
{
    const char *name = path_of(agent, message, "name");
    struct stat status;
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        refuse_errno(agent, message, "open", name);
        return;
    }
    const char *problem = unreadable(&status);
    if (!problem) {
        reading_begin(agent, message, fd, &status);
        return;
    }
    close(fd);
    refuse(agent, message, problem, NULL, "%s: %s", name, problem);
}

/* ---- writing ---- */

static void write_failed(struct input *input, const char *call)
{
    struct json_object *message = json_object_get(input->message);
    int problem = errno;
    struct agent *agent = input->agent;
    input_ignore(input);
    errno = problem;
    refuse_errno(agent, message, call, text_of(message, "name"));
    json_object_put(message);
}

static void write_piece(struct input *input, const char *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t written = write(input->watch.fd, bytes + done, length - done);
        if (written < 0) {
            link_credit(&input->agent->link, input->channel, length);
            write_failed(input, "write");
            return;
        }
        done += (size_t)written;
    }
    input->written += (int64_t)length;
    link_credit(&input->agent->link, input->channel, length);
}

/* A file whose source broke stays as short as it is. */
static void write_end(struct input *input, const char *broken)
{
    struct json_object *result;
    input->ended = true;
    if (broken) {
        refuse(input->agent, input->message, "ECONNRESET", NULL, "%s", broken);
    } else if (is_set(input->message, "mode") &&
               fchmod(input->watch.fd, (mode_t)number_of(input->message, "mode", 0)) != 0) {
        write_failed(input, "fchmod");
        return;
    } else {
        result = json_object_new_object();
        json_object_object_add(result, "written", json_object_new_int64(input->written));
        answer(input->agent, input->message, result);
    }
    input_forget(input);
}

static int make_folders(char *path, mode_t mode);

void files_write(struct agent *agent, struct json_object *message)
{
    const char *name = path_of(agent, message, "name");
    struct input *input = input_of(agent, channel_of(message));
    int flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | (is_set(message, "append") ? O_APPEND : O_TRUNC) |
                (is_set(message, "exclusive") ? O_EXCL : 0);
    char *folder = strdup(name), *end = folder ? strrchr(folder, '/') : NULL;
    if (end)
        end[end == folder] = '\0';
    int made = is_set(message, "parents") && folder ? make_folders(folder, 0777) : 0;
    free(folder);
    if (made != 0) {
        refuse_errno(agent, message, "mkdir", name);
        return;
    }
    int fd = open(name, flags, (mode_t)number_of(message, "mode", DEFAULT_MODE));
    if (fd < 0) {
        refuse_errno(agent, message, "open", name);
        return;
    }
    watch_begin(&input->watch, agent->poll, fd, NULL);
    input->take = write_piece;
    input->end = write_end;
    input->message = json_object_get(message);
}

/* ---- folders and names ---- */

/* As Node.js: a folder that is there is well, and what else is there is EEXIST. */
static int make_folders(char *path, mode_t mode)
{
    char *end = strrchr(path, '/');
    struct stat status;
    if (mkdir(path, mode) == 0)
        return 0;
    if (errno == ENOENT && end > path) {
        *end = '\0';
        int above = make_folders(path, mode);
        *end = '/';
        if (above != 0 || mkdir(path, mode) == 0)
            return above;
    }
    if (errno == EACCES || errno == ENOSPC || errno == ENOTDIR || errno == EPERM || stat(path, &status) != 0)
        return -1;
    if (S_ISDIR(status.st_mode))
        return 0;
    errno = EEXIST;
    return -1;
}

/* Answers for a call that returns 0 if it is done. */
static void done(struct agent *agent, struct json_object *message, int result, const char *call)
{
    if (result == 0)
        answer(agent, message, NULL);
    else
        refuse_errno(agent, message, call, text_of(message, "name"));
}

void files_mkdir(struct agent *agent, struct json_object *message)
{
    const char *name = path_of(agent, message, "name");
    mode_t mode = (mode_t)number_of(message, "mode", 0777);
    char *path = strdup(name);
    int result = -1;
    if (path)
        result = is_set(message, "parents") ? make_folders(path, mode) : mkdir(path, mode);
    free(path);
    done(agent, message, result, "mkdir");
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)place;
    int result = remove(path);
    if (result != 0 && kind == FTW_DNR)
        errno = EACCES; /* it is not empty because its entries could not be read */
    return result;
}

void files_remove(struct agent *agent, struct json_object *message)
{
    const char *name = path_of(agent, message, "name");
    bool all = is_set(message, "recursive");
    done(agent, message, all ? nftw(name, remove_entry, DEPTH, FTW_DEPTH | FTW_PHYS) : remove(name),
         all ? "rm" : "unlink");
}

void files_rename(struct agent *agent, struct json_object *message)
{
    const char *name = path_of(agent, message, "name"), *to = path_of(agent, message, "to");
    done(agent, message, rename(name, to), "rename");
}

void files_chmod(struct agent *agent, struct json_object *message)
{
    done(agent, message, chmod(path_of(agent, message, "name"), (mode_t)number_of(message, "mode", 0)), "chmod");
}
