/*
 * Hosts end a server faster than a sandbox can be deleted. So a small process stands by that notices the server's
 * death, however it came, by the end of a pipe whose writing end only the server holds; it deletes what the ledger then
 * still lists for that server, and exits.
 */
#ifndef SANDLOT_SERVER_WATCHER_H
#define SANDLOT_SERVER_WATCHER_H

#include <sandlot/sandlot.h>
#include <stdbool.h>

/* The hidden command that the watcher runs as: `sandlot mcp-watch [--config FILE] [--param KEY=VALUE]... PID:START`. */
#define WATCHER_COMMAND "mcp-watch"

/* Starts it for this process. False, after a warning, if that did not work. */
bool watcher_start(const char *config_file, const char *const *parameters);

/* The watcher's life: waits for the end of standard input, then deletes. SERVER is "PID:START". The exit status. */
int watcher_run(const char *server, const char *config_file, const char *const *parameters);

#endif
