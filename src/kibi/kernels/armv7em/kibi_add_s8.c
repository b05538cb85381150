/* ADD, int8, for cores with the DSP extension. Source of the rule: TFLM, integer_ops/add.h, AddFunc. */
#include "kibi_binary.h"

#include "kibi_requantize.h"

/* Both inputs are brought to this many more bits before they are scaled. */
enum { LEFT_SHIFT = 20 };

static inline int32_t scaled(int32_t centred, int32_t multiplier, int32_t shift)
{
    return kibi_divide_by_power(kibi_multiply_high(centred * (1 << LEFT_SHIFT), multiplier), -shift);
}

/* Any scales, any steps. */
static KIBI_NOINLINE void one_piece(int8_t *output, const int8_t *a, const int8_t *b, const kibi_scaled_sum_params *p)
{
    for (int32_t i = 0; i < p->elements; ++i) {
        const int32_t first = scaled(*a - p->zero_point1, p->multiplier1, p->shift1);
        const int32_t second = scaled(*b - p->zero_point2, p->multiplier2, p->shift2);
        const int32_t high = kibi_multiply_high(first + second, p->output_multiplier);
        const int32_t sum = kibi_divide_by_power(high, -p->output_shift) + p->output_zero_point;
        *output++ = (int8_t)kibi_clamp(sum, p->activation_min, p->activation_max);
        a += p->step1;
        b += p->step2;
    }
}

/* The high 32 bits of a * b, rounded half up. */
static inline int32_t high_half(int32_t a, int32_t b)
{
    int32_t high;
    __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
    return high;
}

/* value / 2, rounded down and cut to int8. */
static inline int32_t half_as_byte(int32_t value)
{
    int32_t byte;
    __asm__("ssat %0, #8, %1, asr #1" : "=r"(byte) : "r"(value));
    return byte;
}

/* What the loop over whole rows needs, and no more than its registers hold. */
typedef struct {
    int32_t moved;      /* the scaled input's zero point, in its place */
    int32_t multiplier; /* of the scaled input */
    int32_t half;       /* of what is shifted out of it */
    int32_t exponent;   /* bits shifted out of it: 1 … 31 */
    int32_t moved_half; /* the halved input's zero point, in its place */
    int32_t output_multiplier;
    int32_t output_bits; /* shifted out of the sum, all but one: 0 … 30 */
    int32_t output_moved;
} scales;

/* One element. No product needs more than 32 bits: a centred byte takes 9, twice the sum of two scaled inputs 30. Half is
 * rounded away from zero: 1 is taken from what is negative, then half goes up. */
static inline int32_t one_sum(int32_t scaled_byte, int32_t halved_byte, const scales *s)
{
    int32_t a = high_half(s->moved + scaled_byte * (1 << (LEFT_SHIFT + 1)), s->multiplier);
    a = (a + (a >> 31) + s->half) >> s->exponent;
    const int32_t twice = s->moved_half + halved_byte * (1 << LEFT_SHIFT) + a * 2;
    int32_t sum = high_half(twice, s->output_multiplier);
    sum = ((sum + (sum >> 31)) >> s->output_bits) + s->output_moved;
    return half_as_byte(sum);
}

static KIBI_NOINLINE void whole_range(int8_t *output, const int8_t *a, const int8_t *b, int32_t count, const scales *constants)
{
    const scales s = *constants;
    const int8_t *const end = output + count;
    while (output != end) {
        *output++ = (int8_t)one_sum(*a++, *b++, &s);
    }
}

static void clamp_all(int8_t *output, int32_t count, int32_t low, int32_t high)
{
    for (int32_t i = 0; i < count; ++i) {
        output[i] = (int8_t)kibi_clamp(output[i], low, high);
    }
}

/* True if an input is scaled by exactly one half: of the two in every model, that with the larger scale. */
static int is_halved(int32_t multiplier, int32_t shift) { return multiplier == (int32_t)1 << 30 && shift == 0; }

void kibi_add_s8(int8_t *output, const int8_t *const *rows, const kibi_scaled_sum_params *params, void *scratch)
{
    const kibi_scaled_sum_params *const p = params;
    const int8_t *const *rows2 = rows + p->rows1;
    const int is_second_halved = is_halved(p->multiplier2, p->shift2);
    const int32_t shift = is_second_halved ? p->shift1 : p->shift2;
    const int32_t unit = (int32_t)1 << LEFT_SHIFT;
    const scales s = {
        -2 * unit * (is_second_halved ? p->zero_point1 : p->zero_point2),
        is_second_halved ? p->multiplier1 : p->multiplier2,
        (int32_t)((uint32_t)1 << (~shift & 31)),
        -shift,
        -unit * (is_second_halved ? p->zero_point2 : p->zero_point1),
        p->output_multiplier,
        ~p->output_shift,
        2 * p->output_zero_point + 1,
    };
    const int is_fast = (is_second_halved || is_halved(p->multiplier1, p->shift1)) && shift < 0 && p->output_shift < 0 &&
                        p->step1 == 1 && p->step2 == 1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *const a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int8_t *const b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        if (is_fast) {
            whole_range(output, is_second_halved ? a : b, is_second_halved ? b : a, p->elements, &s);
            if (p->activation_min > -128 || p->activation_max < 127) {
                clamp_all(output, p->elements, p->activation_min, p->activation_max);
            }
        } else {
            one_piece(output, a, b, p);
        }
        output += p->elements;
    }
}
