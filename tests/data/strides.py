"""Writes tests/data/strides.tsv: what NumPy makes of random tensors and views.

    make numpy && target/numpy/bin/python tests/data/strides.py

`make test-numpy` writes more rows than are kept here to a temporary file, by `strides.py ROWS FILE`, and tests those.

A row has an operation, the sizes, the strides and the offset of a tensor, the arguments, and the sizes, the strides and the offset of
NumPy's result, all counted in elements. A result of `-` means that NumPy refuses, or would have to copy. NumPy and PyTorch give
dimensions of size 1 different strides, so these are written as `.`, and so are all strides of a tensor without elements. The operation
`contiguous` has only 0 or 1 as its result.
"""

import random
import sys
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

MEMORY = np.zeros(1 << 20, np.int8)
ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 4500
FILE = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_suffix(".tsv")
chance = random.Random(15 if ROWS == 4500 else None)


def sizes():
    few = (0, 1, 2, 3) if chance.random() < 0.08 else (1, 1, 2, 2, 3, 4, 5, 6, 8)
    return [chance.choice(few) for _ in range(chance.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 5)))]


def tensor():
    """An array of NumPy with any strides, and what it consists of."""
    shape = sizes()
    order = list(range(len(shape)))
    if chance.random() < 0.5:
        chance.shuffle(order)
    strides, following = [0] * len(shape), 1
    dense = chance.random() < 0.75
    for dimension in reversed(order):
        strides[dimension] = following if dense else chance.randint(-30, 30)
        following *= max(shape[dimension], 1) + chance.choice((0, 0, 0, 1))
        strides[dimension] *= chance.choice((1, 1, 1, 1, 1, 1, 1, 1, -1, 0))
    offset = chance.randint(0, 3) - sum((max(size, 1) - 1) * min(stride, 0) for size, stride in zip(shape, strides))
    return as_strided(MEMORY[offset:], shape, strides), shape, strides, offset


def address(array):
    return array.__array_interface__["data"][0]


def shown(array):
    strides = [stride if size != 1 and array.size else "." for size, stride in zip(array.shape, array.strides)]
    return f"{numbers(array.shape)}\t{numbers(strides)}\t{address(array) - address(MEMORY) if array.size else '.'}"


def numbers(values):
    return ",".join(map(str, values)) or "none"


def other_sizes(array):
    left = array.size
    if left == 0:
        shape = [chance.randint(0, 3) for _ in range(chance.randint(1, 4))]
        shape[chance.randrange(len(shape))] = 0
        return shape
    shape = []
    while left > 1 or chance.random() < 0.25:
        shape.append(chance.choice([divisor for divisor in range(1, left + 1) if left % divisor == 0]))
        left //= shape[-1]
    if chance.random() < 0.1:
        shape.append(2)
    return shape


def view(array):
    shape = other_sizes(array)
    if shape and chance.random() < 0.3:
        shape[chance.randrange(len(shape))] = -1
    return shape, lambda: np.reshape(array, shape, copy=False)


def permute(array):
    order = chance.sample(range(array.ndim), array.ndim)
    return order, lambda: array.transpose(order)


def expand(array):
    shape = [chance.randint(0, 4) if size == 1 or chance.random() < 0.1 else size for size in array.shape]
    return shape, lambda: np.broadcast_to(array, shape)


def narrow(array):
    dimension = chance.randrange(array.ndim)
    first = chance.randint(0, array.shape[dimension])
    length = chance.randint(0, array.shape[dimension] - first)
    return [dimension, first, length], lambda: array[(slice(None),) * dimension + (slice(first, first + length),)]


def select(array):
    dimension = chance.randrange(array.ndim)
    index = chance.randint(0, array.shape[dimension])
    return [dimension, index], lambda: array[(slice(None),) * dimension + (index, ...)]


def unfold(array):
    dimension, window, step = chance.randrange(array.ndim), chance.randint(1, 5), chance.randint(1, 3)
    windows = lambda: sliding_window_view(array, window, dimension)[(slice(None),) * dimension + (slice(None, None, step),)]
    return [dimension, window, step], windows


def main():
    rows = []
    while len(rows) < ROWS:
        array, shape, strides, offset = tensor()
        row = f"{numbers(shape)}\t{numbers(strides)}\t{offset}"
        kinds = [view, view, view, permute, expand] + ([narrow, select, unfold] if array.ndim else [])
        kind = chance.choice(kinds + [None])
        if kind is None:
            rows.append(f"contiguous\t{row}\tnone\t{int(array.flags.c_contiguous)}")
            continue
        arguments, result = kind(array)
        try:
            rows.append(f"{kind.__name__}\t{row}\t{numbers(arguments)}\t{shown(result())}")
        except (ValueError, IndexError):
            rows.append(f"{kind.__name__}\t{row}\t{numbers(arguments)}\t-")
    FILE.write_text("\n".join(rows) + "\n")


main()
