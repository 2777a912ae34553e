"""Exchanges files between this library and safetensors, NumPy and ml_dtypes, both ways.

    round_trips.py ROUNDS INTERPRETER...

In each round Python writes arrays with random names, shapes, dtypes and memory orders. The interpreter runs round_trips.lua, which loads
them, compares every element, and saves them again: what it has loaded, and the same elements in other memory orders. Python loads what
was saved, compares every element, and compares the bytes of the files where the writer of the library is deterministic.
"""
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import zipfile

import ml_dtypes
import numpy
import safetensors
import safetensors.numpy

# The class of each dtype.
CLASSES = {
    'bool': 'Bool', 'uint8': 'Byte', 'int8': 'Char', 'int16': 'Short', 'int32': 'Int', 'int64': 'Long', 'uint16': 'UInt16',
    'uint32': 'UInt32', 'uint64': 'UInt64', 'float16': 'Half', 'float32': 'Float', 'float64': 'Double', 'bfloat16': 'BFloat16',
    'float8_e4m3fn': 'Float8_e4m3fn', 'float8_e5m2': 'Float8_e5m2', 'float8_e4m3fnuz': 'Float8_e4m3fnuz',
    'float8_e5m2fnuz': 'Float8_e5m2fnuz', 'complex64': 'ComplexFloat', 'complex128': 'ComplexDouble',
}
# The name of each dtype in a safetensors file, which has none for complex128.
NAMES = {
    'bool': 'BOOL', 'uint8': 'U8', 'int8': 'I8', 'int16': 'I16', 'int32': 'I32', 'int64': 'I64', 'uint16': 'U16', 'uint32': 'U32',
    'uint64': 'U64', 'float16': 'F16', 'float32': 'F32', 'float64': 'F64', 'bfloat16': 'BF16', 'float8_e4m3fn': 'F8_E4M3',
    'float8_e5m2': 'F8_E5M2', 'float8_e4m3fnuz': 'F8_E4M3FNUZ', 'float8_e5m2fnuz': 'F8_E5M2FNUZ', 'complex64': 'C64',
}
# NumPy writes elements of these types as bytes without a type.
UNTYPED = {'bfloat16', 'float8_e4m3fn', 'float8_e4m3fnuz', 'float8_e5m2fnuz'}
# NumPy writes this type as '<f1', and cannot read that itself. So it reads '<V1' instead here.
UNREADABLE = 'float8_e5m2'
SHAPES = [(), (0,), (1,), (5,), (3, 4), (2, 0, 3), (2, 3, 4), (1, 7, 1), (2, 1, 3, 2), (1,) * 8, (130, 257)]
HERE = pathlib.Path(__file__).parent
MEMORY = pathlib.Path('/dev/shm')

counts = {}


def count(what):
    counts[what] = counts.get(what, 0) + 1


def numpy_dtype(name):
    return numpy.dtype(getattr(ml_dtypes, name, name))


def random_array(chance, dtype, shape):
    """An array of random bytes, which lies in memory in a random way."""
    dtype = numpy_dtype(dtype)
    size = int(numpy.prod(shape, dtype=int))
    data = chance.randbytes(size * dtype.itemsize)
    if dtype == bool:
        data = bytes(byte & 1 for byte in data)
    array = numpy.frombuffer(data, dtype).reshape(shape)
    order = chance.choice(['C', 'C', 'F', 'reversed', 'part'])
    if order == 'F':
        return numpy.asfortranarray(array)
    if order == 'reversed' and array.ndim > 0:
        return array[::-1]
    if order == 'part' and array.ndim > 1:
        return numpy.concatenate([array, array], axis=-1)[..., :array.shape[-1]]
    return array


def random_name(chance, used):
    while True:
        alphabet = chance.choice(['abcxyz._/0123', 'aé ß"\\\'\n\t', '数据😀\u202e\ufeff\U0010ffff', 'a\x01\x7f\u0080'])
        name = ''.join(chance.choice(alphabet) for _ in range(chance.choice([0, 1, 3, 8, 40])))
        if name not in used and name != '__metadata__':
            return name


def random_arrays(chance, dtypes, most):
    arrays = {}
    for _ in range(chance.randint(0, most)):
        shape = chance.choice(SHAPES[:-1] * 5 + SHAPES[-1:])
        if chance.random() < 0.5:
            shape = tuple(chance.choice([0, 1, 1, 2, 3, 5, 8]) for _ in range(chance.randint(0, 5)))
        arrays[random_name(chance, arrays)] = random_array(chance, chance.choice(dtypes), shape)
    return arrays


def by_bytes(names):
    return sorted(names, key=str.encode)


