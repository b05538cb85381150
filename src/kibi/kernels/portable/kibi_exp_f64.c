/* The exponential function of doubles, portable: rule N39. */
#include "kibi_exp_f64.h"

#include <string.h>

#include "kibi_float.h"

/* 1 / k!, from k = 13 down to 0. */
static const double series_of[14] = {
    1.6059043836821613e-10, 2.08767569878681e-09, 2.505210838544172e-08, 2.755731922398589e-07,
    2.7557319223985893e-06, 2.48015873015873e-05, 0.0001984126984126984, 0.001388888888888889,
    0.008333333333333333, 0.041666666666666664, 0.16666666666666666, 0.5, 1.0, 1.0
};

double kibi_exp_f64(double value)
{
    /* ln 2 in two parts: products of a whole number with the first have no rounding. */
    const double ln2_high = 0.6931471803691238;
    const double ln2_low = 1.9082149292705877e-10;
    if (!(value >= -708.0)) {
        return value < 0.0 ? 0.0 : value;
    }
    if (value > 709.782712893384) {
        return value * 1.7976931348623157e+308; /* infinity */
    }
    /* Adding and taking away 1.5 * 2**52 rounds to a whole number. */
    const double shifted = value * 1.4426950408889634 + 6755399441055744.0;
    const double whole = shifted - 6755399441055744.0;
    const double rest = (value - whole * ln2_high) - whole * ln2_low;
    double series = series_of[0];
    for (int32_t k = 1; k < 14; ++k) {
        series = series * rest + series_of[k];
    }
    /* Twice half the power: at the upper end the power itself is out of range. */
    const uint64_t bits = (uint64_t)((int32_t)whole - 1 + 1023) << 52;
    double power;
    (void)memcpy(&power, &bits, sizeof(power));
    return series * power * 2.0;
}
