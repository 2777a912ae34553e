"""Loads the kernels as a C library (examples/kernels.rs), and lists the types of NumPy and ml_dtypes that correspond to the classes."""

import ctypes
import os
import sys

import ml_dtypes
import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def tensor(torch, array):
    """A PyTorch tensor over the memory of an array. PyTorch takes the arrays of ml_dtypes only as integers."""
    kind = array.dtype
    known = array if kind.isbuiltin == 1 else array.view(f"i{kind.itemsize}")
    return torch.from_numpy(known).view(getattr(torch, kind.name))


def load(name=None):
    """Loads the library with that file name, or the one that cargo builds."""
    built = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release", "examples")
    suffix = "dylib" if sys.platform == "darwin" else "so"
    library = ctypes.CDLL(name or os.path.join(built, f"libkernels.{suffix}"))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    for function, result, arguments in (
        ("set_threads", None, [size]),
        ("threads", size, []),
        ("dtypes", ctypes.c_char_p, []),
        ("copy", None, [pointer, size, pointer, size, size]),
        ("fill", None, [pointer, size, size, ctypes.c_double]),
        ("equal", ctypes.c_bool, [pointer, pointer, size, size]),
        ("byteswap", None, [pointer, size, size]),
        ("construct_and_fill", ctypes.c_bool, [size, size, ctypes.c_double]),
    ):
        getattr(library, function).restype, getattr(library, function).argtypes = result, arguments
    return library


def classes(library):
    """The classes of numbers that the library has, in its order: their types of NumPy or ml_dtypes, and the library's numbers for them."""
    types, numbers = {}, {}
    for number, line in enumerate(library.dtypes().decode().splitlines()):
        name, kind, dtype = line.split("\t")
        if kind != "untyped":
            types[name], numbers[name] = np.dtype(getattr(ml_dtypes, dtype, dtype)).type, number
    return types, numbers
