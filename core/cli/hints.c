#include "cli/hints.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *word;
    const char *hint;
} hints[] = {
    {"login", "every provider finds its credentials by itself; 'sandlot providers NAME' tells where"},
    {"logout", "Sandlot keeps no login; 'sandlot providers NAME' tells where a provider finds its credentials"},
    {"start", "'sandlot create' makes a sandbox that stays, and 'sandlot exec --sandbox-id ID' runs a command in it"},
    {"stop", "'sandlot delete ID' ends a sandbox"},
    {"unpause", "'sandlot resume ID' wakes a paused sandbox"},
    {"commit", "'sandlot snapshot ID --name NAME' keeps the state of a sandbox"},
    {"clone", "'sandlot fork ID' makes a second sandbox with the files of one"},
    {"inspect", "'sandlot list --json' tells of sandboxes, and 'sandlot providers NAME' of a provider"},
    {"info", "'sandlot doctor' tells of this machine, and 'sandlot providers NAME' of a provider"},
    {"top", "'sandlot ps --sandbox-id ID' lists the background processes of a sandbox"},
    {"stats", "'sandlot ps --sandbox-id ID' lists the background processes of a sandbox"},
    {"images", "what a sandbox starts from is a parameter of its provider; 'sandlot providers NAME' lists them"},
    {"build", "what a sandbox starts from is a parameter of its provider; 'sandlot providers NAME' lists them"},
    {"pull", "'sandlot apply ID' brings home what a sandbox has changed, and 'sandlot download' single files"},
    {"push", "'sandlot import ID DIR' puts a folder into a sandbox, and 'sandlot upload' single files"},
    {"attach", "'sandlot shell --sandbox-id ID' is a terminal in a sandbox"},
    {"connect", "'sandlot shell --sandbox-id ID' is a terminal in a sandbox"},
    {"ssh", "'sandlot shell --sandbox-id ID' is a terminal in a sandbox"},
    {"--image", "what a sandbox starts from is a parameter of its provider: --param image=NAME where it has that; "
                "'sandlot providers NAME' lists them"},
    {"-it", "a terminal in a sandbox is 'sandlot shell'; with 'sandlot exec', --stdin passes standard input through"},
    {"-ti", "a terminal in a sandbox is 'sandlot shell'; with 'sandlot exec', --stdin passes standard input through"},
    {"-t", "a terminal in a sandbox is 'sandlot shell'"},
    {"-i", "--stdin passes standard input through, and 'sandlot shell' is a terminal"},
    {"--background", "'sandlot exec --detach' starts a background process and prints its id"},
    {"--rm", "a sandbox that 'sandlot exec' makes for itself is always deleted"},
};

const char *hint_for(const char *word)
{
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if (strcmp(hints[i].word, word) == 0)
            return hints[i].hint;
    return NULL;
}
