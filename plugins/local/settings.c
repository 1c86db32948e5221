#include "settings.h"

#include "layers.h"

#include <sandlot/sdk/cleanup.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The whole numbers: where they lie and what they may be. */
static const struct number {
    const char *name;
    size_t offset;
    int64_t minimum;
    int64_t maximum;
} numbers[] = {
    {"memory_mb", offsetof(struct settings, memory_mb), 16, 16 << 20},
    {"processes", offsetof(struct settings, processes), 4, 4 << 20},
    {"disk_mb", offsetof(struct settings, disk_mb), 1, 1 << 30},
    {"open_files", offsetof(struct settings, open_files), 16, 1 << 20},
    {"idle_ttl_ms", offsetof(struct settings, idle_ttl_ms), 0, INT64_MAX / 4},
    {"hard_ttl_ms", offsetof(struct settings, hard_ttl_ms), 0, INT64_MAX / 4},
    {"base_ms", offsetof(struct settings, base_ms), 0, INT64_MAX / 4},
};

enum { NUMBER_COUNT = sizeof(numbers) / sizeof(numbers[0]), TEXT_MAXIMUM = 64 * 1024 };

static const char *const confinements[] = {[CONFINEMENT_FULL] = "full", [CONFINEMENT_LANDLOCK] = "landlock"};

bool settings_range(const char *name, int64_t *minimum, int64_t *maximum)
{
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        if (strcmp(numbers[i].name, name) == 0) {
            *minimum = numbers[i].minimum;
            *maximum = numbers[i].maximum;
            return true;
        }
    return false;
}

bool fields_add(char **text, const char *key, const char *value)
{
    size_t used = *text ? strlen(*text) : 0;
    char *grown = realloc(*text, used + strlen(key) + strlen(value) * 2 + 3);

    if (!grown) {
        free(*text);
        *text = NULL;
        return false;
    }
    char *out = grown + used;

    out += sprintf(out, "%s=", key);
    for (const char *at = value; *at; at++) {
        if (*at == '\n' || *at == '\\')
            *out++ = '\\';
        *out++ = *at == '\n' ? 'n' : *at;
    }
    *out++ = '\n';
    *out = '\0';
    *text = grown;
    return true;
}

bool fields_add_number(char **text, const char *key, int64_t value)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%" PRId64, value);
    return fields_add(text, key, digits);
}

/* Is the first word of LINE, as long as LENGTH, one of KEYS? */
static bool is_key(const char *line, size_t length, const char *keys)
{
    for (const char *key = keys; *key; key += strspn(key, " ")) {
        const size_t size = strcspn(key, " ");

        if (size == length && strncmp(line, key, size) == 0)
            return true;
        key += size;
    }
    return false;
}

char *fields_without(const char *text, const char *keys)
{
    char *result = malloc(strlen(text) + 1);
    char *out = result;

    for (const char *line = text, *end; result && (end = strchr(line, '\n')); line = end + 1)
        if (!is_key(line, strcspn(line, "="), keys))
            out = mempcpy(out, line, (size_t)(end + 1 - line));
    if (result)
        *out = '\0';
    return result;
}

char *fields_read(int folder_fd, const char *name)
{
    AUTO_CLOSE int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *text = fd >= 0 ? malloc(TEXT_MAXIMUM) : NULL;
    const ssize_t got = text ? read(fd, text, TEXT_MAXIMUM - 1) : -1;

    if (got < 0) {
        free(text);
        return NULL;
    }
    text[got] = '\0';
    return text;
}

char *fields_get(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        if (strncmp(line, key, length) != 0 || line[length] != '=')
            continue;
        char *value = malloc((size_t)(end - line));
        char *out = value;

        for (const char *at = line + length + 1; value && at < end; at++) {
            bool escaped = *at == '\\' && at + 1 < end;

            at += escaped;
            *out++ = escaped && *at == 'n' ? '\n' : *at;
        }
        if (value)
            *out = '\0';
        return value;
    }
    return NULL;
}

