/*
 * The box from the inside: starts boxes without a keeper, runs hostile commands in them through the private protocol,
 * and looks whether anything gets out, or stays. Started as root the boxes belong to an unused user; else to the
 * caller.
 *
 *   box_test             all tests
 *   box_test -c COMMAND  one command in a new box, for looking around (-l: confinement landlock)
 *   box_test -t          how long things take
 */
#include "box/box.h"
#include "box/skeleton.h"
#include "box/walls.h"
#include "keeper/seed.h"
#include "protocol.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { UNUSED_ID = 60123, OUTPUT_MAXIMUM = 1 << 20, PATIENCE_MS = 60000, SETTLE_US = 100000, NO_FD = -1 };

struct fixture {
    char folder[64];
    int folder_fd;
    struct settings settings;
    struct box_process process;
    int keeper_fd;
    uid_t uid;
    gid_t gid;
};

struct result {
    uint32_t kind;
    struct run_result run;
    struct failure failure;
    char output[OUTPUT_MAXIMUM];
    size_t length;
    double took_ms;
};

static struct result last;
static struct seccomp_program *filter; /* of all boxes, as in the keeper */
static int failures;

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int64_t in_ms(int64_t milliseconds)
{
    return (int64_t)now_ms() + milliseconds;
}

static void check(bool holds, const char *what, const char *detail)
{
    if (holds)
        return;
    failures++;
    fprintf(stderr, "FAILED: %s: exit %d, note %u, %.0f ms, output: %.600s\n", what, last.run.exit_code, last.run.note,
            last.took_ms, detail);
}

