"""Writes tests/data/numbers.tsv and tests/data/decimals.tsv: what numbers, and integers in decimal text, become as elements.

    python3 tests/data/number_rule.py

The rule is stated in docs/numbers.md. This file shares no code with the library: it computes with exact integers and fractions.

A row of numbers.tsv has a source, a value, the bits of the source, and for each class the bits of the element, in hexadecimal. The sources
are `number` (a Lua number), `int64` and `uint64` (64-bit integers of LuaJIT's FFI), and the classes, whose elements are copied and cast.
A `-` marks a NaN whose bits are not fixed. A row of decimals.tsv has decimal text, the integer modulo 2^64 with and without a sign, and
for each class the bytes of the element in memory.

The script also writes the rule into the rows of conversions.tsv that are marked `UB`. There C does not define the result, and Torch7 had
what the processor gave.
"""

import math
import random
import struct
from fractions import Fraction
from pathlib import Path

FOLDER = Path(__file__).parent
INTEGERS = {"Byte": 8, "Char": 8, "Short": 16, "Int": 32, "Long": 64, "UInt16": 16, "UInt32": 32, "UInt64": 64, "Untyped": 8}
SIGNED = ("Char", "Short", "Int", "Long")
# Bits of the mantissa, bias of the exponent, width in bits, bits of the largest number, bits of a number that is too large, of NaN.
FLOATS = {
    "Double": (52, 1023, 64, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, None),
    "Float": (23, 127, 32, 0x7F7FFFFF, 0x7F800000, None),
    "Half": (10, 15, 16, 0x7BFF, 0x7C00, 0x7FFF),
    "BFloat16": (7, 127, 16, 0x7F7F, 0x7F80, 0x7FC0),
    "Float8_e4m3fn": (3, 7, 8, 0x7E, None, 0x7F),
    "Float8_e5m2": (2, 15, 8, 0x7B, 0x7C, 0x7F),
    "Float8_e4m3fnuz": (3, 8, 8, 0x7F, None, 0x80),
    "Float8_e5m2fnuz": (2, 16, 8, 0x7F, None, 0x80),
}
THROUGH_FLOAT = ("Half", "Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz")
ONE_ZERO = ("Float8_e4m3fnuz", "Float8_e5m2fnuz")
TARGETS = ["Byte", "Char", "Short", "Int", "Long", "UInt16", "UInt32", "UInt64", "Half", "Float", "Double", "BFloat16", "Bool",
           "Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz", "ComplexFloat", "ComplexDouble", "Untyped"]


class Zero(Fraction):
    """The number -0."""


def exact(value):
    """The value of a Python float: a fraction, `Zero` for -0, or the float itself if it is not finite."""
    if not math.isfinite(value):
        return value
    return Zero(0) if value == 0 and math.copysign(1, value) < 0 else Fraction(value)


def is_negative(value):
    return isinstance(value, Zero) or value < 0


def to_integer(value, bits):
    if isinstance(value, float):
        return 0
    whole = abs(value.numerator) // value.denominator
    return (-whole if value < 0 else whole) % 2**bits


def to_float(value, name):
    """The bits of the element, rounded to nearest, ties to even; None for a NaN with other bits than the format fixes."""
    mantissa, bias, width, largest, beyond, nan = FLOATS[name]
    if name in THROUGH_FLOAT:
        bits = to_float(value, "Float")
        if bits is None:
            return nan
        value = exact(struct.unpack("<f", struct.pack("<I", bits))[0])
    if isinstance(value, float) and math.isnan(value):
        return nan
    sign = 1 << (width - 1) if is_negative(value) else 0
    if isinstance(value, float):
        bits = largest + 1
    elif value == 0:
        bits = 0
    else:
        magnitude = abs(Fraction(value))
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if Fraction(2) ** exponent > magnitude:
            exponent -= 1
        exponent = max(exponent, 1 - bias)
        bits = ((exponent + bias - 1) << mantissa) + round(magnitude / Fraction(2) ** (exponent - mantissa))
    if bits > largest:
        return nan if beyond is None else sign | beyond
    return bits if bits == 0 and name in ONE_ZERO else sign | bits


