#include "reason.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int reason_set(struct reason *reason, const char *format, ...)
{
    va_list arguments;

    if (reason->text[0])
        return -1;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof reason->text, format, arguments);
    va_end(arguments);
    return -1;
}

/* The number in a file of /proc/sys, -1 if there is none. */
static long read_sysctl(const char *path)
{
    char text[32] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (fd >= 0)
        close(fd);
    return length > 0 ? strtol(text, NULL, 10) : -1;
}

int reason_user_namespace(struct reason *reason, const char *step, int error)
{
    const long limit = read_sysctl("/proc/sys/user/max_user_namespaces");

    if (error == ENOSPC || error == EUSERS || limit == 0)
        return reason_set(reason,
                          "%s failed (%s): user.max_user_namespaces is %ld and used up; raise it with "
                          "`sysctl user.max_user_namespaces=15000`, or delete boxes",
                          step, strerror(error), limit);
    if (read_sysctl("/proc/sys/kernel/unprivileged_userns_clone") == 0)
        return reason_set(reason,
                          "%s failed (%s): this kernel keeps user namespaces from ordinary users; allow them with "
                          "`sysctl kernel.unprivileged_userns_clone=1`",
                          step, strerror(error));
    if (read_sysctl("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
        return reason_set(reason,
                          "%s failed (%s): AppArmor takes all rights from new user namespaces; give the program "
                          "sandlot-local-keeper an AppArmor profile with `userns,`, or run "
                          "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
                          step, strerror(error));
    if (error == EPERM || error == EACCES)
        return reason_set(
            reason,
            "%s failed (%s): inside a container the engine's default seccomp profile usually forbids user "
            "namespaces; start the container with a profile that allows them, or use another provider",
            step, strerror(error));
    if (error == EINVAL || error == ENOSYS)
        return reason_set(reason,
                          "%s failed (%s): the kernel lacks a kind of namespace; Linux 5.13 or later with "
                          "CONFIG_USER_NS, CONFIG_NET_NS, CONFIG_PID_NS and CONFIG_IPC_NS is needed",
                          step, strerror(error));
    return reason_set(reason, "%s failed: %s; free memory or processes, then try again", step, strerror(error));
}

static const char *mount_advice(const char *type, int error)
{
    if (strcmp(type, "proc") == 0 && error == EPERM)
        return "the /proc of an outer container is masked; start the container with an unmasked /proc";
    if (strcmp(type, "overlay") == 0 && (error == EINVAL || error == EPERM || error == ENODEV || error == EOPNOTSUPP))
        return "overlays in user namespaces need Linux 5.11 and a state folder on a file system with user extended "
               "attributes (ext4, xfs, btrfs; not NFS, not another overlay); set XDG_STATE_HOME to such a place";
    if (error == ENOTDIR || error == ELOOP)
        return "the root file system has a file there or above it, or a link that leads nowhere; use one with a folder "
               "there, or with nothing";
    if (error == EPERM || error == EACCES)
        return "AppArmor (kernel.apparmor_restrict_unprivileged_userns=1) or the outer container forbids mounts in "
               "user "
               "namespaces; allow them for sandlot-local-keeper";
    if (error == ENOSPC)
        return "the limit fs.mount-max or a disk is used up; delete boxes, then try again";
    if (error == ENOSYS)
        return "Linux 5.13 or later is needed";
    return "see `sandlot doctor` for what this machine allows";
}

int reason_mount(struct reason *reason, const char *type, const char *where, int error)
{
    return reason_set(reason, "mounting %s at %s in the box failed (%s): %s", type, where, strerror(error),
                      mount_advice(type, error));
}
