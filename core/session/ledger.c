#include "session/ledger.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

/*
 * A record's file is LABEL.open while a process answers for the sandbox and LABEL.kept once it was left on
 * purpose, so that the look for leftovers, which every start does, need not open the files of sandboxes that are to
 * stay.
 */
#define OPEN_SUFFIX ".open"
#define KEPT_SUFFIX ".kept"
/* No record, but what is kept beside one. */
#define BASE_SUFFIX ".base"

/*
 * A list of the network has up to 4096 entries, a parameter the length of an argument. A file has a line for the
 * intent, the id and that the sandbox is to stay, and what cannot be read is lost: so no line is written of which four
 * would be too many to read.
 */
enum { LINE_MAXIMUM = 8 << 20, RECORD_MAXIMUM = 4 * LINE_MAXIMUM };

/* Whoever else could write there would decide what is deleted with the user's keys. */
static bool is_private(int fd)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return false;
    if (status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH)))
        return true;
    errno = EPERM;
    return false;
}

/* FD if it is the user's alone, else -1 with errno. */
static int only_private(int fd)
{
    if (fd < 0 || is_private(fd))
        return fd;
    int error = errno;

    close(fd);
    errno = error;
    return -1;
}

/* The folder, created if CREATE and missing; -1 with errno. */
static int open_folder(bool create)
{
    AUTO_FREE char *state = path_state_home();
    AUTO_FREE char *folder = state ? text_format("%s/ledger", state) : NULL;

    if (!folder)
        return -1;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 && create && errno == ENOENT && path_make_folders(folder, 0700) == 0)
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return only_private(fd);
}

/* What is wrong with the folder or a file of it, by errno. */
static const char *fault(int error)
{
    return error == EPERM ? "it must belong to you, and nobody else may write to it: look what is in it, then take it "
                            "over (chown, chmod go-w)"
                          : strerror(error);
}

#define UNKNOWN_BOOT "unknown"

static char *read_boot_id(void)
{
    size_t length = 0;
    char *id = path_read_file("/proc/sys/kernel/random/boot_id", 64, &length);

    if (!id)
        return strdup(UNKNOWN_BOOT);
    id[strcspn(id, "\n")] = '\0';
    return id;
}

static char *host_name(void)
{
    char name[256] = "";

    gethostname(name, sizeof(name) - 1);
    return strdup(name);
}

/* 0: unknown */
static uint64_t pid_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* The start time of a process in clock ticks since boot: proc(5), field 22 of stat. 0: unknown; with errno ENOENT or
 * ESRCH there is no such process. */
static uint64_t start_time(pid_t pid)
{
    AUTO_FREE char *path = text_format("/proc/%ld/stat", (long)pid);
    AUTO_FREE char *stat = path ? path_read_file(path, 4096, NULL) : NULL;
    char *at = stat ? strrchr(stat, ')') : NULL; /* the name before it may hold anything */

    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static int64_t utc_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static char *new_label(void)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char random[20];
    char text[sizeof(random) + 1] = "";

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return NULL;
    for (size_t i = 0; i < sizeof(random); i++)
        text[i] = letters[random[i] % 32];
    return text_format("sandlot-%s", text);
}

void ledger_own(struct ledger_record *record)
{
    free(record->boot_id);
    free(record->host);
    record->boot_id = read_boot_id();
    record->host = host_name();
    record->pid_namespace = pid_namespace();
    record->owner = getpid();
    record->owner_start = start_time(record->owner);
    record->kept = false;
}

struct ledger_record *ledger_record_new(const char *provider)
{
    struct ledger_record *record = calloc(1, sizeof(*record));

    if (!record)
        return NULL;
    record->label = new_label();
    record->provider = strdup(provider);
    record->created_at_ms = utc_now_ms();
    ledger_own(record);
    record->durable = true;
    /* Without memory for its id it would look like one that was never made. */
    if (!record->label || !record->provider || !record->boot_id || errno == ENOMEM) {
        ledger_record_free(record);
        return NULL;
    }
    return record;
}

void ledger_record_free(struct ledger_record *record)
{
    if (!record)
        return;
    free(record->label);
    free(record->provider);
    free(record->id);
    free(record->scope);
    free(record->name);
    free(record->config_file);
    free(record->boot_id);
    free(record->host);
    json_object_put(record->parameters);
    json_object_put(record->network);
    free(record);
}