static bool parse_number(const char *text, int64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

int64_t fields_get_number(const char *text, const char *key)
{
    AUTO_FREE char *value = fields_get(text, key);
    int64_t number;

    return value && parse_number(value, &number) ? number : 0;
}

char *settings_write(const struct settings *settings)
{
    char *text = NULL;
    char cpus[32];
    bool fine = fields_add(&text, "run_label", settings->run_label);

    for (size_t i = 0; fine && i < NUMBER_COUNT; i++) {
        int64_t value;

        memcpy(&value, (const char *)settings + numbers[i].offset, sizeof(value));
        fine = fields_add_number(&text, numbers[i].name, value);
    }
    /* In thousandths: a decimal point would depend on the locale of the host program. */
    snprintf(cpus, sizeof(cpus), "%d", isnan(settings->cpus) ? 0 : (int)(settings->cpus * 1000 + 0.5));
    fine = fine && fields_add(&text, "cpus", cpus);
    fine = fine && fields_add(&text, "confinement", confinements[settings->confinement]);
    fine = fine && fields_add_number(&text, "fake_root", settings->fake_root);
    fine = fine && fields_add_number(&text, "in_memory", settings->in_memory);
    fine = fine && fields_add_number(&text, "keep", settings->keep);
    fine = fine && fields_add_number(&text, "unpacks", settings->unpacks);
    if (settings->workspace)
        fine = fine && fields_add(&text, "workspace", settings->workspace);
    if (settings->rootfs)
        fine = fine && fields_add(&text, "rootfs", settings->rootfs);
    if (settings->archive)
        fine = fine && fields_add(&text, "archive", settings->archive);
    if (settings->image)
        fine = fine && fields_add(&text, "image", settings->image);
    if (settings->layers)
        fine = fine && fields_add(&text, "layers", settings->layers);
    if (settings->root_layers)
        fine = fine && fields_add(&text, "root_layers", settings->root_layers);
    if (settings->show)
        fine = fine && fields_add(&text, "show", settings->show);
    if (settings->volumes)
        fine = fine && fields_add(&text, "volumes", settings->volumes);
    if (settings->start_dir)
        fine = fine && fields_add(&text, "start_dir", settings->start_dir);
    if (settings->shell)
        fine = fine && fields_add(&text, "shell", settings->shell);
    if (settings->environment)
        fine = fine && fields_add(&text, "environment", settings->environment);
    if (settings->network)
        fine = fine && fields_add(&text, "network", settings->network);
    if (settings->credentials)
        fine = fine && fields_add(&text, "credentials", settings->credentials);
    if (fine)
        return text;
    free(text);
    return NULL;
}

static bool read_number(const char *text, const struct number *number, struct settings *settings)
{
    AUTO_FREE char *value = fields_get(text, number->name);
    int64_t parsed;

    if (!value || !parse_number(value, &parsed) || parsed < number->minimum || parsed > number->maximum)
        return false;
    memcpy((char *)settings + number->offset, &parsed, sizeof(parsed));
    return true;
}

static bool read_switch(const char *text, const char *key, bool *result)
{
    AUTO_FREE char *value = fields_get(text, key);

    *result = value && strcmp(value, "1") == 0;
    return value && (*result || strcmp(value, "0") == 0);
}

bool settings_add_shown(char **text, const struct shown *shown)
{
    char *grown = NULL;

    if (asprintf(&grown, "%s%" PRIx64 " %" PRIx64 " %s\t%s\n", *text ? *text : "", shown->device, shown->inode,
                 shown->place, shown->real) < 0)
        return false;
    free(*text);
    *text = grown;
    return true;
}

/* Reads a number and the blank behind it. Where that ends; NULL: they are not there. */
static char *read_hexadecimal(char *text, uint64_t *number)
{
    char *end = text;

    if (text && isxdigit((unsigned char)*text))
        *number = strtoull(text, &end, 16);
    return end != text && *end == ' ' ? end + 1 : NULL;
}

/* Takes the line LINE apart. */
static bool read_shown(char *line, struct shown *shown)
{
    char *place = read_hexadecimal(read_hexadecimal(line, &shown->device), &shown->inode);
    char *tab = place ? strchr(place, '\t') : NULL;

    if (!tab)
        return false;
    *tab = '\0';
    shown->place = place;
    shown->real = tab + 1;
    return *shown->place == '/' && *shown->real == '/';
}

int settings_shown(char *text, struct shown shown[SHOWN_MOST])
{
    int count = 0;

    for (char *line; (line = strsep(&text, "\n")) && *line; count++)
        if (count == SHOWN_MOST || !read_shown(line, &shown[count]))
            return -1;
    return count;
}

bool settings_volume_valid(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    const size_t length = strlen(name);

    return length > 0 && length < VOLUME_NAME_SIZE && strspn(name, first) == length && !strchr("-_.", *name);
}

bool settings_add_volume(char **text, const struct wanted_volume *volume)
{
    char *grown = NULL;

    if (asprintf(&grown, "%s%" PRIx64 " %" PRIx64 " %s\t%s\n", *text ? *text : "", volume->flags, volume->limit_mb,
                 volume->name, volume->path) < 0)
        return false;
    free(*text);
    *text = grown;
    return true;
}

static bool read_volume(char *line, struct wanted_volume *volume)
{
    char *name = read_hexadecimal(read_hexadecimal(line, &volume->flags), &volume->limit_mb);
    char *tab = name ? strchr(name, '\t') : NULL;

    if (!tab)
        return false;
    *tab = '\0';
    volume->name = name;
    volume->path = tab + 1;
    return settings_volume_valid(name) && *volume->path == '/' && volume->limit_mb > 0 &&
           volume->limit_mb <= UINT64_MAX >> 20;
}

int settings_volumes(char *text, struct wanted_volume volumes[VOLUMES_MOST])
{
    int count = 0;

    for (char *line; (line = strsep(&text, "\n")) && *line; count++)
        if (count == VOLUMES_MOST || !read_volume(line, &volumes[count]))
            return -1;
    return count;
}

void settings_archive_path(const char *key, char path[ARCHIVE_PATH_SIZE])
{
    const bool image = strncmp(key, IMAGE_KEY, strlen(IMAGE_KEY)) == 0;

    snprintf(path, ARCHIVE_PATH_SIZE, "rootfs/%s/upper%s", key, image ? "/" IMAGE_FOLDER : "");
}

bool settings_archive_valid(const char *key)
{
    const bool image = strncmp(key, IMAGE_KEY, strlen(IMAGE_KEY)) == 0;

    key += image ? strlen(IMAGE_KEY) : 0;
    const size_t length = strlen(key);

    return length > 0 && length < ARCHIVE_KEY_SIZE - strlen(IMAGE_KEY) && strspn(key, "0123456789abcdef-") == length;
}

static bool read_words(const char *text, struct settings *settings)
{
    AUTO_FREE char *label = fields_get(text, "run_label");
    AUTO_FREE char *confinement = fields_get(text, "confinement");
    AUTO_FREE char *cpus = fields_get(text, "cpus");
    int64_t thousandths;

    if (!label || strlen(label) >= sizeof(settings->run_label) || !confinement || !cpus)
        return false;
    if (!parse_number(cpus, &thousandths) || thousandths < 0 || thousandths > MAXIMUM_CPUS * 1000)
        return false;
    strcpy(settings->run_label, label);
    settings->cpus = (double)thousandths / 1000;
    if (strcmp(confinement, confinements[CONFINEMENT_LANDLOCK]) == 0)
        settings->confinement = CONFINEMENT_LANDLOCK;
    else if (strcmp(confinement, confinements[CONFINEMENT_FULL]) != 0)
        return false;
    settings->workspace = fields_get(text, "workspace");
    settings->rootfs = fields_get(text, "rootfs");
    settings->archive = fields_get(text, "archive");
    settings->image = fields_get(text, "image");
    settings->layers = fields_get(text, "layers");
    settings->root_layers = fields_get(text, "root_layers");
    settings->show = fields_get(text, "show");
    settings->volumes = fields_get(text, "volumes");
    settings->start_dir = fields_get(text, "start_dir");
    settings->shell = fields_get(text, "shell");
    settings->environment = fields_get(text, "environment");
    settings->network = fields_get(text, "network");
    settings->credentials = fields_get(text, "credentials");
    struct layer_chain chain;

    return layer_chain_read(settings->layers, &chain) && layer_chain_read(settings->root_layers, &chain) &&
           (!settings->start_dir || *settings->start_dir == '/') &&
           (!settings->workspace || *settings->workspace == '/') && (!settings->rootfs || *settings->rootfs == '/') &&
           (!settings->archive || settings_archive_valid(settings->archive));
}

bool settings_read(const char *text, struct settings *settings)
{
    memset(settings, 0, sizeof(*settings));
    bool fine = read_words(text, settings) && read_switch(text, "fake_root", &settings->fake_root) &&
                read_switch(text, "in_memory", &settings->in_memory) && read_switch(text, "keep", &settings->keep) &&
                read_switch(text, "unpacks", &settings->unpacks);

    for (size_t i = 0; fine && i < NUMBER_COUNT; i++)
        fine = read_number(text, &numbers[i], settings);
    if (!fine)
        settings_clear(settings);
    return fine;
}

void settings_clear(struct settings *settings)
{
    free(settings->workspace);
    free(settings->rootfs);
    free(settings->archive);
    free(settings->image);
    free(settings->layers);
    free(settings->root_layers);
    free(settings->show);
    free(settings->volumes);
    free(settings->start_dir);
    free(settings->shell);
    free(settings->environment);
    free(settings->network);
    free(settings->credentials);
    memset(settings, 0, sizeof(*settings));
}
