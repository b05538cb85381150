/* The check of quotients, with what cores without a floating-point unit run. */
#define QUOTIENT_BY_INTEGERS
#include "quotient_check.c"
