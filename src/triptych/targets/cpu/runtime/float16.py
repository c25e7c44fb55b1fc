"""LLVM IR of the 16-bit float conversions that LLVM calls by name on machines without the instructions.

C compilers link them from their runtime library; an in-process linker has none, so modules that use 16-bit floats
carry them. All round to nearest even in one step: going from double to half through float would round twice.
"""

from __future__ import annotations

_HELPERS = """
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

@llvm.used = appending global [5 x ptr] [
  ptr @__extendhfsf2, ptr @__truncsfhf2, ptr @__truncdfhf2, ptr @__truncsfbf2, ptr @__truncdfbf2
], section "llvm.metadata"
"""


def with_float_helpers(llvm: str) -> str:
    """The module with the helpers when it mentions a 16-bit float type: LLVM asks for them only while it emits code."""
    return llvm + _HELPERS if "half" in llvm or "bfloat" in llvm else llvm
