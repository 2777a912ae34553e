//! Keys: unsigned integers that are in the same order as the elements that they are made of.

use half::{bf16, f16};

use crate::convert::{Bool, Float8E4m3fn, Float8E4m3fnuz, Float8E5m2, Float8E5m2fnuz, Number, RawByte};
use crate::element::Element;

/// The order in which elements are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The least element comes first.
    Ascending,
    /// The greatest element comes first.
    Descending,
}

/// Elements that have an order: all but complex numbers.
pub trait Ordered: Element {
    /// The number of bytes that a key has.
    const BYTES: usize;
    /// The least number of the class; it may be infinite.
    const LEAST: Self;
    /// The greatest number of the class; it may be infinite.
    const GREATEST: Self;

    /// The key of an element for ascending order. Equal numbers, such as -0 and 0, have one key. `None` for NaN, whose key would be
    /// [`last_key`](Self::last_key).
    fn number_key(self) -> Option<u64>;

    /// The greatest key that there can be. Numbers of a class with NaN have smaller keys, in both directions.
    #[inline(always)]
    #[must_use]
    fn last_key() -> u64 {
        u64::MAX >> (64 - 8 * Self::BYTES)
    }

    /// What keys are combined with, by exclusive or, to be in the order of a direction.
    #[inline(always)]
    #[must_use]
    fn turn(direction: Direction) -> u64 {
        match direction {
            Direction::Ascending => 0,
            Direction::Descending => Self::last_key(),
        }
    }

    /// The key of an element for the direction that has this [`turn`](Self::turn).
    #[inline(always)]
    #[must_use]
    fn key(self, turn: u64) -> u64 {
        self.number_key().map_or(Self::last_key(), |key| key ^ turn)
    }
}

macro_rules! ordered_unsigned {
    ($($type:ty),*) => {$(
        impl Ordered for $type {
            const BYTES: usize = size_of::<Self>();
            const LEAST: Self = Self::MIN;
            const GREATEST: Self = Self::MAX;

            #[inline(always)]
            fn number_key(self) -> Option<u64> {
                Some(u64::from(self))
            }
        }
    )*};
}

ordered_unsigned! { u8, u16, u32, u64 }

macro_rules! ordered_signed {
    ($($type:ty),*) => {$(
        impl Ordered for $type {
            const BYTES: usize = size_of::<Self>();
            const LEAST: Self = Self::MIN;
            const GREATEST: Self = Self::MAX;

            #[inline(always)]
            fn number_key(self) -> Option<u64> {
                Some(u64::from(self.cast_unsigned() ^ Self::MIN.cast_unsigned()))
            }
        }
    )*};
}

ordered_signed! { i8, i16, i32, i64 }

impl Ordered for Bool {
    const BYTES: usize = 1;
    const LEAST: Self = Self::FALSE;
    const GREATEST: Self = Self::TRUE;

    #[inline(always)]
    fn number_key(self) -> Option<u64> {
        Some(u64::from(self.get()))
    }
}

impl Ordered for RawByte {
    const BYTES: usize = 1;
    const LEAST: Self = Self(u8::MIN);
    const GREATEST: Self = Self(u8::MAX);

    #[inline(always)]
    fn number_key(self) -> Option<u64> {
        Some(u64::from(self.0))
    }
}

/// Floats: a sign bit before the magnitude.
macro_rules! ordered_float {
    ($($type:ty: $bits:ty, $least:expr, $greatest:expr, $is_nan:expr);*) => {$(
        impl Ordered for $type {
            const BYTES: usize = size_of::<Self>();
            const LEAST: Self = $least;
            const GREATEST: Self = $greatest;

            #[inline(always)]
            fn number_key(self) -> Option<u64> {
                let is_nan: fn(Self) -> bool = $is_nan;
                (!is_nan(self)).then(|| u64::from(key_of_float!(self.to_bits(), $bits)))
            }
        }
    )*};
}

/// The key of a float with these bits, which is not NaN.
macro_rules! key_of_float {
    ($bits:expr, $type:ty) => {{
        const SIGN: $type = 1 << (<$type>::BITS - 1);
        let bits = $bits;
        // -0 has the key of 0.
        if bits > SIGN { !bits } else { bits | SIGN }
    }};
}

ordered_float! {
    f64: u64, Self::NEG_INFINITY, Self::INFINITY, Self::is_nan;
    f32: u32, Self::NEG_INFINITY, Self::INFINITY, Self::is_nan;
    f16: u16, Self::NEG_INFINITY, Self::INFINITY, Self::is_nan;
    bf16: u16, Self::NEG_INFINITY, Self::INFINITY, Self::is_nan
}

