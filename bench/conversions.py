"""Every conversion next to NumPy's (and ml_dtypes') and PyTorch's, on random and special values: what differs, and why.

    make bench-conversions                installs NumPy and ml_dtypes under target/numpy, builds, runs
    make bench-conversions ARGS=--torch   with PyTorch as well, which is installed there too if it can be
    make bench-conversions ARGS='--torch --record'   and writes what PyTorch gave to tests/data/pytorch.tsv, a test's table

A difference is expected where C leaves the result open, and where one of the two rounds twice. Any other one is printed, and the
script fails.
"""

import os
import sys
import warnings

import numpy as np

import kernels

SIZE = 10_000
SPECIAL = [
    0.0, -0.0, 0.5, -0.5, 0.9, -0.9, 1.5, -1.5, 2.5, 254.5, 255.5, 256, 300, -129, 448, 464, 480, 57344, 61440, 65504, 65519.9, 65520, 1e-8,
    5.96e-8, 2.98e-8, 6e-39, 1e-45, 240, 248, 2.0**31, -(2.0**31), 2.0**31 - 1, -(2.0**31) - 1, 2.0**32 + 5, 2.0**53, 2.0**63, -(2.0**63), 1e20, 1e39,
    -1e39, 1e300, float("inf"), float("-inf"), float("nan"), 1 + 2.0**-8 + 2.0**-30, 1 + 2.0**-11 + 2.0**-40,
]
OPEN = "C leaves it open: Torch7's rule"
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
part_of = {"ComplexFloat": "Float", "ComplexDouble": "Double"}

library = kernels.load()
CLASSES, NUMBER = kernels.classes(library)
INTEGERS = tuple(name for name, kind in CLASSES.items() if np.dtype(kind).kind in "iu")


def values_of(name, generator):
    """Bits of all kinds, numbers of ordinary size, and special ones, as an array of the class."""
    kind = np.dtype(CLASSES[name])
    if kind.kind == "c":
        parts = [values_of(part_of[name], generator) for _ in range(2)]
        return np.stack([parts[0], generator.permutation(parts[1])], axis=1).reshape(-1).view(kind)
    if name == "Bool":  # NumPy has no other bytes than 0 and 1 there; ours are tested in Rust
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
    """As numbers that are exact: 64 bits of mantissa hold those of every class."""
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
    """For each element whether, and why, the two may differ."""
    if mine.dtype.kind == "c":
        imaginary = same(mine.imag, theirs.imag)
        return {text: holds & imaginary for text, holds in why(source, mine.real, theirs.real, from_name, part_of[to_name]).items()}
    if source.dtype.kind == "c":
        if to_name == "Bool":  # both parts are asked: no reason to differ
            return {}
        source, from_name = source.real, part_of[from_name]
    exact, got, other = number(source), number(mine), number(theirs)
    with np.errstate(all="ignore"):
        if to_name in INTEGERS and from_name not in INTEGERS:
            limit = 2.0**63 if to_name == "Long" else 2.0**31
            open_in_c = ~((exact > -limit - 1) & (exact < limit))
            return {OPEN: open_in_c}
        single = source.astype(np.float32).astype(CLASSES[to_name])
        return {
            "through single precision, as Torch7 and PyTorch": same(mine, single),
            "they round twice, the nearest is here": abs(got - exact) <= abs(other - exact),
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
    """Fills the table in again: its first two columns are classes and elements of them, the others what these become elsewhere."""
    with open(TABLE) as table:
        rows = [line.rstrip("\n").split("\t")[:2] for line in table][1:]
    with open(TABLE, "w") as table:
        print("source", "value", *CLASSES, sep="\t", file=table)
        for from_name, value in rows:
            # More than a vector; where C leaves the result open the two halves of a loop may differ.
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
        print("PyTorch is not installed here: without it")
    else:
        others[f"PyTorch {torch.__version__}"] = by_torch

generator = np.random.default_rng(7)
sources = {name: values_of(name, generator) for name in CLASSES}
failed = False
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
                different &= ~holds
            for place in np.flatnonzero(different)[:3]:
                print(f"{from_name} -> {to_name}: {source[place]!r} is {mine[place]!r}, there {theirs[place]!r}")
            wrong += int(different.sum())
    print(f"{library_name}: {pairs} pairs of classes, {SIZE} values each")
    for reason, where in reasons.items():
        print(f"  {reason}: {sum(count for _, count in where)} values of {len(where)} pairs")
        print("    " + ", ".join(f"{pair} {count}" for pair, count in where))
    print(f"  {wrong} differences without a reason\n")
    failed |= wrong > 0
if "--record" in sys.argv[1:]:
    record()
sys.exit(failed)
