"""As many float32 numbers as a register holds, as one value in compiled code.

Compilers make wide code of simple loops, but do not keep a block of sums in registers while rows pass by, which is what
products of matrices live on. Here the wide operations are spelled out as LLVM's vectors, which numba hands to LLVM as they
are; they work on any processor, and well on those whose registers have ``LANES`` numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

__all__ = [
    "LANES",
    "call_for",
    "choose_equal",
    "load",
    "maximum",
    "multiply_add",
    "nearest",
    "repeat",
    "store",
    "sum_of",
    "two_to",
]

LANES: Final = 16 if binding.get_host_cpu_features().get("avx512f", False) else 8

_NUMBER: Final = ir.FloatType()
_VECTOR: Final = ir.VectorType(_NUMBER, LANES)
_INTEGERS: Final = ir.VectorType(ir.IntType(32), LANES)
#: Bits of a float32 below its exponent, and the exponent of 1.
_MANTISSA_BITS: Final = 23
_BIAS: Final = 127


class _WideType(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(name=f"Wide{LANES}")


_wide: Final = _WideType()


@register_model(_WideType)
class _WideModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _intrinsic_of(build: Callable[..., Any], n_values: int) -> Any:
    """Make a function of wide values from one that builds their LLVM instructions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build(builder, *arguments)

    signature = _wide(*[_wide] * n_values)
    if n_values == 1:
        return intrinsic(lambda typing_context, a: (signature, generate))
    if n_values == 2:
        return intrinsic(lambda typing_context, a, b: (signature, generate))
    if n_values == 3:
        return intrinsic(lambda typing_context, a, b, c: (signature, generate))
    return intrinsic(lambda typing_context, a, b, c, d: (signature, generate))


def _define_operator(python_operator: Any, build: Callable[..., Any]) -> None:
    """Let an operator of Python work on two wide values."""
    apply = _intrinsic_of(build, 2)

    @overload(python_operator)
    def choose(left, right):  # type: ignore[no-untyped-def]  # numba wants the very signature of the lambda
        if left is _wide and right is _wide:
            return lambda left, right: apply(left, right)
        return None


_define_operator(operator.add, lambda builder, a, b: builder.fadd(a, b))
_define_operator(operator.sub, lambda builder, a, b: builder.fsub(a, b))
_define_operator(operator.mul, lambda builder, a, b: builder.fmul(a, b))
_define_operator(operator.truediv, lambda builder, a, b: builder.fdiv(a, b))

#: a * b + c, in one rounding where the processor can.
multiply_add: Final = _intrinsic_of(
    lambda builder, a, b, c: builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",)), 3
)
maximum: Final = _intrinsic_of(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b), 2)
#: c where a and b are equal, else d.
choose_equal: Final = _intrinsic_of(lambda builder, a, b, c, d: builder.select(builder.fcmp_ordered("==", a, b), c, d), 4)


def _call(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(result, [value.type for value in arguments]), name
    )
    return builder.call(function, arguments)


def _same(kind: Any, value: Any) -> Any:
    return ir.Constant(kind, [value] * LANES)


#: The nearest whole number.
nearest: Final = _intrinsic_of(lambda builder, a: _call(builder, f"llvm.rint.v{LANES}f32", _VECTOR, [a]), 1)


def _two_to(builder: Any, whole: Any) -> Any:
    # The bits of a power of two are those of its exponent.
    exponent = builder.add(builder.fptosi(whole, _INTEGERS), _same(_INTEGERS, _BIAS))
    return builder.bitcast(builder.shl(exponent, _same(_INTEGERS, _MANTISSA_BITS)), _VECTOR)


#: Two to the power of a whole number from -126 to 127.
two_to: Final = _intrinsic_of(_two_to, 1)


@intrinsic
def repeat(typing_context: Any, number: Any) -> Any:
    """Return a wide value of one number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        single = builder.insert_element(nothing, arguments[0], ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(single, nothing, _same(_INTEGERS, 0))

    return _wide(types.float32), generate


@intrinsic
def sum_of(typing_context: Any, value: Any) -> Any:
    """Return the sum of the numbers of a wide value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Halves onto each other: log2(LANES) additions, where LLVM's own sum would keep the order and take them all.
        total, width = arguments[0], LANES
        while width > 1:
            width //= 2
            half = ir.VectorType(ir.IntType(32), width)
            low, high = (ir.Constant(half, list(range(start, start + width))) for start in (0, width))
            nothing = ir.Constant(total.type, ir.Undefined)
            total = builder.fadd(builder.shuffle_vector(total, nothing, low), builder.shuffle_vector(total, nothing, high))
        return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return types.float32(_wide), generate


def _address(context: Any, builder: Any, kind: Any, array: Any, row: Any, column: Any) -> Any:
    parts = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, parts, [row, column], wraparound=False)


@intrinsic
def load(typing_context: Any, matrix: Any, row: Any, column: Any) -> Any:
    """Return the numbers of a row of a matrix that begin at ``column``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments)
        loaded = builder.load(builder.bitcast(address, ir.PointerType(_VECTOR)))
        loaded.align = 4
        return loaded

    return _wide(matrix, types.intp, types.intp), generate


@intrinsic
def store(typing_context: Any, matrix: Any, row: Any, column: Any, value: Any) -> Any:
    """Put numbers into a row of a matrix from ``column`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments[:3])
        stored = builder.store(arguments[3], builder.bitcast(address, ir.PointerType(_VECTOR)))
        stored.align = 4
        return context.get_dummy_value()

    return types.void(matrix, types.intp, types.intp, _wide), generate


@intrinsic
def call_for(typing_context: Any, matrix: Any, row: Any, column: Any) -> Any:
    """Have a piece of a row fetched into the cache, while other work goes on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = builder.bitcast(_address(context, builder, signature.args[0], *arguments), ir.PointerType(ir.IntType(8)))
        # To read, to keep, data.
        how = [ir.Constant(ir.IntType(32), value) for value in (0, 3, 1)]
        _call(builder, "llvm.prefetch.p0", ir.VoidType(), [address, *how])
        return context.get_dummy_value()

    return types.void(matrix, types.intp, types.intp), generate
