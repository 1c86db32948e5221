/*
 * Private folders below TMPDIR (without it: /tmp) for bytes that a program holds for a while. Each is locked for as
 * long as the program that made it has it open, so that what one has left that was killed can be told from what another
 * one works in.
 */
#ifndef SANDLOT_BASE_STAGE_H
#define SANDLOT_BASE_STAGE_H

struct stage {
    char *path; /* NULL: none */
    int fd;
};

#define NO_STAGE ((struct stage){NULL, -1})

/* Makes one, after stage_sweep. 0, or -1 with errno. */
int stage_begin(struct stage *stage);

/* Removes it with the files in it; folders are not expected there. */
void stage_end(struct stage *stage);

/* Removes those of the current user whose programs have ended. What cannot be removed stays. */
void stage_sweep(void);

#endif
