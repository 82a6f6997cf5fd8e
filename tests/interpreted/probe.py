"""The smallest kernel that shows whether Triton's interpreter gets on with the numpy beside it; it prints nothing.

A condition on a number, joined to one on a block, is what our kernels ask most of it: some pairs of versions give the
result a type that the next load refuses.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _copy(source, target, count, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    column = tl.arange(0, WIDTH)
    for step in range(2):
        real = (column < count) & (step < count)
        tl.store(target + column, tl.load(source + column, mask=real, other=0.0), mask=real)


if __name__ == "__main__":
    given, found = torch.arange(8.0), torch.zeros(8)
    _copy[(1,)](given, found, 6, 8)
    assert found.tolist() == [0, 1, 2, 3, 4, 5, 0, 0], found