def element(value, name):
    """The bits of the element in hexadecimal."""
    if name in INTEGERS:
        return f"{to_integer(value, INTEGERS[name]):0{INTEGERS[name] // 4}x}"
    if name == "Bool":
        return "01" if isinstance(value, float) or value != 0 else "00"
    if name.startswith("Complex"):
        part = name[len("Complex"):]
        digits = FLOATS[part][2] // 4
        real = element(value, part)
        return real if real == "-" else "0" * digits + real  # the real part comes first in memory, so its bits are the low ones
    bits = to_float(value, name)
    return "-" if bits is None else f"{bits:0{FLOATS[name][2] // 4}x}"


def value_of(bits, name):
    """The value of an element with these bits."""
    if name == "Bool":
        return Fraction(int(bits != 0))
    if name in INTEGERS:
        negative = name in SIGNED and bits >> (INTEGERS[name] - 1)
        return Fraction(bits - 2 ** INTEGERS[name] if negative else bits)
    mantissa, bias, width, largest, beyond, nan = FLOATS[name]
    sign, magnitude = bits >> (width - 1), bits & (2 ** (width - 1) - 1)
    if (sign and magnitude == 0 and name in ONE_ZERO) or magnitude > (largest if beyond is None else beyond):
        return math.nan
    if magnitude == beyond:
        return -math.inf if sign else math.inf
    exponent = magnitude >> mantissa
    digits = (magnitude & (2**mantissa - 1)) + (2**mantissa if exponent else 0)
    value = digits * Fraction(2) ** (max(exponent, 1) - bias - mantissa)
    return (Zero(0) if value == 0 else -value) if sign else value


def numbers():
    """Lua numbers around every border of a class, and random ones of every magnitude."""
    found = [0.0, -0.0, math.nan, math.inf, -math.inf, 0.5, -0.5, 0.999, -0.999, 1.9, -1.9, 300.7, 3735928559.0, 2.0**53 + 2**33 + 4, 5e-324,
             1e300, -1e300, 65519.9, 65520.0, 464.0, 464.1, 248.0, 1.0078125 / 2, 1 + 2.0**-8 + 2.0**-30, 1 + 2.0**-11 + 2.0**-40]
    for power in (0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 30, 31, 32, 33, 40, 47, 48, 50, 51, 52, 53, 54, 55, 61, 62, 63, 64, 65, 66, 75, 84, 85,
                  86, 95, 96, 115, 116, 127, 128, 1023):
        border = 2.0**power
        for near in (border, border - 1, border + 1, border - 0.5, border + 0.5, math.nextafter(border, 0), math.nextafter(border, math.inf),
                     border * 1.5):
            found += [near, -near]
    generator = random.Random(14)
    for _ in range(120):
        found.append(generator.choice((-1, 1)) * generator.uniform(1, 2) * 2.0 ** generator.randint(-30, 70))
    return list(dict.fromkeys((value, math.copysign(1, value)) for value in found))


def patterns(name, generator):
    """Bits of elements: the borders of the class, of the other classes as far as it reaches, and random ones."""
    width = 8 if name == "Bool" else INTEGERS.get(name) or FLOATS[name][2]
    found = [0, 1, 2, 2**width - 1, 2**width - 2, 2 ** (width - 1), 2 ** (width - 1) - 1, 2 ** (width - 1) + 1]
    found += [generator.getrandbits(width) for _ in range(8)]
    if name in FLOATS:
        for value, _ in numbers()[: None if name == "Double" else 400]:
            bits = to_float(exact(value), name)
            if bits is not None:
                found.append(bits)
        found = found[:16] + generator.sample(sorted(set(found[16:])), min(60, len(set(found[16:]))))
    elif name != "Bool":
        for power in (7, 8, 11, 15, 16, 24, 25, 31, 32, 53, 54, 62, 63):
            found += [bits for bits in (2**power - 1, 2**power, 2**power + 1) if bits < 2**width]
    return list(dict.fromkeys(found))


