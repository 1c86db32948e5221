/* The process that started the server: when it ends without a word, the server should not stay behind. */
#ifndef SANDLOT_SERVER_PARENT_H
#define SANDLOT_SERVER_PARENT_H

/* A descriptor that is readable once the parent has ended, to be closed; -1 where that cannot be told. */
int parent_watch(void);

#endif
