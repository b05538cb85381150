/* MUL, float, Armv8.1-M with MVE. Source of the rule: TFLM, reference/mul.h, Mul. */
#define KIBI_PAIRS_KERNEL kibi_mul_f32
#define KIBI_PAIRS_OPERATOR *
#include "kibi_pairs_f32.h"

static KIBI_NOINLINE KIBI_NAKED void kibi_compute_eights(KIBI_IN_REGISTER kibi_pairs_task *task)
{
    KIBI_PAIRS_EIGHTS("vmul.f32");
}
