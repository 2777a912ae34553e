"""Writes formats/saved.npz as numpy.savez does, and formats/npz_records.tsv: the records that Python's zipfile writes for large archives."""
import io
import pathlib
import zipfile
import zlib

import numpy

FOLDER = pathlib.Path(__file__).parent / 'formats'

ARRAYS = {
    '': numpy.arange(3, dtype='u1'),
    'a': numpy.arange(6, dtype='f4').reshape(2, 3),
    'a-b': numpy.asfortranarray(numpy.arange(6, dtype='f8').reshape(2, 3)),
    'a.npy': numpy.array(2.5, 'f2'),
    'a/b': numpy.zeros((0, 4), 'i8'),
    'b c': numpy.array([True, False]),
    'b\\c': numpy.array([1 + 2j], 'c8'),
    'é': numpy.arange(4, dtype='u8')[::-1],
    '数': numpy.arange(24, dtype='i2').reshape(2, 3, 4).transpose(2, 0, 1),
}

GIB = 1 << 30
ARCHIVES = [
    [('a', 2 * GIB - 1), ('b', 128)],
    [('a', 2 * GIB), ('b', 128), ('c', 128)],
    [('a', 2 * GIB - 1 - 56), ('é', 5 * GIB), ('c', 0)],
    [('x' * 1000, 4 * GIB), ('b', 2 * GIB - 1)],
    [],
    [('%05x' % number, 192) for number in range(65535)],
    [('%05x' % number, 192) for number in range(65536)],
]


def records(archive):
    """The headers of the entries, one after the other, and the directory with all that follows it."""
    headers, directory, position = b'', io.BytesIO(), 0
    with zipfile.ZipFile(io.BytesIO(), 'w') as file:
        for number, (name, size) in enumerate(archive):
            info = zipfile.ZipInfo(name + '.npy')
            info.external_attr = 0o600 << 16
            info.file_size = info.compress_size = size
            info.CRC, info.header_offset = 0x01020304 + number, position
            header = info.FileHeader(True)
            headers += header
            position += len(header) + size
            file.filelist.append(info)
        # zipfile asks the file for positions: these are relative to the beginning of the directory.
        class Directory:
            def tell(self):
                return position + directory.tell()

            def write(self, data):
                directory.write(data)

            def flush(self):
                pass

        own, file.fp, file.start_dir = file.fp, Directory(), position
        file._write_end_record()
        file.fp, file._didModify = own, False
    return headers, directory.getvalue()


def shown(data):
    return data.hex() if len(data) < 4000 else 'crc32 %08x' % zlib.crc32(data)


if __name__ == '__main__':
    numpy.savez(FOLDER / 'saved.npz', **dict(sorted(ARRAYS.items(), key=lambda item: item[0].encode())))
    lines = ['# Written by npz_files.py: entries (name=size, or the number of entries of 192 bytes), headers, directory.']
    for archive in ARCHIVES:
        entries = ','.join('%s=%d' % entry for entry in archive) if len(archive) < 10 else str(len(archive))
        lines.append('\t'.join([entries, *map(shown, records(archive))]))
    (FOLDER / 'npz_records.tsv').write_text('\n'.join(lines) + '\n')
