"""Measures strided copies next to NumPy on the same memory, in turn, in one process.

    make bench-strided              installs NumPy under target/numpy, builds, runs
    make bench-strided ARGS=--quick runs a third of the rounds; --only WORD measures the lines with that word

A round runs NumPy, the kernels in one thread, and the kernels in as many threads as there are cores. The figures are the medians
of the rounds, in milliseconds, and NumPy's time divided by ours. The smallest ratio of the rounds says how much they vary.

A call from Python takes 0.7 µs with ctypes and 0.3 µs with NumPy, so copies that are shorter than 10 µs are left out of the goals.
"""

import argparse
import ctypes
import math
import statistics
import time

import numpy as np

import kernels
import tsv

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--quick", action="store_true", help="a third of the rounds")
parser.add_argument("--only", default="", metavar="WORD", help="only lines with this word; no goals then")
parser.add_argument("--library", default=None, help="the kernels (target/release/examples/libkernels.so)")
options = parser.parse_args()

library = kernels.load(options.library)
CLASSES, NUMBER = kernels.classes(library)
library.set_threads(0)
CORES = library.threads()


class Dimension(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("target", ctypes.c_ssize_t), ("source", ctypes.c_ssize_t)]


library.copy_strided.restype = None
library.copy_strided.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]
NUMBER_OF = {np.dtype(kind): NUMBER[name] for name, kind in CLASSES.items()}
ratios = {}
table = tsv.Table("strided", f"NumPy {np.__version__}")


def array(kind, *shape):
    """Numbers from 0 to 99 in memory that has been written."""
    return np.random.default_rng(7).integers(0, 100, shape).astype(kind)


