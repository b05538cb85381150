/* The exponential function of doubles. */
#ifndef KIBI_EXP_F64_H
#define KIBI_EXP_F64_H

#include "kibi.h"

/* value: any; a NaN gives a NaN, what is below -708 gives 0. Off by at most 2 units in the last place. */
double kibi_exp_f64(double value);

#endif
