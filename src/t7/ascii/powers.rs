//! The 128 leading bits of the powers of ten. The compiler computes them.

/// The lowest power. The powers from this one on turn any finite number into one of 9 to 17 digits.
const LOWEST: i32 = -292;
const BELOW: usize = 292;
const COUNT: usize = BELOW + 1 + 340;

/// The highest power that 128 bits represent exactly: 5^55 is below 2^128.
const LAST_EXACT: i32 = 55;

static POWERS: [u128; COUNT] = powers();

/// The leading bits of 10^`power`, or `None` for a power that no number needs. The highest bit is set. 10^`power` is this number
/// times 2^([`log2`]`(power) - 127)`, plus less than one unit of the last bit.
#[inline]
pub fn bits(power: i32) -> Option<u128> {
    let row = usize::try_from(power - LOWEST).ok()?;
    POWERS.get(row).copied()
}

/// Whether 128 bits represent a power exactly.
#[inline]
pub const fn is_exact(power: i32) -> bool {
    0 <= power && power <= LAST_EXACT
}

/// The exponent of the highest bit of 10^`power`, for powers from -1233 to 1233.
#[inline]
pub const fn log2(power: i32) -> i32 {
    (power * 1_741_647) >> 19
}

/// The number of digits of 2^`exponent`, less one, for exponents from -2620 to 2620. It is negative for numbers below 1.
#[inline]
pub const fn log10(exponent: i32) -> i32 {
    (exponent * 315_653) >> 20
}

/// A number of 832 bits in words of 64, the lowest first. 5^340 has 790 bits, and 2^831 / 5^292 still has 154.
type Number = [u128; 13];
const WORD: u128 = (1 << 64) - 1;

const fn powers() -> [u128; COUNT] {
    let mut powers = [0; COUNT];
    let mut number: Number = [0; 13];
    number[0] = 1;
    let mut row = BELOW;
    while row < COUNT {
        powers[row] = leading(&number);
        let mut carry = 0;
        let mut n = 0;
        while n < number.len() {
            let product = number[n] * 5 + carry;
            number[n] = product & WORD;
            carry = product >> 64;
            n += 1;
        }
        row += 1;
    }
    // Dividing by 5 again and again gives the same whole numbers as one division by the power of 5.
    number = [0; 13];
    number[12] = 1 << 63;
    row = BELOW;
    while row > 0 {
        row -= 1;
        let mut rest = 0;
        let mut n = number.len();
        while n > 0 {
            n -= 1;
            let part = (rest << 64) | number[n];
            number[n] = part / 5;
            rest = part % 5;
        }
        powers[row] = leading(&number);
    }
    powers
}

/// The 128 bits that begin with the highest bit that is set.
const fn leading(number: &Number) -> u128 {
    let mut top = number.len() - 1;
    while number[top] == 0 {
        top -= 1;
    }
    let second = if top >= 1 { number[top - 1] } else { 0 };
    let third = if top >= 2 { number[top - 2] } else { 0 };
    let unset = number[top].leading_zeros() - 64;
    (((number[top] << 64) | second) << unset) | (third >> (64 - unset))
}