/// Floats of 8 bits. All 256 bit patterns may be numbers or equal to one, so that a key has a second byte.
macro_rules! ordered_float8 {
    ($($type:ty: $greatest:expr);*) => {$(
        impl Ordered for $type {
            const BYTES: usize = 2;
            const LEAST: Self = Self::from_bits($greatest | 0x80);
            const GREATEST: Self = Self::from_bits($greatest);

            #[inline(always)]
            fn number_key(self) -> Option<u64> {
                let is_nan = self.convert::<f32>().is_nan();
                (!is_nan).then(|| 0x100 | u64::from(key_of_float!(self.to_bits(), u8)))
            }
        }
    )*};
}

ordered_float8! {
    Float8E4m3fn: 0x7e;
    Float8E5m2: 0x7c;
    Float8E4m3fnuz: 0x7f;
    Float8E5m2fnuz: 0x7f
}

/// Evaluates `$body`, in which `$T` is the Rust type of the elements of `$dtype`, which are not complex.
macro_rules! with_ordered {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::bulk::order::with_ordered! { @($dtype) ($T) ($body)
            Byte: u8, Char: i8, Short: i16, Int: i32, Long: i64, Half: half::f16, Float: f32, Double: f64,
            UInt16: u16, UInt32: u32, UInt64: u64, BFloat16: half::bf16, Bool: $crate::convert::Bool,
            Float8_e4m3fn: $crate::convert::Float8E4m3fn, Float8_e5m2: $crate::convert::Float8E5m2,
            Float8_e4m3fnuz: $crate::convert::Float8E4m3fnuz, Float8_e5m2fnuz: $crate::convert::Float8E5m2fnuz,
            Untyped: $crate::convert::RawByte
        }
    };
    (@($dtype:expr) ($T:ident) ($body:expr) $($class:ident: $type:ty),*) => {
        match $dtype {
            $($crate::element::DType::$class => {
                type $T = $type;
                $body
            })*
            complex @ ($crate::element::DType::ComplexFloat | $crate::element::DType::ComplexDouble) => {
                panic!("elements of a {} have no order", complex.class_name())
            }
        }
    };
}

pub(crate) use with_ordered;

#[cfg(test)]
mod tests {
    use super::{Direction, Ordered};
    use crate::bulk::Readable;
    use crate::element::DType;

    /// Compares the keys of all pairs of elements with the elements as doubles.
    fn check<T: Ordered>(elements: &[T]) {
        for direction in [Direction::Ascending, Direction::Descending] {
            let turn = T::turn(direction);
            for &one in elements {
                for &other in elements {
                    let (left, right) = (one.to_f64(), other.to_f64());
                    let numbers = left.partial_cmp(&right);
                    let expected = match direction {
                        Direction::Ascending => numbers,
                        Direction::Descending => numbers.map(std::cmp::Ordering::reverse),
                    };
                    let expected = expected.unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()));
                    assert_eq!(one.key(turn).cmp(&other.key(turn)), expected, "{left} and {right}");
                }
                assert!(one.to_f64().is_nan() || (T::LEAST.to_f64()..=T::GREATEST.to_f64()).contains(&one.to_f64()));
                assert!(one.key(turn) <= T::last_key());
            }
        }
    }

    #[test]
    fn keys_are_in_the_order_of_the_elements() {
        let bytes: Vec<u8> = (0..=255).collect();
        let words: Vec<u8> = (0..=255u16).flat_map(|n| [n * 257, n << 8, n << 7, !(n << 8)]).flat_map(u16::to_ne_bytes).collect();
        for &dtype in DType::ALL.iter().filter(|dtype| dtype.width() <= 2) {
            let elements = Readable::of(if dtype.width() == 1 { &bytes } else { &words }, dtype);
            with_ordered!(dtype, T => {
                let values = elements.values::<T>();
                check::<T>(&(0..values.size()).map(|index| values.get(index)).collect::<Vec<_>>());
            });
        }
        let numbers =
            [0.0, -0.0, 1.0, -1.0, 1.5e-310, -1.5e-310, 1e30, -1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN];
        check(&numbers);
        #[expect(clippy::cast_possible_truncation, reason = "any floats will do")]
        check(&numbers.map(|number| number as f32));
        check(&[0, 1, -1, 1000, -1000, i32::MIN, i32::MAX]);
        check(&[0, 1, -1, 1 << 40, -1 << 40, i64::MIN, i64::MAX]);
        check(&[0, 1, 1 << 31, u32::MAX]);
        check(&[0, 1, 1 << 31, 1 << 63, u64::MAX]);
    }
}
