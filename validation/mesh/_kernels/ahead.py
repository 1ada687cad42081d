"""Rows of tables brought into the cache before they are needed, which hides the memory's delay.

On a mesh of some thousand routers the tables are larger than the caches of a core, and it is known
long before which rows come next. It changes nothing but the time that is taken. Reading the rows
early instead would wait for the first of them: measured on 128 x 128, that gained half as much.
"""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic


def _fetch(typing: Any, table: Any, row: Any) -> Any:
    """Have a row of a table brought into the cache, to be changed there."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array = context.make_array(table)(context, builder, given[0])
        stride = cgutils.unpack_tuple(builder, array.strides)[0]
        wide = row.bitwidth == 64
        number = given[1] if wide else builder.zext(given[1], cgutils.intp_t)
        at = cgutils.pointer_add(builder, array.data, builder.mul(number, stride))
        at = builder.bitcast(at, cgutils.voidptr_t)
        ir = cgutils.ir  # type: ignore[attr-defined]
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, *3 * [cgutils.int32_t]])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # To be written, kept in all caches, data: the arguments of the instruction.
        builder.call(call, [at, *(ir.Constant(cgutils.int32_t, k) for k in (1, 3, 1))])
        return context.get_dummy_value()

    return types.void(table, row), generate


def _nothing(table: Any, row: Any) -> None:
    """What `fetch` is without the compiler."""


fetch: Any = _nothing if config.DISABLE_JIT else intrinsic(_fetch)  # type: ignore[attr-defined]