static void add_text(struct json_object *object, const char *key, const char *value)
{
    if (value)
        json_object_object_add(object, key, json_object_new_string(value));
}

static struct json_object *to_json(const struct ledger_record *record)
{
    struct json_object *object = json_object_new_object();

    if (!object)
        return NULL;
    add_text(object, "provider", record->provider);
    add_text(object, "id", record->id);
    add_text(object, "scope", record->scope);
    add_text(object, "name", record->name);
    add_text(object, "config_file", record->config_file);
    add_text(object, "boot_id", record->boot_id);
    add_text(object, "host", record->host);
    json_object_object_add(object, "pid_namespace", json_object_new_int64((int64_t)record->pid_namespace));
    json_object_object_add(object, "owner", json_object_new_int64(record->owner));
    json_object_object_add(object, "owner_start", json_object_new_int64((int64_t)record->owner_start));
    json_object_object_add(object, "kept", json_object_new_boolean(record->kept));
    json_object_object_add(object, "created_at_ms", json_object_new_int64(record->created_at_ms));
    json_object_object_add(object, "expires_at_ms", json_object_new_int64(record->expires_at_ms));
    if (record->parameters)
        json_object_object_add(object, "parameters", json_object_get(record->parameters));
    if (record->network)
        json_object_object_add(object, "network", json_object_get(record->network));
    return object;
}

static char *text_member(struct json_object *object, const char *key)
{
    struct json_object *value;

    if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_string))
        return NULL;
    return strdup(json_object_get_string(value));
}

static int64_t number_member(struct json_object *object, const char *key)
{
    struct json_object *value;

    return json_object_object_get_ex(object, key, &value) ? json_object_get_int64(value) : 0;
}

static struct ledger_record *from_json(struct json_object *object, const char *label)
{
    struct ledger_record *record = calloc(1, sizeof(*record));
    struct json_object *parameters;
    struct json_object *network;

    if (!record)
        return NULL;
    errno = 0;
    record->label = strdup(label);
    record->durable = true;
    record->provider = text_member(object, "provider");
    record->id = text_member(object, "id");
    record->scope = text_member(object, "scope");
    record->name = text_member(object, "name");
    record->config_file = text_member(object, "config_file");
    record->boot_id = text_member(object, "boot_id");
    record->host = text_member(object, "host");
    record->pid_namespace = (uint64_t)number_member(object, "pid_namespace");
    record->owner = (pid_t)number_member(object, "owner");
    record->owner_start = (uint64_t)number_member(object, "owner_start");
    record->kept = number_member(object, "kept") != 0;
    record->created_at_ms = number_member(object, "created_at_ms");
    record->expires_at_ms = number_member(object, "expires_at_ms");
    if (json_object_object_get_ex(object, "parameters", &parameters) &&
        json_object_is_type(parameters, json_type_array))
        record->parameters = json_object_get(parameters);
    if (json_object_object_get_ex(object, "network", &network) && json_object_is_type(network, json_type_object))
        record->network = json_object_get(network);
    /* Without memory for its id it would look like one that was never made. */
    if (!record->label || !record->provider || !record->boot_id || errno == ENOMEM) {
        ledger_record_free(record);
        return NULL;
    }
    return record;
}

static int write_error(struct sandlot_error *error)
{
    int reason = errno;
    AUTO_FREE char *state = path_state_home();

    return error_set(error, reason == ENOSPC || reason == EDQUOT ? SANDLOT_CODE_NO_SPACE : SANDLOT_CODE_INTERNAL_ERROR,
                     "cannot write the ledger in %s/ledger: %s; make room or access there, or set XDG_STATE_HOME to "
                     "another folder",
                     state ? state : "?", fault(reason));
}

/* The names of a record's file. */
struct names {
    char *present; /* what it is to be called */
    char *other;
};

