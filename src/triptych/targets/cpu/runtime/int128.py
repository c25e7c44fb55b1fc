"""LLVM IR of the divisions of 128-bit integers, which LLVM calls by name because no machine has instructions for them.

C compilers link them from their runtime library, and whether a Python process has that loaded is chance; so modules
that divide such integers carry them.
"""

from __future__ import annotations

import re

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

_USED = """
@llvm.compiler.used = appending global [4 x ptr] [
  ptr @__udivti3, ptr @__umodti3, ptr @__divti3, ptr @__modti3
], section "llvm.metadata"
"""

_HELPERS = "".join(
    [
        _DIVIDE,
        *(_UNSIGNED.format(name=name, place=place) for place, name in enumerate(("div", "mod"))),
        _SIGNED.format(name="div", other_sign="%divisor_sign"),
        _SIGNED.format(name="mod", other_sign="0"),  # a remainder has the sign of the dividend
        _USED,
    ]
)

_DIVISION = re.compile(r"= [us](?:div|rem) (?:exact )?(?:<\d+ x )?i128")


def with_division_helpers(llvm: str) -> str:
    """The module with the helpers when it divides integers of 128 bits."""
    return llvm + _HELPERS if _DIVISION.search(llvm) else llvm
