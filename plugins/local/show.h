/* The parameter `show`: which folders of the host a box may see, and which it never does. */
#ifndef SANDLOT_LOCAL_SHOW_H
#define SANDLOT_LOCAL_SHOW_H

#include "client.h"

/*
 * Opens the folders of JSON, an array of paths ("~" is the user's home), judges what was opened, and writes them in the
 * form of settings_add_shown, parents first, to *LIST, to be freed; NULL if there are none. What holds keys, a home as
 * a whole, other users' homes, and what a box has of its own are SANDLOT_INVALID_ARGUMENT, with the reason and what to
 * do.
 */
enum sandlot_status show_judge(struct client *client, struct sandlot_call *call, const char *json, char **list);

#endif
