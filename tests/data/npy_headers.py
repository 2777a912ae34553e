"""Writes npy_headers.tsv: the headers that NumPy (with ml_dtypes) writes. Columns: class, sizes, F for Fortran's order or C, header."""
import io
import pathlib

import ml_dtypes
import numpy

CLASSES = {
    'Bool': 'bool', 'Byte': 'uint8', 'Char': 'int8', 'Short': 'int16', 'Int': 'int32', 'Long': 'int64', 'UInt16': 'uint16',
    'UInt32': 'uint32', 'UInt64': 'uint64', 'Half': 'float16', 'Float': 'float32', 'Double': 'float64',
    'BFloat16': ml_dtypes.bfloat16, 'Float8_e4m3fn': ml_dtypes.float8_e4m3fn, 'Float8_e5m2': ml_dtypes.float8_e5m2,
    'Float8_e4m3fnuz': ml_dtypes.float8_e4m3fnuz, 'Float8_e5m2fnuz': ml_dtypes.float8_e5m2fnuz,
    'ComplexFloat': 'complex64', 'ComplexDouble': 'complex128',
}
SHAPES = [(), (0,), (1,), (3,), (2, 3), (1, 1), (4, 1), (1, 4), (2, 0), (0, 2), (5, 1, 7), (2, 3, 4), (1234567, 1), (1,) * 20,
          (2,) * 13, (1,) * 64, (10**6,), (3, 10**5), (123456789, 0), (0, 10**17), (1, 2, 1, 3, 1)]


def rows():
    for name, dtype in CLASSES.items():
        for shape in SHAPES if name in ('Float', 'Bool') else [(2, 3)]:
            for order in 'CF':
                array = numpy.empty(shape, dtype, order=order)
                buffer = io.BytesIO()
                header = numpy.lib.format.header_data_from_array_1_0(array)
                numpy.lib.format.write_array_header_1_0(buffer, header)
                yield name, ' '.join(map(str, shape)), order, buffer.getvalue().hex()


if __name__ == '__main__':
    path = pathlib.Path(__file__).parent / 'formats' / 'npy_headers.tsv'
    path.write_text('# Written by npy_headers.py: class, sizes, order, header.\n' + ''.join('\t'.join(row) + '\n' for row in rows()))
