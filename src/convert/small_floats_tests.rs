//! The small floats are compared with a model that does no bit arithmetic: it searches the list of all numbers of a format for
//! the nearest one.

use half::bf16;

use super::{Bool, Float8E4m3fn, Float8E4m3fnuz, Float8E5m2, Float8E5m2fnuz, Number, Scalar};

/// A format, as its definition describes it.
struct Model {
    /// The numbers from 0 up; each index is the bits of its number. The last entry is not in the format: it is the number that
    /// would follow the largest one.
    numbers: Vec<f64>,
    /// The sign bit.
    sign: u16,
    /// The bits of numbers that are too large, without the sign.
    overflow: u16,
    /// The bits of NaN.
    nan: u16,
    /// Whether the bits of -0 mean NaN.
    one_zero: bool,
}

impl Model {
    /// A format with this many mantissa bits, this bias of the exponent and this largest number.
    fn new(mantissa: i32, bias: i32, largest: f64, sign: u16, (overflow, nan): (u16, u16), one_zero: bool) -> Self {
        let steps = 1 << mantissa;
        let number = |bits: i32| {
            let (exponent, rest) = (bits / steps, bits % steps);
            let fraction = f64::from(rest) / f64::from(steps);
            if exponent == 0 { fraction * 2f64.powi(1 - bias) } else { (1.0 + fraction) * 2f64.powi(exponent - bias) }
        };
        let mut numbers: Vec<_> = (0..).map(number).take_while(|&number| number <= largest).collect();
        numbers.push((0..).map(number).find(|&number| number > largest).unwrap_or(f64::NAN));
        Self { numbers, sign, overflow, nan, one_zero }
    }

    /// The bits of the nearest number. If two are equally near, the one with even bits is taken.
    fn nearest(&self, value: f64) -> u16 {
        if value.is_nan() {
            return self.nan;
        }
        let magnitude = value.abs();
        let above = self.numbers.partition_point(|&number| number < magnitude);
        let last = self.numbers.len() - 1;
        let bits = if above == 0 {
            0
        } else if above > last {
            last
        } else {
            // Both subtractions are exact, because the numbers are at most a factor of two apart, or are 0 and the smallest one.
            let (down, up) = (magnitude - self.numbers[above - 1], self.numbers[above] - magnitude);
            if down < up || (down == up && (above - 1) % 2 == 0) { above - 1 } else { above }
        };
        let bits = if bits == last { self.overflow } else { u16::try_from(bits).unwrap_or(u16::MAX) };
        let unsigned = bits == self.nan || (self.one_zero && bits == 0);
        if value.is_sign_negative() && !unsigned { bits | self.sign } else { bits }
    }

    /// The number with these bits.
    fn number(&self, bits: u16) -> f64 {
        let (sign, magnitude) = (bits & self.sign != 0, usize::from(bits & !self.sign));
        if self.one_zero && bits == self.sign {
            return f64::NAN;
        }
        let last = self.numbers.len() - 1;
        let number = match self.numbers.get(magnitude) {
            Some(&number) if magnitude < last => number,
            _ if usize::from(self.overflow) == magnitude && self.overflow != self.nan => f64::INFINITY,
            _ => f64::NAN,
        };
        if sign { -number } else { number }
    }
}

fn bfloat16() -> Model {
    Model::new(7, 127, f64::from(bf16::MAX.to_f32()), 0x8000, (0x7f80, 0x7fc0), false)
}

/// Floats with all exponents and signs, the numbers of the format, the midpoints between neighbours, and the floats next to all
/// of these.
fn floats(model: &Model) -> Vec<f32> {
    let mut floats: Vec<_> = (0..=u32::MAX).step_by(65_521).map(f32::from_bits).collect();
    for pair in model.numbers.windows(2) {
        for middle in [pair[0], (pair[0] + pair[1]) / 2.0] {
            let bits = (middle as f32).to_bits();
            let around = (bits.saturating_sub(2)..=bits + 2).map(f32::from_bits);
            floats.extend(around.flat_map(|float| [float, -float]));
        }
    }
    floats.extend([f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-45, f32::from_bits(0x7f80_0001)]);
    floats
}

