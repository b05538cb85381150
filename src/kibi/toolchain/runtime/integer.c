/* The integer functions that an Armv6-M compiler calls, since that core neither divides nor multiplies or shifts 64 bits
   (Arm run-time ABI, IHI 0043, "Integer helper functions"). Cores that can do these never call them, and the linker drops
   them. Division by zero gives zero, as the hardware of larger cores does. */
#include <stdint.h>

uint64_t __aeabi_lmul(uint64_t left, uint64_t right);
uint64_t __aeabi_llsl(uint64_t value, int shift);
uint64_t __aeabi_llsr(uint64_t value, int shift);
int64_t __aeabi_lasr(int64_t value, int shift);
uint32_t __aeabi_uidiv(uint32_t numerator, uint32_t denominator);
int32_t __aeabi_idiv(int32_t numerator, int32_t denominator);
uint64_t __aeabi_uidivmod(uint32_t numerator, uint32_t denominator);
uint64_t __aeabi_idivmod(int32_t numerator, int32_t denominator);

typedef union {
    uint64_t whole;
    struct {
        uint32_t low, high; /* little-endian, as the cores that we build for */
    } half;
} wide;

static uint64_t join(uint32_t low, uint32_t high)
{
    wide result;
    result.half.low = low;
    result.half.high = high;
    return result.whole;
}

uint64_t __aeabi_lmul(uint64_t left, uint64_t right)
{
    wide a, b;
    a.whole = left;
    b.whole = right;
    const uint32_t a0 = a.half.low & 0xFFFFu, a1 = a.half.low >> 16;
    const uint32_t b0 = b.half.low & 0xFFFFu, b1 = b.half.low >> 16;
    const uint32_t low = a0 * b0;
    const uint32_t middle = a1 * b0 + (low >> 16); /* at most 0xFFFE0001 + 0xFFFE: no carry */
    const uint32_t other = a0 * b1 + (middle & 0xFFFFu);
    const uint32_t high = a1 * b1 + (middle >> 16) + (other >> 16);
    return join((low & 0xFFFFu) | (other << 16), high + a.half.high * b.half.low + a.half.low * b.half.high);
}

uint64_t __aeabi_llsl(uint64_t value, int shift)
{
    wide v;
    v.whole = value;
    if (shift >= 32) {
        return join(0u, v.half.low << (shift - 32));
    }
    return shift == 0 ? value : join(v.half.low << shift, (v.half.high << shift) | (v.half.low >> (32 - shift)));
}

uint64_t __aeabi_llsr(uint64_t value, int shift)
{
    wide v;
    v.whole = value;
    if (shift >= 32) {
        return join(v.half.high >> (shift - 32), 0u);
    }
    return shift == 0 ? value : join((v.half.low >> shift) | (v.half.high << (32 - shift)), v.half.high >> shift);
}

static uint32_t shift_right_signed(uint32_t value, int shift)
{
    const uint32_t sign = (value >> 31) != 0u ? ~(uint32_t)0 : 0u;
    return shift == 0 ? value : (value >> shift) | (sign << (32 - shift));
}

int64_t __aeabi_lasr(int64_t value, int shift)
{
    wide v;
    v.whole = (uint64_t)value;
    if (shift >= 32) {
        const uint32_t sign = (v.half.high >> 31) != 0u ? ~(uint32_t)0 : 0u;
        return (int64_t)join(shift_right_signed(v.half.high, shift - 32), sign);
    }
    if (shift == 0) {
        return value;
    }
    return (int64_t)join((v.half.low >> shift) | (v.half.high << (32 - shift)), shift_right_signed(v.half.high, shift));
}

uint64_t __aeabi_uidivmod(uint32_t numerator, uint32_t denominator)
{
    uint32_t quotient = 0u;
    uint32_t bit = 1u;
    if (denominator == 0u) {
        return join(0u, numerator);
    }
    while (denominator < numerator && (denominator >> 31) == 0u) {
        denominator <<= 1;
        bit <<= 1;
    }
    for (; bit != 0u; bit >>= 1, denominator >>= 1) {
        if (numerator >= denominator) {
            numerator -= denominator;
            quotient |= bit;
        }
    }
    return join(quotient, numerator);
}

uint32_t __aeabi_uidiv(uint32_t numerator, uint32_t denominator)
{
    wide result;
    result.whole = __aeabi_uidivmod(numerator, denominator);
    return result.half.low;
}

uint64_t __aeabi_idivmod(int32_t numerator, int32_t denominator)
{
    const uint32_t n = numerator < 0 ? 0u - (uint32_t)numerator : (uint32_t)numerator;
    const uint32_t d = denominator < 0 ? 0u - (uint32_t)denominator : (uint32_t)denominator;
    wide result;
    result.whole = __aeabi_uidivmod(n, d);
    if ((numerator < 0) != (denominator < 0)) {
        result.half.low = 0u - result.half.low;
    }
    if (numerator < 0) {
        result.half.high = 0u - result.half.high; /* C's remainder has the sign of the numerator */
    }
    return result.whole;
}

int32_t __aeabi_idiv(int32_t numerator, int32_t denominator)
{
    wide result;
    result.whole = __aeabi_idivmod(numerator, denominator);
    return (int32_t)result.half.low;
}
