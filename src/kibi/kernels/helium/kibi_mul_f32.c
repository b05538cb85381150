/* MUL, float, Armv8.1-M with MVE. Source of the rule: TFLM, reference/mul.h, Mul. */
#define KIBI_PAIRS_KERNEL kibi_mul_f32
#define KIBI_PAIRS_INSTRUCTION "vmul.f32"
#define KIBI_PAIRS_OPERATOR *
#include "kibi_pairs_f32.h"
