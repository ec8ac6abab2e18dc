"""An instruction for kernels: read this into the cache, it will be needed soon.

A step on rows in random order waits for memory most of its time, where the rows do not fit into the cache: it comes
when it is asked for, and nothing can be done until then. `row_access.fetch_ahead` asks for it a few steps before.

Importing this module imports Numba; see `jit`.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

LINE = 64  # bytes that come at once
READ, KEEP, DATA = 0, 3, 1  # the arguments of LLVM's instruction


def _prefetch(typing_context: Any, array: Any, k: Any) -> Any:
    """Ask for entry k of a contiguous array (inside kernels); no entry is touched, so that k may be past the end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        ask = builder.module.declare_intrinsic(
            "llvm.prefetch", [place], ir.FunctionType(ir.VoidType(), [place, word, word, word])
        )
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), place)
        builder.call(ask, [address, word(READ), word(KEEP), word(DATA)])
        return context.get_dummy_value()

    return types.none(array, types.int64), generate


prefetch: Any = intrinsic(_prefetch)