def seconds(run, times):
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def measure(name, target, source):
    """Copies `source` to `target`: two arrays of NumPy of the same shape, with any positive strides."""
    if options.only not in name:
        return
    dimensions = (Dimension * target.ndim)(*(
        (size, to // target.itemsize, from_ // source.itemsize)
        for size, to, from_ in zip(target.shape, target.strides, source.strides)
    ))
    arguments = (
        target.ctypes.data, NUMBER_OF[target.dtype], source.ctypes.data, NUMBER_OF[source.dtype],
        ctypes.addressof(dimensions), target.ndim,
    )
    numpy = lambda: np.copyto(target, source, casting="unsafe")
    ours = lambda: library.copy_strided(*arguments)
    numpy()
    expected = target.copy()
    target.fill(101)
    ours()
    assert np.array_equal(target, expected), name
    times = max(1, round(0.01 / seconds(ours, 1)))
    rounds = 7 if options.quick else 21
    taken = {"numpy": [], "one": [], "all": []}
    for turn in range(rounds + 1):
        library.set_threads(1)
        now = {"numpy": seconds(numpy, times), "one": seconds(ours, times)}
        library.set_threads(CORES)
        now["all"] = seconds(ours, times)
        if turn > 0:
            for who, value in now.items():
                taken[who].append(value)
    milliseconds = {who: [1e3 * value for value in values] for who, values in taken.items()}
    for who, threads in ("one", "1 thread"), ("all", f"{CORES} threads"):
        table.row(threads, name, "ms", milliseconds[who], "NumPy", milliseconds["numpy"])
    usual = {who: statistics.median(values) for who, values in taken.items()}
    ratio = {who: usual["numpy"] / value for who, value in usual.items()}
    least = min(numpy / one for numpy, one in zip(taken["numpy"], taken["one"]))
    if usual["numpy"] > 10e-6:
        ratios[name] = ratio["one"]
    figures = "".join(f"{usual[who] * 1e3:9.3f}" for who in ("numpy", "one", "all"))
    print(f"{name:44}{figures}{ratio['one']:9.2f}{least:8.2f}{ratio['all']:8.2f}", flush=True)


print(f"NumPy {np.__version__}, {CORES} cores; milliseconds, and NumPy's time divided by ours\n")
print(f"{'':44}{'NumPy':>9}{'1 thr':>9}{f'{CORES} thr':>9}{'x NumPy':>9}{'least':>8}{f'{CORES} thr':>8}")

def pair(source, make):
    """The target and the source of a line, made of the memory of the source."""
    return make(source)


SHAPES = {
    "row of 4096 x 4096 doubles": lambda: pair(array("f8", 4096, 4096), lambda x: (array("f8", 4096, 4096)[:, :2048], x[:, 1024:3072])),
    "column of 4096 x 4096 doubles": lambda: pair(array("f8", 4096, 4096), lambda x: (array("f8", 4096), x[:, 7])),
    "transposed 4096 x 4096 doubles": lambda: pair(array("f8", 4096, 4096), lambda x: (array("f8", 4096, 4096), x.T)),
    "channels last to first, 8 x 3 x 512 x 512": lambda: pair(array("f4", 8, 512, 512, 3), lambda x: (array("f4", 8, 3, 512, 512), x.transpose(0, 3, 1, 2))),
    "channels first to last, 8 x 3 x 512 x 512": lambda: pair(array("f4", 8, 3, 512, 512), lambda x: (array("f4", 8, 512, 512, 3), x.transpose(0, 2, 3, 1))),
    "channels last to first, 8 x 64 x 56 x 56": lambda: pair(array("f4", 8, 56, 56, 64), lambda x: (array("f4", 8, 64, 56, 56), x.transpose(0, 3, 1, 2))),
    "channels of bytes, 2160 x 3840 x 3": lambda: pair(array("u1", 2160, 3840, 3), lambda x: (array("u1", 3, 2160, 3840), x.transpose(2, 0, 1))),
    "expanded 1 x 4096 to 4096 x 4096 floats": lambda: pair(array("f4", 1, 4096), lambda x: (array("f4", 4096, 4096), np.broadcast_to(x, (4096, 4096)))),
    "expanded 4096 x 1 to 4096 x 4096 floats": lambda: pair(array("f4", 4096, 1), lambda x: (array("f4", 4096, 4096), np.broadcast_to(x, (4096, 4096)))),
    "every second of 16M floats": lambda: pair(array("f4", 1 << 24), lambda x: (array("f4", 1 << 23), x[::2])),
    "one channel of 4M x 3 bytes": lambda: pair(array("u1", 1 << 22, 3), lambda x: (array("u1", 1 << 22), x[:, 1])),
    "one channel of 4M x 3 floats": lambda: pair(array("f4", 1 << 22, 3), lambda x: (array("f4", 1 << 22), x[:, 1])),
    "2 of 3 columns of 2M doubles": lambda: pair(array("f8", 1 << 21, 3), lambda x: (array("f8", 1 << 21, 2), x[:, :2])),
    "2 of 3 columns of 2M bytes": lambda: pair(array("u1", 1 << 21, 3), lambda x: (array("u1", 1 << 21, 2), x[:, :2])),
    "1M x 2 x 3 to 1M x 3 x 2 floats": lambda: pair(array("f4", 1 << 20, 2, 3), lambda x: (array("f4", 1 << 20, 3, 2), x.transpose(0, 2, 1))),
    "transposed 1000 x 1000 bytes": lambda: pair(array("u1", 1000, 1000), lambda x: (array("u1", 1000, 1000), x.T)),
    "transposed 1000 x 1000 shorts": lambda: pair(array("i2", 1000, 1000), lambda x: (array("i2", 1000, 1000), x.T)),
    "transposed 1000 x 1000 floats": lambda: pair(array("f4", 1000, 1000), lambda x: (array("f4", 1000, 1000), x.T)),
    "transposed 1000 x 1000 doubles": lambda: pair(array("f8", 1000, 1000), lambda x: (array("f8", 1000, 1000), x.T)),
    "transposed 1000 x 1000 complex doubles": lambda: pair(array("c16", 1000, 1000), lambda x: (array("c16", 1000, 1000), x.T)),
    "transposed 4000 x 4000 bytes": lambda: pair(array("u1", 4000, 4000), lambda x: (array("u1", 4000, 4000), x.T)),
    "transposed 4000 x 4000 doubles": lambda: pair(array("f8", 4000, 4000), lambda x: (array("f8", 4000, 4000), x.T)),
    "transposed 4096 x 4096 bytes": lambda: pair(array("u1", 4096, 4096), lambda x: (array("u1", 4096, 4096), x.T)),
    "transposed 32 x 32 doubles": lambda: pair(array("f8", 32, 32), lambda x: (array("f8", 32, 32), x.T)),
    "transposed 8 x 8 floats": lambda: pair(array("f4", 8, 8), lambda x: (array("f4", 8, 8), x.T)),
    "reversed axes of 200 x 200 x 200 floats": lambda: pair(array("f4", 200, 200, 200), lambda x: (array("f4", 200, 200, 200), x.T)),
    "4 axes of 50 in the order 2 0 3 1, floats": lambda: pair(array("f4", 50, 50, 50, 50), lambda x: (array("f4", 50, 50, 50, 50), x.transpose(2, 0, 3, 1))),
    "to the transpose of 1000 x 1000 doubles": lambda: pair(array("f8", 1000, 1000), lambda x: (array("f8", 1000, 1000).T, x)),
    "byte to float, transposed 2160 x 3840": lambda: pair(array("u1", 2160, 3840), lambda x: (array("f4", 3840, 2160), x.T)),
    "byte to float, channels of 2160 x 3840 x 3": lambda: pair(array("u1", 2160, 3840, 3), lambda x: (array("f4", 3, 2160, 3840), x.transpose(2, 0, 1))),
    "double to float, transposed 2000 x 2000": lambda: pair(array("f8", 2000, 2000), lambda x: (array("f4", 2000, 2000), x.T)),
    "float to double, columns 2 of 3": lambda: pair(array("f4", 1 << 20, 3), lambda x: (array("f8", 1 << 20, 2), x[:, :2])),
    "float to byte, every second of 4M": lambda: pair(array("f4", 1 << 22), lambda x: (array("u1", 1 << 21), x[::2])),
    "int to double, 4096 rows of 1000 of 4096": lambda: pair(array("i4", 4096, 4096), lambda x: (array("f8", 4096, 4096)[:, :1000], x[:, 5:1005])),
}
for name in list(SHAPES):
    make = SHAPES.pop(name)
    if options.only in name:
        measure(name, *make())
    del make

if not options.only:
    mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
    print(f"\none thread, x NumPy: mean {mean:.2f} (goal 1.2), least {min(ratios.values()):.2f} (goal 0.8)")
