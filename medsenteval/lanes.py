"""Numbers side by side, as one value in compiled code: what wide registers hold, on any processor.

Compilers make wide code of simple loops only: not of loops that look at the result after each step, such as the search for
nearest terms, and not so that a block of sums stays in registers while rows pass by, as products of matrices want it. Here the
wide operations are spelled out as LLVM's vectors, which numba hands to LLVM as they are. ``WORDS`` words of 64 bits take two
registers where these have 512 bits, four or eight where they have less, and words of 32 bits half as many; ``FLOATS`` float32
numbers take one. This is what all of them have in common; ``terms.lanes`` adds what words can do, ``probes.wide`` what floats
can.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, errors
from numba.extending import intrinsic, models, overload, register_model

__all__ = ["FLOATS", "LANES_OF", "WORDS", "LanesType", "address", "load", "prefetch", "repeat", "store"]

WORDS: Final = 16
FLOATS: Final = 16 if binding.get_host_cpu_features().get("avx512f", False) else 8


class LanesType(types.Type):  # type: ignore[misc]
    """The type of several numbers as one value."""

    def __init__(self, name: str, number: Any, count: int) -> None:
        super().__init__(name=f"{count} x {name}")
        self.vector = ir.VectorType(number, count)


#: What several numbers of a kind are as one value.
LANES_OF: Final = {
    types.uint64: LanesType("uint64", ir.IntType(64), WORDS),
    types.uint32: LanesType("uint32", ir.IntType(32), WORDS),
    types.float32: LanesType("float32", ir.FloatType(), FLOATS),
}
_words, _floats = (LANES_OF[types.uint64], LANES_OF[types.uint32]), (LANES_OF[types.float32],)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.vector)


def _define_operator(python_operator: Any, build: Callable[[Any, Any, Any], Any], kinds: tuple[LanesType, ...]) -> None:
    """Let an operator of Python work on two values of one of these kinds."""

    @intrinsic
    def apply(typing_context: Any, left: Any, right: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return build(builder, *arguments)

        return left(left, left), generate

    @overload(python_operator)
    def choose(left, right):  # type: ignore[no-untyped-def]  # numba wants the very signature of the lambda
        if left in kinds and left == right:
            return lambda left, right: apply(left, right)
        return None


_define_operator(operator.and_, lambda builder, left, right: builder.and_(left, right), _words)
_define_operator(operator.or_, lambda builder, left, right: builder.or_(left, right), _words)
_define_operator(operator.xor, lambda builder, left, right: builder.xor(left, right), _words)
_define_operator(operator.add, lambda builder, left, right: builder.add(left, right), _words)
_define_operator(operator.sub, lambda builder, left, right: builder.sub(left, right), _words)
_define_operator(operator.lshift, lambda builder, left, right: builder.shl(left, right), _words)
_define_operator(operator.rshift, lambda builder, left, right: builder.lshr(left, right), _words)
_define_operator(operator.add, lambda builder, left, right: builder.fadd(left, right), _floats)
_define_operator(operator.sub, lambda builder, left, right: builder.fsub(left, right), _floats)
_define_operator(operator.mul, lambda builder, left, right: builder.fmul(left, right), _floats)
_define_operator(operator.truediv, lambda builder, left, right: builder.fdiv(left, right), _floats)


def address(context: Any, builder: Any, kind: Any, array: Any, *place: Any) -> Any:
    """Return where a number of an array stands that has no gaps between neighbours."""
    parts = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, parts, place, wraparound=False)


def _place_in(array: Any) -> Any:
    """Return the type of a place: a number, or a row and a column of an array whose rows have no gaps."""
    if array.layout != "C":
        raise errors.TypingError(f"lanes need numbers that follow one another, not {array}")
    return types.intp if array.ndim == 1 else types.UniTuple(types.intp, array.ndim)


def _address_at(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    indices = [place] if kind.ndim == 1 else cgutils.unpack_tuple(builder, place)
    return address(context, builder, kind, array, *indices)


@intrinsic
def repeat(typing_context: Any, number: Any) -> Any:
    """Return lanes that all hold one number."""
    kind = LANES_OF[number]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.Constant(kind.vector, ir.Undefined)
        single = builder.insert_element(nothing, arguments[0], ir.Constant(ir.IntType(32), 0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), kind.vector.count), [0] * kind.vector.count)
        return builder.shuffle_vector(single, nothing, first)

    return kind(number), generate


@intrinsic
def load(typing_context: Any, numbers: Any, place: Any) -> Any:
    """Return the numbers of an array that begin at ``place``, which is an index, or a row and a column."""
    kind = LANES_OF[numbers.dtype]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin = _address_at(context, builder, signature.args[0], *arguments)
        loaded = builder.load(builder.bitcast(begin, ir.PointerType(kind.vector)))
        loaded.align = numbers.dtype.bitwidth // 8
        return loaded

    return kind(numbers, _place_in(numbers)), generate


@intrinsic
def store(typing_context: Any, numbers: Any, place: Any, value: Any) -> Any:
    """Put numbers into an array from ``place`` on."""
    kind = LANES_OF[numbers.dtype]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin = _address_at(context, builder, signature.args[0], *arguments[:2])
        stored = builder.store(arguments[2], builder.bitcast(begin, ir.PointerType(kind.vector)))
        stored.align = numbers.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(numbers, _place_in(numbers), kind), generate


@intrinsic
def prefetch(typing_context: Any, numbers: Any, place: Any) -> Any:
    """Have the processor bring what an array holds at ``place`` into its cache, while other work goes on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = ir.PointerType(ir.IntType(8))
        begin = builder.bitcast(_address_at(context, builder, signature.args[0], *arguments), byte)
        bring = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte] + 3 * [ir.IntType(32)])
        )
        # To be read, wanted in all caches, data.
        builder.call(bring, [begin, *(ir.Constant(ir.IntType(32), number) for number in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(numbers, _place_in(numbers)), generate
