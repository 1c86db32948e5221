/*
 * attack try [--landlock] BAIT [NAME...]   runs the attacks (a group, or one) and prints a line for each:
 *                                          "held NAME" or "THROUGH NAME: what"; 1 if any got through
 * attack list                              their names
 * attack load KIND [ARGUMENT...]           see load.c
 */
#include "attack.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DETAIL = 512, BAIT_BYTES = 16 * 1024, ATTACK_SECONDS = 10, HIGHEST_DESCRIPTOR = 1024 };

static const struct attack_group groups[] = {
    {"read", read_attacks},       {"write", write_attacks}, {"process", process_attacks},
    {"network", network_attacks}, {"call", call_attacks},   {"kernel", kernel_attacks},
};

enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static char *detail; /* shared with the child that attacks */
static char bait_text[BAIT_BYTES];
static char marker_text[64];
static int inherited;

enum verdict through(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(detail, DETAIL, format, arguments);
    va_end(arguments);
    return THROUGH;
}

const char *bait(const char *key)
{
    static char values[8][1024];
    static unsigned next;
    size_t length = strlen(key);
    char *value = values[next++ % 8];

    for (const char *line = bait_text, *end; (end = strchr(line, '\n')); line = end + 1)
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            snprintf(value, sizeof(values[0]), "%.*s", (int)(end - line - (ptrdiff_t)length - 1), line + length + 1);
            return value;
        }
    return "";
}

long bait_number(const char *key)
{
    return strtol(bait(key), NULL, 0);
}

const char *marker(void)
{
    return marker_text;
}

int inherited_descriptors(void)
{
    return inherited;
}

ssize_t read_start(int folder_fd, const char *path, char *buffer, size_t bytes)
{
    int fd = openat(folder_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return -1;
    ssize_t length = read(fd, buffer, bytes);

    close(fd);
    return length;
}

bool holds_marker(const char *bytes, size_t length)
{
    return memmem(bytes, length, marker_text, strlen(marker_text)) != NULL;
}

bool file_holds_marker(int folder_fd, const char *path)
{
    static char buffer[64 * 1024];
    ssize_t length = *path ? read_start(folder_fd, path, buffer, sizeof(buffer)) : -1;

    return length > 0 && holds_marker(buffer, (size_t)length);
}

/* The bait names the host's folders and files as "DEVICE:INODE:PATH". */
bool is_the_hosts(const char *path)
{
    struct stat status;
    char line[1100];

    if (stat(path, &status) < 0)
        return false;
    snprintf(line, sizeof(line), "INODE=%u:%u:%lu:%s\n", major(status.st_dev), minor(status.st_dev),
             (unsigned long)status.st_ino, path);
    return strstr(bait_text, line) != NULL;
}

enum verdict each_process(enum verdict (*each)(const char *process))
{
    DIR *folder = opendir("/proc");
    enum verdict verdict = each("self");

    if (!folder)
        return verdict;
    for (const struct dirent *entry; verdict == HELD && (entry = readdir(folder));)
        if (isdigit((unsigned char)entry->d_name[0]))
            verdict = each(entry->d_name);
    closedir(folder);
    return verdict;
}

/* The marker stands backwards in the file, so that the file itself is not taken for bait. */
static bool load_bait(const char *path)
{
    ssize_t length = read_start(AT_FDCWD, path, bait_text, sizeof(bait_text) - 1);

    if (length <= 0)
        return false;
    bait_text[length] = '\0';
    const char *backwards = bait("MARKER_BACKWARDS");
    size_t size = strlen(backwards);

    if (size < 8 || size >= sizeof(marker_text))
        return false;
    for (size_t i = 0; i < size; i++)
        marker_text[i] = backwards[size - 1 - i];
    return true;
}

static void attack_in_child(const struct attack *attack)
{
    const struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
    alarm(ATTACK_SECONDS);
    /* On a bare machine, root's attacks on mounts must not reach the mounts of the machine. */
    if (*bait("UNCONFINED") && unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(THROUGH);
    _exit((int)attack->run(attack));
}

/* Each attack has a process of its own, because a wall may answer with a signal. */
static enum verdict run_one(const struct attack *attack)
{
    int status = 0;

    snprintf(detail, DETAIL, "%s", "");
    fflush(stdout);
    pid_t pid = fork();

    if (pid == 0)
        attack_in_child(attack);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        through("the attack could not be started: %s", strerror(errno));
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        through("no answer within %d s", ATTACK_SECONDS);
    else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGSYS)
        through("ended by signal %d", WTERMSIG(status));
    else if (WIFSIGNALED(status) || WEXITSTATUS(status) == HELD)
        detail[0] = '\0';
    else if (!detail[0])
        through("status %d", WEXITSTATUS(status));
    if (detail[0])
        printf("THROUGH %s: %s\n", attack->name, detail);
    else
        printf("held %s\n", attack->name);
    return detail[0] ? THROUGH : HELD;
}

static bool chosen(const struct attack_group *group, const struct attack *attack, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], group->name) == 0 || strcmp(names[i], attack->name) == 0)
            return true;
    return count == 0;
}

static int try_attacks(bool reduced, int count, char **names)
{
    int tried = 0;
    int got_through = 0;

    for (size_t i = 0; i < GROUPS; i++)
        for (const struct attack *attack = groups[i].attacks; attack->name; attack++) {
            if (!chosen(&groups[i], attack, count, names) || (reduced && attack->flags & NEEDS_NAMESPACES))
                continue;
            tried++;
            got_through += run_one(attack) == THROUGH;
        }
    printf("attacks that got through: %d of %d\n", got_through, tried);
    return got_through > 0 || tried == 0;
}

static int list_attacks(void)
{
    for (size_t i = 0; i < GROUPS; i++)
        for (const struct attack *attack = groups[i].attacks; attack->name; attack++)
            printf("%s %s\n", groups[i].name, attack->name);
    return 0;
}

int main(int argc, char **argv)
{
    for (int fd = STDERR_FILENO + 1; fd < HIGHEST_DESCRIPTOR; fd++)
        inherited += fcntl(fd, F_GETFD) >= 0;
    detail = mmap(NULL, DETAIL, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (detail == MAP_FAILED)
        return 2;
    if (argc >= 3 && strcmp(argv[1], "load") == 0)
        return load(argc - 2, argv + 2);
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list_attacks();
    bool reduced = argc >= 3 && strcmp(argv[2], "--landlock") == 0;
    int first = reduced ? 4 : 3;

    if (argc < first || strcmp(argv[1], "try") != 0) {
        fprintf(stderr, "usage: attack try [--landlock] BAIT [NAME...] | list | load KIND [ARGUMENT...]\n");
        return 2;
    }
    if (!load_bait(argv[first - 1])) {
        fprintf(stderr, "attack: %s is no list of baits\n", argv[first - 1]);
        return 2;
    }
    return try_attacks(reduced, argc - first, argv + first);
}
