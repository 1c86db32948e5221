#include "workplace.h"

#include "cleanup.h"

#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* TEXT as a TOML string. */
static void put_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            fprintf(file, "\\u%04x", (unsigned)*text);
        else
            fprintf(file, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    fputc('"', file);
}

static bool write_configuration(const struct kit *kit, const char *name, const char *isolation, const char *more)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *class_path = NULL;

    if (asprintf(&path, "%s/%s", kit->folder, name) < 0 ||
        asprintf(&class_path, "%s:%s", kit->file, note_value(kit->provider, "symbol")) < 0)
        return false;
    FILE *file = fopen(path, "we");

    if (!file)
        return false;
    fprintf(file, "[sandboxes.providers.%s]\nclass_path = ", kit->provider->name);
    put_string(file, class_path);
    fprintf(file, "\nisolation = \"%s\"\n%s", isolation, more);
    return fclose(file) == 0;
}

/* The library's own folders; those of the vendor's programs, in HOME, stay where they are. */
static bool move_state(const struct kit *kit)
{
    return setenv("XDG_STATE_HOME", kit->folder, 1) == 0 && setenv("XDG_CONFIG_HOME", kit->folder, 1) == 0 &&
           unsetenv("SANDLOT_CONFIG") == 0;
}

/* What does not work behind the wall of a worker is checked without it: that is how people will use it. */
static const char *isolation_of(const struct kit *kit)
{
    const char *confined = note_value(kit->provider, "confined");

    return confined && strcmp(confined, "no") == 0 ? "unconfined" : "process";
}

bool workplace_make(struct kit *kit)
{
    static const char credential[] = "[[network.credentials]]\nhost = \"example.com\"\nheader = \"X-Sandlot-Kit\"\n"
                                     "env = \"SANDLOT_KIT_NETWORK_CREDENTIAL\"\n";
    const char *parent = getenv("TMPDIR");

    snprintf(kit->folder, sizeof(kit->folder), "%s/sandlot-plugin-check-XXXXXX",
             parent && *parent == '/' ? parent : "/tmp");
    if (!mkdtemp(kit->folder)) {
        fprintf(stderr, "sandlot plugin check: cannot make %s: %s; set TMPDIR to a folder that you can write\n",
                kit->folder, strerror(errno));
        kit->folder[0] = '\0';
        return false;
    }
    if (!kit->provider || !note_value(kit->provider, "symbol"))
        return true;
    if (write_configuration(kit, "process.toml", isolation_of(kit), "") &&
        write_configuration(kit, "in_process.toml", "none", "") &&
        write_configuration(kit, KIT_CREDENTIAL_CONFIGURATION, kit->in_process ? "none" : isolation_of(kit),
                            credential) &&
        move_state(kit))
        return true;
    fprintf(stderr, "sandlot plugin check: cannot write below %s: %s; make room there\n", kit->folder, strerror(errno));
    return false;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    remove(path); /* as much as can be */
    return 0;
}

void workplace_remove(const struct kit *kit)
{
    const struct timespec moment = {0, 10 * 1000000};

    /* nftw gives up where a folder is gone before it has been opened, and no folder goes that got a file meanwhile:
     * what keeps the sandboxes of a provider on this machine may still be tidying up in there. */
    for (int tries = 0; *kit->folder && tries < 20 && access(kit->folder, F_OK) == 0; tries++) {
        if (tries > 0)
            nanosleep(&moment, NULL);
        nftw(kit->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}
