"""Sixteen words side by side, as one value in compiled code: what wide registers hold, on any processor.

Compilers make wide code of simple loops only, and not of loops that look at the result after each step, such as the search in
``kernels``. Here the wide operations are spelled out as LLVM's vectors, which numba hands to LLVM as they are: words of 64
bits take two registers where these have 512 bits, four or eight where they have less, and words of 32 bits half as many. In
plain Python the same operators on arrays of sixteen ``uint64`` or ``uint32`` mean the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

__all__ = [
    "LANES", "ROW",
    "choose_below", "count_differences", "count_ones", "find_at_most", "first_one", "gather",
    "gather_along", "load", "prefetch", "repeat", "store",
]  # fmt: skip

LANES: Final = 16
#: Words of what is compared one by one: a line of the cache.
ROW: Final = 8

_WORD: Final = ir.IntType(64)


class _LanesType(types.Type):  # type: ignore[misc]
    def __init__(self, bits: int) -> None:
        super().__init__(name=f"Lanes{bits}")
        self.vector = ir.VectorType(ir.IntType(bits), LANES)


#: What sixteen words of a kind are as one value.
_lanes_of: Final = {types.uint64: _LanesType(64), types.uint32: _LanesType(32)}
_lanes: Final = _lanes_of[types.uint64]


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.vector)


def _define_operator(python_operator: Any, build: Callable[[Any, Any, Any], Any]) -> None:
    """Let an operator of Python work on two values of lanes."""

    @intrinsic
    def apply(typing_context: Any, left: Any, right: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return build(builder, *arguments)

        return left(left, left), generate

    @overload(python_operator)
    def choose(left, right):  # type: ignore[no-untyped-def]  # numba wants the very signature of the lambda
        if isinstance(left, _LanesType) and left == right:
            return lambda left, right: apply(left, right)
        return None


_define_operator(operator.and_, lambda builder, left, right: builder.and_(left, right))
_define_operator(operator.or_, lambda builder, left, right: builder.or_(left, right))
_define_operator(operator.xor, lambda builder, left, right: builder.xor(left, right))
_define_operator(operator.add, lambda builder, left, right: builder.add(left, right))
_define_operator(operator.sub, lambda builder, left, right: builder.sub(left, right))
_define_operator(operator.lshift, lambda builder, left, right: builder.shl(left, right))
_define_operator(operator.rshift, lambda builder, left, right: builder.lshr(left, right))


def _address(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [place])


@intrinsic
def repeat(typing_context: Any, word: Any) -> Any:
    """Return lanes that all hold one word."""
    kind = _lanes_of[word]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.Constant(kind.vector, ir.Undefined)
        single = builder.insert_element(nothing, arguments[0], ir.Constant(ir.IntType(32), 0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(single, nothing, first)

    return kind(word), generate


@intrinsic
def load(typing_context: Any, words: Any, place: Any) -> Any:
    """Return the sixteen words of a flat contiguous array that begin at ``place``."""
    kind = _lanes_of[words.dtype]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments)
        loaded = builder.load(builder.bitcast(address, ir.PointerType(kind.vector)))
        loaded.align = words.dtype.bitwidth // 8
        return loaded

    return kind(words, types.intp), generate


@intrinsic
def store(typing_context: Any, words: Any, place: Any, value: Any) -> Any:
    """Put sixteen words into a flat contiguous array from ``place`` on."""
    kind = _lanes_of[words.dtype]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments[:2])
        stored = builder.store(arguments[2], builder.bitcast(address, ir.PointerType(kind.vector)))
        stored.align = words.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(words, types.intp, kind), generate


@intrinsic
def prefetch(typing_context: Any, words: Any, place: Any) -> Any:
    """Have the processor bring what a flat contiguous array holds at ``place`` into its cache; nothing else changes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = ir.PointerType(ir.IntType(8))
        address = builder.bitcast(_address(context, builder, signature.args[0], *arguments), byte)
        bring = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte] + 3 * [ir.IntType(32)])
        )
        # To be read, wanted in all caches, data.
        builder.call(bring, [address, *(ir.Constant(ir.IntType(32), number) for number in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(words, types.intp), generate


@intrinsic
def gather(typing_context: Any, table: Any, codes: Any, places: Any, offset: Any, width: Any, column: Any) -> Any:
    """Return ``table[codes[places[lane] + offset] * width + column]`` for each lane, of flat contiguous arrays."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table_, codes_, places_, offset_, width_, column_ = arguments
        kinds = signature.args
        gathered = ir.Constant(_lanes.vector, ir.Undefined)
        for lane in range(LANES):
            start = builder.load(_address(context, builder, kinds[2], places_, ir.Constant(_WORD, lane)))
            code = builder.load(_address(context, builder, kinds[1], codes_, builder.add(start, offset_)))
            place = builder.add(builder.mul(builder.zext(code, _WORD), width_), column_)
            word = builder.load(_address(context, builder, kinds[0], table_, place))
            gathered = builder.insert_element(gathered, word, ir.Constant(ir.IntType(32), lane))
        return gathered

    return _lanes(table, codes, places, types.intp, types.intp, types.intp), generate


@intrinsic
def gather_along(typing_context: Any, table: Any, codes: Any, places: Any, offset: Any, width: Any, columns: Any) -> Any:
    """Return ``table[codes[places[lane] + offset] * width + columns[lane] + offset]`` for each lane, words of 32 bits."""
    kind = _lanes_of[table.dtype]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table_, codes_, places_, offset_, width_, columns_ = arguments
        kinds = signature.args
        gathered = ir.Constant(kind.vector, ir.Undefined)
        for lane in range(LANES):
            start = builder.load(_address(context, builder, kinds[2], places_, ir.Constant(_WORD, lane)))
            code = builder.load(_address(context, builder, kinds[1], codes_, builder.add(start, offset_)))
            column = builder.load(_address(context, builder, kinds[5], columns_, ir.Constant(_WORD, lane)))
            place = builder.add(builder.mul(builder.zext(code, _WORD), width_), builder.add(column, offset_))
            word = builder.load(_address(context, builder, kinds[0], table_, place))
            gathered = builder.insert_element(gathered, word, ir.Constant(ir.IntType(32), lane))
        return gathered

    return kind(table, codes, places, types.intp, types.intp, columns), generate


def _count_ones(builder: Any, words: Any) -> Any:
    name = f"llvm.ctpop.v{words.type.count}i64"
    counter = cgutils.get_or_insert_function(builder.module, ir.FunctionType(words.type, [words.type]), name)
    return builder.call(counter, [words])


@intrinsic
def count_ones(typing_context: Any, words: Any) -> Any:
    """Return the number of ones of a 64-bit word, or of each lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _count_ones(builder, arguments[0]) if words == _lanes else builder.ctpop(arguments[0])

    kind = _lanes if words == _lanes else types.uint64
    return kind(kind), generate


@intrinsic
def first_one(typing_context: Any, word: Any) -> Any:
    """Return the place of the lowest one of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.intp(types.uint64), generate


@intrinsic
def count_differences(typing_context: Any, words: Any, left: Any, right: Any) -> Any:
    """Return how many bits of the ``ROW`` words from ``left`` on differ from those from ``right`` on, in one flat array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = ir.VectorType(_WORD, ROW)
        loaded = []
        for place in arguments[1:]:
            address = _address(context, builder, signature.args[0], arguments[0], place)
            loaded.append(builder.load(builder.bitcast(address, ir.PointerType(row))))
            loaded[-1].align = 8
        adder = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_WORD, [row]), f"llvm.vector.reduce.add.v{ROW}i64"
        )
        return builder.call(adder, [_count_ones(builder, builder.xor(*loaded))])

    return types.uint64(words, types.intp, types.intp), generate


@intrinsic
def find_at_most(typing_context: Any, left: Any, right: Any) -> Any:
    """Return a word whose bit ``lane`` says whether that lane of ``left`` is at most that of ``right``.

    Both must be below half of what a word can hold: without AVX-512, comparing without signs takes more instructions.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.icmp_signed("<=", *arguments)
        return builder.zext(builder.bitcast(bits, ir.IntType(LANES)), _WORD)

    return types.uint64(left, left), generate


@intrinsic
def choose_below(typing_context: Any, left: Any, right: Any, yes: Any, no: Any) -> Any:
    """Return each lane of ``yes`` where ``left`` is below ``right``, else of ``no``; as high as for ``find_at_most``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.icmp_signed("<", *arguments[:2]), *arguments[2:])

    return yes(left, left, yes, yes), generate
