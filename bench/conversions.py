"""Compares every conversion with those of NumPy (with ml_dtypes) and PyTorch, on random and special values, and explains differences.

    make bench-conversions                installs NumPy and ml_dtypes under target/numpy, builds, runs
    make bench-conversions ARGS=--torch   with PyTorch as well, which is installed there too if possible
    make bench-conversions ARGS='--torch --record'   and writes PyTorch's results to tests/data/pytorch.tsv, which a test reads

A difference is expected if C leaves the result open, or if one of the two libraries rounds twice. Any other difference is printed, and
the script fails. In the file for TSV the figures of a pair are the number of values that differ for a reason, and that of all values.
"""

import os
import sys
import warnings

import numpy as np

import kernels
import tsv

SIZE = 10_000
SPECIAL = [
    0.0, -0.0, 0.5, -0.5, 0.9, -0.9, 1.5, -1.5, 2.5, 254.5, 255.5, 256, 300, -129, 448, 464, 480, 57344, 61440, 65504, 65519.9, 65520, 1e-8,
    5.96e-8, 2.98e-8, 6e-39, 1e-45, 240, 248, 2.0**31, -(2.0**31), 2.0**31 - 1, -(2.0**31) - 1, 2.0**32 + 5, 2.0**53, 2.0**63, -(2.0**63), 1e20, 1e39,
    -1e39, 1e300, float("inf"), float("-inf"), float("nan"), 1 + 2.0**-8 + 2.0**-30, 1 + 2.0**-11 + 2.0**-40,
]
OPEN = "C leaves it open: the low bits are kept here"
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
part_of = {"ComplexFloat": "Float", "ComplexDouble": "Double"}

library = kernels.load()
CLASSES, NUMBER = kernels.classes(library)
INTEGERS = tuple(name for name, kind in CLASSES.items() if np.dtype(kind).kind in "iu")


