#include "cli/machine.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "registry/registry.h"

#include <errno.h>
#include <linux/landlock.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

enum { SMALL_FILE = 4096 };

/* The number in a file of /proc/sys; -1 if this kernel does not have it. */
static int64_t kernel_setting(const char *path)
{
    AUTO_FREE char *text = path_read_file(path, SMALL_FILE, NULL);
    int64_t number;

    if (text)
        text[strcspn(text, "\n")] = '\0';
    return text && text_parse_integer(text, &number) ? number : -1;
}

static struct machine_fact kernel(void)
{
    struct utsname name;

    return (struct machine_fact){"kernel", uname(&name) == 0 ? strdup(name.release) : strdup("unknown"), NULL};
}

static struct machine_fact user(void)
{
    return (struct machine_fact){"user", text_format("uid %u", (unsigned int)geteuid()), NULL};
}

static struct machine_fact user_namespaces(void)
{
    int64_t maximum = kernel_setting("/proc/sys/user/max_user_namespaces");
    int64_t unprivileged = kernel_setting("/proc/sys/kernel/unprivileged_userns_clone");
    int64_t restricted = kernel_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    struct machine_fact fact = {"user_namespaces", NULL, NULL};

    if (maximum < 0)
        fact.advice = "this kernel was built without user namespaces; use one that has CONFIG_USER_NS";
    else if (maximum == 0)
        fact.advice = "allow them: sysctl -w user.max_user_namespaces=10000";
    else if (unprivileged == 0 && geteuid() != 0)
        fact.advice = "allow them for ordinary users: sysctl -w kernel.unprivileged_userns_clone=1";
    else if (restricted == 1 && geteuid() != 0)
        fact.advice =
            "AppArmor restricts them: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give sandlot a "
            "profile that allows userns";
    fact.value = maximum > 0
                     ? text_format("%s (at most %lld)", fact.advice ? "restricted" : "allowed", (long long)maximum)
                     : strdup(maximum == 0 ? "forbidden" : "unknown to this kernel");
    return fact;
}

static struct machine_fact landlock(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    if (abi > 0)
        return (struct machine_fact){"landlock", text_format("ABI %ld", abi), NULL};
    if (errno == EOPNOTSUPP)
        return (struct machine_fact){"landlock", strdup("disabled at boot"),
                                     "add landlock to the lsm= list of the kernel's command line: without it the "
                                     "providers of plugins can read your files"};
    return (struct machine_fact){
        "landlock", strdup("missing"),
        "use a kernel from 5.13 on that has it: without it the providers of plugins can read your "
        "files"};
}

static struct machine_fact seccomp(void)
{
    if (access("/proc/sys/kernel/seccomp/actions_avail", R_OK) == 0)
        return (struct machine_fact){"seccomp", strdup("with filters"), NULL};
    return (struct machine_fact){"seccomp", strdup("missing"), "use a kernel with CONFIG_SECCOMP_FILTER"};
}

static struct machine_fact cgroups(void)
{
    struct statfs status;
    const char *kind = "none";
    const char *advice = "mount cgroups (systemd does) to have limits for whole sandboxes and not only per process";

    if (statfs("/sys/fs/cgroup", &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC)
        kind = "v2";
    else if (access("/sys/fs/cgroup/unified/cgroup.procs", F_OK) == 0)
        kind = "v1 and v2";
    else if (access("/sys/fs/cgroup/memory", F_OK) == 0)
        kind = "v1";
    return (struct machine_fact){"cgroups", strdup(kind), strcmp(kind, "none") == 0 ? advice : NULL};
}

static struct machine_fact overlay(void)
{
    AUTO_FREE char *systems = path_read_file("/proc/filesystems", 64 * (size_t)SMALL_FILE, NULL);
    bool there = systems && strstr(systems, "\toverlay\n");

    return (struct machine_fact){"overlayfs", strdup(there ? "available" : "not loaded"),
                                 there ? NULL : "load it: modprobe overlay"};
}

/* What --param image=REFERENCE takes. */
static struct machine_fact images(void)
{
    const bool there = registry_has_program("skopeo") && registry_has_program("umoci");

    return (struct machine_fact){
        "images", strdup(there ? "skopeo and umoci" : "not without skopeo and umoci"),
        there ? NULL : "to start local sandboxes from images of containers: apt install skopeo umoci"};
}

/* What the local provider opens a network with. Boxes of root are users of their own, for whom the device must be open.
 */
static struct machine_fact open_network(void)
{
    static const char program[] = "/usr/bin/pasta";
    static const char device[] = "/dev/net/tun";
    struct stat status;

    if (access(program, X_OK) < 0)
        return (struct machine_fact){"open_network", strdup("no pasta"),
                                     "install the package passt to give local sandboxes an open network"};
    if (stat(device, &status) < 0 || (geteuid() == 0 && (status.st_mode & 06) != 06) || access(device, R_OK | W_OK) < 0)
        return (struct machine_fact){
            "open_network", strdup("no tun device"),
            "open /dev/net/tun to give local sandboxes an open network: modprobe tun; chmod 666 /dev/net/tun"};
    return (struct machine_fact){"open_network", strdup("by pasta"), NULL};
}

/* What local sandboxes trust of the machine, and to which those with credentials add an authority of their own: the
 * first file that the provider finds too (Debian, Fedora, Alpine). */
static struct machine_fact authorities(void)
{
    static const char *const places[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                         "/etc/ssl/cert.pem"};
    static const char advice[] = "install the package ca-certificates to give local sandboxes credentials";

    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        struct stat status;

        if (access(places[i], R_OK) == 0 && stat(places[i], &status) == 0)
            return (struct machine_fact){"authorities", strdup(status.st_size > 0 ? places[i] : "an empty file"),
                                         status.st_size > 0 ? NULL : advice};
    }
    return (struct machine_fact){"authorities", strdup("none"), advice};
}

size_t machine_facts(struct machine_fact *facts)
{
    size_t count = 0;

    facts[count++] = kernel();
    facts[count++] = user();
    facts[count++] = user_namespaces();
    facts[count++] = landlock();
    facts[count++] = seccomp();
    facts[count++] = cgroups();
    facts[count++] = overlay();
    facts[count++] = images();
    facts[count++] = open_network();
    facts[count++] = authorities();
    for (size_t i = 0; i < count; i++)
        if (!facts[i].value)
            facts[i].value = strdup("");
    return count;
}

void machine_facts_clear(struct machine_fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(facts[i].value);
}
