/* What can be told of the file without a sandbox: its note, its ELF tables, and how it loads. */
#include "cleanup.h"
#include "kit.h"
#include "live.h"
#include "tap.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { LARGE_FILE = 16 << 20, MANY_SYMBOLS = 8, LOAD_MS = 10000, LONGEST_KEY = 40 };

/* ---- the note ---------------------------------------------------------------------------------------------------- */

static bool is_identifier(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return !*text;
}

/* The first word of TEXT for which ACCEPTED is false, as say's text; NULL: all are fine. */
static const char *first_bad_word(const char *text, bool (*accepted)(const char *word))
{
    for (const char *at = text; at && *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        const char *word = say("%.*s", (int)strcspn(at, " "), at);

        if (*word && !accepted(word))
            return word;
    }
    return NULL;
}

static bool is_capability(const char *word)
{
    return note_has_word("list upload download files pause snapshot snapshot-base fork terminal streaming check "
                         "network-live network-log ports urls changes volumes "
                         "network-off network-open network-hosts network-ports network-cidrs network-credentials",
                         word);
}

/* One variable, or alternatives with "|" between them. */
static bool are_variables(const char *word)
{
    char name[128];

    while (*word) {
        size_t length = strcspn(word, "|");

        snprintf(name, sizeof(name), "%.*s", (int)length, word);
        if (length >= sizeof(name) || !is_identifier(name))
            return false;
        word += length + (word[length] == '|');
    }
    return true;
}

static void check_abi(const struct note_provider *provider)
{
    const char *abi = note_value(provider, "abi");
    unsigned major = 0;
    unsigned minor = 0;
    char rest = '\0';
    bool is_version = abi && sscanf(abi, "%u.%u%c", &major, &minor, &rest) == 2;

    tap_check(is_version && major == SANDLOT_ABI_MAJOR, say("[%s] ABI of this host", provider->name),
              say("abi = %d.x", SANDLOT_ABI_MAJOR), abi ? abi : "no key abi",
              "Build with the provider.h of the host's major version.");
    if (is_version && minor > SANDLOT_ABI_MINOR)
        tap_remark("[%s] ABI %s is newer than this host's %d.%d, which uses what both know", provider->name, abi,
                   SANDLOT_ABI_MAJOR, SANDLOT_ABI_MINOR);
}

static void check_words(const struct note_provider *provider)
{
    const char *capability = first_bad_word(note_value(provider, "capabilities"), is_capability);
    const char *variable = first_bad_word(note_value(provider, "credentials"), are_variables);

    if (!variable)
        variable = first_bad_word(note_value(provider, "environment"), are_variables);
    tap_check(!capability, say("[%s] known capabilities", provider->name), "only words that provider.h lists",
              capability ? capability : "", "Correct or remove the word in the metadata.");
    tap_check(!variable, say("[%s] names of variables", provider->name), "letters, digits and _ (A|B for alternatives)",
              variable ? variable : "", "Correct credentials or environment in the metadata.");
}

/* How many letters have to be put in, left out, replaced or swapped to make WORD of NAME; both are short. */
static size_t distance(const char *name, size_t length, const char *word)
{
    size_t rows[3][LONGEST_KEY + 1];
    size_t *older = rows[0];
    size_t *before = rows[1];
    size_t *now = rows[2];
    size_t width = strlen(word);

    for (size_t j = 0; j <= width; j++)
        before[j] = j;
    for (size_t i = 1; i <= length; i++) {
        now[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t least = before[j - 1] + (name[i - 1] != word[j - 1]);

            least = before[j] + 1 < least ? before[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            if (i > 1 && j > 1 && name[i - 1] == word[j - 2] && name[i - 2] == word[j - 1] && older[j - 2] + 1 < least)
                least = older[j - 2] + 1;
            now[j] = least;
        }
        size_t *oldest = older;

        older = before;
        before = now;
        now = oldest;
    }
    return before[width];
}

/* The key of provider.h that is nearest to KEY; itself where it is one; NULL: none is near. Of parameter.NAME and
 * default.NAME the part before the point counts. */
static const char *nearest_key(const char *key)
{
    static const char *const known[] = {"abi",           "symbol",        "description",    "working_dir", "sandbox_id",
                                        "snapshot_name", "capabilities",  "credentials",    "environment", "project",
                                        "reads",         "writes",        "confined",       "needs",       "package",
                                        "inside",        "inside_unless", "inside_network", "parameter.",  "default."};
    size_t length = strcspn(key, ".") + (strchr(key, '.') != NULL);
    const char *nearest = NULL;
    size_t least = length / 3 + 2; /* what differs more was meant otherwise */

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && length <= LONGEST_KEY; i++) {
        size_t changes = distance(key, length, known[i]);

        if (changes >= least)
            continue;
        least = changes;
        nearest = known[i];
    }
    return nearest;
}

