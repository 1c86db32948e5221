/* What a box is to be: parsed from parameters by the provider, carried to the keeper, obeyed by the box. */
#ifndef SANDLOT_LOCAL_SETTINGS_H
#define SANDLOT_LOCAL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum confinement { CONFINEMENT_FULL, CONFINEMENT_LANDLOCK };

struct settings {
    char run_label[64];
    char *workspace;   /* absolute host folder, NULL: an empty workspace */
    char *rootfs;      /* absolute host folder, NULL: the host's system folders */
    char *archive;     /* key of an unpacked archive (rootfs.h), which is the root file system instead; NULL: none */
    char *image;       /* what `archive` was called when it was fetched; NULL: unknown, or no image */
    char *layers;      /* ids of layers (layers.h), the newest first, that lie above all these; NULL: none */
    char *root_layers; /* which of them lie below "/" too (layers.h); NULL: all */
    char *show;        /* folders of the host that it sees read-only, as settings_shown reads them; NULL: none */
    char *volumes;     /* as settings_volumes reads them; NULL: none */
    char *start_dir;   /* where commands start that say nothing, made if it is not there; NULL: the workspace */
    char *shell;       /* absolute, for commands where it is there; NULL: what there is */
    char *environment; /* "NAME=value" each, ENVIRONMENT_END behind it, which its commands get first; NULL: none */
    char *network;     /* what it may reach, in the text form of egress/policy.h; NULL: nothing was asked */
    char *credentials; /* what is added to its requests, without the secrets: a line for each, "HOST HEADER PLAIN NAME
                          PLACEHOLDER", PLAIN 0 or 1, NAME "-" where there is no placeholder; NULL: nothing */
    int64_t memory_mb;
    int64_t processes;
    int64_t disk_mb;
    int64_t open_files;
    double cpus; /* NaN or 0: all */
    int64_t idle_ttl_ms;
    int64_t hard_ttl_ms;
    int64_t base_ms; /* UTC: since when changes to `workspace` are kept in `layers`; 0: since the box is made */
    enum confinement confinement;
    bool fake_root;
    bool in_memory; /* the storage is a file system of `disk_mb` in memory, which only the box has */
    bool keep;      /* outlives the connection that asked for it */
    bool unpacks;   /* the box is to become `archive`: it unpacks it into its workspace, and is listed nowhere */
};

/* The text form, one "key=value" per line with values escaped, for MESSAGE_CREATE. To be freed; NULL: out of memory. */
char *settings_write(const struct settings *settings);

/* Parses it. False if it is malformed or a number is out of range. To be cleared with settings_clear. */
bool settings_read(const char *text, struct settings *settings);

void settings_clear(struct settings *settings);

/* The limits of a parameter by its name, such as "memory_mb"; false if there is no such number. */
bool settings_range(const char *name, int64_t *minimum, int64_t *maximum);

enum { MAXIMUM_CPUS = 4096, ARCHIVE_KEY_SIZE = 128, ENVIRONMENT_END = '\x1f' };

/* What the key of an image begins with, whose files are in a folder of its name. */
#define IMAGE_KEY "image-"
#define IMAGE_FOLDER "rootfs"

/* Where an archive, or image, is that was unpacked: a path below the state folder. */
enum { ARCHIVE_PATH_SIZE = ARCHIVE_KEY_SIZE + 32 };
void settings_archive_path(const char *key, char path[ARCHIVE_PATH_SIZE]);

/* A folder of the host that a box sees. */
struct shown {
    const char *place; /* where, inside: absolute */
    const char *real;  /* the folder that was judged: absolute, and no link leads through it */
    uint64_t device;
    uint64_t inode;
};

enum { SHOWN_MOST = 16 };

/* Appends one to *TEXT, which is NULL at first. Returns like fields_add. No path has control characters. */
bool settings_add_shown(char **text, const struct shown *shown);

/* Takes TEXT apart, which is changed, and which the results lie in. How many there are; -1: malformed, or too many. */
int settings_shown(char *text, struct shown shown[SHOWN_MOST]);

/* A volume that a box gets. */
struct wanted_volume {
    const char *name;
    const char *path;  /* where, inside: absolute, in its shortest form */
    uint64_t limit_mb; /* what it may hold */
    uint64_t flags;    /* of enum sandlot_volume_flag */
};

enum { VOLUMES_MOST = 8, VOLUME_NAME_SIZE = 64 };

/* The same for these. A path has no control characters. */
bool settings_add_volume(char **text, const struct wanted_volume *volume);
int settings_volumes(char *text, struct wanted_volume volumes[VOLUMES_MOST]);

/* Names of volumes are file names in the state folder, and never anything else. */
bool settings_volume_valid(const char *name);

/* Keys of archives are file names in the state folder, and never anything else. */
bool settings_archive_valid(const char *key);

/* ---- the text form itself, which a box's record has too ---- */

/* Appends "KEY=VALUE\n" to *TEXT, VALUE escaped. False when out of memory; *TEXT is then freed and NULL, and stays so.
 */
bool fields_add(char **text, const char *key, const char *value);
bool fields_add_number(char **text, const char *key, int64_t value);

/* TEXT without the lines of the keys in KEYS, which blanks separate; to be freed, NULL: out of memory. */
char *fields_without(const char *text, const char *keys);

/* The text of the file NAME of FOLDER_FD, at most 64 KiB, to be freed; NULL with errno. */
char *fields_read(int folder_fd, const char *name);

/* The value of KEY, to be freed; NULL if it is not there. */
char *fields_get(const char *text, const char *key);

/* The number of KEY; 0 if it is not there or is none. */
int64_t fields_get_number(const char *text, const char *key);

#endif
