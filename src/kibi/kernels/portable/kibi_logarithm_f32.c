/* The natural logarithm of floats, portable. Source of the rule: glibc, ieee754/flt-32/e_logf.c. */
#include "kibi_logarithm_f32.h"

#include "kibi_float.h"
#include "kibi_float_bits.h"

/* For each 16th of an octave the inverse of a number in it, and that number's logarithm. */
static const double parts[16][2] = {
    {1.398907162146528, -0.33569133332882284}, {1.3403141896637998, -0.2929040563774074},
    {1.286432210124115, -0.2518726580937369}, {1.2367150214269895, -0.21245868807117255},
    {1.1906977166711752, -0.17453945183745634}, {1.1479821020556429, -0.1380057072319758},
    {1.1082251448272158, -0.10275976698545139}, {1.0711297413057381, -0.06871392447020525},
    {1.036437278977283, -0.0357891387398228}, {1.0, 0.0},
    {0.9492859795739057, 0.05204517742929496}, {0.8951049428609004, 0.11081431298787942},
    {0.8476821620351103, 0.1652495223695143}, {0.8050314851692001, 0.21687389031699977},
    {0.7664671008843108, 0.2659635028121397}, {0.731428603316328, 0.3127556664073557}
};

float kibi_logarithm_f32(float value)
{
    uint32_t bits = kibi_bits_of_float(value);
    if (!(value > 0.0f) || bits == 0x7F800000u) {
        return value == 0.0f ? kibi_float_of_bits(0xFF800000u) : (value > 0.0f ? value : kibi_float_of_bits(0x7FC00000u));
    }
    if (bits < 0x00800000u) {
        bits = kibi_bits_of_float(value * 8388608.0f) - (23u << 23);
    }
    /* The part that begins at 0.7, in which 1 has the inverse 1 and the logarithm 0. */
    const uint32_t above = bits - 0x3F330000u;
    const double *const part = parts[(above >> 19) & 15u];
    const int32_t exponent = (int32_t)(above >> 23) - (above >> 31 != 0u ? 512 : 0);
    const double r = (double)kibi_float_of_bits(bits - (above & 0xFF800000u)) * part[0] - 1.0;
    const double start = part[1] + (double)exponent * 0.6931471805599453;
    const double square = r * r;
    const double tail = -0.25089342214237154 * square + (0.333456765744066 * r - 0.4999997485802103);
    return (float)(tail * square + (start + r));
}
