"""Writes tests/data/decimals.tsv: decimal integers, and what they become as elements of every class.

    python3 tools/decimals.py > tests/data/decimals.tsv

Everything is computed with Python's integers, which are exact. A line has the text of the integer, what it becomes as a signed and
as an unsigned integer of 64 bits, and the bytes of the element of each class in memory, in hexadecimal digits.
"""

import random

INTEGERS = {"Byte": 1, "Char": 1, "Short": 2, "Int": 4, "Long": 8, "UInt16": 2, "UInt32": 4, "UInt64": 8, "Untyped": 1}

# Class: bytes, bits of the mantissa, bias of the exponent, largest finite number, bits of what is too large, whether -0 is 0,
# and the precision through which it is rounded.
FLOATS = {
    "Half": (2, 10, 15, 65504, 0x7C00, False, 24),
    "BFloat16": (2, 7, 127, (2**8 - 1) * 2**120, 0x7F80, False, None),
    "Float": (4, 23, 127, (2**24 - 1) * 2**104, 0x7F800000, False, None),
    "Double": (8, 52, 1023, (2**53 - 1) * 2**971, 0x7FF0000000000000, False, None),
    "Float8_e4m3fn": (1, 3, 7, 448, 0x7F, False, 24),
    "Float8_e5m2": (1, 2, 15, 57344, 0x7C, False, 24),
    "Float8_e4m3fnuz": (1, 3, 8, 240, 0x80, True, 24),
    "Float8_e5m2fnuz": (1, 2, 16, 57344, 0x80, True, 24),
}
COMPLEX = {"ComplexFloat": "Float", "ComplexDouble": "Double"}


def rounded(magnitude, precision):
    """A whole number rounded to so many bits, ties to even."""
    lost = magnitude.bit_length() - precision
    if lost <= 0:
        return magnitude
    kept, rest, half = magnitude >> lost, magnitude & ((1 << lost) - 1), 1 << (lost - 1)
    return (kept + (rest > half or rest == half and kept & 1)) << lost


def float_bits(value, negative, name):
    width, mantissa, bias, largest, overflow, one_zero, through = FLOATS[name]
    magnitude = abs(value)
    if through:
        magnitude = rounded(magnitude, through)
    magnitude = rounded(magnitude, mantissa + 1)
    sign = negative << (8 * width - 1)
    # A NaN has no sign: e4m3fn has no infinity, and the formats with one zero have none either.
    if magnitude > largest:
        return overflow if one_zero or name == "Float8_e4m3fn" else overflow | sign
    if magnitude == 0:
        return 0 if one_zero else sign
    exponent = magnitude.bit_length() - 1
    shift = exponent - mantissa
    kept = magnitude >> shift if shift > 0 else magnitude << -shift
    return sign | (exponent + bias) << mantissa | kept & ((1 << mantissa) - 1)


def element(value, negative, name):
    """The bytes of the element, in hexadecimal digits."""
    if name in INTEGERS:
        width = INTEGERS[name]
        return (value % 2 ** (8 * width)).to_bytes(width, "little").hex()
    if name == "Bool":
        return "01" if value else "00"
    if name in COMPLEX:
        part = element(value, negative, COMPLEX[name])
        return part + "0" * len(part)
    return float_bits(value, negative, name).to_bytes(FLOATS[name][0], "little").hex()


def magnitudes():
    yield from [0, 1, 2, 5, 100, 127, 128, 129, 200, 255, 256, 257, 300, 448, 464, 465, 65504, 65519, 65520, 57344, 61439, 61440]
    for power in [15, 16, 24, 31, 32, 33, 53, 54, 62, 63, 64, 65, 127, 128, 1023, 1024]:
        yield from [2**power - 1, 2**power, 2**power + 1]
    # The middle between two neighbours of each format, the lower of which is even or odd, and the numbers around it.
    for mantissa in [2, 3, 7, 10, 23, 52]:
        for odd in [1, 3]:
            for shift in [0, 1, 7, 20, 29, 45, 56, 75, 100]:
                middle = (2 ** (mantissa + 1) + odd) << shift
                yield from [middle - 1, middle, middle + 1]
    # Rounded to a double first, these would be rounded twice.
    yield from [2**62 + 2**38 + 1, 2**63 + 2**39 + 1, 2**55 + 2**31 + 1, 2**55 + 2**31 - 1]
    # Just below and at the middle between the largest finite number and what is too large.
    for _, mantissa, _, largest, *_ in FLOATS.values():
        half = 1 << (largest.bit_length() - mantissa - 2)
        yield from [largest, largest + half - 1, largest + half, largest + half + 1]
    yield int("1234567890" * 4)
    yield int("9" * 40)
    yield 10**40 + 7
    yield int("5" * 400)
    yield 10**400 + 2**63 + 12345
    random.seed(14)
    for digits in [5, 12, 17, 19, 20, 21, 25, 38, 39]:
        for _ in range(6):
            yield random.randrange(10 ** (digits - 1), 10**digits)


def main():
    classes = [*INTEGERS, *FLOATS, "Bool", *COMPLEX]
    print("text", "signed", "unsigned", *classes, sep="\t")
    for magnitude in dict.fromkeys(magnitudes()):
        for negative in [False, True]:
            value = -magnitude if negative else magnitude
            unsigned = value % 2**64
            signed = unsigned - 2**64 if unsigned >= 2**63 else unsigned
            text = ("-" if negative else "") + str(magnitude)
            print(text, signed, unsigned, *(element(value, negative, name) for name in classes), sep="\t")


main()
