/* Made of read_box.sh, which says what each does. */
#ifndef SANDLOT_OPERATIONS_DERIVED_READ_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_READ_BOX_H

extern const char read_box_looking[];
extern const char read_box_front[];
extern const char read_box_whole[];
extern const char read_box_counted[];
extern const char read_box_front_end[]; /* behind what stands for the case that read_box_front did not serve */
extern const char read_box_finding[];

#endif
