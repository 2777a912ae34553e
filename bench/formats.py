"""Measures safetensors, npy and npz files next to Python's safetensors and NumPy, in turn, in one run.

    make bench-formats               installs both under target/numpy, builds, runs
    make bench-formats ARGS=--quick  a third of the rounds, and files of 128 MiB

Ours is the library in LuaJIT, in a process that stays; theirs is this process. A round runs each once, and which of them comes first
alternates. The ratios, ours to theirs, are those of the minima and of the medians. A goal is for the smaller one, because other work of
the machine can only make a run longer. `read` is a plain read of the file into new memory of the kind that storages have. The files are
in the system's cache. Saving to the disk waits for it on both sides: Python calls fsync. Memory is what the resident set of the process
grows by, with the tensors alive.
"""

import argparse
import gc
import os
import platform
import shutil
import statistics
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

import tsv

ROOT = Path(__file__).resolve().parent.parent

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--quick", action="store_true", help="a third of the rounds, and files of 128 MiB")
parser.add_argument("--rounds", type=int, help="the number of rounds")
parser.add_argument("--size", type=int, metavar="MIB", help="the size of the large files (1024)")
parser.add_argument("--folder", default=str(ROOT / "target"), help="where the files are written (target)")
parser.add_argument("--only", default="", metavar="WORD", help="only lines with this word")
parser.add_argument("--lua", default="luajit", help="the interpreter, which has to be a LuaJIT")
options = parser.parse_args()

ROUNDS = options.rounds or (3 if options.quick else 9)
BYTES = (options.size or (128 if options.quick else 1024)) * 2**20
SPARSE = 100 * 2**30
TENSORS = 10_000

# Runs a chunk of Lua in each line and prints how long it took and by how many bytes the resident set has grown.
OURS = r"""
local torch, ffi = require 'torch', require 'ffi'
ffi.cdef [[
  typedef struct { long s, ns; } moment;
  int clock_gettime(int, moment *);
  int open(const char *, int, ...);
  int close(int);
  ssize_t read(int, void *, size_t);
]]
local function now()
  local t = ffi.new 'moment'
  ffi.C.clock_gettime(1, t)
  return tonumber(t.s) + tonumber(t.ns) * 1e-9
end
local function resident()
  local file = io.open '/proc/self/statm'
  local pages = file:read '*n' and file:read '*n'
  file:close()
  return pages * 4096
end
-- Reads a file into a new storage, whose pages are new.
function read(path, bytes)
  local storage = torch.ByteStorage(bytes)
  local memory, done = ffi.cast('char *', storage:dataptr()), 0
  local file = ffi.C.open(path, 0)
  repeat
    local count = tonumber(ffi.C.read(file, memory + done, bytes - done))
    done = done + count
  until count <= 0
  ffi.C.close(file)
  assert(done == bytes)
  return storage
end
made = {}
for line in io.lines() do
  local chunk = assert(loadstring(line))
  collectgarbage()
  collectgarbage()
  local before, start = resident(), now()
  local result, other = chunk()
  local taken = now() - start
  local grown = resident() - before
  result, other = nil, nil
  print(('%.9f %d'):format(taken, grown))
  io.flush()
end
"""


def start():
    paths = {"LUA_PATH": "lua/?.lua;lua/?/init.lua;;", "LUA_CPATH": "build/?.so;;"}
    return subprocess.Popen(
        [options.lua, "-e", OURS], cwd=ROOT, env={**os.environ, **paths}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )


child = start()
table = tsv.Table("formats", f"NumPy {np.__version__}, safetensors {safetensors.__version__}, {options.lua}")
section = None


def lua(chunk):
    """Runs Lua code that returns what it has made. Returns seconds and bytes."""
    child.stdin.write(chunk.replace("\n", " ") + "\n")
    child.stdin.flush()
    answer = child.stdout.readline().split()
    if not answer:
        raise SystemExit(f"{options.lua} has failed: {chunk}")
    return float(answer[0]), int(answer[1])


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def python(run):
    """Runs a function that returns what it has made. Returns seconds and bytes."""
    gc.collect()
    before, begin = resident(), time.perf_counter()
    made = run()
    taken = time.perf_counter() - begin
    grown = resident() - before
    del made
    return taken, grown


def text(seconds):
    return f"{seconds * 1e3:10.3f}"


def title(name, reference):
    global section
    section = name, reference
    if options.only in name:
        print(f"\n{f'{name} ({reference})':44}{'ms: min':>10}{'median':>10}{'reference':>10}{'median':>10}{'ratios':>11}{'goal':>12}{'MiB':>9}{'reference':>10}")


