/* The logistic function and the hyperbolic tangent in 16 bits, portable. Source of the rule: TFLM, integer_ops/logistic.h and
 * tanh.h; both read one table. */
#include "kibi_sigmoid_s16.h"

/* 1 / (1 + exp(-k / 24)) in units of 2**-16; by a 16th of its second difference too large, so that the lines between two entries
 * are off by the same in both directions; the last is what follows. */
static const uint16_t table[256] = {
    32768, 33451, 34133, 34813, 35493, 36169, 36843, 37513, 38180, 38841, 39498, 40149, 40794, 41432, 42064, 42688,
    43304, 43912, 44511, 45102, 45683, 46255, 46817, 47369, 47911, 48443, 48964, 49475, 49975, 50464, 50942, 51409,
    51865, 52311, 52745, 53169, 53581, 53983, 54374, 54755, 55125, 55485, 55834, 56174, 56503, 56823, 57133, 57433,
    57724, 58007, 58280, 58544, 58800, 59048, 59288, 59519, 59743, 59959, 60168, 60370, 60565, 60753, 60935, 61110,
    61279, 61441, 61599, 61750, 61896, 62036, 62172, 62302, 62428, 62549, 62666, 62778, 62886, 62990, 63090, 63186,
    63279, 63368, 63454, 63536, 63615, 63691, 63765, 63835, 63903, 63968, 64030, 64090, 64148, 64204, 64257, 64308,
    64357, 64405, 64450, 64494, 64536, 64576, 64614, 64652, 64687, 64721, 64754, 64786, 64816, 64845, 64873, 64900,
    64926, 64950, 64974, 64997, 65019, 65039, 65060, 65079, 65097, 65115, 65132, 65149, 65164, 65179, 65194, 65208,
    65221, 65234, 65246, 65258, 65269, 65280, 65291, 65301, 65310, 65319, 65328, 65337, 65345, 65352, 65360, 65367,
    65374, 65381, 65387, 65393, 65399, 65404, 65410, 65415, 65420, 65425, 65429, 65433, 65438, 65442, 65445, 65449,
    65453, 65456, 65459, 65462, 65465, 65468, 65471, 65474, 65476, 65479, 65481, 65483, 65485, 65488, 65489, 65491,
    65493, 65495, 65497, 65498, 65500, 65501, 65503, 65504, 65505, 65507, 65508, 65509, 65510, 65511, 65512, 65513,
    65514, 65515, 65516, 65517, 65517, 65518, 65519, 65520, 65520, 65521, 65522, 65522, 65523, 65523, 65524, 65524,
    65525, 65525, 65526, 65526, 65526, 65527, 65527, 65528, 65528, 65528, 65529, 65529, 65529, 65529, 65530, 65530,
    65530, 65530, 65531, 65531, 65531, 65531, 65531, 65532, 65532, 65532, 65532, 65532, 65532, 65533, 65533, 65533,
    65533, 65533, 65533, 65533, 65533, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65535};

/* The table at a magnitude in units of 2**-bits entries, with as many more bits; end: behind its last line. */
static uint32_t on_lines(uint32_t magnitude, uint32_t bits, uint32_t end)
{
    const uint32_t place = magnitude >> bits;
    if (place >= 255u) {
        return end;
    }
    const uint32_t low = table[place];
    return (low << bits) + (magnitude & ((1u << bits) - 1u)) * (table[place + 1u] - low);
}

static uint32_t magnitude_of(int32_t value)
{
    return value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
}

int16_t kibi_sigmoid_s16(int32_t value)
{
    const uint32_t line = on_lines(magnitude_of(value), 9, (uint32_t)0x7FFF << 10);
    const uint32_t side = value >= 0 ? line : ((uint32_t)1 << 25) - line - 1u;
    return (int16_t)((side + (1u << 9)) >> 10);
}

int16_t kibi_tanh_s16(int32_t value)
{
    const int32_t line = (int32_t)on_lines(magnitude_of(value), 8, (uint32_t)0xFFFF << 8) - ((int32_t)1 << 23);
    const int32_t side = value >= 0 ? line : -line - 1;
    return (int16_t)((side + (1 << 7)) >> 8);
}