/* The record as a line of text, to be freed. */
static char *to_line(const struct ledger_record *record)
{
    struct json_object *object = to_json(record);
    char *line = object ? text_format("%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN)) : NULL;

    json_object_put(object);
    return line;
}

/*
 * Adds LINE to the file that this process has written, and gives it its new name. Making another file instead, as for
 * a new record, is what costs most of the time of a `create`.
 */
static int extend(int folder, const struct ledger_record *record, const struct names *names, const char *line)
{
    const char *name = record->kept ? names->other : names->present;
    AUTO_CLOSE int fd = openat(folder, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || path_write_all(fd, line, strlen(line)) < 0 || (record->durable && fdatasync(fd) < 0))
        return -1;
    if (!record->kept)
        return 0;
    /* Not renamed, so that whoever reads the folder meanwhile sees one of the names at least. */
    if (linkat(folder, names->other, folder, names->present, 0) < 0)
        return -1;
    return record->durable ? fsync(folder) : 0;
}

static int write_file(int folder, const struct ledger_record *record, const struct names *names, const char *line)
{
    if (record->written && extend(folder, record, names, line) == 0)
        return 0;
    return path_write_atomically(folder, names->present, line, strlen(line), record->durable);
}

int ledger_write(struct ledger_record *record, struct sandlot_error *error)
{
    AUTO_CLOSE int folder = open_folder(true);
    AUTO_FREE char *open_name = text_format("%s" OPEN_SUFFIX, record->label);
    AUTO_FREE char *kept_name = text_format("%s" KEPT_SUFFIX, record->label);
    AUTO_FREE char *line = to_line(record);
    const struct names names = {record->kept ? kept_name : open_name, record->kept ? open_name : kept_name};

    if (line && strlen(line) > LINE_MAXIMUM)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "the parameters and the network list of this sandbox are too long to be remembered: make them "
                         "shorter than %d MiB",
                         LINE_MAXIMUM >> 20);
    if (folder < 0 || !record->boot_id || !open_name || !kept_name || !line ||
        write_file(folder, record, &names, line) < 0)
        return write_error(error);
    record->written = true;
    unlinkat(folder, names.other, 0); /* a reader who sees both for a moment takes the kept one */
    return 0;
}

int ledger_remove(const char *label, struct sandlot_error *error)
{
    AUTO_CLOSE int folder = open_folder(false);
    AUTO_FREE char *open_name = text_format("%s" OPEN_SUFFIX, label);
    AUTO_FREE char *kept_name = text_format("%s" KEPT_SUFFIX, label);
    AUTO_FREE char *base_name = text_format("%s" BASE_SUFFIX, label);

    if (folder < 0 && errno == ENOENT)
        return 0;
    if (folder < 0 || !open_name || !kept_name)
        return write_error(error);
    if ((unlinkat(folder, open_name, 0) < 0 && errno != ENOENT) ||
        (unlinkat(folder, kept_name, 0) < 0 && errno != ENOENT))
        return write_error(error);
    if (base_name)
        unlinkat(folder, base_name, 0);
    return 0;
}

char *ledger_read_kept(const char *label, size_t *length)
{
    AUTO_CLOSE int folder = open_folder(false);
    AUTO_FREE char *name = text_format("%s" BASE_SUFFIX, label);
    AUTO_CLOSE int fd = folder >= 0 && name ? only_private(path_open_file(folder, name, O_NOFOLLOW)) : -1;

    return fd >= 0 ? path_read_descriptor(fd, LEDGER_KEPT_MAXIMUM, length) : NULL;
}

int ledger_write_kept(const char *label, const void *bytes, size_t length, struct sandlot_error *error)
{
    AUTO_CLOSE int folder = open_folder(true);
    AUTO_FREE char *name = text_format("%s" BASE_SUFFIX, label);

    if (folder < 0 || !name || path_write_atomically(folder, name, bytes, length, false) < 0)
        return write_error(error);
    return 0;
}

/* The label of a record's file name, to be freed; NULL if it is no record. */
static char *label_of(const char *name, bool *kept)
{
    const char *dot = strrchr(name, '.');

    if (!dot || dot == name || name[0] == '.')
        return NULL;
    *kept = strcmp(dot, KEPT_SUFFIX) == 0;
    if (!*kept && strcmp(dot, OPEN_SUFFIX) != 0)
        return NULL;
    return strndup(name, (size_t)(dot - name));
}

/* The last complete line of TEXT, which it cuts. */
static const char *last_line(char *text)
{
    char *end = strrchr(text, '\n');

    if (!end)
        return text;
    *end = '\0';
    const char *before = strrchr(text, '\n');

    return before ? before + 1 : text;
}

/* One command reads the ledger several times, and of each file it warns once. */
static bool is_first_warning(const char *name)
{
    static _Atomic uint64_t told[64]; /* digests of names; more files than these are told each time */
    uint64_t digest = UINT64_C(14695981039346656037);

    for (const char *at = name; *at; at++)
        digest = (digest ^ (unsigned char)*at) * UINT64_C(1099511628211);
    for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
        uint64_t found = 0;

        if (atomic_compare_exchange_strong(&told[i], &found, digest))
            return true;
        if (found == digest)
            return false;
    }
    return true;
}

