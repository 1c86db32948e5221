/*
 * sandlot-egress: the way out of one box. The keeper starts it when something in the box connects to the box's
 * listener, with the descriptors of egress_prepare, no arguments and no environment. It ends with the keeper or the
 * box.
 */
#include "egress.h"

int main(void)
{
    struct egress egress;

    return egress_prepare(&egress) ? egress_serve(&egress) : 1;
}
