"""Measures the kernels next to NumPy (and PyTorch) on the same memory, in turn, in one process.

    make bench-numpy              installs NumPy and ml_dtypes under target/numpy, builds, runs
    make bench-numpy ARGS=--torch with PyTorch in one thread as well, which is installed there too if possible

A round runs NumPy, the kernels in one thread, and the kernels in as many threads as there are cores, once each (and PyTorch). The figures
are the shortest times of ROUNDS rounds, because other work of the machine can only make a run longer. GB/s counts the bytes that are
read and those that are written. `--median` takes medians instead, `--quick` runs a third of the rounds, and `--only WORD` measures the
lines with that word.

The order matters if both blocks fit into the last cache: the kernels write large blocks past the caches, so the next one to run finds
nothing there. `--after-itself` runs every side once more, untimed, right before it is timed.

`--sizes` measures only the fills and the 49 pairs of C classes, with 1e6, 4e6 and 1e7 elements, and new memory. It runs NumPy and the
kernels in one thread, and takes the processor's time instead of the clock's, so that work of other processes disturbs it less. C's memcpy
and memset move as many bytes, and show how fast the memory is: `x mem` is 1 if the kernel takes as long.
"""

import argparse
import ctypes
import math
import os
import platform
import statistics
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np

import kernels
import tsv
from kernels import ROOT

SIZE = 10_000_000
ROUNDS = 21

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--torch", action="store_true", help="measure PyTorch as well, if it is installed")
parser.add_argument("--median", action="store_true", help="medians of the rounds instead of the shortest")
parser.add_argument("--quick", action="store_true", help="a third of the rounds")
parser.add_argument("--only", default="", metavar="WORD", help="only lines with this word; no goals then")
parser.add_argument("--library", default=None, help="the kernels (target/release/examples/libkernels.so)")
parser.add_argument("--sizes", action="store_true", help="fills and pairs of C classes of three sizes, in one thread")
parser.add_argument("--after-itself", action="store_true", help="time every side right after it has run once")
options = parser.parse_args()

torch = None
if options.torch:
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed, so it is left out")
    else:
        torch.set_num_threads(1)

library = kernels.load(options.library)
CLASSES, NUMBER = kernels.classes(library)
FLOATS = ("Float", "Double")
C_CLASSES = ("Byte", "Char", "Short", "Int", "Long", "Float", "Double")
COMPLEX = tuple(name for name, kind in CLASSES.items() if np.dtype(kind).kind == "c")
SMALL_FLOATS = tuple(name for name, kind in CLASSES.items() if np.dtype(kind).itemsize < 4 and np.dtype(kind).kind not in "biu")
library.set_threads(0)
CORES = library.threads()
results = {}
figures = tsv.Table("versus_numpy_sizes" if options.sizes else "versus_numpy", f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}" + (f", PyTorch {torch.__version__}" if torch else ""))


def seconds(run):
    if options.after_itself:
        run()
    clock = time.thread_time if options.sizes else time.perf_counter
    start = clock()
    run()
    return clock() - start


def write(name, milliseconds):
    """Writes the lines of a case to the file: in one thread and in all, next to NumPy, and in one thread next to PyTorch."""
    for who, other, threads, reference in (
        ("one", "numpy", "1 thread", "NumPy"), ("all", "numpy", f"{CORES} threads", "NumPy"), ("one", "torch", "1 thread", "PyTorch"),
    ):
        if other in milliseconds:
            figures.row(threads, name, "ms", milliseconds[who], reference, milliseconds[other])