fn check<T: Number>(name: &str, model: &Model, bits: impl Fn(T) -> u16, element: impl Fn(u16) -> T) {
    for float in floats(model) {
        let expected = model.nearest(f64::from(float));
        assert_eq!(bits(T::from_f32(float)), expected, "{name}: {float:e}, {:#x}", float.to_bits());
        assert_eq!(bits(float.convert()), expected, "{name}: {float:e}, {:#x}", float.to_bits());
        assert_eq!(bits(T::from_f64(f64::from(float))), expected, "{name}: {float:e}, {:#x}", float.to_bits());
    }
    for pattern in 0..=model.sign | (model.sign - 1) {
        let (expected, element) = (model.number(pattern), element(pattern));
        let number = element.to_f64();
        let same = |number: f64| number.to_bits() == expected.to_bits() || (number.is_nan() && expected.is_nan());
        assert!(same(number), "{name}: {pattern:#x} is {number}, not {expected}");
        let float: f32 = element.convert();
        assert!(same(f64::from(float)), "{name}: {pattern:#x} is {float}, not {expected}");
        assert!(!float.is_nan() || float.to_bits() == 0x7fff_ffff, "{name}: {pattern:#x} becomes a NaN with other bits");
        let again = bits(T::from_f32(float));
        assert_eq!(again, if expected.is_nan() { model.nan } else { pattern }, "{name}: {pattern:#x} converted to f32 and back");
    }
}

macro_rules! check_float8 {
    ($type:ident, $model:expr) => {
        let model = $model;
        check::<$type>(
            stringify!($type),
            &model,
            |element| u16::from(element.to_bits()),
            |bits| $type::from_bits(u8::try_from(bits).unwrap_or(0)),
        );
        for left in 0..=u8::MAX {
            for right in 0..=u8::MAX {
                let equal = model.number(u16::from(left)) == model.number(u16::from(right));
                assert_eq!($type::from_bits(left) == $type::from_bits(right), equal, "{left:#x} and {right:#x}");
            }
        }
    };
}

#[test]
fn floats_become_the_nearest_8_bit_float() {
    check_float8!(Float8E4m3fn, Model::new(3, 7, 448.0, 0x80, (0x7f, 0x7f), false));
    check_float8!(Float8E5m2, Model::new(2, 15, 57_344.0, 0x80, (0x7c, 0x7f), false));
    check_float8!(Float8E4m3fnuz, Model::new(3, 8, 240.0, 0x80, (0x80, 0x80), true));
    check_float8!(Float8E5m2fnuz, Model::new(2, 16, 57_344.0, 0x80, (0x80, 0x80), true));
}

#[test]
fn known_numbers_have_the_bits_that_the_specifications_give() {
    // The largest number, the first one that overflows, the smallest number, half of it, and -0, as in the papers that define the
    // formats and in PyTorch.
    let e4m3fn = |value: f64| Float8E4m3fn::from_f64(value).to_bits();
    assert_eq!([448.0, 464.0, 464.1, 1e9, f64::INFINITY].map(e4m3fn), [0x7e, 0x7e, 0x7f, 0x7f, 0x7f]);
    assert_eq!([0.001953125, 0.0009765625, 0.00097656256, -0.0].map(e4m3fn), [1, 0, 1, 0x80]);
    let e5m2 = |value: f64| Float8E5m2::from_f64(value).to_bits();
    assert_eq!([57_344.0, 61_439.9, 61_440.0, -f64::INFINITY].map(e5m2), [0x7b, 0x7b, 0x7c, 0xfc]);
    let e4m3fnuz = |value: f64| Float8E4m3fnuz::from_f64(value).to_bits();
    assert_eq!([240.0, 247.9, 248.0, -248.0, -0.0, -1e-9, -240.0].map(e4m3fnuz), [0x7f, 0x7f, 0x80, 0x80, 0, 0, 0xff]);
    let e5m2fnuz = |value: f64| Float8E5m2fnuz::from_f64(value).to_bits();
    assert_eq!([57_344.0, 61_440.0, -61_440.0, -0.0].map(e5m2fnuz), [0x7f, 0x80, 0x80, 0]);
    // Numbers are rounded to `f32` first. Rounded once, this would be 1.125.
    assert_eq!(Float8E4m3fn::from_f64(1.0625 + 2f64.powi(-40)).to_f64(), 1.0);
    assert_eq!(Float8E4m3fn::from_i64(i64::from(0x10_0001) << 34 | 1).to_bits(), 0x7f);
}

#[test]
fn floats_become_the_nearest_bfloat16() {
    check::<bf16>("bf16", &bfloat16(), bf16::to_bits, bf16::from_bits);
    // The `half` crate agrees.
    for float in (0..=u32::MAX).step_by(65_521).map(f32::from_bits).filter(|float| !float.is_nan()) {
        assert_eq!(<bf16 as Number>::from_f32(float).to_bits(), bf16::from_f32(float).to_bits(), "{float:e}");
    }
}

