"""Compares random calls of sums, extremes, counts and products with NumPy's results.

    tests/python/answers.py CASES INTERPRETER

Each case is a view of random numbers: transposed, narrowed, with steps, or expanded; of any class that NumPy or ml_dtypes has, also with
NaN, infinities and -0. A Lua program makes the same view over the same bytes and calls one method. What it returns has to be what NumPy
makes of the elements as doubles or as integers of Python, within a small tolerance for sums of floats.
"""

import math
import os
import random
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

CASES, LUA = int(sys.argv[1]), sys.argv[2]
KINDS = {
    "Byte": np.uint8, "Char": np.int8, "Short": np.int16, "Int": np.int32, "Long": np.int64, "UInt16": np.uint16, "UInt32": np.uint32,
    "UInt64": np.uint64, "Bool": np.bool_, "Half": np.float16, "BFloat16": ml_dtypes.bfloat16, "Float": np.float32, "Double": np.float64,
}
PROGRAM = r"""
local torch = require 'torch'
local function show(v)
  if torch.isTensor(v) then
    local list = v:clone():storage()
    local texts = { torch.typename(v):match 'torch%.([%w_]+)Tensor' }
    for i = 1, #list do texts[#texts + 1] = list:decimal(i) end
    return table.concat(texts, ' ')
  elseif type(v) == 'number' then
    return ('%.17g'):format(v)
  end
  return (tostring(v):gsub('U?LL$', ''))
end
for line in io.lines(arg[1]) do
  local run = assert((loadstring or load)('local torch = require "torch" ' .. line))
  local got = { pcall(run) }
  for i = 2, #got do got[i] = show(got[i]) end
  print(table.concat(got, '\t', 2))
end
"""


def elements(kind, count):
    """Random elements. Floats may be NaN, infinite or -0, and integers of 64 bits large."""
    if kind == np.bool_:
        return np.array([random.random() < 0.7 for _ in range(count)])
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = random.random() < 0.3
        low, high = (info.min, info.max) if wide else (max(info.min, -5), 5)
        return np.array([random.randint(int(low), int(high)) for _ in range(count)], dtype=dtype)
    odd = random.random() < 0.2
    values = [random.choice([math.nan, math.inf, -math.inf, -0.0, 0.0]) if odd and random.random() < 0.3 else
              random.choice([random.gauss(0, 3), float(random.randint(-3, 3))]) for _ in range(count)]
    return np.array(values).astype(kind)


def case(number, folder):
    """A line of Lua, and what it has to print: a list of numbers, how near they have to be, and the class of a tensor."""
    T = random.choice(list(KINDS))
    kind = KINDS[T]
    dims = random.choice([1, 1, 2, 2, 3, 4])
    long = random.random() < 0.05
    sizes = [random.randint(1, 3000 if long and d == 0 else 6) for d in range(dims)]
    base = elements(kind, int(np.prod(sizes)))
    path = os.path.join(folder, f"{number}.bin")
    base.tofile(path)
    array = base.reshape(sizes)
    lua = f"local x = torch.{T}Storage({{ filename = '{path}' }}):view({', '.join(map(str, sizes))}) "
    if dims > 1 and random.random() < 0.5:
        a, b = random.sample(range(dims), 2)
        array = np.swapaxes(array, a, b)
        lua += f"x = x:transpose({a + 1}, {b + 1}) "
    if random.random() < 0.3:
        d = random.randrange(dims)
        first = random.randint(0, array.shape[d] - 1)
        length = random.randint(1, array.shape[d] - first)
        array = np.take(array, range(first, first + length), axis=d)
        lua += f"x = x:narrow({d + 1}, {first + 1}, {length}) "
    whole = np.dtype(kind).kind in "iub"
    exact = array.astype(object) if whole else array.astype(np.float64)
    if whole:
        exact = np.vectorize(int, otypes=[object])(exact)
    method = random.choice(["sum", "mean", "var", "norm", "min", "max", "argmin", "argmax", "count", "any", "all", "dot"])
    dim = random.randrange(array.ndim) if random.random() < 0.5 and method not in ("count", "any", "all", "dot") else None
    call = str(dim + 1) if dim is not None else ""
    where = {} if dim is None else {"axis": dim}
    floats = exact.astype(np.float64)
    if method == "sum":
        result, near = exact.sum(**where), not whole
    elif method == "mean":
        result, near = (exact.sum(**where) / (array.size if dim is None else array.shape[dim])), True
    elif method == "var":
        result, near, call = floats.var(**where), True, (call + ", " if call else "") + "true"
    elif method == "norm":
        result, near, call = np.sqrt((floats * floats).sum(**where)), True, "2" + (", " + call if call else "")
    elif method in ("min", "max"):
        result, near = getattr(floats if not whole else exact, method)(**where), False
        if dim is not None:
            lua += "local values, indices = x:" + method + f"({call}) return values"
    elif method in ("argmin", "argmax"):
        # NumPy does not find extremes among objects of Python along an axis, so integers of 64 bits that doubles round are left out.
        usable = floats if not whole or np.array_equal(floats.astype(object), exact) else None
        if usable is None:
            return None
        result, near = getattr(usable, method)(**where), False
        if dim is None:
            result = np.array([index + 1 for index in np.unravel_index(result, array.shape)])
        else:
            result = result + 1
    elif method == "count":
        value = random.choice([0, 1, 2, 2.5])
        result, near, call = int((exact == value).sum()), False, repr(value)
    elif method in ("any", "all"):
        result, near = bool(getattr((exact != 0), method)()), False
    else:
        result, near, call = (exact * exact).sum(), not whole, "x"
    if "return" not in lua:
        lua += f"return x:{method}({call})"
    return lua, method, T, result, near, whole, floats


