"""What ``lanes`` of float32 numbers can do beyond adding and multiplying, in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from medsenteval.lanes import FLOATS, LANES_OF

__all__ = ["choose_equal", "maximum", "multiply_add", "nearest", "sum_of", "two_to"]

_wide: Final = LANES_OF[types.float32]
_WHOLE: Final = ir.VectorType(ir.IntType(32), FLOATS)
#: Bits of a float32 below its exponent, and the exponent of 1.
_MANTISSA_BITS: Final = 23
_BIAS: Final = 127


def _same(number: int) -> Any:
    return ir.Constant(_WHOLE, [number] * FLOATS)


def _generating(build: Callable[..., Any], n_values: int) -> Any:
    """Return what numba wants to know of a function of wide values: its signature, and who makes its instructions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build(builder, *arguments)

    return _wide(*[_wide] * n_values), generate


@intrinsic
def multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c, with one rounding where the processor can."""
    once = ("contract",)
    return _generating(lambda builder, a, b, c: builder.fadd(builder.fmul(a, b, flags=once), c, flags=once), 3)


@intrinsic
def maximum(typing_context: Any, a: Any, b: Any) -> Any:
    """Return the larger one in each lane."""
    return _generating(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b), 2)


@intrinsic
def choose_equal(typing_context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return each lane of c where a and b are equal, else of d."""
    return _generating(lambda builder, a, b, c, d: builder.select(builder.fcmp_ordered("==", a, b), c, d), 4)


@intrinsic
def nearest(typing_context: Any, a: Any) -> Any:
    """Return the nearest whole numbers."""

    def build(builder: Any, a: Any) -> Any:
        kind = ir.FunctionType(a.type, [a.type])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.rint.v{FLOATS}f32"), [a])

    return _generating(build, 1)


@intrinsic
def two_to(typing_context: Any, a: Any) -> Any:
    """Return two to the power of whole numbers from -126 to 127."""

    def build(builder: Any, whole: Any) -> Any:
        # The bits of a power of two are those of its exponent.
        exponent = builder.add(builder.fptosi(whole, _WHOLE), _same(_BIAS))
        return builder.bitcast(builder.shl(exponent, _same(_MANTISSA_BITS)), whole.type)

    return _generating(build, 1)


@intrinsic
def sum_of(typing_context: Any, a: Any) -> Any:
    """Return the sum of all lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Halves onto each other: log2(FLOATS) additions, where LLVM's own sum would keep the order and take them all.
        total, width = arguments[0], FLOATS
        while width > 1:
            width //= 2
            half = ir.VectorType(ir.IntType(32), width)
            low, high = (ir.Constant(half, list(range(start, start + width))) for start in (0, width))
            nothing = ir.Constant(total.type, ir.Undefined)
            total = builder.fadd(builder.shuffle_vector(total, nothing, low), builder.shuffle_vector(total, nothing, high))
        return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return types.float32(_wide), generate
