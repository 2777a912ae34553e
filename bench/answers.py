"""Measures sums, extremes, products and nearest rows next to NumPy, ml_dtypes and faiss, in turn, on the same numbers.

    make bench-answers                installs NumPy, ml_dtypes and faiss under target/numpy, builds, runs
    make bench-answers ARGS=--quick   a third of the rounds

A LuaJIT runs the library in one thread, as a program would: its times include the call from Lua. Each side runs once a round, by turns, and
the figures are the least and the median of the rounds. `of memory` compares with reading the same bytes once, by memchr of C, which finds
nothing.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

ROUNDS = 15

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--quick", action="store_true", help="a third of the rounds")
parser.add_argument("--only", default="", metavar="WORD", help="only lines with this word")
parser.add_argument("--lua", default="luajit", help="the LuaJIT")
options = parser.parse_args()
rounds = ROUNDS // 3 if options.quick else ROUNDS

WORKER = """
local torch = require 'torch'
local ffi = require 'ffi'
ffi.cdef 'typedef struct { long s, ns; } bench_time; int clock_gettime(int, bench_time *);'
local time = ffi.new 'bench_time'
local function now()
  ffi.C.clock_gettime(1, time)
  return tonumber(time.s) + tonumber(time.ns) * 1e-9
end
torch.setnumthreads(1)
data = {}
for line in io.lines() do
  local count, source = line:match '^(%d+) (.*)$'
  local run = assert(loadstring(source))
  if count == '0' then
    run()
    print 'ready'
  else
    run = run()
    run()
    -- Each function has a loop of its own, so that LuaJIT does not enter the compiled loop of another one and leave it at once.
    local loop = assert(loadstring 'local run, count = ... for _ = 1, count do run() end')
    local begun = now()
    loop(run, tonumber(count))
    print(('%.9g'):format((now() - begun) / count))
  end
  io.flush()
end
"""

script = tempfile.NamedTemporaryFile("w", suffix=".lua")
script.write(WORKER)
script.flush()
lua = subprocess.Popen([options.lua, script.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(count, source):
    """Runs a line of Lua, `count` times if it returns a function. Returns the seconds of one run."""
    lua.stdin.write(f"{count} {source}\n")
    lua.stdin.flush()
    reply = lua.stdout.readline().strip()
    if not reply:
        sys.exit("the Lua program has ended")
    return None if reply == "ready" else float(reply)


def seconds(run, count):
    begun = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - begun) / count


libc = ctypes.CDLL(None)
libc.memchr.restype = ctypes.c_void_p
libc.memchr.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]


def unit(time):
    return f"{time * 1e9:9.0f} ns" if time < 1e-5 else f"{time * 1e6:9.1f} us" if time < 1e-2 else f"{time * 1e3:9.2f} ms"


def line(name, ours, others, count):
    """Measures one line: `ours` is Lua source that returns a function, and `others` are functions by their names."""
    if options.only not in name:
        return
    times = {who: [] for who in ("ours", *others)}
    for _ in range(rounds):
        times["ours"].append(ask(count, ours))
        for who, run in others.items():
            times[who].append(seconds(run, count))
    text = f"{name:34} {unit(min(times['ours']))} (median {unit(statistics.median(times['ours'])).strip()})"
    for who in others:
        least, median = (pick(times[who]) / pick(times["ours"]) for pick in (min, statistics.median))
        text += f"  {who} {unit(min(times[who])).strip()}: x{least:.2f} (x{median:.2f})"
    print(text, flush=True)


def shared(name, array):
    """Gives the bytes of an array to the Lua program."""
    path = os.path.join(folder.name, name)
    array.tofile(path)
    return path


folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
random = np.random.default_rng(1)
print(f"NumPy {np.__version__}; x2.00: the other one takes twice as long. Least times, and in brackets those of medians.")
KINDS = {"Byte": np.uint8, "Int": np.int32, "Float": np.float32, "Double": np.float64, "Half": np.float16, "BFloat16": ml_dtypes.bfloat16}
for T, kind in KINDS.items():
    for size in (1_000, 1_000_000, 10_000_000):
        array = random.integers(0, 200, size).astype(kind)
        path = shared(T, array)
        ask(0, f"data.s = torch.{T}Storage({{ filename = '{path}' }}):clone()")
        count = max(1, 1_000_000 // size)
        wanted = array.dtype.type(7)
        memory = {"memory": lambda: libc.memchr(array.ctypes.data, 255, array.nbytes)} if T == "Byte" else {}
        for method, numpy in (
            ("sum", lambda: array.sum()), ("min", lambda: array.min()), ("argmax", lambda: array.argmax()),
            ("count", lambda: np.count_nonzero(array == wanted)),
        ):
            argument = ", 7" if method == "count" else ""
            line(f"{method} of {size:.0e} {T}", f"return function() return data.s.{method}(data.s{argument}) end", {"NumPy": numpy, **memory}, count)

a, b = (random.standard_normal(1536).astype(np.float32) for _ in range(2))
ask(0, f"data.a = torch.FloatStorage({{ filename = '{shared('a', a)}' }}):clone()")
ask(0, f"data.b = torch.FloatStorage({{ filename = '{shared('b', b)}' }}):clone()")
line("dot of 1536 Float", "return function() return data.a:dot(data.b) end", {"OpenBLAS by NumPy": lambda: a.dot(b)}, 1000)
loop = (
    "local p, q = torch.data(data.a), torch.data(data.b) return function() local sum = 0 for i = 0, 1535 do sum = sum + p[i] * q[i] end "
    "data.sum = sum end"
)
if options.only in "dot of 1536 Float":
    print(f"    the loop over pointers takes {unit(min(ask(1000, loop) for _ in range(rounds))).strip()}")

rows = random.standard_normal((100_000, 384)).astype(np.float32)
rows /= np.linalg.norm(rows, axis=1, keepdims=True)
query = rows[17].copy()
ask(0, f"data.x = torch.FloatStorage({{ filename = '{shared('x', rows)}', readonly = true }}):view(100000, 384)")
ask(0, f"data.q = torch.FloatStorage({{ filename = '{shared('q', query)}' }}):clone()")
halves = rows.astype(np.float16)
ask(0, f"data.h = torch.HalfStorage({{ filename = '{shared('h', halves)}', readonly = true }}):view(100000, 384)")


def by_numpy():
    scores = rows @ query
    best = np.argpartition(scores, -10)[-10:]
    return best[np.argsort(-scores[best])]


others = {"NumPy": by_numpy}
try:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(384)
    index.add(rows)
    others["faiss"] = lambda: index.search(query[None], 10)
except ImportError:
    print("faiss is not installed, so it is left out")
for metric in ("dot", "cosine", "euclid"):
    source = f"return function() return data.x:nearest(data.q, 10, {{ metric = '{metric}' }}) end"
    line(f"nearest of 1e5 x 384 Float, {metric}", source, others if metric == "dot" else {}, 1)
line("nearest of 1e5 x 384 Half, dot", "return function() return data.h:nearest(data.q, 10, { metric = 'dot' }) end", {}, 1)