/* The host passes over what it does not know, so that a misspelt key has no effect and nobody says so. */
static void check_keys(const struct note_provider *provider)
{
    unsigned minor = 0;
    const char *abi = note_value(provider, "abi");
    bool is_newer = abi && sscanf(abi, "%*u.%u", &minor) == 1 && minor > SANDLOT_ABI_MINOR;
    const char *unknown = NULL;
    const char *advice = "";

    for (size_t i = 0; i < provider->key_count && !is_newer; i++) {
        const char *key = provider->keys[i].key;
        const char *nearest = key ? nearest_key(key) : NULL;
        size_t length = nearest ? strlen(nearest) : 0;
        bool is_prefix = nearest && nearest[length - 1] == '.';

        if (!key || (nearest && (is_prefix ? strncmp(key, nearest, length) == 0 : strcmp(key, nearest) == 0)))
            continue;
        unknown = key;
        advice = nearest ? say("Write %s%s; what is misspelt has no effect.", nearest, is_prefix ? "NAME" : "")
                         : "Correct or remove it: provider.h lists the keys, and others have no effect.";
    }
    tap_check(!unknown, say("[%s] known keys", provider->name), "only keys that provider.h lists",
              unknown ? unknown : "", advice);
}

static void check_provider(const struct kit *kit, const struct note_provider *provider)
{
    const char *symbol = note_value(provider, "symbol");
    const char *working_dir = note_value(provider, "working_dir");

    tap_check(is_identifier(provider->name) && strlen(provider->name) <= 40, say("[%s] name", provider->name),
              "a C identifier of at most 40 bytes", provider->name, "Choose another prefix for SANDLOT_ENTRY_POINT.");
    check_abi(provider);
    tap_check(symbol && names_have(&kit->object.exported, symbol),
              say("[%s] entry function is exported", provider->name),
              symbol ? say("the file exports %s", symbol) : "a key symbol in the note", "it is not there",
              "Close the file with SANDLOT_ENTRY_POINT, and keep the symbol in your version script.");
    tap_check(!working_dir || *working_dir == '/', say("[%s] working directory", provider->name), "an absolute path",
              working_dir ? working_dir : "", "Correct working_dir in the metadata.");
    check_keys(provider);
    check_words(provider);
    if (!note_value(provider, "description"))
        tap_remark("[%s] has no description: 'sandlot providers' has nothing to show", provider->name);
}

static void check_note(const struct kit *kit)
{
    if (!tap_check(kit->object.note, "a note", "an ELF note of the owner \"sandlot\", type 1, in a PT_NOTE segment",
                   "none is there", "Close the file with SANDLOT_ENTRY_POINT, and do not strip .note.sandlot away."))
        return;
    tap_check(!*kit->note.why, "the note is sound", "INI text of one section per provider, lines of at most 190 bytes",
              kit->note.why, "Let SANDLOT_ENTRY_POINT write the note, or write what it would.");
    for (size_t i = 0; i < kit->note.count; i++)
        check_provider(kit, &kit->note.providers[i]);
}

/* ---- ELF --------------------------------------------------------------------------------------------------------- */

