/* The sandlot command: parse the words, run one command, leave with its status. */
#include "cli/command.h"
#include "cli/names.h"
#include "loader/worker/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A caller may start us with 0, 1 or 2 closed; then the first file that we open would get that number, and results
 * would be written into it. Input and output are held by something that cannot be read or written to, so that their
 * absence is still noticed.
 */
static void hold_standard_descriptors(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};

    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
            _exit(1);
}

static int run(struct options *options)
{
    if (options->given & OPTION_VERSION)
        return command_version(options);
    if (options->given & OPTION_HELP)
        return help_print(options->command);
    names_to_ids(options);
    return options->command->run(options);
}

int main(int argc, char **argv)
{
    struct options options;

    hold_standard_descriptors();
    /* What is made for oneself can be used by oneself. */
    umask(umask(0) & ~(mode_t)S_IRWXU);
    worker_process_hide_host();
    int status = options_parse(argc, argv, &options);

    if (status == 0)
        status = run(&options);
    options_clear(&options);
    return status;
}
