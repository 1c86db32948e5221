// The provider `scaffold`: each sandbox is a folder in /tmp, in which commands run on this machine. NOTHING IS
// ISOLATED: put the tool that you wrap in the place of mkdtemp, rm and sh.
#include <sandlot/provider.h>
#include <sandlot/sdk/process.h>

#include <exception>
#include <stdlib.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace
{

const std::string prefix = "/tmp/sandlot-scaffold-";

// Every function that the host calls goes through here: an exception must not unwind the host's C.
template <typename Body> sandlot_status guarded(sandlot_call *call, Body body) noexcept
{
    try {
        return body();
    } catch (const std::exception &fault) {
        return sandlot_fail(call, SANDLOT_INTERNAL, "%s; report it to the provider's author", fault.what());
    } catch (...) {
        return sandlot_fail(call, SANDLOT_INTERNAL, "an unknown fault; report it to the provider's author");
    }
}

// An id is its folder. Others may write to /tmp: only a folder of our own counts.
bool is_ours(const std::string &id)
{
    struct stat status;

    return id.compare(0, prefix.size(), prefix) == 0 && id.find('/', prefix.size()) == std::string::npos &&
           lstat(id.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

sandlot_status scaffold_get_or_create(
    sandlot_call *call, void *, const sandlot_create *request, void **sandbox)
{
    return guarded(call, [&] {
        std::string id = request->sandbox_id ? request->sandbox_id : prefix + "XXXXXX";

        if (!request->sandbox_id && !mkdtemp(&id[0]))
            return sandlot_fail(call, SANDLOT_EXHAUSTED, "no folder can be made in /tmp; make room there");
        if (!is_ours(id))
            return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s; make one with `sandlot create`", id.c_str());
        call->host->created(call, id.c_str(), id.c_str()); // from here on the host deletes it if anything goes wrong
        *sandbox = new std::string(id);
        return SANDLOT_OK;
    });
}

void scaffold_release(void *, void *sandbox)
{
    delete static_cast<std::string *>(sandbox);
}

sandlot_status scaffold_delete(sandlot_call *call, void *, const char *id)
{
    return guarded(call, [&] {
        static const char script[] = "chmod -R u+rwX -- \"$1\" 2>/dev/null; rm -rf -- \"$1\""; // folders may be closed
        const char *const words[] = {"sh", "-c", script, "sh", id, nullptr};
        process_options options = {};

        options.arguments = words;
        return is_ours(id) ? process_read(call, &options, nullptr, nullptr) : SANDLOT_OK; // what is gone counts as deleted
    });
}

sandlot_status scaffold_execute(
    sandlot_call *call, void *, void *sandbox, const sandlot_command *command,
    const sandlot_sink *output, sandlot_exit *result)
{
    return guarded(call, [&] {
        const char *const words[] = {"sh", "-c", "--", command->command, nullptr};
        process_options options = process_options_of(command, words, output);

        options.clean_environment = true; // nothing of the host's own goes into a sandbox
        if (!options.working_dir)
            options.working_dir = static_cast<const std::string *>(sandbox)->c_str();
        return process_run(call, &options, result);
    });
}

// A function fills the table in, because C++17 has no designated initialisers.
sandlot_provider make_table() noexcept
{
    sandlot_provider table = {};

    table.size = sizeof(table);
    table.abi_major = SANDLOT_ABI_MAJOR;
    table.abi_minor = SANDLOT_ABI_MINOR;
    table.name = "scaffold";
    table.flags = SANDLOT_STREAMS_OUTPUT;
    table.get_or_create = scaffold_get_or_create;
    table.release = scaffold_release;
    table.delete_sandbox = scaffold_delete;
    table.execute = scaffold_execute;
    return table;
}

const sandlot_provider scaffold_provider = make_table();

} // namespace

#define SCAFFOLD_METADATA(M) \
    M(description, "Folders in /tmp without any isolation") \
    M(working_dir, "/tmp") \
    M(capabilities, "streaming")
SANDLOT_ENTRY_POINT(scaffold, SCAFFOLD_METADATA, SANDLOT_NO_PARAMETERS);