def rows():
    for value, _ in numbers():
        bits = f"{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"
        yield ["number", repr(value), bits] + [element(exact(value), target) for target in TARGETS]
    generator = random.Random(64)
    for source, like in (("int64", "Long"), ("uint64", "UInt64")):
        for bits in patterns(like, generator):
            value = value_of(bits, like)
            yield [source, str(value), f"{bits:016x}"] + [element(value, target) for target in TARGETS]
    for source in TARGETS:
        if source.startswith("Complex") or source == "Untyped":
            continue
        for bits in patterns(source, generator):
            value = value_of(bits, source)
            digits = 2 if source == "Bool" else (INTEGERS.get(source) or FLOATS[source][2]) // 4
            row = [element(value, target) for target in TARGETS]
            row[TARGETS.index(source)] = f"{bits:0{digits}x}"  # a copy within a class copies bits
            yield [source, str(float(value)), f"{bits:0{digits}x}"] + row


def magnitudes():
    """Whole numbers for decimal text: around every border of a class, and with many digits."""
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
    for name, (mantissa, _, _, bits, *_) in FLOATS.items():
        largest = int(value_of(bits, name))
        half = 1 << (largest.bit_length() - mantissa - 2)
        yield from [largest, largest + half - 1, largest + half, largest + half + 1]
    yield int("1234567890" * 4)
    yield int("9" * 40)
    yield 10**40 + 7
    yield int("5" * 400)
    yield 10**400 + 2**63 + 12345
    generator = random.Random(14)
    for digits in [5, 12, 17, 19, 20, 21, 25, 38, 39]:
        for _ in range(6):
            yield generator.randrange(10 ** (digits - 1), 10**digits)


def decimals():
    """Rows of decimal text, of what it is modulo 2^64 as a signed and as an unsigned integer, and of the bytes of each element."""
    for magnitude in dict.fromkeys(magnitudes()):
        for negative in (False, True):
            value = Fraction(-magnitude if negative else magnitude)
            if negative and magnitude == 0:
                value = Zero(0)
            unsigned = to_integer(value, 64)
            signed = unsigned - 2**64 if unsigned >= 2**63 else unsigned
            elements = [bytes.fromhex(element(value, target))[::-1].hex() for target in TARGETS]
            yield [("-" if negative else "") + str(magnitude), str(signed), str(unsigned)] + elements


def write_rule(path):
    """Writes the rule into the recorded rows that C does not define."""
    lines = []
    for line in path.read_text().split("\n"):
        columns = line.split("\t")
        if columns[-1] == "UB":
            operation, source, target, text, _, in_bits = columns[:6]
            if operation == "copy":
                value = value_of(int(in_bits, 16), source)
            elif source == "string":
                text = text.strip("'\"")
                value = exact(float.fromhex(text) if "x" in text.lower() else float(text))
            else:
                value = exact(float(text))
            bits = element(value, target)
            number = value_of(int(bits, 16), target)
            columns[4], columns[6], columns[7] = f"{float(number):.17g}", bits, "rule"
        lines.append("\t".join(columns))
    path.write_text("\n".join(lines))


def write(name, table):
    (FOLDER / name).write_text("\n".join("\t".join(row) for row in table) + "\n")
    print(f"{name}: {len(table) - 1} rows, {(len(table) - 1) * len(TARGETS)} results")


write("numbers.tsv", [["source", "value", "bits"] + TARGETS, *rows()])
write("decimals.tsv", [["text", "signed", "unsigned"] + TARGETS, *decimals()])
write_rule(FOLDER / "conversions.tsv")
