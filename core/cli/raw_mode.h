/* The user's terminal in raw mode: every key comes as it is, Ctrl-C too, and nothing is echoed. */
#ifndef SANDLOT_CLI_RAW_MODE_H
#define SANDLOT_CLI_RAW_MODE_H

/*
 * Puts the terminal on standard input into raw mode. Until raw_mode_leave, its modes come back on every way out: at
 * exit(3), and before a signal does what it did before. 0 or -1 with errno.
 */
int raw_mode_enter(void);

/* Brings the modes back, and throws away what was typed and not read. Does nothing where that is done. */
void raw_mode_leave(void);

#endif