static struct ledger_record *read_record(int folder, const char *name, const char *label, bool kept)
{
    AUTO_CLOSE int fd = only_private(path_open_file(folder, name, O_NOFOLLOW));
    AUTO_FREE char *text = fd >= 0 ? path_read_descriptor(fd, RECORD_MAXIMUM, NULL) : NULL;

    if (!text) {
        const int reason = errno;

        if (reason != ENOENT && is_first_warning(name)) /* gone since the folder was read: somebody cleaned up */
            log_warning("the ledger's file %s cannot be read: %s", name, fault(reason));
        return NULL;
    }
    if (!*text) {
        /* The power failed before it was on the disk, and so did its sandbox's: the others are written durably. */
        unlinkat(folder, name, 0);
        return NULL;
    }
    struct json_object *object = json_tokener_parse(last_line(text));
    struct ledger_record *record =
        object && json_object_is_type(object, json_type_object) ? from_json(object, label) : NULL;

    json_object_put(object);
    if (record)
        record->kept = kept;
    else if (errno != ENOMEM && is_first_warning(name))
        log_warning(
            "the ledger's file %s is damaged; look for a leftover sandbox with the label %s, then delete the file",
            name, label);
    return record;
}

static int oldest_first(const void *a, const void *b)
{
    const struct ledger_record *left = *(struct ledger_record *const *)a;
    const struct ledger_record *right = *(struct ledger_record *const *)b;

    if (left->created_at_ms != right->created_at_ms)
        return left->created_at_ms < right->created_at_ms ? -1 : 1;
    return strcmp(left->label, right->label);
}

/* Adds RECORD to the list; a kept record replaces an open one of the same label. False: out of memory. */
static bool collect(struct ledger_record ***records, size_t *count, struct ledger_record *record)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp((*records)[i]->label, record->label) != 0)
            continue;
        struct ledger_record *loser = record->kept ? (*records)[i] : record;

        (*records)[i] = record->kept ? record : (*records)[i];
        ledger_record_free(loser);
        return true;
    }
    struct ledger_record **grown = realloc(*records, (*count + 1) * sizeof(*grown));

    if (!grown) {
        ledger_record_free(record);
        return false;
    }
    *records = grown;
    grown[(*count)++] = record;
    return true;
}

/* Removes the temporary file ".NAME.THREAD" of path_write_atomically whose writer was killed in the middle. */
static void remove_if_orphaned(int folder, const char *name)
{
    const char *dot = strrchr(name, '.');
    int64_t thread;

    if (name[0] == '.' && dot != name && text_parse_integer(dot + 1, &thread) && thread > 0 &&
        kill((pid_t)thread, 0) < 0 && errno == ESRCH)
        unlinkat(folder, name, 0);
}

static int read_folder(int folder, bool open_only, struct ledger_record ***records, size_t *count,
                       struct sandlot_error *error)
{
    int copy = dup(folder); /* fdopendir takes it over */
    AUTO_DIRECTORY DIR *directory = copy >= 0 ? fdopendir(copy) : NULL;

    if (!directory) {
        if (copy >= 0)
            close(copy);
        return error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "cannot read the ledger: %s", strerror(errno));
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        bool kept = false;

        errno = 0;
        AUTO_FREE char *label = label_of(entry->d_name, &kept);

        if (!label && errno == ENOMEM)
            return error_no_memory(error);
        if (!label)
            remove_if_orphaned(folder, entry->d_name);
        if (!label || (open_only && kept))
            continue;
        errno = 0;
        struct ledger_record *record = read_record(folder, entry->d_name, label, kept);

        if (!record && errno == ENOMEM) /* which is not to say that there is none */
            return error_no_memory(error);
        if (record && !collect(records, count, record))
            return error_no_memory(error);
    }
    return 0;
}

static int read_all(bool open_only, struct ledger_record ***records, size_t *count, struct sandlot_error *error)
{
    *records = NULL;
    *count = 0;
    AUTO_CLOSE int folder = open_folder(false);

    if (folder < 0 && errno == ENOENT)
        return 0;
    if (folder < 0)
        return error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "cannot read the ledger: %s", fault(errno));
    if (read_folder(folder, open_only, records, count, error) < 0) {
        ledger_free_records(*records, *count);
        *records = NULL;
        *count = 0;
        return -1;
    }
    if (*count)
        qsort(*records, *count, sizeof(**records), oldest_first);
    return 0;
}