def measure(group, name, ours, theirs, goal=None, limit=None, rounds=ROUNDS):
    """Measures one line. `ours` is Lua code, `theirs` a function, or Lua code too. `goal` is the largest ratio that is good enough, and
    `limit` the most seconds of ours."""
    if options.only not in group:
        return
    mine, other = [], []
    for turn in range(rounds + 1):
        pair = [lambda: mine.append(lua(ours)), lambda: other.append(python(theirs) if callable(theirs) else lua(theirs))]
        for run in pair if turn % 2 else reversed(pair):
            run()
    times = [[taken for taken, _ in list[1:]] for list in (mine, other)]  # the first round warms up
    median = [statistics.median(taken) for taken in times]
    grown = [statistics.median(bytes for _, bytes in list[1:]) / 2**20 for list in (mine, other)]
    shortest = [min(taken) for taken in times]
    ratios = [shortest[0] / shortest[1], median[0] / median[1]]
    heading, reference = section
    table.row(heading, name, "ms", [1e3 * taken for taken in times[0]], reference, [1e3 * taken for taken in times[1]])
    missed = goal and min(ratios) > goal or limit and shortest[0] > limit
    wanted = f"{goal:8.2f}" if goal else f"{limit * 1e3:5.0f} ms" if limit else " " * 8
    print(f"  {name:42}{text(shortest[0])}{text(median[0])}{text(shortest[1])}{text(median[1])}{ratios[0]:8.3f}{ratios[1]:7.3f}{wanted}"
          f"{grown[0]:9.1f}{grown[1]:10.1f}{'  MISSED' if missed else ''}", flush=True)


folder = Path(tempfile.mkdtemp(dir=options.folder, prefix="bench-formats-"))


