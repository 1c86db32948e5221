/* The keeper's side of the protocol with its clients. */
#ifndef SANDLOT_LOCAL_SERVE_H
#define SANDLOT_LOCAL_SERVE_H

#include "boxes.h"

/* Takes the clients that wait at LISTENER. */
void serve_new_connections(struct keeper *keeper, int listener);

/* CONNECTION has a message, or has ended. */
void serve_connection(struct keeper *keeper, struct connection *connection);

/* The init of BOX is dead, or about to die: buries it and answers who waits for that. */
void serve_end_of_box(struct keeper *keeper, struct box *box);

/* The proxy of a box has answered, or has ended. */
void serve_way(struct keeper *keeper, struct way *way);

#endif