int ledger_read(struct ledger_record ***records, size_t *count, struct sandlot_error *error)
{
    return read_all(false, records, count, error);
}

int ledger_read_open(struct ledger_record ***records, size_t *count, struct sandlot_error *error)
{
    return read_all(true, records, count, error);
}

struct ledger_record *ledger_read_one(const char *label)
{
    AUTO_CLOSE int folder = open_folder(false);
    AUTO_FREE char *kept = text_format("%s" KEPT_SUFFIX, label);
    AUTO_FREE char *open_name = text_format("%s" OPEN_SUFFIX, label);

    if (folder < 0 || !kept || !open_name)
        return NULL;
    struct ledger_record *record = read_record(folder, kept, label, true);

    return record ? record : read_record(folder, open_name, label, false);
}

void ledger_free_records(struct ledger_record **records, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ledger_record_free(records[i]);
    free(records);
}

bool ledger_owner_alive(const struct ledger_record *record)
{
    AUTO_FREE char *boot_id = read_boot_id();
    AUTO_FREE char *host = host_name();

    if (!boot_id || !host || (record->host && strcmp(host, record->host) != 0))
        return true;
    if (strcmp(boot_id, record->boot_id) != 0 && strcmp(boot_id, UNKNOWN_BOOT) != 0 &&
        strcmp(record->boot_id, UNKNOWN_BOOT) != 0)
        return false;
    if (record->pid_namespace != pid_namespace())
        return true;
    errno = 0;
    uint64_t start = start_time(record->owner);

    if (start == 0)
        return errno != ENOENT && errno != ESRCH; /* without a free descriptor, say, nobody is dead */
    return start == record->owner_start || record->owner_start == 0;
}

/* All locks live in one file: a key is one byte of it, by FNV-1a. Two keys that fall on one byte only wait in vain. */
static off_t lock_offset(const char *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const unsigned char *c = (const unsigned char *)key; *c; c++)
        hash = (hash ^ *c) * UINT64_C(1099511628211);
    return (off_t)(hash >> 2);
}

/* An open file description lock, fcntl(2): it goes with the descriptor, however the process ends. */
static bool try_lock(int fd, const char *key)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = lock_offset(key), .l_len = 1};

    return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

int ledger_lock(const char *key, int64_t deadline_ms, int cancel_fd, struct sandlot_error *error)
{
    AUTO_CLOSE int folder = open_folder(true);
    int fd = folder < 0 ? -1 : openat(folder, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return write_error(error);
    while (!try_lock(fd, key)) { /* polled: F_OFD_SETLKW has no deadline */
        struct pollfd cancel = {cancel_fd, POLLIN, 0};

        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            write_error(error);
        else if (sandlot_now_ms() >= deadline_ms)
            error_set(error, SANDLOT_CODE_TIMEOUT,
                      "another process has been busy with %s for too long; try again later", key);
        else if (poll(&cancel, 1, 20) > 0)
            error_set(error, SANDLOT_CODE_CANCELLED, "cancelled while waiting for another process that uses %s", key);
        else
            continue;
        close(fd);
        return -1;
    }
    return fd;
}

struct ledger_record *ledger_find(const char *provider, const char *id)
{
    struct ledger_record **records = NULL;
    struct ledger_record *found = NULL;
    size_t count = 0;

    if (ledger_read(&records, &count, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < count && !found; i++)
        if (records[i]->id && strcmp(records[i]->id, id) == 0 && strcmp(records[i]->provider, provider) == 0)
            found = TAKE(records[i]);
    ledger_free_records(records, count);
    return found;
}

int ledger_find_scope(const char *provider, const char *scope, struct ledger_record **found,
                      struct sandlot_error *error)
{
    struct ledger_record **records;
    size_t count;

    *found = NULL;
    if (ledger_read(&records, &count, error) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct ledger_record *record = records[i];

        if (!record->kept || !record->id || !record->scope || strcmp(record->scope, scope) != 0 ||
            strcmp(record->provider, provider) != 0)
            continue;
        ledger_record_free(*found);
        *found = TAKE(records[i]);
    }
    ledger_free_records(records, count);
    return 0;
}
