// A minimal provider in C++17: each sandbox is a folder in /tmp, in which commands run on this machine. NOTHING IS
// ISOLATED. It is ../minimal/minimal.c once more, so that the two can be read side by side.
//
// What C++ adds: descriptors and child processes have owners that end them on every way out, and what is thrown stays
// inside: `guarded` turns it into a status, because an exception must not unwind the host's C.
#include <sandlot/provider.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fts.h>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

constexpr std::string_view prefix = "/tmp/sandlot-minimal-cpp-";
constexpr size_t longest_command = 131071; // what Linux takes as one argument

// ---- owners ---------------------------------------------------------------------------------------------------------

class Descriptor
{
  public:
    explicit Descriptor(int number = -1) : number_(number)
    {
    }
    ~Descriptor()
    {
        close();
    }
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;

    void close()
    {
        if (number_ >= 0)
            ::close(number_);
        number_ = -1;
    }
    int number() const
    {
        return number_;
    }

  private:
    int number_;
};

// A command that was started in a process group of its own. It is always waited for, and ended first, with all that it
// started, unless it has ended by itself.
class Child
{
  public:
    explicit Child(pid_t id) : id_(id)
    {
        setpgid(id_, id_); // here too: whoever comes first
    }
    ~Child()
    {
        if (id_ > 0) {
            kill(-id_, SIGKILL);
            wait();
        }
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    void end_group() const
    {
        kill(-id_, SIGKILL);
    }
    int wait()
    {
        int how = 0;

        while (waitpid(id_, &how, 0) < 0 && errno == EINTR)
            continue;
        id_ = -1;
        return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    }

  private:
    pid_t id_;
};

// ---- errors
// -----------------------------------------------------------------------------------------------------------

// Every function that the host calls goes through here.
template <typename Body> sandlot_status guarded(sandlot_call *call, Body body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory; try again later");
    } catch (const std::exception &fault) {
        return sandlot_fail(call, SANDLOT_INTERNAL, "%s; report it to the provider's author", fault.what());
    } catch (...) {
        return sandlot_fail(call, SANDLOT_INTERNAL, "an unknown fault; report it to the provider's author");
    }
}

// ---- sandboxes
// --------------------------------------------------------------------------------------------------------

// A sandbox's id is its folder. Others may write to /tmp: only a folder of our own counts.
bool is_sandbox(const std::string &id)
{
    struct stat status;

    return id.compare(0, prefix.size(), prefix) == 0 && id.find('/', prefix.size()) == std::string::npos &&
           lstat(id.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

sandlot_status attach(sandlot_call *call, const std::string &id, void **sandbox)
{
    if (!is_sandbox(id))
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s; make one with `sandlot create`",
                            id.c_str());
    *sandbox = new std::string(id);
    return SANDLOT_OK;
}

sandlot_status create(sandlot_call *call, void **sandbox)
{
    std::string id = std::string(prefix) + "XXXXXX";

    if (!mkdtemp(id.data()))
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "cannot make %s: %s; make room in /tmp", id.c_str(),
                            std::strerror(errno));
    call->host->created(call, id.c_str(), id.c_str()); // from here on the host deletes it if anything goes wrong
    return attach(call, id, sandbox);
}

sandlot_status minimal_get_or_create(sandlot_call *call, void *, const sandlot_create *request, void **sandbox)
{
    return guarded(call, [&] {
        if (!request->sandbox_id)
            return create(call, sandbox);
        sandlot_status status = attach(call, request->sandbox_id, sandbox);

        if (status == SANDLOT_OK)
            call->host->created(call, request->sandbox_id, request->sandbox_id);
        return status;
    });
}

void minimal_release(void *, void *sandbox)
{
    delete static_cast<std::string *>(sandbox);
}

// A directory that nobody may enter or write to is opened up before what is in it is removed. Links are not followed.
bool remove_all(std::string folder)
{
    char *const roots[] = {folder.data(), nullptr};
    const std::unique_ptr<FTS, int (*)(FTS *)> tree(fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, nullptr), fts_close);
    int fault = tree ? 0 : errno;

    while (const FTSENT *entry = tree ? fts_read(tree.get()) : nullptr)
        if (entry->fts_info == FTS_D)
            fchmodat(AT_FDCWD, entry->fts_accpath, 0700, AT_SYMLINK_NOFOLLOW);
        else if (remove(entry->fts_accpath) < 0 && errno != ENOENT)
            fault = errno;
    errno = fault;
    return fault == 0;
}

sandlot_status minimal_delete(sandlot_call *call, void *, const char *id)
{
    return guarded(call, [&] {
        if (is_sandbox(id) && !remove_all(id))
            return sandlot_fail(call, SANDLOT_INTERNAL, "cannot delete %s: %s; remove it by hand", id,
                                std::strerror(errno));
        return SANDLOT_OK;
    });
}

// ---- commands
// ---------------------------------------------------------------------------------------------------------

// Becomes the command. The host has threads: between fork and exec only async-signal-safe functions will do
// (signal-safety(7)), so nothing here allocates.
[[noreturn]] void become_command(const char *folder, const sandlot_command *command, int output) noexcept
{
    static const char *const nothing[] = {nullptr};
    static constexpr std::string_view problem = "cannot enter the working directory or start /bin/sh\n";
    const char *const *environment = command->environment ? command->environment : nothing;
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
    ::close(0);
    if (open("/dev/null", O_RDONLY) == 0 && dup2(output, 1) == 1 && dup2(output, 2) == 2 &&
        chdir(command->working_dir ? command->working_dir : folder) == 0)
        execle("/bin/sh", "sh", "-c", "--", command->command, static_cast<char *>(nullptr),
               environment); // nothing of the host's environment
    _exit(write(output, problem.data(), problem.size()) < 0 ? 127 : 126);
}

