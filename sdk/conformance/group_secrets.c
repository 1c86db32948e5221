/*
 * What becomes of a credential: it is made up here, handed to the provider, and must not come back in any message, log
 * line or argument list. The provider is called directly, because the host takes secrets out of what it passes on.
 */
#include "cleanup.h"
#include "direct.h"
#include "tap.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_EVERY_US = 5000 };

/* Looks at the argument lists of all processes while the provider works. */
struct lookout {
    const char *secret;
    atomic_bool done;
    atomic_bool seen;
};

static bool shows(const char *process, const char *secret)
{
    char path[64];
    char arguments[65536];

    snprintf(path, sizeof(path), "/proc/%.20s/cmdline", process);
    FILE *file AUTO_FILE = fopen(path, "re");
    size_t length = file ? fread(arguments, 1, sizeof(arguments), file) : 0;

    return memmem(arguments, length, secret, strlen(secret));
}

static void *look_out(void *argument)
{
    struct lookout *lookout = argument;

    do {
        DIR *directory = opendir("/proc");

        for (const struct dirent *entry; directory && (entry = readdir(directory));)
            if (isdigit((unsigned char)entry->d_name[0]) && shows(entry->d_name, lookout->secret))
                lookout->seen = true;
        if (directory)
            closedir(directory);
    } while (!lookout->done && usleep(LOOK_EVERY_US) == 0);
    return NULL;
}

/* Every credential becomes SECRET. Returns how many there are. */
static size_t make_up(const struct kit *kit, const char *secret)
{
    char name[128];
    const char *value;
    size_t count = 0;

    for (; kit_credential(kit, count, name, sizeof(name), &value); count++) {
        setenv(name, secret, 1);
        setenv(say("SANDLOT_%s", name), secret, 1);
    }
    return count;
}

static bool has_secret_parameter(const struct sandlot_provider *table)
{
    for (size_t i = 0; i < table->parameter_count; i++)
        if (table->parameters[i].flags & SANDLOT_FLAG_secret)
            return true;
    return false;
}

/* Creating with what is made up: refused, or by a provider that looks at no key, done. */
static enum sandlot_status try_secret(struct direct *direct, const char *secret)
{
    char message[sizeof(direct->message)];
    enum sandlot_status status = direct_open(direct, secret);

    if (status == SANDLOT_OK)
        status = direct_create(direct, "secrets");
    snprintf(message, sizeof(message), "%s", direct->message);
    if (*direct->id)
        direct_delete(direct, direct->id);
    memcpy(direct->message, message, sizeof(message)); /* what is of interest is why creating failed */
    direct_close(direct);
    return status;
}

void group_secrets(const struct kit *kit)
{
    static struct direct direct;
    const char *secret = say("made-up-%d-%lld", (int)getpid(), (long long)sandlot_now_ms());
    struct lookout lookout = {.secret = secret};
    pthread_t thread;

    if (!direct_load(kit, &direct)) {
        tap_check(false, "it loads", "a table", direct.message, "See the group table.");
        return;
    }
    if (make_up(kit, secret) == 0 && !has_secret_parameter(direct.table)) {
        tap_skip("a made-up credential", "no credentials and no secret parameters are declared");
        return;
    }
    bool looks = pthread_create(&thread, NULL, look_out, &lookout) == 0;
    enum sandlot_status status = try_secret(&direct, secret);

    lookout.done = true;
    if (looks)
        pthread_join(thread, NULL);
    tap_check(status == SANDLOT_OK || (status != SANDLOT_INTERNAL && *direct.message),
              "a made-up credential is refused in words", "auth, or another status with a sentence",
              say("%s: %s", status_name(status), *direct.message ? direct.message : "no message"),
              "Translate the vendor's 401 and 403 to SANDLOT_AUTH, and say which variable to correct.");
    const char *where = strstr(direct.heard, secret);

    tap_check(!where, "no message or log line shows it", "the value is not there",
              where ? say("a message holds it, after \"%.*s\"",
                          where - direct.heard > 60 ? 60 : (int)(where - direct.heard),
                          where - direct.heard > 60 ? where - 60 : direct.heard)
                    : "",
              "Never put a key into a message; take it out of what the vendor answers.");
    tap_check(!lookout.seen, "no argument list shows it", "no process was started with it", "one was",
              "Hand secrets to programs in their environment, a file or their input.");
}
