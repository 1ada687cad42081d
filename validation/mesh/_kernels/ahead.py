"""Rows of tables brought into the cache before they are needed: what hides the memory's delay.

On a mesh of some thousand routers the tables are larger than the caches of a core, and which rows
come next is known long before they are read. Nothing is changed by it but the time that it takes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic


def _fetch(typing: Any, table: Any, row: Any) -> Any:
    """Have a row of a table brought into the cache, to be changed there."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array = context.make_array(table)(context, builder, given[0])
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        wide = builder.zext if given[1].type.width < 64 else (lambda value, _: value)
        stride = cgutils.unpack_tuple(builder, array.strides)[0]
        offset = builder.mul(wide(given[1], ir.IntType(64)), stride)
        at = cgutils.pointer_add(builder, array.data, offset, byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(call, [at, *(ir.Constant(number, k) for k in (1, 3, 1))])
        return context.get_dummy_value()

    return types.void(table, row), generate


def _nothing(table: Any, row: Any) -> None:
    """What `fetch` is without the compiler."""


fetch = _nothing if config.DISABLE_JIT else intrinsic(_fetch)
