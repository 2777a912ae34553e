//! Kernels that change elements by a number or by other elements: addition and multiplication in the type of the elements. The cargo
//! feature `answers`.

use super::access::{Readable, Values, ValuesMut, Writable};
use super::level::{Kernel, Level};
use crate::convert::{Number, Scalar};
use crate::element::{DType, Element, with_element};

/// What becomes of each element `x`. The numbers were converted to elements before.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// `x + number`
    Add(Scalar),
    /// `x * number`
    Multiply(Scalar),
    /// `x + number * y`, with the element `y` beside it.
    AddScaled(Scalar, Readable<'a>),
}

/// Numbers that are added and multiplied by instructions of their own.
trait Arithmetic: Element {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($T:ty)*) => {
        $(impl Arithmetic for $T {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        })*
    };
}

macro_rules! floats {
    ($($T:ty)*) => {
        $(impl Arithmetic for $T {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
        })*
    };
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64);
floats!(f32 f64);

/// Changes elements. Integers keep the low bits of the result, a Bool is true if the result is not 0, and smaller floats are calculated in
/// double and rounded.
///
/// # Panics
/// If the elements beside have another dtype or are not as many.
pub fn change(target: Writable<'_>, change: Change<'_>) {
    if let Change::AddScaled(_, source) = change {
        assert!(source.dtype() == target.dtype() && source.size() == target.size(), "as many elements of the same dtype");
    }
    match target.dtype() {
        DType::Byte | DType::Untyped => fast::<u8>(target, change),
        DType::Char => fast::<i8>(target, change),
        DType::Short => fast::<i16>(target, change),
        DType::UInt16 => fast::<u16>(target, change),
        DType::Int => fast::<i32>(target, change),
        DType::UInt32 => fast::<u32>(target, change),
        DType::Long => fast::<i64>(target, change),
        DType::UInt64 => fast::<u64>(target, change),
        DType::Float => fast::<f32>(target, change),
        DType::Double => fast::<f64>(target, change),
        dtype => with_element!(dtype, T => in_double::<T>(target.values(), change)),
    }
}

fn fast<T: Arithmetic>(target: Writable<'_>, change: Change<'_>) {
    let (level, target) = (Level::current(), target.values::<T>());
    match change {
        Change::Add(number) => {
            let number = T::from_scalar(number);
            level.run(Each { target, of: |x: T| x.plus(number) });
        }
        Change::Multiply(number) => {
            let number = T::from_scalar(number);
            level.run(Each { target, of: |x: T| x.times(number) });
        }
        Change::AddScaled(number, source) => {
            let (number, source) = (T::from_scalar(number), source.values::<T>());
            level.run(EachBeside { target, source, of: |x: T, y: T| x.plus(number.times(y)) });
        }
    }
}

struct Each<T, F> {
    target: ValuesMut<T>,
    of: F,
}

impl<T: Element, F: Fn(T) -> T> Kernel for Each<T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        for index in 0..self.target.size() {
            self.target.set(index, (self.of)(self.target.get(index)));
        }
    }
}

struct EachBeside<T, F> {
    target: ValuesMut<T>,
    source: Values<T>,
    of: F,
}

impl<T: Element, F: Fn(T, T) -> T> Kernel for EachBeside<T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        let source = self.source.first(self.target.size());
        for index in 0..self.target.size() {
            self.target.set(index, (self.of)(self.target.get(index), source.get(index)));
        }
    }
}

/// Changes elements of a dtype whose numbers are calculated as doubles, or as pairs of them.
fn in_double<T: Element>(target: ValuesMut<T>, change: Change<'_>) {
    let rounded = |number: Scalar| T::from_scalar(number).to_scalar();
    for index in 0..target.size() {
        let x = target.get(index).to_scalar();
        let changed = match change {
            Change::Add(number) => plus(x, rounded(number)),
            Change::Multiply(number) => times(x, rounded(number)),
            Change::AddScaled(number, source) => plus(x, times(rounded(number), source.values::<T>().get(index).to_scalar())),
        };
        target.set(index, T::from_scalar(changed));
    }
}

/// A number that is not complex.
fn real(number: Scalar) -> Option<f64> {
    if let Scalar::Complex(..) = number { None } else { Some(f64::from_scalar(number)) }
}

fn plus(one: Scalar, other: Scalar) -> Scalar {
    if let (Some(one), Some(other)) = (real(one), real(other)) {
        return Scalar::Float(one + other);
    }
    let ((a, b), (c, d)) = (one.parts(), other.parts());
    Scalar::Complex(a + c, b + d)
}

fn times(one: Scalar, other: Scalar) -> Scalar {
    if let (Some(one), Some(other)) = (real(one), real(other)) {
        return Scalar::Float(one * other);
    }
    let ((a, b), (c, d)) = (one.parts(), other.parts());
    Scalar::Complex(a * c - b * d, a * d + b * c)
}
