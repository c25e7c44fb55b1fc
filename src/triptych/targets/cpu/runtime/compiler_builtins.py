"""Compiler builtins that LLVM calls by name, as LLVM IR: 16-bit float conversions and 128-bit integer divisions."""

from __future__ import annotations

import re

# LLVM IR of the 16-bit float conversions that LLVM calls by name on machines without the instructions.
#
# C compilers link them from their runtime library; an in-process linker has none, so modules that use 16-bit floats
# carry them. All round to nearest even in one step: going from double to half through float would round twice.

_CONVERSIONS = """
; float of the same value as a half
define linkonce_odr hidden float @__extendhfsf2(half %value) {
  %bits16 = bitcast half %value to i16
  %bits = zext i16 %bits16 to i32
  %sign = and i32 %bits, 32768
  %sign32 = shl i32 %sign, 16
  %rest = and i32 %bits, 32767
  %shifted = shl i32 %rest, 13
  %special = icmp uge i32 %rest, 31744
  %rebased = add i32 %shifted, 939524096
  %rebased_special = add i32 %shifted, 1879048192
  %normal = select i1 %special, i32 %rebased_special, i32 %rebased
  ; a subnormal half is its integer times 2^-24, which float holds exactly
  %whole = uitofp i32 %rest to float
  %scaled = fmul float %whole, 0x3E70000000000000
  %subnormal = bitcast float %scaled to i32
  %is_subnormal = icmp ult i32 %rest, 1024
  %magnitude = select i1 %is_subnormal, i32 %subnormal, i32 %normal
  %all = or i32 %magnitude, %sign32
  %result = bitcast i32 %all to float
  ret float %result
}

; half nearest to a float
define linkonce_odr hidden half @__truncsfhf2(float %value) {
  %bits = bitcast float %value to i32
  %sign = lshr i32 %bits, 16
  %sign16 = and i32 %sign, 32768
  %rest = and i32 %bits, 2147483647
  %is_nan = icmp ugt i32 %rest, 2139095040
  %payload = lshr i32 %rest, 13
  %payload_bits = and i32 %payload, 511
  %nan = or i32 %payload_bits, 32256
  ; 65520 and above round to infinity
  %is_large = icmp uge i32 %rest, 1199570944
  ; below 2^-14 the result is subnormal: adding 0.5 makes the hardware round at the right bit
  %is_small = icmp ult i32 %rest, 947912704
  %magnitude = bitcast i32 %rest to float
  %aligned = fadd float %magnitude, 5.000000e-01
  %aligned_bits = bitcast float %aligned to i32
  %small = sub i32 %aligned_bits, 1056964608
  %odd = lshr i32 %rest, 13
  %odd_bit = and i32 %odd, 1
  %rebased = sub i32 %rest, 939524096
  %biased = add i32 %rebased, 4095
  %rounded = add i32 %biased, %odd_bit
  %normal = lshr i32 %rounded, 13
  %finite = select i1 %is_small, i32 %small, i32 %normal
  %bounded = select i1 %is_large, i32 31744, i32 %finite
  %chosen = select i1 %is_nan, i32 %nan, i32 %bounded
  %all = or i32 %chosen, %sign16
  %bits16 = trunc i32 %all to i16
  %result = bitcast i16 %bits16 to half
  ret half %result
}

; bfloat nearest to a float
define linkonce_odr hidden bfloat @__truncsfbf2(float %value) {
  %bits = bitcast float %value to i32
  %odd = lshr i32 %bits, 16
  %odd_bit = and i32 %odd, 1
  %biased = add i32 %bits, 32767
  %rounded = add i32 %biased, %odd_bit
  %quiet = or i32 %bits, 4194304
  %is_nan = fcmp uno float %value, %value
  %chosen = select i1 %is_nan, i32 %quiet, i32 %rounded
  %shifted = lshr i32 %chosen, 16
  %bits16 = trunc i32 %shifted to i16
  %result = bitcast i16 %bits16 to bfloat
  ret bfloat %result
}

; float that a later rounding cannot tell from the double: inexact results get an odd last bit
define linkonce_odr hidden float @triptych.round_to_odd(double %value) {
  %near = fptrunc double %value to float
  %back = fpext float %near to double
  %bits = bitcast float %near to i32
  %last = and i32 %bits, 1
  %is_even = icmp eq i32 %last, 0
  %is_inexact = fcmp one double %back, %value
  %adjust = and i1 %is_even, %is_inexact
  ; sizes compare as integers; calling an intrinsic would need a declaration that the module may already have
  %back_bits = bitcast double %back to i64
  %value_bits = bitcast double %value to i64
  %size_near = and i64 %back_bits, 9223372036854775807
  %size_value = and i64 %value_bits, 9223372036854775807
  %is_short = icmp ult i64 %size_near, %size_value
  %step = select i1 %is_short, i32 1, i32 -1
  %moved = add i32 %bits, %step
  %chosen = select i1 %adjust, i32 %moved, i32 %bits
  %result = bitcast i32 %chosen to float
  ret float %result
}

define linkonce_odr hidden half @__truncdfhf2(double %value) {
  %odd = call float @triptych.round_to_odd(double %value)
  %result = call half @__truncsfhf2(float %odd)
  ret half %result
}

define linkonce_odr hidden bfloat @__truncdfbf2(double %value) {
  %odd = call float @triptych.round_to_odd(double %value)
  %result = call bfloat @__truncsfbf2(float %odd)
  ret bfloat %result
}
"""

# LLVM IR of the divisions of 128-bit integers, which LLVM calls by name because no machine has instructions for them.
#
# C compilers link them from their runtime library, and whether a Python process has that loaded is chance; so modules
# that divide such integers carry them.

