/* SUB, float, Armv8.1-M with MVE. Source of the rule: TFLM, reference/sub.h, SubWithActivation. */
#define KIBI_PAIRS_KERNEL kibi_sub_f32
#define KIBI_PAIRS_INSTRUCTION "vsub.f32"
#define KIBI_PAIRS_OPERATOR -
#include "kibi_pairs_f32.h"
