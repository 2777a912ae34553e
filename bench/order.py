"""Compares sort, argsort, topk and search with NumPy, in one thread, by the processor's time: python bench/order.py [SIZE]

It needs NumPy and luajit, and the library in build/torch: make build, and then target/numpy/bin/python bench/order.py. Each figure is the
least of several rounds. `x NumPy` is above 1 if the library takes less time. NumPy's own sort uses AVX-512 or AVX2 where it supports the
processor, so the ratio depends on the machine.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZE = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
ROUNDS = 5


def least(prepare, act):
    """The least time of `act` in milliseconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        values = prepare()
        start = time.process_time()
        act(values)
        best = min(best, time.process_time() - start)
    return best * 1e3


def first(values):
    """The ten least numbers, sorted, and their indices."""
    places = np.argpartition(values, 10)[:10]
    return places[np.argsort(values[places])]


def main():
    numbers = np.random.default_rng(1)
    arrays = {
        "Double": numbers.normal(size=SIZE),
        "Float": numbers.normal(size=SIZE).astype(np.float32),
        "Int": numbers.integers(-(2**31), 2**31, SIZE, dtype=np.int32),
        "Long": numbers.integers(-(2**63), 2**63, SIZE, dtype=np.int64),
        "Half": numbers.normal(size=SIZE).astype(np.float16),
        "Byte": numbers.integers(0, 256, SIZE, dtype=np.uint8),
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, values in arrays.items():
            values.tofile(f"{folder}/{name}")
            rows.append((f"{name} sort", least(values.copy, lambda copy: copy.sort())))
            rows.append((f"{name} argsort", least(lambda: values, np.argsort)))
            rows.append((f"{name} topk(10)", least(lambda: values, first)))
        np.sort(numbers.integers(-(2**31), 2**31, 10 * SIZE, dtype=np.int32)).tofile(f"{folder}/sorted")
        numbers.integers(-(2**31), 2**31, SIZE // 10, dtype=np.int32).tofile(f"{folder}/numbers")
        haystack = np.memmap(f"{folder}/sorted", np.int32, "r")
        wanted = np.fromfile(f"{folder}/numbers", np.int32)
        rows.append(("Int search", least(lambda: wanted, lambda wanted: np.searchsorted(haystack, wanted))))
        paths = dict(os.environ, LUA_PATH=f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;;", LUA_CPATH=f"{ROOT}/build/?.so;;")
        command = ["luajit", f"{ROOT}/bench/order.lua", folder, str(ROUNDS)]
        ours = subprocess.run(command, env=paths, check=True, capture_output=True, text=True).stdout.split()
    print(f"{SIZE} elements, NumPy {np.__version__}")
    print(f"{'':16}{'NumPy ms':>10}{'ours ms':>10}{'x NumPy':>10}")
    for (name, theirs), own in zip(rows, map(float, ours), strict=True):
        print(f"{name:16}{theirs:10.1f}{own:10.1f}{theirs / own:10.2f}")


if __name__ == "__main__":
    main()