static void check_symbols(const struct kit *kit)
{
    const struct object *object = &kit->object;
    const char *leaked = NULL;
    const char *wanted = NULL;
    size_t others = 0;

    for (size_t i = 0; i < object->exported.count; i++) {
        const char *name = object->exported.items[i];
        bool is_entry = false;

        for (size_t j = 0; j < kit->note.count; j++) {
            const char *symbol = note_value(&kit->note.providers[j], "symbol");

            is_entry |= symbol && strcmp(symbol, name) == 0;
        }
        others += !is_entry;
        if (!is_entry &&
            (strncmp(name, "sandlot_", 8) == 0 || strncmp(name, "http_", 5) == 0 || strncmp(name, "json_", 5) == 0))
            leaked = name;
    }
    for (size_t i = 0; i < object->undefined.count; i++)
        if (strncmp(object->undefined.items[i], "sandlot_", 8) == 0)
            wanted = object->undefined.items[i];
    tap_check(!leaked, "exports nothing of others", "entry functions only", leaked ? say("it exports %s", leaked) : "",
              "Compile with -fvisibility=hidden and link static libraries with -Wl,--exclude-libs,ALL.");
    tap_check(!wanted, "needs nothing of the host", "no symbol of libsandlot is needed",
              wanted ? say("it needs %s", wanted) : "",
              "Call the services of call->host; a provider does not link -lsandlot.");
    if (others > MANY_SYMBOLS)
        tap_remark("%zu symbols are exported beside the entry functions: hide them with -fvisibility=hidden", others);
}

static bool is_safe_run_path(const char *entry, size_t length)
{
    char path[4096];
    struct stat status;

    if (length >= 7 && strncmp(entry, "$ORIGIN", 7) == 0)
        return true;
    if (length == 0 || *entry != '/' || length >= sizeof(path))
        return false;
    snprintf(path, sizeof(path), "%.*s", (int)length, entry);
    return stat(path, &status) < 0 || !(status.st_mode & S_IWOTH);
}

static void check_run_path(const struct object *object)
{
    const char *bad = NULL;

    for (const char *at = object->run_path; at && *at;) {
        size_t length = strcspn(at, ":");

        if (!is_safe_run_path(at, length))
            bad = say("%.*s in %s", (int)length, at, object->run_path);
        at += length + (at[length] == ':');
    }
    tap_check(!bad, "safe library paths", "no relative folder and none that everybody may write in RPATH or RUNPATH",
              bad ? bad : "", "Link without -rpath, or with one below $ORIGIN or /usr.");
}

/* Whether they are there shows when the file is loaded. */
static void tell_needed(const struct object *object)
{
    const char *all = "";

    for (size_t i = 0; i < object->needed.count; i++)
        all = say("%s %s", all, object->needed.items[i]);
    tap_remark("it needs%s", *all ? all : " no library");
}

static void check_object(const struct kit *kit)
{
    const struct object *object = &kit->object;

    tap_check(object->is_shared, "a shared object", "an ELF file of type DYN", "another type", "Link with -shared.");
    tap_check(object->fits_machine, "built for this machine", "class, byte order and machine of the host",
              say("ELF machine %u", object->machine), "Check the build for this machine, or check on that one.");
    check_symbols(kit);
    tap_check(object->has_relro && object->binds_now, "full RELRO", "PT_GNU_RELRO and BIND_NOW",
              say("%s, %s", object->has_relro ? "RELRO" : "no RELRO", object->binds_now ? "BIND_NOW" : "lazy binding"),
              "Link with -Wl,-z,relro,-z,now.");
    tap_check(object->names_stack && !object->executable_stack, "no executable stack", "PT_GNU_STACK without X",
              object->names_stack ? "an executable one" : "no PT_GNU_STACK", "Link with -Wl,-z,noexecstack.");
    tap_check(!object->has_text_relocations, "no text relocations", "no TEXTREL", "TEXTREL",
              "Compile all of it with -fPIC.");
    tap_check(!object->writable_code, "no writable code", "no segment that is writable and executable", "there is one",
              "Do not link with -N or a script that merges segments.");
    check_run_path(object);
    tell_needed(object);
    if (object->size > LARGE_FILE)
        tap_remark("the file has %.1f MiB, which every worker maps: strip it or link less",
                   (double)object->size / 1048576);
    tap_remark("%s", object->has_debug_information ? "it carries debug information (a release can do without)"
                     : object->has_symbol_table    ? "it is not stripped"
                                                   : "it is stripped");
}

/* What path_distrust of the host would refuse. */
static const char *distrusted(const char *path, const struct stat *status)
{
    if (status->st_uid != 0 && status->st_uid != geteuid())
        return say("%s belongs to user %u", path, (unsigned)status->st_uid);
    if (S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX))
        return NULL;
    return status->st_mode & (S_IWGRP | S_IWOTH) ? say("%s has mode %04o", path, (unsigned)status->st_mode & 07777)
                                                 : NULL;
}