/// Numbers just beside the midpoint of two neighbours would be wrong if they were rounded to `f32` first.
#[test]
fn bfloat16_rounds_once() {
    let model = bfloat16();
    let bits = |value: f64| <bf16 as Number>::from_f64(value).to_bits();
    assert_eq!(bits(1.0 + 2f64.powi(-8) + 2f64.powi(-30)), 0x3f81);
    for pair in model.numbers.windows(2) {
        let middle = (pair[0] + pair[1]) / 2.0;
        for value in [middle, middle * (1.0 + f64::EPSILON), middle * (1.0 - f64::EPSILON), middle * (1.0 + 1e-12)] {
            assert_eq!(bits(value), model.nearest(value), "{value:e}");
            assert_eq!(bits(-value), model.nearest(-value), "{:e}", -value);
        }
    }
}

#[test]
fn integers_are_rounded_to_bfloat16_once() {
    let model = bfloat16();
    let nearest = |value: i128| {
        // From 128 on, all numbers of the format are integers.
        let whole: Vec<i128> = model.numbers.iter().map(|&number| number as i128).collect();
        let above = whole.partition_point(|&number| number < value.abs());
        let (down, up) = (value.abs() - whole[above.saturating_sub(1)], whole[above] - value.abs());
        let bits = if down < up || (down == up && above % 2 == 1) { above - 1 } else { above };
        u16::try_from(bits).unwrap_or(u16::MAX) | if value < 0 { 0x8000 } else { 0 }
    };
    for exponent in 8..64u32 {
        for mantissa in [128i128, 129, 130, 200, 255] {
            let (low, high) = (mantissa << exponent >> 7, (mantissa + 1) << exponent >> 7);
            for value in [low, low + 1, (low + high) / 2 - 1, (low + high) / 2, (low + high) / 2 + 1, high - 1] {
                if let Some(value) = i64::try_from(value).ok().filter(|&value| value >= 256) {
                    for value in [value, -value] {
                        let got = <bf16 as Number>::from_i64(value).to_bits();
                        assert_eq!(got, nearest(value.into()), "{value}");
                        assert_eq!(<bf16 as Number>::from_scalar(Scalar::Signed(value)).to_bits(), got);
                        assert_eq!(i32::try_from(value).map_or(got, |value| value.convert::<bf16>().to_bits()), got, "{value}");
                    }
                }
                if let Some(value) = u64::try_from(value).ok().filter(|&value| value >= 256) {
                    assert_eq!(<bf16 as Number>::from_u64(value).to_bits(), nearest(value.into()), "{value}");
                }
            }
        }
    }
    for value in -256..=256i64 {
        assert_eq!(<bf16 as Number>::from_i64(value).to_f64(), value as f64);
    }
    assert_eq!(<bf16 as Number>::from_i64(i64::MIN).to_bits(), 0xdf00);
    assert_eq!(<bf16 as Number>::from_u64(u64::MAX).to_bits(), 0x5f80);
}

#[test]
fn small_floats_become_integers_through_float() {
    assert_eq!(<bf16 as Number>::from_f64(300.0).convert::<u8>(), 44);
    assert_eq!(Float8E5m2::from_f64(f64::INFINITY).convert::<i32>(), 0);
    assert_eq!(Float8E4m3fn::from_f64(f64::NAN).convert::<i64>(), 0);
    assert_eq!(Float8E4m3fn::from_f64(f64::NAN).convert::<u8>(), 0);
    assert_eq!(Float8E4m3fn::from_f64(-1.5).convert::<u8>(), 255);
    assert_eq!(Float8E4m3fnuz::from_f64(-1.5).convert::<Bool>(), Bool::from(true));
}

#[test]
fn every_number_except_zero_is_true() {
    for number in [f64::NAN, f64::INFINITY, -1.0, 0.5, 5e-324, 256.0] {
        assert!(Bool::from_f64(number).get(), "{number}");
    }
    // 5e-324 is not 0, but it becomes 0 as an `f32`.
    assert!(
        !Bool::from_f64(-0.0).get() && 5e-324f64.convert::<Bool>().get() && !5e-324f64.convert::<f32>().convert::<Bool>().get()
    );
    assert!(i64::MIN.convert::<Bool>().get() && 256i16.convert::<Bool>().get() && Bool::from_u64(1 << 63).get());
    assert_eq!(Bool::from(true).convert::<i64>(), 1);
    assert_eq!(Bool::from(false).convert::<f64>(), 0.0);
    assert_eq!(Bool::from_scalar(Scalar::Float(7.0)), Bool::from(true));
}
