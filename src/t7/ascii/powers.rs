//! The 128 leading bits of the powers of ten, worked out by the compiler.

/// The powers that a finite number needs to become one of 9 to 17 digits.
const LOWEST: i32 = -292;
const BELOW: usize = 292;
const COUNT: usize = BELOW + 1 + 340;

/// The highest power whose 128 bits are all there is: 5^55 is below 2^128.
const LAST_EXACT: i32 = 55;

static POWERS: [u128; COUNT] = powers();

/// 10^`power` is `bits` (highest bit set, so at least 2^127) times 2^([`log2`]`(power) - 127)`, plus less than one unit of the
/// last bit. `None` for a power that no number needs.
#[inline]
pub fn bits(power: i32) -> Option<u128> {
    let row = usize::try_from(power - LOWEST).ok()?;
    POWERS.get(row).copied()
}

/// Whether the bits of a power are all of it.
#[inline]
pub const fn is_exact(power: i32) -> bool {
    0 <= power && power <= LAST_EXACT
}

/// The exponent of the highest bit of 10^`power`, for powers of at most 1233 either way.
#[inline]
pub const fn log2(power: i32) -> i32 {
    (power * 1_741_647) >> 19
}

/// The number of digits of 2^`exponent`, less one, for exponents of at most 2620 either way; negative below 1.
#[inline]
pub const fn log10(exponent: i32) -> i32 {
    (exponent * 315_653) >> 20
}

/// 832 bits in words of 64, lowest first: 5^340 has 790, and 2^831 / 5^292 still has 154.
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
        let mut place = 0;
        while place < number.len() {
            let product = number[place] * 5 + carry;
            number[place] = product & WORD;
            carry = product >> 64;
            place += 1;
        }
        row += 1;
    }
    // What division after division leaves is what one division by their product leaves.
    number = [0; 13];
    number[12] = 1 << 63;
    row = BELOW;
    while row > 0 {
        row -= 1;
        let mut rest = 0;
        let mut place = number.len();
        while place > 0 {
            place -= 1;
            let part = (rest << 64) | number[place];
            number[place] = part / 5;
            rest = part % 5;
        }
        powers[row] = leading(&number);
    }
    powers
}

/// The 128 bits from the highest set one on.
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