static void check_permissions(const struct kit *kit)
{
    AUTO_FREE char *path = strdup(kit->file);
    const char *why = path ? NULL : "memory ran out";
    struct stat status;

    while (path && !why && lstat(*path ? path : "/", &status) == 0) {
        why = distrusted(*path ? path : "/", &status);
        if (!*path)
            break;
        *strrchr(path, '/') = '\0';
    }
    tap_check(!why, "nobody else can write it",
              "the file and the folders above it are root's or yours, and only yours to write", why ? why : "",
              "chmod go-w, or chown; the host refuses to load such a file.");
}

/* ---- how it loads ------------------------------------------------------------------------------------------------ */

/* What the process that loads the file tells. */
struct loaded {
    bool done;
    double ms;
    int threads; /* more than before */
    char error[1024];
};

static int entries_of(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = 0;

    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

__attribute__((noreturn)) static void load(const struct kit *kit, struct loaded *loaded, int printed)
{
    int threads = entries_of("/proc/self/task");

    dup2(printed, STDOUT_FILENO);
    dup2(printed, STDERR_FILENO);
    double begin = milliseconds();
    void *library = dlopen(kit->file, RTLD_NOW | RTLD_LOCAL);

    loaded->ms = milliseconds() - begin;
    if (!library)
        snprintf(loaded->error, sizeof(loaded->error), "%s", dlerror());
    loaded->threads = entries_of("/proc/self/task") - threads;
    loaded->done = true;
    _exit(0);
}

/* Waits at most LOAD_MS. */
static int wait_for(pid_t child, bool *in_time)
{
    int64_t end_ms = sandlot_now_ms() + LOAD_MS;
    int how = 0;

    while (waitpid(child, &how, WNOHANG) == 0 && sandlot_now_ms() < end_ms)
        poll(NULL, 0, 2);
    *in_time = sandlot_now_ms() < end_ms;
    if (!*in_time) {
        kill(child, SIGKILL);
        waitpid(child, &how, 0);
    }
    return how;
}

static void tell_load(const struct loaded *loaded, int how, bool in_time, off_t printed)
{
    const char *came = !in_time           ? say("it took longer than %d s", LOAD_MS / 1000)
                       : WIFSIGNALED(how) ? say("signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)))
                       : !loaded->done    ? say("the process ended with status %d", WEXITSTATUS(how))
                                          : loaded->error;

    if (!tap_check(in_time && loaded->done && !*loaded->error, "it loads with all symbols bound",
                   "dlopen with RTLD_NOW succeeds: all libraries and symbols are there", came,
                   "Link all that is needed (-Wl,-z,defs tells what is missing), and do nothing in constructors."))
        return;
    tap_check(printed == 0, "loading prints nothing", "nothing on standard output and error",
              say("%lld bytes", (long long)printed), "Take the output out of constructors.");
    tap_check(loaded->threads == 0, "loading starts no thread", "no more threads than before",
              say("%d more", loaded->threads), "Start threads in open, and end them in close.");
    tap_figure("loading the library", loaded->ms, "ms");
}

void group_loading(const struct kit *kit)
{
    // cppcheck-suppress invalidFunctionArg ; it does not know that an anonymous map has no descriptor
    struct loaded *loaded = mmap(NULL, sizeof(*loaded), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    AUTO_CLOSE int printed = memfd_create("printed", MFD_CLOEXEC);
    struct stat status = {0};
    bool in_time = false;

    if (loaded == MAP_FAILED || printed < 0) {
        tap_skip("it loads with all symbols bound", "this machine is out of memory or descriptors");
        return;
    }
    pid_t child = fork();

    if (child == 0)
        load(kit, loaded, printed);
    int how = child > 0 ? wait_for(child, &in_time) : 0;

    fstat(printed, &status);
    if (!in_time)
        tap_record("never_loads", "");
    tell_load(loaded, how, in_time, status.st_size);
    munmap(loaded, sizeof(*loaded));
}

void group_static(const struct kit *kit)
{
    check_note(kit);
    check_object(kit);
    check_permissions(kit);
    if (kit->object.fits_machine)
        group_loading(kit);
}
