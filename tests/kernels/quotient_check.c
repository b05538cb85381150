/* Divides many pairs of floats as kernels do. QUOTIENT_BY_INTEGERS: as on cores without a floating-point unit, on any machine. */
#ifdef QUOTIENT_BY_INTEGERS
#define KIBI_DIVIDES_BY_INTEGERS
#include "kibi_quotient_f32.c"
#endif

#include "kibi_quotient_f32.h"

void quotient_check(float *quotients, const float *dividends, const float *divisors, int32_t count);

void quotient_check(float *quotients, const float *dividends, const float *divisors, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        quotients[i] = KIBI_QUOTIENT(dividends[i], divisors[i]);
    }
}