def wrapped(value, T):
    """An integer modulo 2^64."""
    value = int(value) % 2**64
    return value if T == "UInt64" else value - 2**64 if value >= 2**63 else value


ROUNDING = {"Half": 2e-3, "BFloat16": 2e-2, "Float": 1e-6}


def agree(got, method, T, result, near, whole, floats):
    """Whether the text that Lua printed is the result."""
    if isinstance(result, bool):
        return got == str(result).lower()
    words = got.replace("\t", " ").split(" ")
    is_tensor = words[0][:1].isupper()
    if is_tensor:
        words = words[1:]
    expected = np.asarray(result).reshape(-1)
    if len(words) != len(expected):
        return False
    for word, value in zip(words, expected):
        if whole and method in ("sum", "dot"):
            value = wrapped(value, T)
            text = float(word) if "e" in word or "." in word else int(word)
            if text != value and not (abs(value) > 2**53 and float(text) == float(value)):
                return False
            continue
        if method in ("min", "max") and whole:
            if float(word) != float(value):
                return False
            continue
        number, value = float(word.replace("-nan", "nan")), float(value)
        if math.isnan(number) or math.isnan(value):
            if math.isnan(number) != math.isnan(value):
                return False
        elif number != value:
            scale = max(abs(value), float(np.abs(floats[np.isfinite(floats)]).sum() if near else 0) or 0.0)
            bound = 1e-12 * max(scale, scale * scale if method in ("var", "dot", "norm") else scale)
            if is_tensor and not whole:
                largest = {"Half": 65504.0, "BFloat16": 3.3e38, "Float": 3.4e38}.get(T, math.inf)
                bound += ROUNDING.get(T, 0) * abs(value)
                if abs(value) > largest and math.isinf(number):
                    continue
            if not near or abs(number - value) > bound:
                return False
    return True


def main():
    random.seed(1)
    done = 0
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        program = os.path.join(folder, "program.lua")
        with open(program, "w") as file:
            file.write(PROGRAM)
        while done < CASES:
            cases = [one for one in (case(number, folder) for number in range(min(2000, CASES - done + 200))) if one]
            script = os.path.join(folder, "calls")
            with open(script, "w") as file:
                file.write("".join(one[0] + "\n" for one in cases))
            lines = subprocess.run([LUA, program, script], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
            for one, got in zip(cases, lines):
                if not agree(got, *one[1:]):
                    sys.exit(f"{one[0]}\n  NumPy: {one[3]}\n  here:  {got}")
            done += len(cases)
    print(f"{done} random calls have NumPy's results")


main()
