//! Sums of integers, exactly.

use super::PART;
use crate::bulk::access::{Readable, Values};
use crate::bulk::level::{Kernel, Level};
use crate::convert::Bool;
use crate::element::{DType, Element};

/// The sum of a part of integers. A Bool counts as 0 or 1.
///
/// # Panics
/// If the elements are no integers, or more than a part.
#[must_use]
pub fn whole_sum(elements: Readable<'_>) -> i128 {
    assert!(elements.size() <= PART, "the elements are one part");
    let level = Level::current();
    // A part of integers of 16 bits has a sum of 32 bits, and one of 32 bits a sum of 64 bits.
    match elements.dtype() {
        DType::Byte | DType::Untyped => i128::from(sum(level, elements.values::<u8>(), u32::from)),
        DType::Bool => i128::from(sum(level, elements.values::<Bool>(), |x| u32::from(x.get()))),
        DType::Char => i128::from(sum(level, elements.values::<i8>(), i32::from)),
        DType::Short => i128::from(sum(level, elements.values::<i16>(), i32::from)),
        DType::UInt16 => i128::from(sum(level, elements.values::<u16>(), u32::from)),
        DType::Int => i128::from(sum(level, elements.values::<i32>(), i64::from)),
        DType::UInt32 => i128::from(sum(level, elements.values::<u32>(), u64::from)),
        DType::Long => {
            let high = sum(level, elements.values::<i64>(), |x| x >> 32);
            let low = sum(level, elements.values::<i64>(), |x| x & 0xffff_ffff);
            (i128::from(high) << 32) + i128::from(low)
        }
        dtype => {
            assert!(dtype == DType::UInt64, "only integers have such sums");
            let high = sum(level, elements.values::<u64>(), |x| x >> 32);
            let low = sum(level, elements.values::<u64>(), |x| x & 0xffff_ffff);
            (i128::from(high) << 32) + i128::from(low)
        }
    }
}

/// The sum of the numbers that `widen` makes of the elements. It fits in `S`.
fn sum<T: Element, S: Copy + Default + std::ops::AddAssign>(level: Level, values: Values<T>, widen: impl Fn(T) -> S) -> S {
    level.run(Sum { values, widen, start: S::default() })
}

struct Sum<T, F, S> {
    values: Values<T>,
    widen: F,
    start: S,
}

impl<T: Element, F: Fn(T) -> S, S: Copy + std::ops::AddAssign> Kernel for Sum<T, F, S> {
    type Output = S;

    #[inline(always)]
    fn run(self, _: Level) -> S {
        let mut total = self.start;
        // The compiler vectorises sums of integers by itself.
        for index in 0..self.values.size() {
            total += (self.widen)(self.values.get(index));
        }
        total
    }
}