def measure(name, moved, numpy, ours, pytorch=None, rounds=ROUNDS):
    """Measures one line: `numpy` and `ours` are functions that do the same and move `moved` bytes."""
    if options.only not in name:
        return
    rounds = max(3, rounds // 3) if options.quick else rounds
    times = {"numpy": [], "one": [], "all": [], "torch": []}
    for turn in range(rounds + 1):
        taken = {"numpy": seconds(numpy)}
        library.set_threads(1)
        taken["one"] = seconds(ours)
        library.set_threads(CORES)
        taken["all"] = seconds(ours)
        if pytorch:
            taken["torch"] = seconds(pytorch)
        if turn > 0:  # the first round warms up
            for who, time_taken in taken.items():
                times[who].append(time_taken)
    shortest = statistics.median if options.median else min
    best = {who: shortest(taken) for who, taken in times.items() if taken}
    rate = {who: moved / taken / 1e9 for who, taken in best.items()}
    ratio = {who: best["numpy"] / taken for who, taken in best.items()}
    if pytorch:
        ratio["torch"] = best["torch"] / best["one"]
    spread = statistics.median(times["one"]) / min(times["one"])
    results[name] = ratio
    milliseconds = {who: [1e3 * time_taken for time_taken in taken] for who, taken in times.items() if taken}
    write(name, milliseconds)
    line = f"{name:34}{rate['numpy']:8.1f}{rate['one']:8.1f}{rate['all']:8.1f}{ratio['one']:9.2f}{ratio['all']:8.2f}{spread:9.2f}"
    print(line + (f"{rate['torch']:9.1f}{ratio['torch']:9.2f}" if pytorch else ""), flush=True)


def address(array):
    return array.ctypes.data


def filled(name, size):
    generator = np.random.default_rng(5)
    if name in COMPLEX:
        return generator.uniform(-100, 100, 2 * size).view(np.complex128).astype(CLASSES[name])
    if name in FLOATS + SMALL_FLOATS:
        return generator.uniform(-100, 100, size).astype(CLASSES[name])
    return generator.integers(0, 100, size).astype(CLASSES[name])


def convert(source_name, target_name, size=SIZE, label=None, rounds=ROUNDS):
    source, target = sources[source_name][:size], targets[target_name][:size]
    arguments = address(target), NUMBER[target_name], address(source), NUMBER[source_name], size
    pytorch = None
    if torch:
        from_tensor, to_tensor = kernels.tensor(torch, source), kernels.tensor(torch, target)
        pytorch = lambda: to_tensor.copy_(from_tensor)
    measure(
        label or f"{source_name} -> {target_name}", source.nbytes + target.nbytes,
        lambda: np.copyto(target, source, casting="unsafe"), lambda: library.copy(*arguments), pytorch, rounds,
    )


def fill(name, size=SIZE, label=None, rounds=ROUNDS):
    target = targets[name][:size]
    pytorch = None
    if torch:
        tensor = kernels.tensor(torch, target)
        pytorch = lambda: tensor.fill_(7)
    measure(
        label or f"fill {name}", target.nbytes, lambda: target.fill(7),
        lambda: library.fill(address(target), NUMBER[name], size, 7.0), pytorch, rounds,
    )


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def with_sizes():
    """Measures the lines of `--sizes`. Each has NumPy's rate, the ratios of the minima and of the medians, and that to C's functions."""
    library.set_threads(1)
    def line(section, name, moved, numpy, ours, is_fill):
        if options.only not in name:
            return
        rounds = range((7 if options.quick else ROUNDS) + 1)
        theirs, mine = ([1e3 * taken for taken in side] for side in zip(*[(seconds(numpy), seconds(ours)) for _ in rounds][1:]))
        # C's functions run afterwards, so that NumPy does not find in the caches what they left there.
        read, written = np.ones(moved // 2, np.uint8), np.ones(moved if is_fill else moved // 2, np.uint8)
        fill = lambda: ctypes.memset(address(written), 7, written.nbytes)
        copy = lambda: ctypes.memmove(address(written), address(read), written.nbytes)
        plains = [1e3 * seconds(fill if is_fill else copy) for _ in rounds][1:]
        figures.row(section, name, "ms", mine, "NumPy", theirs)
        figures.row(section, name, "ms", mine, "memcpy", plains)
        ratio = min(theirs) / min(mine)
        ratios.append(ratio)
        medians = statistics.median(theirs) / statistics.median(mine)
        print(f"{name:34}{moved / min(theirs) / 1e6:8.1f}{ratio:9.2f}{medians:9.2f}{min(plains) / min(mine):9.2f}", flush=True)

    for size in 1_000_000, 4_000_000, SIZE:
        ratios, section = [], f"1 thread, {size:.0e} elements"
        print(f"{section:34}{'NumPy':>8}{'x NumPy':>9}{'medians':>9}{'x mem':>9}")
        for name in C_CLASSES:
            target = np.ones(size, CLASSES[name])
            arguments = address(target), NUMBER[name], size, 7.0
            line(section, f"fill {name}", target.nbytes, lambda: target.fill(7), lambda: library.fill(*arguments), True)
        for source_name in C_CLASSES:
            source = filled(source_name, size)
            for target_name in C_CLASSES:
                target = np.ones(size, CLASSES[target_name])
                arguments = address(target), NUMBER[target_name], address(source), NUMBER[source_name], size
                copy = lambda: np.copyto(target, source, casting="unsafe")
                moved = target.nbytes + source.nbytes
                line(section, f"{source_name} -> {target_name}", moved, copy, lambda: library.copy(*arguments), False)
        number = NUMBER["Double"]
        construct = lambda: library.construct_and_fill(number, size, 7.0)
        line(section, "construct + fill", 8 * size, lambda: np.empty(size).fill(7), construct, True)
        if ratios:
            print(f"geometric mean {mean(ratios):.2f}, least {min(ratios):.2f}\n")


print(f"{platform.machine()}, {CORES} cores, Python {platform.python_version()}, NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}", end="")
print(f", PyTorch {torch.__version__}" if torch else "")
print(f"GB/s, read + written; {SIZE:.0e} elements; spread = median / shortest of our rounds (1.0 means undisturbed)\n")
print(f"{'':34}{'NumPy':>8}{'1 thr':>8}{f'{CORES} thr':>8}{'x NumPy':>9}{f'{CORES} thr':>8}{'spread':>9}" + (f"{'PyTorch':>9}{'x it':>9}" if torch else ""))

if options.sizes:
    with_sizes()
    sys.exit()

sources = {name: filled(name, SIZE) for name in CLASSES}
targets = {name: np.zeros(SIZE, kind) + kind(1) for name, kind in CLASSES.items()}
for name in CLASSES:
    fill(name)
for source_name in CLASSES:
    for target_name in CLASSES:
        convert(source_name, target_name)
for name in CLASSES:
    left, right = sources[name], sources[name].copy()
    arguments = address(left), address(right), NUMBER[name], SIZE
    measure(f"equal {name}", 2 * left.nbytes, lambda: np.array_equal(left, right), lambda: library.equal(*arguments))
for name in ("Short", "Int", "Long"):
    block = targets[name]
    arguments = address(block), block.itemsize, block.nbytes
    measure(f"byteswap {name}", 2 * block.nbytes, lambda: block.byteswap(inplace=True), lambda: library.byteswap(*arguments))


def empty_and_fill():
    np.empty(SIZE, np.float64).fill(7)


measure(
    "construct + fill 80 MB", SIZE * 8, empty_and_fill,
    lambda: library.construct_and_fill(NUMBER["Double"], SIZE, 7.0),
)
# A program for LuaJIT that makes strings of 100 MB with the library. Both sides make a new object of the bytes.
STRINGS = """
local torch, ffi = require 'torch', require 'ffi'
ffi.cdef 'typedef struct { long s, ns; } moment; int clock_gettime(int, moment *);'
local function now()
  local t = ffi.new 'moment'
  ffi.C.clock_gettime(1, t)
  return tonumber(t.s) + tonumber(t.ns) * 1e-9
end
local s = torch.ByteStorage(1e8):fill(7)
local text = s:string()
for what in io.lines() do
  local start, made = now()
  if what == 'out' then made = s:string() else made = torch.ByteStorage.fromstring(text) end
  local taken = now() - start
  assert(#made == 1e8)
  made = nil
  collectgarbage()
  print(('%.9f'):format(taken))
  io.flush()
end
"""


def strings():
    paths = {"LUA_PATH": "lua/?.lua;lua/?/init.lua;;", "LUA_CPATH": "build/?.so;;"}
    child = subprocess.Popen(
        ["luajit", "-e", STRINGS], cwd=ROOT, env={**os.environ, **paths}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )
    block = np.full(10**8, 7, np.uint8)
    text = block.tobytes()
    for what, numpy in (("out", block.tobytes), ("in", lambda: np.frombuffer(text, np.uint8).copy())):
        times = {"numpy": [], "ours": []}
        for turn in range(ROUNDS + 1):
            start = time.perf_counter()
            made = numpy()
            taken = {"numpy": time.perf_counter() - start}
            del made  # freeing is not timed on either side
            child.stdin.write(what + "\n")
            child.stdin.flush()
            taken["ours"] = float(child.stdout.readline())
            if turn > 0:
                for who, time_taken in taken.items():
                    times[who].append(time_taken)
        best, usual = [{who: f(taken) for who, taken in times.items()} for f in (min, statistics.median)]
        name = f"string {what}, 100 MB"
        figures.row("strings", name, "ms", [1e3 * taken for taken in times["ours"]], "NumPy", [1e3 * taken for taken in times["numpy"]])
        results[name] = {"one": best["numpy"] / best["ours"], "all": usual["numpy"] / usual["ours"]}
        print(f"{name:26}{best['numpy'] * 1e3:7.1f} ms, ours {best['ours'] * 1e3:.1f} ms; medians"
              f" {usual['numpy'] * 1e3:.1f} and {usual['ours'] * 1e3:.1f} ms", flush=True)
    child.stdin.close()
    child.wait()


def roof():
    """Measures what the memory gives to one thread, and to CORES threads that run already, each on its own block."""
    size = 1 << 28
    blocks = [(np.ones(size, np.uint8), np.ones(size, np.uint8)) for _ in range(CORES)]
    works = {
        "fill": (1, lambda target, source: library.fill(address(target), NUMBER["Byte"], size, 7.0)),
        "copy": (2, lambda target, source: library.copy(address(target), NUMBER["Byte"], address(source), NUMBER["Byte"], size)),
    }
    library.set_threads(1)
    for name, (weight, work) in works.items():
        best = {}
        for threads in (1, CORES):
            taken = []
            for _ in range(5):
                start, running = threading.Barrier(threads + 1), []
                for number in range(threads):
                    running.append(threading.Thread(target=run_on, args=(number, start, work, blocks)))
                    running[-1].start()
                start.wait()
                begin = time.perf_counter()
                for thread in running:
                    thread.join()
                taken.append(time.perf_counter() - begin)
            best[threads] = threads * 8 * weight * size / min(taken) / 1e9
        print(f"{f'memory, {name}':26}{'':8}{best[1]:8.1f}{best[CORES]:8.1f}   more threads can gain at most x {best[CORES] / best[1]:.2f}")


def run_on(number, start, work, blocks):
    """The body of a thread. ctypes releases the interpreter lock while a kernel runs."""
    start.wait()
    for _ in range(8):
        work(*blocks[number])


if not options.only or options.only in "string":
    strings()
if CORES > 1 and (not options.only or options.only in "memory"):
    roof()

GIB = 1 << 30
sources["Double"] = np.ones(GIB // 8)
targets["Double"] = np.ones(GIB // 8)
fill("Double", GIB // 8, "1 GiB fill", 9)
convert("Double", "Double", GIB // 8, "1 GiB copy", 9)

if options.only:
    sys.exit()

ml_classes = SMALL_FLOATS[1:]  # NumPy has them from ml_dtypes
c_classes = [name for name in CLASSES if name not in SMALL_FLOATS + COMPLEX and name != "Bool"]
c_lines = [f"fill {name}" for name in c_classes]
c_lines += [f"{source} -> {target}" for source in c_classes for target in c_classes]
half_lines = [f"Half -> {name}" for name in c_classes] + [f"{name} -> Half" for name in c_classes]
ml_lines = [f"fill {name}" for name in ml_classes]
ml_lines += [line for name in ml_classes for other in CLASSES if other not in COMPLEX for line in {f"{name} -> {other}", f"{other} -> {name}"}]
bool_lines = [f"Bool -> {name}" for name in c_classes + ["Bool", "Half"]] + [f"{name} -> Bool" for name in c_classes + ["Half"]]
complex_lines = [f"fill {name}" for name in COMPLEX]
complex_lines += [line for name in COMPLEX for other in CLASSES for line in {f"{name} -> {other}", f"{other} -> {name}"}]
to_int_lines = [f"{source} -> {target}" for source in FLOATS for target in c_classes if target not in FLOATS]
GOALS = (
    ("fill, copy, 49 pairs of C classes, 1 thread, least", min, "one", c_lines, 0.95),
    ("the same, geometric mean", mean, "one", c_lines, 1.1),
    (f"the same, {CORES} threads, geometric mean", mean, "all", c_lines, 1.6),
    ("pairs with Half, 1 thread, least", min, "one", half_lines, 1.5),
    ("the same, geometric mean", mean, "one", half_lines, 5.0),
    ("pairs with BFloat16 and Float8, 1 thread, least", min, "one", ml_lines, 0.9),
    ("the same, geometric mean", mean, "one", ml_lines, 5.0),
    ("pairs with Bool, 1 thread, least", min, "one", bool_lines, 0.9),
    ("pairs with complex classes, 1 thread, least", min, "one", complex_lines, 0.9),
    ("float to integer, 1 thread, least", min, "one", to_int_lines, 0.95),
    (f"1 GiB fill and copy, {CORES} threads, least", min, "all", ["1 GiB fill", "1 GiB copy"], 1.8),
    ("construct + fill 80 MB, 1 thread", min, "one", ["construct + fill 80 MB"], 0.85),
    ("string out and in, 100 MB, shortest", min, "one", ["string out, 100 MB", "string in, 100 MB"], 1.0),
    (f"construct + fill 80 MB, {CORES} threads", min, "all", ["construct + fill 80 MB"], 1.2),
)
if torch:
    GOALS += (
        ("x PyTorch, 1 thread each: pairs with BFloat16 and Float8, least", min, "torch", ml_lines, 0.9),
        ("the same, geometric mean", mean, "torch", ml_lines, 1.0),
        ("x PyTorch, 1 thread each: C classes, geometric mean", mean, "torch", c_lines, 1.0),
    )
print(f"\n{'x NumPy':66}{'goal':>6}{'here':>8}")
for text, combine, who, lines, goal in GOALS:
    value = combine([results[line][who] for line in lines])
    print(f"{text:66}{goal:6.2f}{value:8.2f}  {'ok' if value >= goal else 'MISSED'}")
    if value < goal and combine is min:
        print("   " + ", ".join(f"{line} {results[line][who]:.2f}" for line in lines if results[line][who] < goal))