def synced(path, save):
    """Saves a file as Python does, and waits for the disk."""
    save()
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def large():
    if not any(options.only in group for group in ("mapping", "copying", "saving")):
        return
    array = np.random.default_rng(5).standard_normal(BYTES // 4, np.float32).reshape(1024, -1)
    paths = {end: str(folder / f"large.{end}") for end in ("safetensors", "npy", "npz")}
    safetensors.numpy.save_file({"x": array}, paths["safetensors"])
    np.save(paths["npy"], array)
    np.savez(paths["npz"], x=array)

    def opened():
        file = safetensors.safe_open(paths["safetensors"], "numpy")
        return file, file.keys()

    def from_npz():
        with np.load(paths["npz"]) as file:
            return file["x"]

    size = f"{BYTES // 2**20} MiB"
    title(f"mapping {size}", "safe_open, mmap_mode")
    for end, theirs in (
        ("safetensors", opened),
        ("npy", lambda: np.load(paths["npy"], mmap_mode="c")),
        ("npz", lambda: np.load(paths["npz"])),
    ):
        measure("mapping", f"torch.{end}.load(path)", f"return torch.{end}.load '{paths[end]}'", theirs, limit=0.001)
    copies = (
        ("safetensors", lambda: safetensors.numpy.load_file(paths["safetensors"])),
        ("npy", lambda: np.load(paths["npy"])),
        ("npz", from_npz),
    )
    title(f"copying {size}", "load_file, load")
    for end, theirs in copies:
        measure("copying", f"torch.{end}.load(path, {{mmap=false}})", f"return torch.{end}.load('{paths[end]}', {{ mmap = false }})", theirs, goal=1)
    title(f"copying {size}", "read")
    for end, _ in copies:
        plain = f"return read('{paths[end]}', {os.path.getsize(paths[end])})"
        measure("copying", f"torch.{end}.load(path, {{mmap=false}})", f"return torch.{end}.load('{paths[end]}', {{ mmap = false }})", plain, goal=1 / 0.9)

    new = {end: str(folder / f"new.{end}") for end in paths}
    saved = {
        "safetensors": ("{ x = x }", lambda path: safetensors.numpy.save_file({"x": array}, path)),
        "npy": ("x", lambda path: np.save(path, array)),
        "npz": ("{ x = x }", lambda path: np.savez(path, x=array)),
    }
    if options.only not in "saving":
        return
    lua(f"x = torch.npy.load('{paths['npy']}', {{ mmap = false }})")
    title(f"saving {size}, to the disk", "Python")
    for end, (argument, save) in saved.items():
        path = str(folder / f"theirs.{end}")
        measure(
            "saving", f"torch.{end}.save(path, tensors)", f"torch.{end}.save('{new[end]}', {argument})",
            lambda: synced(path, lambda: save(path)), rounds=max(3, ROUNDS // 3),
        )
    title(f"saving {size}, to memory (/dev/shm)", "Python")
    memory = tempfile.mkdtemp(dir="/dev/shm")
    try:
        for end, (argument, save) in saved.items():
            path = f"{memory}/theirs.{end}"
            measure(
                "saving", f"torch.{end}.save(path, tensors)", f"torch.{end}.save('{memory}/ours.{end}', {argument})",
                lambda: save(path), goal=1,
            )
    finally:
        shutil.rmtree(memory)
    lua("x = nil")


def many():
    if options.only not in "tensors":
        return
    arrays = {f"model.layers.{n}.weight": np.full((4, 4), n, np.float32) for n in range(TENSORS)}
    path, archive = str(folder / "many.safetensors"), str(folder / "many.npz")
    safetensors.numpy.save_file(arrays, path)
    np.savez(archive, **arrays)

    def one_by_one():
        with safetensors.safe_open(path, "numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}

    def from_npz():
        with np.load(archive) as file:
            return {name: file[name] for name in file.files}

    title(f"{TENSORS} tensors", "load_file, safe_open, load")
    load = f"return torch.safetensors.load '{path}'"
    copy = f"return torch.safetensors.load('{path}', {{ mmap = false }})"
    measure("tensors", "torch.safetensors.load(path), load_file", load, lambda: safetensors.numpy.load_file(path), goal=1)
    measure("tensors", "torch.safetensors.load(path), safe_open", load, one_by_one, goal=1)
    measure("tensors", "the same with {mmap=false}, load_file", copy, lambda: safetensors.numpy.load_file(path), goal=1)
    measure("tensors", "torch.npz.load(path), load", f"return torch.npz.load '{archive}'", from_npz, goal=1)
    measure("tensors", "the same with {mmap=false}, load", f"return torch.npz.load('{archive}', {{ mmap = false }})", from_npz, goal=1)
    lua(f"many = torch.safetensors.load '{path}'")
    new = folder / "new"
    measure(
        "tensors", "torch.safetensors.save, save_file", f"torch.safetensors.save('{new}.safetensors', many)",
        lambda: synced(path, lambda: safetensors.numpy.save_file(arrays, path)), goal=1,
    )
    measure(
        "tensors", "torch.npz.save, savez", f"torch.npz.save('{new}.npz', many)",
        lambda: synced(archive, lambda: np.savez(archive, **arrays)), goal=1,
    )
    lua("many = nil")


def write_sparse(path, before, after):
    with open(path, "wb") as file:
        file.write(before)
        file.seek(SPARSE, os.SEEK_CUR)
        file.write(after)
        file.truncate()


def npy_header(elements):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({elements},), }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()




def sparse():
    if options.only not in "sparse":
        return
    header = f'{{"x":{{"dtype":"F32","shape":[{SPARSE // 4}],"data_offsets":[0,{SPARSE}]}}}}'.encode()
    header += b" " * (-len(header) % 8)
    paths = {end: str(folder / f"sparse.{end}") for end in ("safetensors", "npy", "npz")}
    write_sparse(paths["safetensors"], struct.pack("<Q", len(header)) + header, b"")
    npy = npy_header(SPARSE // 4)
    write_sparse(paths["npy"], npy, b"")
    # An archive of one entry, of more than 4 GiB. The checksum is not calculated: nobody reads the whole entry here.
    size, name = len(npy) + SPARSE, b"x.npy"
    long = struct.pack("<HHQQ", 1, 16, size, size)
    local = struct.pack("<4s5HIII2H", b"PK\3\4", 45, 0, 0, 0, 33, 0, 2**32 - 1, 2**32 - 1, len(name), len(long)) + name + long
    entry = struct.pack("<4s6HIII5HII", b"PK\1\2", 45, 45, 0, 0, 0, 33, 0, 2**32 - 1, 2**32 - 1, len(name), len(long), 0, 0, 0, 0, 0) + name + long
    at = len(local) + size
    large_end = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(entry), at)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at + len(entry), 1)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(entry), 2**32 - 1, 0)
    write_sparse(paths["npz"], local + npy, entry + large_end + locator + end)

    def opened():
        file = safetensors.safe_open(paths["safetensors"], "numpy")
        return file, file.keys()

    title("opening a sparse file of 100 GiB", "safe_open, mmap_mode")
    first = "local x = t.x or t assert(x:nElement() == %d and x:get(%d) == 0) return x" % (SPARSE // 4, SPARSE // 4)
    for end, theirs in (
        ("safetensors", opened),
        ("npy", lambda: np.load(paths["npy"], mmap_mode="r")),
        ("npz", lambda: np.load(paths["npz"])),
    ):
        measure("sparse", f"torch.{end}.load(path), last element", f"local t = torch.{end}.load '{paths[end]}' {first}", theirs, limit=0.001)
    measure("sparse", "torch.safetensors.open(path)", f"return torch.safetensors.open '{paths['safetensors']}'", opened, limit=0.1)


print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}, safetensors {safetensors.__version__}")
print(f"{ROUNDS} rounds; MiB is the memory that a process grows by")
try:
    large()
    many()
    sparse()
finally:
    child.stdin.close()
    child.wait()
    shutil.rmtree(folder)