def values_of(name, generator):
    """An array of the class with random bits, numbers of ordinary size, and special values."""
    kind = np.dtype(CLASSES[name])
    if kind.kind == "c":
        parts = [values_of(part_of[name], generator) for _ in range(2)]
        return np.stack([parts[0], generator.permutation(parts[1])], axis=1).reshape(-1).view(kind)
    if name == "Bool":  # NumPy's booleans are only the bytes 0 and 1; other bytes are tested in Rust
        return generator.integers(0, 2, SIZE).astype(np.bool_)
    bits = generator.integers(0, 1 << 8 * kind.itemsize, SIZE // 2, dtype=BITS[kind.itemsize], endpoint=False) \
        if kind.itemsize < 8 else generator.integers(0, np.iinfo(np.uint64).max, SIZE // 2, dtype=np.uint64, endpoint=True)
    with np.errstate(all="ignore"):
        plain = generator.normal(0, 1000, SIZE - SIZE // 2 - len(SPECIAL)).astype(kind)
        special = np.array(SPECIAL).astype(kind)
    return np.concatenate([bits.view(kind), plain, special])


def ours(source, from_name, to_name):
    target = np.zeros(len(source), CLASSES[to_name])
    library.copy(target.ctypes.data, NUMBER[to_name], source.ctypes.data, NUMBER[from_name], len(source))
    return target


def number(array):
    """The same numbers as long doubles, exactly: 64 bits of mantissa hold the numbers of every class."""
    if array.dtype.kind in "iub":
        return array.astype(np.longdouble)
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64).astype(np.longdouble)


def same(left, right):
    if left.dtype.kind == "c":
        return same(left.real, right.real) & same(left.imag, right.imag)
    left, right = number(left), number(right)
    with np.errstate(invalid="ignore"):
        return ((left == right) & (np.signbit(left) == np.signbit(right))) | (np.isnan(left) & np.isnan(right))


def why(source, mine, theirs, from_name, to_name):
    """For each possible reason, the elements for which it allows the two to differ."""
    if mine.dtype.kind == "c":
        imaginary = same(mine.imag, theirs.imag)
        return {text: holds & imaginary for text, holds in why(source, mine.real, theirs.real, from_name, part_of[to_name]).items()}
    if source.dtype.kind == "c":
        if to_name == "Bool":  # both libraries look at both parts, so nothing may differ
            return {}
        source, from_name = source.real, part_of[from_name]
    exact, got, other = number(source), number(mine), number(theirs)
    with np.errstate(all="ignore"):
        if to_name in INTEGERS and from_name not in INTEGERS:
            kind = np.dtype(CLASSES[to_name])
            # The other libraries convert to integers of 8 and 16 bits through 32 bits with a sign.
            range_of = np.iinfo(kind if kind.itemsize >= 4 else np.int32)
            open_in_c = ~((exact > np.longdouble(range_of.min) - 1) & (exact < np.longdouble(range_of.max) + 1))
            return {OPEN: open_in_c}
        single = source.astype(np.float32).astype(CLASSES[to_name])
        return {
            "converted through single precision, as in Torch7 and PyTorch": same(mine, single),
            "the other library rounds twice, and this one gives the nearest number": abs(got - exact) <= abs(other - exact),
        }


def by_numpy(source, to_name):
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        return source.astype(CLASSES[to_name])


def by_torch(source, to_name):
    target = np.zeros(len(source), CLASSES[to_name])
    kernels.tensor(torch, target).copy_(kernels.tensor(torch, source))
    return target


TABLE = os.path.join(kernels.ROOT, "tests", "data", "pytorch.tsv")


def text(element):
    if element.dtype.kind == "c":
        return f"{float(element.real)!r} {float(element.imag)!r}"
    return str(int(element)) if element.dtype.kind in "iub" else repr(float(element))


def element(name, value):
    kind = np.dtype(CLASSES[name])
    if kind.kind in "iub":
        return np.array([int(value)]).astype(kind)
    parts = np.array([float(part) for part in value.split()])
    return parts.view(np.complex128).astype(kind) if kind.kind == "c" else parts.astype(kind)


def record():
    """Writes the table again. Its first two columns are a class and an element, the others the conversions of that element."""
    with open(TABLE) as table:
        rows = [line.rstrip("\n").split("\t")[:2] for line in table][1:]
    with open(TABLE, "w") as table:
        print("source", "value", *CLASSES, sep="\t", file=table)
        for from_name, value in rows:
            # 67 copies are more than a vector: if C leaves a result open, the vector loop and its remainder may differ.
            source, cells = np.repeat(element(from_name, value), 67), []
            for to_name in CLASSES:
                results = by_torch(source, to_name)
                mine = ours(source, from_name, to_name)
                is_open = why(source, mine, results, from_name, to_name).get(OPEN, np.zeros(1, bool)).any()
                assert is_open or same(results, np.repeat(results[:1], 67)).all(), (from_name, value, to_name)
                cells.append("-" if is_open else text(results[0]))
            print(from_name, value, *cells, sep="\t", file=table)


others = {f"NumPy {np.__version__} with ml_dtypes": by_numpy}
if "--torch" in sys.argv[1:]:
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed, so it is left out")
    else:
        others[f"PyTorch {torch.__version__}"] = by_torch

generator = np.random.default_rng(7)
sources = {name: values_of(name, generator) for name in CLASSES}
failed = False
table = tsv.Table("conversions", ", ".join(others))
for library_name, convert in others.items():
    wrong, pairs, reasons = 0, 0, {}
    for from_name, source in sources.items():
        for to_name in CLASSES:
            pairs += 1
            mine, theirs = ours(source, from_name, to_name), convert(source, to_name)
            different = ~same(mine, theirs)
            for reason, holds in why(source, mine, theirs, from_name, to_name).items():
                explained = different & holds
                if explained.any():
                    reasons.setdefault(reason, []).append((f"{from_name} -> {to_name}", int(explained.sum())))
                    table.row(reason, f"{from_name} -> {to_name}", "values that differ", [int(explained.sum())], library_name, [SIZE])
                different &= ~holds
            for index in np.flatnonzero(different)[:3]:
                print(f"{from_name} -> {to_name}: {source[index]!r} becomes {mine[index]!r} here and {theirs[index]!r} there")
            table.row("without a reason", f"{from_name} -> {to_name}", "values that differ", [int(different.sum())], library_name, [SIZE])
            wrong += int(different.sum())
    print(f"{library_name}: {pairs} pairs of classes, {SIZE} values each")
    for reason, where in reasons.items():
        print(f"  {reason}: {sum(count for _, count in where)} values in {len(where)} pairs")
        print("    " + ", ".join(f"{pair} {count}" for pair, count in where))
    print(f"  {wrong} differences without a reason\n")
    failed |= wrong > 0
if "--record" in sys.argv[1:]:
    record()
sys.exit(failed)