class Folder:
    """The files of one round: those that Python writes and, in `out`, those that Lua writes of the same arrays."""

    def __init__(self, path):
        self.path, self.lines, self.files = path, [], []
        (path / 'out').mkdir()

    def add(self, format, arrays, write, metadata=None, dtype=None):
        name = '%03d.%s' % (len(self.files), format)
        write(self.path / name)
        self.files.append((name, arrays, metadata or {}, dtype))
        self.lines.append('\t'.join(['file', format, name, CLASSES[dtype] if dtype else '']))
        for key, array in arrays.items():
            data = numpy.ascontiguousarray(array).tobytes().hex()
            shape = ' '.join(map(str, array.shape))
            self.lines.append('\t'.join(['array', key.encode().hex(), CLASSES[array.dtype.name], shape, data]))
        for key, text in (metadata or {}).items():
            self.lines.append('\t'.join(['metadata', key.encode().hex(), text.encode().hex()]))

    def fill(self, chance, dtypes):
        for dtype in dtypes:
            array = random_array(chance, dtype, chance.choice(SHAPES))
            self.add('npy', {'': array}, lambda path: numpy.save(open(path, 'wb'), array), dtype=dtype)
        alone = UNTYPED | {UNREADABLE}
        groups = [([dtype for dtype in dtypes if dtype not in alone], None)]
        groups += [([dtype], dtype) for dtype in dtypes if dtype in alone]
        for group, dtype in groups:
            arrays = random_arrays(chance, group, 8)
            arrays = {key: arrays[key] for key in by_bytes(arrays) if '\0' not in key}
            self.add('npz', arrays, lambda path: savez(path, arrays), dtype=dtype)
        arrays = random_arrays(chance, list(NAMES), 12)
        texts = {random_name(chance, ()): random_name(chance, ()) for _ in range(chance.randint(0, 3))}
        contiguous = {key: numpy.ascontiguousarray(array).reshape(array.shape) for key, array in arrays.items()}
        # The library writes broken JSON for empty metadata.
        self.add('safetensors', arrays, lambda path: safetensors.numpy.save_file(contiguous, path, texts or None), texts)


def savez(path, arrays):
    with open(path, 'wb') as file:
        # A name may be that of a parameter of savez.
        numpy.lib._npyio_impl._savez(file, (), arrays, False)


def read_unreadable(data):
    assert data.count(b"'<f1'") == 1
    return numpy.load(io.BytesIO(data.replace(b"'<f1'", b"'<V1'"))).view(numpy_dtype(UNREADABLE))


def read(path, format, dtype):
    """The arrays of a file that Lua has saved, and its metadata."""
    def typed(array):
        return array.view(numpy_dtype(dtype)) if dtype in UNTYPED else array

    if dtype == UNREADABLE and format == 'npy':
        return {'': read_unreadable(path.read_bytes())}, {}
    if dtype == UNREADABLE and format == 'npz':
        with zipfile.ZipFile(path) as file:
            return {name[:-len('.npy')]: read_unreadable(file.read(name)) for name in file.namelist()}, {}
    if format == 'npy':
        return {'': typed(numpy.load(path))}, {}
    if format == 'npz':
        with numpy.load(path) as file:
            return {key: typed(file[key]) for key in file.files}, {}
    data = path.read_bytes()
    arrays = {}
    dtypes = {name: dtype for dtype, name in NAMES.items()}
    for key, tensor in safetensors.deserialize(data):
        array = numpy.frombuffer(bytes(tensor['data']), numpy_dtype(dtypes[tensor['dtype']]))
        arrays[key] = array.reshape(tensor['shape'])
    with safetensors.safe_open(path, framework='np') as file:
        return arrays, file.metadata() or {}


def same_array(ours, theirs):
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def same_bytes(format, ours, theirs):
    if ours == theirs or format != 'safetensors':
        return ours == theirs
    # The library writes metadata in no order.
    lengths = [int.from_bytes(data[:8], 'little') for data in (ours, theirs)]
    headers = [json.loads(data[8:8 + length]) for data, length in zip((ours, theirs), lengths)]
    items = [list(header.items()) for header in headers]
    return lengths[0] == lengths[1] and items[0] == items[1] and ours[8 + lengths[0]:] == theirs[8 + lengths[1]:]


def check(folder, seed):
    for name, arrays, metadata, dtype in folder.files:
        format = name.split('.')[-1]
        original = (folder.path / name).read_bytes()
        for way in ['mapped', 'copied', 'other', 'storages', 'pipe']:
            path = folder.path / 'out' / (way + '-' + name)
            if not path.exists():
                assert way in ('storages', 'pipe'), path
                continue
            found, texts = read(path, format, dtype)
            where = 'round %d, %s' % (seed, path.name)
            assert list(by_bytes(found)) == list(by_bytes(arrays)), '%s has the names %r, not %r' % (where, list(found), list(arrays))
            assert texts == metadata, '%s has the metadata %r, not %r' % (where, texts, metadata)
            for key, array in arrays.items():
                expected = array.reshape(-1) if way == 'storages' else array
                assert same_array(found[key], expected), '%s: array %r differs' % (where, key)
                count('arrays of %s that Python has read' % format)
            if way in ('mapped', 'copied'):
                assert same_bytes(format, path.read_bytes(), original), '%s has other bytes than that of Python' % where
                count('files of %s with the bytes of those of Python' % format)


def run_round(interpreter, seed):
    chance = random.Random(seed)
    # Saving waits for the disk, and there is none below this folder.
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as path:
        folder = Folder(pathlib.Path(path))
        # Each dtype comes in every round in npy, and by chance in the others.
        folder.fill(chance, list(CLASSES))
        (folder.path / 'manifest.tsv').write_text('\n'.join(folder.lines) + '\n')
        done = subprocess.run([*interpreter, HERE / 'round_trips.lua', path], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, 'round %d: %s' % (seed, done.stdout + done.stderr)
        for line in done.stdout.splitlines():
            number, what = line.split(' ', 1)
            counts[what] = counts.get(what, 0) + int(number)
        check(folder, seed)


if __name__ == '__main__':
    rounds, interpreter = int(sys.argv[1]), sys.argv[2:]
    print('safetensors %s, NumPy %s, ml_dtypes %s, %d rounds' % (safetensors.__version__, numpy.__version__, ml_dtypes.__version__, rounds))
    for seed in range(rounds):
        run_round(interpreter, seed)
    for what in sorted(counts):
        print('%9d %s' % (counts[what], what))
    assert len(counts) == 9 and all(number >= rounds for number in counts.values()), counts