// Passes output on until the command has ended. EXITED is readable then; the pipe may stay open longer, in the hands of
// a background child, which is why its end is not waited for.
sandlot_status watch(sandlot_call *call, const sandlot_command *command, int exited, int pipe,
                     const sandlot_sink *output, bool *timed_out)
{
    const int64_t end =
        command->timeout_ms > 0 ? sandlot_now_ms() + command->timeout_ms : std::numeric_limits<int64_t>::max();
    pollfd watched[] = {{exited, POLLIN, 0}, {pipe, POLLIN, 0}, {call->cancel_fd, POLLIN, 0}};
    int reads_left = 64; // after the end: a background child may go on writing for ever
    char buffer[8192];

    for (;;) {
        const int64_t left = end - sandlot_now_ms();

        *timed_out = left <= 0;
        if (*timed_out)
            return SANDLOT_OK;
        if (call->deadline_ms && sandlot_remaining_ms(call, 1) == 0)
            return sandlot_fail(call, SANDLOT_TIMEOUT, "the command took too long; allow it more time");
        if (poll(watched, 3, sandlot_remaining_ms(call, left < 1000 ? static_cast<int>(left) : 1000)) <= 0)
            continue;
        if (watched[2].revents)
            return sandlot_fail(call, SANDLOT_CANCELLED, "the command was cancelled; run it again if it is needed");
        if (watched[0].revents && (!watched[1].revents || --reads_left == 0))
            return SANDLOT_OK;
        if (!watched[1].revents)
            continue;
        const ssize_t length = read(pipe, buffer, sizeof(buffer));
        const sandlot_status status =
            length > 0 ? output->write(output, buffer, static_cast<size_t>(length)) : SANDLOT_OK;

        if (status != SANDLOT_OK)
            return status;
        if (length <= 0)
            watched[1].fd = -1; // the command closed its output and goes on
    }
}

sandlot_status run(sandlot_call *call, const std::string &folder, const sandlot_command *command,
                   const sandlot_sink *output, sandlot_exit *result)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "cannot make a pipe: %s; close some files", std::strerror(errno));
    Descriptor reading(ends[0]);
    Descriptor writing(ends[1]);
    const pid_t id = fork();

    if (id == 0)
        become_command(folder.c_str(), command, writing.number());
    if (id < 0)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "cannot start a process: %s; end some", std::strerror(errno));
    Child child(id);

    writing.close();
    Descriptor exited(static_cast<int>(syscall(SYS_pidfd_open, id, 0)));

    if (exited.number() < 0)
        return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING, "pidfd_open: %s; Linux 5.3 is needed",
                            std::strerror(errno));
    const sandlot_status status = watch(call, command, exited.number(), reading.number(), output, &result->timed_out);

    if (status != SANDLOT_OK || result->timed_out)
        child.end_group();
    const int code = child.wait();

    result->exit_code = result->timed_out ? 124 : code;
    return status;
}

// What cannot run is refused before anything does.
sandlot_status check(sandlot_call *call, const sandlot_command *command)
{
    struct stat status;

    if (command->input)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED, "commands here cannot be fed input; upload it as a file");
    if (command->working_dir && (stat(command->working_dir, &status) < 0 || !S_ISDIR(status.st_mode)))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "there is no folder %s to start in; make it first",
                            command->working_dir);
    if (std::strlen(command->command) > longest_command)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the command is longer than %zu bytes; run it from a file",
                            longest_command);
    return SANDLOT_OK;
}

sandlot_status minimal_execute(sandlot_call *call, void *, void *sandbox, const sandlot_command *command,
                               const sandlot_sink *output, sandlot_exit *result)
{
    return guarded(call, [&] {
        const sandlot_status status = check(call, command);

        if (status != SANDLOT_OK)
            return status;
        return run(call, *static_cast<const std::string *>(sandbox), command, output, result);
    });
}

// ---- the table
// --------------------------------------------------------------------------------------------------------

// C++17 has no designated initialisers, and C++20 wants them in order: a function that fills the table in works with
// both.
sandlot_provider make_table() noexcept
{
    sandlot_provider table = {};

    table.size = sizeof(table);
    table.abi_major = SANDLOT_ABI_MAJOR;
    table.abi_minor = SANDLOT_ABI_MINOR;
    table.name = "minimal_cpp";
    table.flags = SANDLOT_STREAMS_OUTPUT;
    table.get_or_create = minimal_get_or_create;
    table.release = minimal_release;
    table.delete_sandbox = minimal_delete;
    table.execute = minimal_execute;
    return table;
}

const sandlot_provider minimal_cpp_provider = make_table();

} // namespace

#define MINIMAL_METADATA(M)                                                       \
    M(description, "Folders in /tmp without any isolation, as an example in C++") \
    M(working_dir, "/tmp")                                                        \
    M(capabilities, "streaming")
SANDLOT_ENTRY_POINT(minimal_cpp, MINIMAL_METADATA, SANDLOT_NO_PARAMETERS);
