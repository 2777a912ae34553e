//! Conversion steps that the compiler vectorises badly, written with the instructions of x86-64 and of aarch64.
//!
//! - Float to integer: the instructions of x86-64 return the lowest integer for a number that does not fit, and those of aarch64 the
//!   lowest or the highest one. If a vector may have such a number, its elements are converted one by one, as `convert.rs` says. The
//!   compiler would turn the comparisons of the plain loop into branches for each element.
//! - Halves: the instructions round as the rules require. Only NaN needs extra work.
//! - Real parts of complex numbers, on x86-64: the compiler loads them one by one, or gathers them with AVX-512, which takes twice as
//!   long as loads and shuffles.
//!
//! The numbers of the rules below are those of `convert.rs`.

use super::access::{Values, ValuesMut};
use crate::element::Element;

/// Defines a loop that loads, changes and stores `$lanes` elements at a time.
///
/// For floats that become integers, `unless` follows the change, with two more functions. The first one finds out whether a vector
/// may have a number that does not fit. The elements of such a vector, and of its neighbour, are converted one by one. The second
/// function makes the vector that is stored.
macro_rules! lanes {
    ($($(#[$doc:meta])* $name:ident($features:literal, $lanes:literal, $S:ty => $D:ty):
        $load:ident::<$loaded:ty>, $store:ident::<$stored:ty>, $change:expr $(, unless $too_large:expr, $narrow:expr)?;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[target_feature(enable = $features)]
        fn $name(target: BytesMut, source: Bytes) -> usize {
            let (to, from) = (target.retyped::<$D>(), source.retyped::<$S>());
            let size = to.size().min(from.size());
            let (target, source) = (to.data(), from.data());
            let mut done = 0;
            $(
                // Two vectors at a time need one branch.
                while size - done >= 2 * $lanes {
                    let (first, second) = (done, done + $lanes);
                    // SAFETY: [in-bounds] at least `2 * $lanes` elements are left, which fill both vectors. Any address is allowed.
                    let one = $change(unsafe { $load(source.wrapping_add(first).cast::<$loaded>()) });
                    // SAFETY: [in-bounds] at least `2 * $lanes` elements are left, which fill both vectors. Any address is allowed.
                    let other = $change(unsafe { $load(source.wrapping_add(second).cast::<$loaded>()) });
                    done += 2 * $lanes;
                    if $too_large(one) | $too_large(other) {
                        convert_one_by_one(to.part(first..done), from.part(first..done));
                        continue;
                    }
                    let (one, other) = ($narrow(one), $narrow(other));
                    // SAFETY: [in-bounds] both vectors lie before `done`, which is at most the size. Any address is allowed.
                    unsafe { $store(target.wrapping_add(first).cast::<$stored>(), one) };
                    // SAFETY: [in-bounds] both vectors lie before `done`, which is at most the size. Any address is allowed.
                    unsafe { $store(target.wrapping_add(second).cast::<$stored>(), other) };
                }
            )?
            while size - done >= $lanes {
                // SAFETY: [in-bounds] at least `$lanes` elements are left, which fill the vector. Any address is allowed.
                let vector = unsafe { $load(source.wrapping_add(done).cast::<$loaded>()) };
                let vector = $change(vector);
                $(
                    if $too_large(vector) {
                        convert_one_by_one(to.part(done..done + $lanes), from.part(done..done + $lanes));
                        done += $lanes;
                        continue;
                    }
                    let vector = $narrow(vector);
                )?
                // SAFETY: [in-bounds] at least `$lanes` elements are left, which fill the vector. Any address is allowed.
                unsafe { $store(target.wrapping_add(done).cast::<$stored>(), vector) };
                done += $lanes;
            }
            done
        }
    )*};
}

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::convert;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use portable::convert;
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::convert;

/// Converts the elements of a vector in which a number does not fit.
#[cold]
fn convert_one_by_one<S: Element, D: Element>(target: ValuesMut<D>, source: Values<S>) {
    for index in 0..target.size() {
        target.set(index, source.get(index).convert::<D>());
    }
}