_DIVIDE = """
; quotient and remainder of unsigned numbers
define linkonce_odr hidden { i128, i128 } @triptych.divide_wide(i128 %dividend, i128 %divisor) {
entry:
  %dividend_low = trunc i128 %dividend to i64
  %dividend_above = lshr i128 %dividend, 64
  %dividend_high = trunc i128 %dividend_above to i64
  %divisor_low = trunc i128 %divisor to i64
  %divisor_above = lshr i128 %divisor, 64
  %divisor_high = trunc i128 %divisor_above to i64
  %is_short = icmp eq i64 %divisor_high, 0
  %either_high = or i64 %dividend_high, %divisor_high
  %are_short = icmp eq i64 %either_high, 0
  br i1 %are_short, label %short, label %long

short:
  %short_quotient = udiv i64 %dividend_low, %divisor_low
  %short_rest = urem i64 %dividend_low, %divisor_low
  %wide_quotient = zext i64 %short_quotient to i128
  %wide_rest = zext i64 %short_rest to i128
  br label %end

long:
  ; the high half of the quotient is one division, or zero; what is left of the dividend is less than the divisor
  %safe_divisor = select i1 %is_short, i64 %divisor_low, i64 1
  %first = udiv i64 %dividend_high, %safe_divisor
  %first_rest = urem i64 %dividend_high, %safe_divisor
  %high = select i1 %is_short, i64 %first, i64 0
  %high_rest = select i1 %is_short, i64 %first_rest, i64 %dividend_high
  %start = zext i64 %high_rest to i128
  br label %bit

bit:
  ; the low half comes bit by bit: bits of the dividend leave `digits` on the left, bits of the quotient enter it
  %count = phi i32 [ 0, %long ], [ %next, %bit ]
  %rest = phi i128 [ %start, %long ], [ %rest_left, %bit ]
  %digits = phi i64 [ %dividend_low, %long ], [ %digits_left, %bit ]
  %carry = icmp slt i128 %rest, 0
  %rest_twice = shl i128 %rest, 1
  %digit = lshr i64 %digits, 63
  %wide_digit = zext i64 %digit to i128
  %longer = or i128 %rest_twice, %wide_digit
  %is_large = icmp uge i128 %longer, %divisor
  %fits = or i1 %carry, %is_large
  %taken = select i1 %fits, i128 %divisor, i128 0
  %rest_left = sub i128 %longer, %taken
  %digits_twice = shl i64 %digits, 1
  %new_digit = zext i1 %fits to i64
  %digits_left = or i64 %digits_twice, %new_digit
  %next = add i32 %count, 1
  %is_last = icmp eq i32 %next, 64
  br i1 %is_last, label %joined, label %bit

joined:
  %wide_high = zext i64 %high to i128
  %high_half = shl i128 %wide_high, 64
  %low_half = zext i64 %digits_left to i128
  %long_quotient = or i128 %high_half, %low_half
  br label %end

end:
  %quotient = phi i128 [ %wide_quotient, %short ], [ %long_quotient, %joined ]
  %remainder = phi i128 [ %wide_rest, %short ], [ %rest_left, %joined ]
  %one = insertvalue { i128, i128 } poison, i128 %quotient, 0
  %both = insertvalue { i128, i128 } %one, i128 %remainder, 1
  ret { i128, i128 } %both
}

"""

_UNSIGNED = """
define linkonce_odr hidden i128 @__u{name}ti3(i128 %dividend, i128 %divisor) {{
  %both = call {{ i128, i128 }} @triptych.divide_wide(i128 %dividend, i128 %divisor)
  %result = extractvalue {{ i128, i128 }} %both, {place}
  ret i128 %result
}}
"""

_SIGNED = """
; toward zero: sizes are divided, and x ^ s - s is -x where the sign s is -1
define linkonce_odr hidden i128 @__{name}ti3(i128 %dividend, i128 %divisor) {{
  %dividend_sign = ashr i128 %dividend, 127
  %dividend_flipped = xor i128 %dividend, %dividend_sign
  %dividend_size = sub i128 %dividend_flipped, %dividend_sign
  %divisor_sign = ashr i128 %divisor, 127
  %divisor_flipped = xor i128 %divisor, %divisor_sign
  %divisor_size = sub i128 %divisor_flipped, %divisor_sign
  %size = call i128 @__u{name}ti3(i128 %dividend_size, i128 %divisor_size)
  %sign = xor i128 %dividend_sign, {other_sign}
  %flipped = xor i128 %size, %sign
  %result = sub i128 %flipped, %sign
  ret i128 %result
}}
"""

_DIVISIONS = "".join(
    [
        _DIVIDE,
        *(_UNSIGNED.format(name=name, place=place) for place, name in enumerate(("div", "mod"))),
        _SIGNED.format(name="div", other_sign="%divisor_sign"),
        _SIGNED.format(name="mod", other_sign="0"),  # a remainder has the sign of the dividend
    ]
)

_DIVISION = re.compile(r"= [us](?:div|rem) (?:exact )?(?:<\d+ x )?i128")

_DEFINED = re.compile(r"^define linkonce_odr hidden [^\n]*(@__\w+)\(", re.MULTILINE)


def with_builtins(llvm: str) -> str:
    """The module with the builtins of what it mentions: LLVM asks for them only while it emits code, so they are listed
    as used. Not in `llvm.used`, which would keep them in a linked program that does without."""
    added = _CONVERSIONS if "half" in llvm or "bfloat" in llvm else ""
    if _DIVISION.search(llvm):
        added += _DIVISIONS
    if not added:
        return llvm
    names = [f"ptr {name}" for name in _DEFINED.findall(added)]
    listed = f"@llvm.compiler.used = appending global [{len(names)} x ptr] [{', '.join(names)}]"
    return f'{llvm}{added}{listed}, section "llvm.metadata"\n'