static int make_folder(const struct fixture *fixture, int at, const char *name, mode_t mode)
{
    if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
        return -1;
    if (fchownat(at, name, fixture->uid, fixture->gid, 0) < 0 || fchmodat(at, name, mode, 0) < 0)
        return -1;
    return openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool fixture_open(struct fixture *fixture, enum confinement confinement)
{
    static const char *const names[] = {"upper", "work", "tmp", "home", "root-upper", "root-work"};

    *fixture = (struct fixture){.keeper_fd = -1};
    fixture->uid = geteuid() ? geteuid() : UNUSED_ID;
    fixture->gid = geteuid() ? getegid() : UNUSED_ID;
    fixture->settings.confinement = confinement;
    fixture->settings.processes = 200;
    fixture->settings.disk_mb = 64;
    fixture->settings.memory_mb = 512;
    fixture->settings.open_files = 256;
    strcpy(fixture->folder, "/tmp/box-test-XXXXXX");
    /* Without a view the paths of the storage must be open to the box's user. */
    if (!mkdtemp(fixture->folder) || chmod(fixture->folder, confinement == CONFINEMENT_LANDLOCK ? 0711 : 0700) < 0)
        return false;
    fixture->folder_fd = open(fixture->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int storage = make_folder(fixture, fixture->folder_fd, "storage", 0700);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const int fd = make_folder(fixture, storage, names[i], 0755);

        if (fd < 0)
            return false;
        close(fd);
    }
    close(storage);
    return mkdirat(fixture->folder_fd, "view", 0700) == 0;
}

/* The folder is that of the tests' user, as the keeper's is. */
static int open_skeleton(const struct fixture *fixture, char *reason, size_t reason_size)
{
    const int views = openat(fixture->folder_fd, "view", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int skeleton = skeleton_open(views, fixture->settings.fake_root, NULL, 0, reason, reason_size);

    close(views);
    return skeleton;
}

static int start(struct fixture *fixture, const char *seed, const char *rootfs, char *reason, size_t reason_size)
{
    int pair[2];
    const int storage = openat(fixture->folder_fd, "storage", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int listener = protocol_listen(fixture->folder_fd, "socket");

    if (storage < 0 || listener < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    struct seed_viewer viewer = {.uid = fixture->uid, .gid = fixture->gid, .map_fd = -1};
    const struct box_request request = {
        .settings = &fixture->settings,
        .id = "test",
        .host_uid = fixture->uid,
        .host_gid = fixture->gid,
        .storage_fd = storage,
        .workspace_fd = seed ? seed_open(seed, &viewer, reason, reason_size) : NO_FD,
        .rootfs_fd = rootfs ? seed_open(rootfs, &viewer, reason, reason_size) : NO_FD,
        .skeleton_fd = rootfs ? NO_FD : open_skeleton(fixture, reason, reason_size),
        .listener_fd = listener,
        .keeper_fd = pair[1],
        .filter = filter,
        .deadline_ms = in_ms(PATIENCE_MS),
    };
    const int started = box_start(&request, &fixture->process, reason, reason_size);

    seed_viewer_clear(&viewer);
    close(storage);
    close(listener);
    close(pair[1]);
    if (request.workspace_fd >= 0)
        close(request.workspace_fd);
    if (request.rootfs_fd >= 0)
        close(request.rootfs_fd);
    if (request.skeleton_fd >= 0)
        close(request.skeleton_fd);
    fixture->keeper_fd = pair[0];
    return started;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)where;
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

static int open_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)where;
    return kind == FTW_D || kind == FTW_DNR ? chmod(path, 0700) : 0;
}

/* Waits for init's end; returns its wait status, -1 when it lives on after MILLISECONDS. */
static int wait_for_init(const struct fixture *fixture, int milliseconds)
{
    struct pollfd fd = {fixture->process.pidfd, POLLIN, 0};
    int status = -1;

    if (poll(&fd, 1, milliseconds) == 1)
        waitpid(fixture->process.pid, &status, 0);
    return status;
}

static void fixture_close(struct fixture *fixture)
{
    close(fixture->keeper_fd);
    if (fixture->process.pid) {
        const int status = wait_for_init(fixture, 3000);

        check(WIFEXITED(status) && WEXITSTATUS(status) == BOX_EXIT_ENDED, "init ends when the keeper does", "");
        close(fixture->process.pidfd);
    }
    close(fixture->folder_fd);
    /* Each time one more level: an overlay has folders below each other that nobody may enter. */
    for (int level = 0; level < 4; level++)
        nftw(fixture->folder, open_entry, 16, FTW_PHYS);
    nftw(fixture->folder, remove_entry, 16, FTW_PHYS | FTW_DEPTH);
    check(access(fixture->folder, F_OK) < 0, "the storage can be removed", fixture->folder);
}

/* ---- commands ---- */

/* Writes COMMAND to AT with every "sleep 71." as a time that is this process's own: others may run this test beside it,
 * and we look for these processes on the whole machine. Returns the end. */
static char *write_own(char *at, const char *command)
{
    static const char nap[] = "sleep 71.";

    for (const char *next; (next = strstr(command, nap)); command = next + sizeof nap - 1) {
        at = mempcpy(at, command, (size_t)(next - command));
        at += sprintf(at, "sleep %d.", (int)getpid() + 1000);
    }
    return stpcpy(at, command);
}

static int begin(int connection, const char *command, const char *directory, int64_t timeout_ms)
{
    const struct run_request request = {.timeout_ms = timeout_ms, .environment_count = 1};
    const size_t most = sizeof request + 2 * strlen(command) + strlen(directory) + 2 + sizeof "GIVEN=1";
    char *body = malloc(most);
    char *at = body + sizeof request;
    int output[2];

    if (!body || pipe2(output, O_CLOEXEC) < 0)
        return -1;
    memcpy(body, &request, sizeof request);
    at = write_own(at, command) + 1;
    at = stpcpy(at, directory) + 1;
    at = stpcpy(at, "GIVEN=1") + 1;
    const int fds[2] = {output[1], output[0]};
    const enum protocol_result sent =
        protocol_send(connection, MESSAGE_RUN, body, (size_t)(at - body), fds, 2, in_ms(PATIENCE_MS));

    free(body);
    close(output[1]);
    if (sent == PROTOCOL_OK)
        return output[0];
    close(output[0]);
    return -1;
}

static void keep_output(int fd)
{
    char chunk[65536];
    const ssize_t got = read(fd, chunk, sizeof chunk);

    for (ssize_t i = 0; i < got && last.length < OUTPUT_MAXIMUM - 1; i++)
        last.output[last.length++] = chunk[i];
    last.output[last.length] = '\0';
}

/* Reads output until the answer comes. */
static void finish(int connection, int output)
{
    struct received message;

    for (bool answered = false; !answered;) {
        struct pollfd fds[2] = {{connection, POLLIN, 0}, {output, POLLIN, 0}};

        if (poll(fds, 2, PATIENCE_MS) <= 0)
            break;
        if (fds[1].revents & POLLIN)
            keep_output(output);
        if (fds[0].revents && !(fds[1].revents & POLLIN)) {
            answered = true;
            if (protocol_receive(connection, &message, in_ms(PATIENCE_MS), -1) != PROTOCOL_OK)
                break;
            last.kind = message.header.kind;
            if (last.kind == MESSAGE_ENDED)
                memcpy(&last.run, message.body, sizeof last.run);
            else if (last.kind == MESSAGE_FAILED)
                memcpy(&last.failure, message.body, message.header.length);
            received_clear(&message);
        } else if (fds[1].revents == POLLHUP) {
            output = -1;
        }
    }
}

static void run_on(int connection, const char *command, const char *directory, int64_t timeout_ms)
{
    const double start_ms = now_ms();

    memset(&last, 0, offsetof(struct result, output));
    last.length = 0;
    last.output[0] = '\0';
    const int output = begin(connection, command, directory, timeout_ms);

    finish(connection, output);
    last.took_ms = now_ms() - start_ms;
    close(output);
}

static void run_in(const struct fixture *fixture, const char *command, const char *directory, int64_t timeout_ms)
{
    const int connection = protocol_connect(fixture->folder_fd, "socket");

    run_on(connection, command, directory, timeout_ms);
    close(connection);
}

static void run(const struct fixture *fixture, const char *command)
{
    run_in(fixture, command, "", PATIENCE_MS);
}

/* COMMAND must exit with EXIT_CODE and print exactly OUTPUT (NULL: anything). */
static void expect(const struct fixture *fixture, const char *command, int exit_code, const char *output)
{
    run(fixture, command);
    const bool same = !output || (strlen(output) == last.length && strcmp(output, last.output) == 0);

    check(last.kind == MESSAGE_ENDED && last.run.exit_code == exit_code && same, command, last.output);
}

/* COMMAND must not succeed. */
static void refuse(const struct fixture *fixture, const char *command)
{
    run(fixture, command);
    check(last.kind == MESSAGE_ENDED && last.run.exit_code != 0, command, last.output);
}

/* How many processes of the machine run PROGRAM with ARGUMENT: nothing of a box may be left. */
static int count_processes(const char *argument)
{
    DIR *listing = opendir("/proc");
    const struct dirent *entry;
    char path[300];
    char text[256];
    char own[64];
    int count = 0;

    write_own(own, argument);
    while (listing && (entry = readdir(listing))) {
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = fopen(path, "re");

        if (!file)
            continue;
        const size_t length = fread(text, 1, sizeof text - 1, file);

        fclose(file);
        for (size_t i = 0; i < length; i++)
            if (!text[i])
                text[i] = ' ';
        text[length] = '\0';
        if (strncmp(text, own, strlen(own)) == 0)
            count++;
    }
    if (listing)
        closedir(listing);
    return count;
}

static bool open_box(struct fixture *fixture, enum confinement confinement, const char *seed, const char *rootfs)
{
    char reason[512] = "";

    if (!fixture_open(fixture, confinement) || start(fixture, seed, rootfs, reason, sizeof reason) < 0) {
        check(false, "starting a box", reason);
        fixture->process = (struct box_process){0, -1};
        return false;
    }
    return true;
}

/* ---- tests ---- */

static void test_commands(const struct fixture *fixture)
{
    static char long_command[300 * 1024];

    expect(fixture, "echo hello; echo there >&2; exit 42", 42, "hello\nthere\n");
    expect(fixture, "cat; pwd; ls -A; echo $GIVEN$HOME", 0, "/workspace\n1/home/sandlot\n");
    expect(fixture, "kill -9 $$", 137, "");
    expect(fixture, "no-such-program 2>/dev/null", 127, "");
    expect(fixture, "readlink /proc/$$/exe | grep -c bash; [[ a == a ]]", 0, "1\n");
    expect(fixture, "ls /proc/self/fd", 0, "0\n1\n2\n3\n"); /* 3 is ls's own */
    expect(fixture, "echo a >f; cat f; rm f; echo b >/tmp/g; echo c >~/h; cat /tmp/g ~/h", 0, "a\nb\nc\n");
    expect(fixture, "id -u; id -un; hostname; umask", 0, "1000\nsandlot\nsandlot\n0022\n");
    run_in(fixture, "pwd", "/nowhere", 0);
    check(last.kind == MESSAGE_FAILED && last.failure.status == SANDLOT_INVALID_ARGUMENT, "a missing directory",
          last.failure.message);
    memset(long_command, ' ', sizeof long_command - 1);
    memcpy(long_command, "ls /proc/self/fd | tr '\\n' ' '; echo \"$0 $# <$(cat)>\"; exit 3", 61);
    memcpy(long_command + sizeof long_command - 10, "; exit 7", 8);
    memcpy(long_command, "ls /proc/self/fd | tr '\\n' ' '; echo \"$0 $# <$(cat)>\"        ", 61);
    expect(fixture, long_command, 7, "0 1 2 3 bash 0 <>\n");
}

/* Waits until COUNT processes have ARGUMENT. */
static bool has_processes(const char *argument, int count)
{
    for (int i = 0; i < 3000 && count_processes(argument) != count; i++)
        usleep(10000);
    return count_processes(argument) == count;
}

static void test_deadlines(const struct fixture *fixture)
{
    run_in(fixture, "echo first; sleep 71.1", "", 3000);
    check(last.run.timed_out && last.run.exit_code == 124 && strcmp(last.output, "first\n") == 0, "a timeout",
          last.output);
    run_in(fixture,
           "trap '' TERM; (trap '' TERM; setsid bash -c 'trap \"\" TERM; while :; do sleep 71.1; done' &) ; "
           "while :; do sleep 71.1; done",
           "", 300);
    check(last.run.timed_out && last.took_ms > 2200, "a timeout that is ignored", last.output);
    check(has_processes("sleep 71.1", 0), "nothing survives a timeout", "");
    run_in(fixture, "f() { f | f & }; f; while :; do :; done", "", 500);
    check(last.run.timed_out, "a fork bomb ends in time", last.output);
    expect(fixture, "echo alive", 0, "alive\n");
    run_in(fixture, "sleep 71.2 & disown; setsid sleep 71.2 & echo started", "", 0);
    check(last.run.exit_code == 0, "background jobs delay nothing", last.output);
    check(has_processes("sleep 71.2", 2), "background jobs live on", "");
    expect(fixture, "pkill sleep; while pgrep sleep >/dev/null; do sleep 0.01; done; pgrep -c sleep", 1, "0\n");
}

static void test_kill(const struct fixture *fixture)
{
    int connection = protocol_connect(fixture->folder_fd, "socket");
    int output = begin(connection, "trap '' TERM; setsid sleep 71.3 & while :; do sleep 71.3; done", "", 0);

    usleep(150000);
    protocol_send(connection, MESSAGE_KILL, NULL, 0, NULL, 0, in_ms(PATIENCE_MS));
    finish(connection, output);
    check(last.kind == MESSAGE_ENDED, "MESSAGE_KILL", "");
    check(has_processes("sleep 71.3", 0), "nothing survives MESSAGE_KILL", "");
    close(output);
    output = begin(connection, "trap '' TERM; setsid sleep 71.4 & while :; do sleep 71.4; done", "", 0);
    check(has_processes("sleep 71.4", 2), "the second command of a connection", "");
    close(connection);
    close(output);
    check(has_processes("sleep 71.4", 0), "nothing survives the end of the caller", "");
}

static void test_supervisor(const struct fixture *fixture)
{
    expect(fixture, "sleep 71.5 & setsid sleep 71.5 & kill -9 $PPID; sleep 71.5", 137, "");
    check(last.run.note == RUN_NOTE_SUPERVISOR, "the death of a supervisor is told", "");
    check(has_processes("sleep 71.5", 0), "nothing survives a supervisor", "");
    expect(fixture, "kill -9 -1; kill -9 1; kill -STOP 1; echo on", 137, NULL);
    expect(fixture, "echo alive", 0, "alive\n");
}

/* A background job that floods its output must neither block nor die after its command has ended. */
static void test_drain(const struct fixture *fixture)
{
    const int connection = protocol_connect(fixture->folder_fd, "socket");

    run_on(connection,
           "(for i in 1 2 3 4 5 6; do head -c 100000 /dev/zero; done; echo done >/workspace/flood) & exit 5", "", 0);
    check(last.run.exit_code == 5, "a flooding job", "");
    run_on(connection, "sleep 0.3; cat flood", "", PATIENCE_MS);
    check(strcmp(last.output, "done\n") == 0, "the output of a background job is drained", last.output);
    close(connection);
}

static void test_view(const struct fixture *fixture)
{
    expect(fixture, "echo /*", 0, NULL);
    check(!strstr(last.output, "/root") && !strstr(last.output, "/sys") && !strstr(last.output, "/work "), "the root",
          last.output);
    expect(fixture, "ls -A /home /run /srv /mnt /opt /var 2>/dev/null | tr '\\n' ' '", 0, NULL);
    expect(fixture, "cat /etc/shadow /etc/ssh/* /etc/ssl/private/* 2>/dev/null | wc -c", 0, "0\n");
    expect(fixture, "ls /tmp /dev/shm /etc/hostname; cat /etc/hostname", 0, NULL);
    expect(fixture, "ls /proc | grep -c '^[0-9]'", 0, NULL);
    check(atoi(last.output) < 8, "the processes that a box sees", last.output);
    expect(fixture,
           "cat /proc/1/environ /proc/1/maps /proc/1/mem 2>/dev/null | wc -c; ls /proc/1/fd /proc/1/root 2>/dev/null | "
           "wc -l",
           0, "0\n0\n");
    expect(fixture, "cat /proc/kcore /proc/kallsyms /proc/keys /proc/timer_list 2>/dev/null | wc -c", 0, "0\n");
    refuse(fixture, "echo '|/bin/true' >/proc/sys/kernel/core_pattern");
    refuse(fixture, "echo h >/proc/sysrq-trigger");
    refuse(fixture, "echo x >/usr/x");
    refuse(fixture, "echo x >/etc/x");
    expect(fixture, "echo x >/x && cat /x && rm /x", 0, "x\n");
    refuse(fixture, "mv /etc /x || rmdir /etc");
    refuse(fixture, "rm -rf /usr/bin/true /etc/passwd /workspace");
    expect(fixture, "ls /dev | tr '\\n' ' '", 0,
           "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero ");
    expect(fixture,
           "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\n\\t 0'",
           0, "CapInh:CapPrm:CapEff:CapBnd:CapAmb:NoNewPrivs:1Seccomp:2");
    expect(fixture, "cat /proc/self/cgroup | grep -v ':/$' | grep -c -v '/\\.\\.'", 1, "0\n");
}

static void test_kernel(const struct fixture *fixture)
{
    static const char *const refused[] = {
        "unshare -U true",
        "unshare -m true",
        "unshare -n true",
        "mount -t tmpfs x /tmp",
        "mount -o remount,rw /usr",
        "umount /proc/sys",
        "chroot / true",
        "mknod /tmp/n b 8 0",
        "mknod /tmp/n c 1 3",
        "setarch -R true",
        "python3 -c 'import socket; socket.socket(40, 1)'",
        "python3 -c 'import socket; socket.socket(38, 5)'",
        "python3 -c 'import socket; socket.socket(17, 3)'",
        "python3 -c 'import socket; socket.socket(16, 3, 15)'",
        "python3 -c 'import socket; s=socket.socket(); s.settimeout(2); s.connect((\"1.1.1.1\", 53))'",
        "python3 -c 'import fcntl,os; m,s=os.openpty(); fcntl.ioctl(s, 0x5412, b\"x\")'",
        "python3 -c 'import ctypes,sys; c=ctypes.CDLL(None,use_errno=True); sys.exit(c.ptrace(0,0,0,0)!=0)'",
        "python3 -c 'import ctypes,sys; c=ctypes.CDLL(None); sys.exit(c.syscall(435,0,0)!=0)'",
        "python3 -c 'import ctypes,sys; c=ctypes.CDLL(None); sys.exit(c.syscall(321,0,0,0)<0)'",
        "python3 -c 'import ctypes,sys; c=ctypes.CDLL(None); sys.exit(c.syscall(0x40000000+39)<0)'"};

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuse(fixture, refused[i]);
    expect(fixture,
           "python3 -c 'import socket,threading\n"
           "for f,a in ((socket.AF_INET,(\"127.0.0.1\",0)),(socket.AF_INET6,(\"::1\",0))):\n"
           " l=socket.socket(f); l.bind(a); l.listen(); c=socket.create_connection(l.getsockname()[:2]); "
           "c.sendall(b\"x\"); print(l.accept()[0].recv(1).decode())\n"
           "socket.socket(16,3,0); a,b=socket.socketpair(); import multiprocessing; multiprocessing.Semaphore(1)'",
           0, "x\nx\n");
    expect(fixture, "script -qec 'echo pty' /dev/null", 0, "pty\r\n");
    expect(fixture, "cat <(echo substituted) | sort; echo $((1+1)) | (read a; echo $a)", 0, "substituted\n2\n");
}

static void test_limits(const struct fixture *fixture)
{
    refuse(fixture, "python3 -c 'bytearray(2 << 30)'");
    refuse(fixture, "for i in $(seq 300); do exec {fd}<>/dev/null || exit 9; done");
    expect(fixture, "head -c 100000000 /dev/zero >big; echo $?; rm -f big", 0, NULL);
    check(strstr(last.output, "153") != NULL, "the limit of a file", last.output);
    refuse(fixture, "dd if=/dev/zero of=/dev/shm/x bs=1M count=100 2>&1");
    expect(fixture, "ulimit -c; rm -f /dev/shm/x", 0, "0\n");
    refuse(fixture,
           "python3 -c 'import os,time\nfor i in range(400):\n  if os.fork() == 0: time.sleep(1); os._exit(0)'");
    usleep(SETTLE_US * 12);
}

static void test_full(void)
{
    struct fixture fixture;

    if (open_box(&fixture, CONFINEMENT_FULL, NULL, NULL)) {
        test_commands(&fixture);
        test_view(&fixture);
        test_kernel(&fixture);
        test_deadlines(&fixture);
        test_kill(&fixture);
        test_supervisor(&fixture);
        test_drain(&fixture);
        test_limits(&fixture);
        run(&fixture, "setsid sleep 71.6 >/dev/null 2>&1 &");
    }
    fixture_close(&fixture);
    check(has_processes("sleep 71.6", 0), "nothing survives a box", "");
}

/* A seed is copied on write, and its changes are seen through the root descriptor. */
static void test_seed(void)
{
    char seed[] = "/tmp/box-seed-XXXXXX";
    struct pollfd alive = {-1, POLLIN, 0};
    struct fixture fixture;
    struct received message;

    if (!mkdtemp(seed))
        exit(1);
    const int seed_fd = open(seed, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int file = openat(seed_fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    check(write(file, "seed\n", 5) == 5, "a seed", "");
    close(file);
    if (open_box(&fixture, CONFINEMENT_FULL, seed, NULL)) {
        expect(&fixture, "cat file; echo more >>file; cat file; mv file moved; mkdir d; ls", 0,
               "seed\nseed\nmore\nd\nmoved\n");
        const int connection = protocol_connect(fixture.folder_fd, "socket");

        protocol_send(connection, MESSAGE_ROOT, NULL, 0, NULL, 0, in_ms(PATIENCE_MS));
        if (protocol_receive(connection, &message, in_ms(PATIENCE_MS), -1) == PROTOCOL_OK) {
            check(message.header.kind == MESSAGE_ROOT_IS && message.fd_count == 2 &&
                      faccessat(message.fds[0], "workspace/moved", F_OK, 0) == 0,
                  "the root descriptor", "");
            alive.fd = received_take_fd(&message, 1);
            received_clear(&message);
        } else {
            check(false, "the root descriptor comes", "");
        }
        close(connection);
        /* Commands must not hold the other end: this one outlives its shell. */
        expect(&fixture, "sleep 100 >/dev/null 2>&1 & true", 0, "");
        check(alive.fd >= 0 && poll(&alive, 1, 0) == 0, "the box lives, says the pipe", "");
    }
    fixture_close(&fixture);
    check(poll(&alive, 1, PATIENCE_MS) == 1 && (alive.revents & POLLHUP), "the box has ended, says the pipe", "");
    close(alive.fd);
    check(faccessat(seed_fd, "file", F_OK, 0) == 0 && faccessat(seed_fd, "d", F_OK, 0) < 0, "the seed is unchanged",
          seed);
    unlinkat(seed_fd, "file", 0);
    close(seed_fd);
    rmdir(seed);
}

/* A root file system whose own entries lead elsewhere: its links must neither be followed outside nor break the view.
 */
static void test_rootfs(void)
{
    char rootfs[] = "/tmp/box-root-XXXXXX";
    char command[512];
    struct fixture fixture;

    if (!mkdtemp(rootfs))
        exit(1);
    snprintf(
        command, sizeof command,
        "cd %s && mkdir bin usr escape && cp /bin/busybox bin/sh && ln -s sh bin/cat && ln -s sh bin/id && ln -s sh "
        "bin/ls && "
        "ln -s /escape workspace && ln -s ../../../../escape home && ln -s /escape tmp && echo own >file",
        rootfs);
    check(system(command) == 0, "making a root file system", rootfs);
    if (open_box(&fixture, CONFINEMENT_FULL, NULL, rootfs)) {
        expect(&fixture, "cat /file; echo new >/file; cat /file; echo x >/bin/x; ls /bin", 0,
               "own\nnew\ncat\nid\nls\nsh\nx\n");
        expect(&fixture, "pwd; echo x >f; cat /workspace/f; id -u; ls -d /usr/bin /etc/passwd 2>/dev/null", 1, NULL);
        refuse(&fixture, "echo x >/proc/sys/kernel/core_pattern");
    }
    fixture_close(&fixture);
    check(access("/escape", F_OK) < 0, "no folder is made on the host", "");
    snprintf(command, sizeof command, "cd %s && test \"$(cat file)\" = own && test ! -e bin/x && cd / && rm -rf %s",
             rootfs, rootfs);
    check(system(command) == 0, "the root file system is unchanged", rootfs);
}

static void test_fake_root(void)
{
    struct fixture fixture;
    char reason[512] = "";

    if (fixture_open(&fixture, CONFINEMENT_FULL)) {
        fixture.settings.fake_root = true;
        check(start(&fixture, NULL, NULL, reason, sizeof reason) == 0, "a box with fake root", reason);
        expect(&fixture, "id -u; whoami", 0, "0\nroot\n");
        refuse(&fixture, "mount -t tmpfs x /tmp");
        refuse(&fixture, "echo x >/proc/sys/kernel/core_pattern");
        refuse(&fixture, "chroot / true");
    }
    fixture_close(&fixture);
}

static void test_ttl(void)
{
    struct fixture fixture;
    char reason[512] = "";

    for (int hard = 0; hard < 2; hard++) {
        if (!fixture_open(&fixture, CONFINEMENT_FULL))
            exit(1);
        *(hard ? &fixture.settings.hard_ttl_ms : &fixture.settings.idle_ttl_ms) = 1000;
        check(start(&fixture, NULL, NULL, reason, sizeof reason) == 0, "a box with a time to live", reason);
        run(&fixture, hard ? "sleep 71.7 & true" : "sleep 1.5");
        check(last.run.exit_code == 0, "a command within the time to live", "");
        run(&fixture, "sleep 71.7 >/dev/null 2>&1 & true");
        const int status = wait_for_init(&fixture, 30000);

        check(WIFEXITED(status) && WEXITSTATUS(status) == (hard ? BOX_EXIT_HARD_TTL : BOX_EXIT_IDLE_TTL),
              "the time to live", hard ? "hard" : "idle");
        check(has_processes("sleep 71.7", 0), "nothing survives the time to live", "");
        close(fixture.process.pidfd);
        fixture.process.pid = 0;
        fixture_close(&fixture);
    }
}

static void test_landlock(void)
{
    struct fixture fixture;

    if (open_box(&fixture, CONFINEMENT_LANDLOCK, NULL, NULL)) {
        expect(&fixture,
               "cat; echo a >f; cat f; chmod +x f; rm f; echo b >~/g; cat ~/g; echo c >$TMPDIR/h; cat <(echo d)", 0,
               "a\nb\nd\n");
        expect(&fixture, "cat /etc/passwd /etc/shadow ~root/.bashrc /proc/1/cmdline 2>/dev/null | wc -c", 0, "0\n");
        refuse(&fixture, "echo x >/tmp/box-test-escape");
        refuse(&fixture, "ls /proc");
        refuse(&fixture, "python3 -c 'import socket; socket.socket()'");
        refuse(&fixture, "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'");
        refuse(&fixture, "kill -0 1 || kill -9 $PPID");
        refuse(&fixture, "unshare -U true");
        run_in(&fixture, "trap '' TERM; setsid sleep 71.8 & while :; do sleep 71.8; done", "", 200);
        check(last.run.timed_out && has_processes("sleep 71.8", 0), "a timeout of landlock", "");
        run(&fixture, "setsid sleep 71.8 >/dev/null 2>&1 & echo on");
        check(strcmp(last.output, "on\n") == 0, "background jobs of landlock", last.output);
    }
    fixture_close(&fixture);
    check(has_processes("sleep 71.8", 0), "nothing survives a landlock box", "");
}

/* ---- looking around ---- */

static int compare_times(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double direct_ms(const char *shell, const char *command)
{
    const double start_ms = now_ms();
    const pid_t pid = vfork();

    if (pid == 0) {
        execl(shell, "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
    return now_ms() - start_ms;
}

/* What the machine has less of when many boxes idle. */
static long available_kib(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    long kib = 0;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

static void measure_memory(void)
{
    enum { BOXES = 200 };
    static struct fixture fixtures[BOXES];
    const long before = available_kib();
    char reason[512] = "";

    for (int i = 0; i < BOXES; i++)
        if (!fixture_open(&fixtures[i], CONFINEMENT_FULL) || start(&fixtures[i], NULL, NULL, reason, sizeof reason) < 0)
            printf("%s\n", reason);
    printf("%ld KiB for each idle box\n", (before - available_kib()) / BOXES);
    for (int i = 0; i < BOXES; i++)
        fixture_close(&fixtures[i]);
}

static void measure(void)
{
    enum { ROUNDS = 300, STARTS = 60 };
    static double times[4][ROUNDS];
    struct fixture fixture;

    if (!open_box(&fixture, CONFINEMENT_FULL, NULL, NULL))
        return;
    const int connection = protocol_connect(fixture.folder_fd, "socket");

    for (int i = 0; i < ROUNDS; i++) {
        times[0][i] = direct_ms("/usr/bin/bash", "true");
        run_on(connection, "true", "", 0);
        times[1][i] = last.took_ms;
        run_in(&fixture, "true", "", 0);
        times[2][i] = last.took_ms;
        times[3][i] = direct_ms("/usr/bin/dash", "true");
    }
    close(connection);
    for (int i = 0; i < 4; i++)
        qsort(times[i], ROUNDS, sizeof(double), compare_times);
    printf("vfork+exec bash %.3f ms, dash %.3f ms; through init %.3f ms (%.2f), with a new connection %.3f ms (%.2f)\n",
           times[0][ROUNDS / 2], times[3][ROUNDS / 2], times[1][ROUNDS / 2],
           times[1][ROUNDS / 2] / times[0][ROUNDS / 2], times[2][ROUNDS / 2],
           times[2][ROUNDS / 2] / times[0][ROUNDS / 2]);
    fixture_close(&fixture);
    for (int i = 0; i < STARTS; i++) {
        char reason[512] = "";

        fixture_open(&fixture, CONFINEMENT_FULL);
        const double start_ms = now_ms();

        if (start(&fixture, NULL, NULL, reason, sizeof reason) < 0)
            printf("%s\n", reason);
        times[0][i] = now_ms() - start_ms;
        fixture_close(&fixture);
        times[1][i] = now_ms() - start_ms;
    }
    qsort(times[0], STARTS, sizeof(double), compare_times);
    printf("box_start %.3f ms (best %.3f)\n", times[0][STARTS / 2], times[0][0]);
    measure_memory();
}

static int look_around(const char *option, const char *command)
{
    struct fixture fixture;

    if (open_box(&fixture, strcmp(option, "-l") ? CONFINEMENT_FULL : CONFINEMENT_LANDLOCK, NULL, NULL)) {
        run(&fixture, command);
        printf("%s%sexit %d note %u %.1f ms\n", last.output, last.failure.message, last.run.exit_code, last.run.note,
               last.took_ms);
    }
    fixture_close(&fixture);
    return failures != 0;
}

int main(int argc, char **argv)
{
    char reason[512] = "";

    filter = walls_filter_new(reason, sizeof reason);
    if (!filter) {
        fprintf(stderr, "%s\n", reason);
        return 1;
    }

    if (argc == 2 && strcmp(argv[1], "-t") == 0) {
        measure();
        return 0;
    }
    if (argc == 3)
        return look_around(argv[1], argv[2]);
    test_full();
    test_seed();
    test_rootfs();
    test_fake_root();
    test_ttl();
    test_landlock();
    walls_filter_free(filter);
    printf("%s\n", failures ? "box_test: failed" : "box_test: all passed");
    return failures != 0;
}
