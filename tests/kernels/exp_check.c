/* Results of both ways to compute the exponential function of floats. */
#define kibi_exp_f32 in_integers
#include "kibi_exp_f32.c"
#undef kibi_exp_f32

/* Compares the results of `count` floats whose bits are `step` apart, from `first` on; returns how many differ. */
uint32_t differing(uint32_t first, uint32_t step, uint32_t count)
{
    uint32_t found = 0;
    for (; count != 0; --count) {
        const float value = kibi_float_of_bits(first);
        const uint32_t wanted = kibi_bits_of_float(kibi_exp_f32_of_doubles(value));
        found += kibi_bits_of_float(in_integers(value)) != wanted;
        first += step;
    }
    return found;
}
