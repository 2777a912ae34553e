//! Sums and what follows from them: sum, mean, var, std, norm.

use std::ffi::c_int;
use std::marker::PhantomData;

use mlua_sys as ffi;

use super::folded::{Lines, fold_all};
use super::subject::Subject;
use crate::answers::{Extreme, Fold, Magnitudes, OfMagnitudes, Spread, Sum, Term, WholeSum, quotient};
use crate::bulk::reduce::Pairs;
use crate::convert::{Scalar, count_to_f64};
use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::complex::push;
use crate::lua::entry::{self, Method, raising};
use crate::lua::fault::Fault;
use crate::lua::methods::exact::push_exact;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::tensor::{Made, make_as};

pub const fn methods<S: Subject>() -> &'static [Method] {
    const {
        &[
            (c"mean", raising(mean::<S>)),
            (c"norm", raising(norm::<S>)),
            (c"std", raising(deviation::<S>)),
            (c"sum", raising(sum::<S>)),
            (c"var", raising(variance::<S>)),
        ]
    }
}

/// Whether sums of a dtype are exact: of integers, bytes and booleans.
pub fn is_whole(dtype: DType) -> bool {
    dtype.is_integer() || dtype == DType::Bool
}

/// The class of a tensor of sums.
pub fn class_of_sums(dtype: DType) -> DType {
    match dtype {
        DType::UInt64 => DType::UInt64,
        _ if is_whole(dtype) => DType::Long,
        _ => dtype,
    }
}

/// The class of a tensor of means, and of other results that are no whole numbers.
fn class_of_means(dtype: DType) -> DType {
    if is_whole(dtype) { DType::Double } else { dtype }
}

/// A sum of integers modulo 2^64, as an element of [`class_of_sums`].
#[expect(clippy::cast_possible_truncation, reason = "the sum is modulo 2^64")]
#[expect(clippy::cast_sign_loss, reason = "the sum is modulo 2^64")]
fn wrapped(dtype: DType, sum: i128) -> Scalar {
    if dtype == DType::UInt64 { Scalar::Unsigned(sum as u64) } else { Scalar::Signed(sum as i64) }
}

/// A sum of floats, whose even and odd parts were added apart, as a number of their class.
fn total(dtype: DType, [even, odd]: [f64; 2]) -> Scalar {
    if dtype.is_complex() { Scalar::Complex(even, odd) } else { Scalar::Float(even + odd) }
}

/// A sum of floats divided by their number.
fn divided(dtype: DType, [even, odd]: [f64; 2], count: usize) -> Scalar {
    let count = count_to_f64(count);
    if dtype.is_complex() { Scalar::Complex(even / count, odd / count) } else { Scalar::Float((even + odd) / count) }
}

/// What a call asks for.
#[derive(Clone, Copy)]
pub enum Asked<T> {
    /// This number, of all elements.
    OfAll(T),
    /// A number for each line along this dimension.
    Along(i64),
}

/// Argument `n` as a dimension, if the method has dimensions and the argument is there.
pub fn dimension<S: Subject>(call: Call, n: c_int) -> Result<Option<i64>, Fault> {
    if !S::HAS_DIMENSIONS {
        call.expect_end(n)?;
        return Ok(None);
    }
    call.expect_end(n + 1)?;
    if call.is_absent(n) { Ok(None) } else { call.whole(n).map(Some) }
}

/// Pushes a tensor with a number for each line along dimension `number`.
fn push_lines(lua: Raising, dtype: DType, number: i64, body: impl Fn(Call, &Lines) -> Result<Made, Fault>) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    make_as(lua, call, dtype, |call| body(call, &Lines::along(call, number)?))
}

/// The fault for a mean of nothing.
fn empty(what: &str) -> Fault {
    Fault::new(format_args!("there is no {what} of no elements"))
}

/// `x:sum([dim])`: the sum of all elements, or a tensor of the sums along a dimension. Torch7.
fn sum<S: Subject>(lua: Raising) -> c_int {
    let asked = entry::run(lua, Call::new(lua), |call| match dimension::<S>(call, 2)? {
        Some(number) => Ok(Asked::Along(number)),
        None if is_whole(call.dtype()) => {
            Ok(Asked::OfAll(wrapped(call.dtype(), fold_all::<S, _, _>(call, &WholeSum, |sum| *sum)?)))
        }
        None => Ok(Asked::OfAll(total(call.dtype(), fold_all::<S, _, _>(call, &Sum(Term::Element), Pairs::total)?))),
    });
    let number = match asked {
        Asked::OfAll(number) => return push_number(lua, number),
        Asked::Along(number) => number,
    };
    let dtype = Call::new(lua).dtype();
    push_lines(lua, class_of_sums(dtype), number, |call, lines| {
        if is_whole(dtype) {
            lines.made(call, &WholeSum, class_of_sums(dtype), &|_, sum| wrapped(dtype, *sum))
        } else {
            lines.made(call, &Sum(Term::Element), dtype, &|_, sum| total(dtype, sum.total()))
        }
    })
}

/// Pushes a number; an integer beyond 2^53 as `exact` gives it.
pub fn push_number(lua: Raising, number: Scalar) -> c_int {
    const EXACT: u64 = 1 << 53;
    match number {
        Scalar::Signed(whole) if whole.unsigned_abs() > EXACT => push_exact(lua, DType::Long, number),
        Scalar::Unsigned(whole) if whole > EXACT => push_exact(lua, DType::UInt64, number),
        number => push(lua, number),
    }
}

/// `x:mean([dim])`: the sum divided by the number of elements. Torch7, for floats.
fn mean<S: Subject>(lua: Raising) -> c_int {
    let asked = entry::run(lua, Call::new(lua), |call| match dimension::<S>(call, 2)? {
        Some(number) => Ok(Asked::Along(number)),
        None => mean_of_all::<S>(call, "mean").map(Asked::OfAll),
    });
    let number = match asked {
        Asked::OfAll(mean) => return push(lua, mean),
        Asked::Along(number) => number,
    };
    let dtype = Call::new(lua).dtype();
    push_lines(lua, class_of_means(dtype), number, |call, lines| {
        let count = not_empty(lines, "mean")?;
        if is_whole(dtype) {
            lines.made(call, &WholeSum, DType::Double, &|_, sum| Scalar::Float(quotient(*sum, count)))
        } else {
            lines.made(call, &Sum(Term::Element), dtype, &|_, sum| divided(dtype, sum.total(), count))
        }
    })
}

/// The length of the lines, which is not 0, unless there are none.
fn not_empty(lines: &Lines, what: &str) -> Result<usize, Fault> {
    if lines.length == 0 && lines.count > 0 { Err(empty(what)) } else { Ok(lines.length) }
}

/// The number of elements of argument 1, which is not 0.
fn count_of_all<S: Subject>(call: Call, what: &str) -> Result<usize, Fault> {
    match S::with(call, |_, layout| Ok(layout.elements()))? {
        0 => Err(empty(what)),
        count => Ok(count),
    }
}

fn mean_of_all<S: Subject>(call: Call, what: &str) -> Result<Scalar, Fault> {
    let (dtype, count) = (call.dtype(), count_of_all::<S>(call, what)?);
    if is_whole(dtype) {
        return Ok(Scalar::Float(quotient(fold_all::<S, _, _>(call, &WholeSum, |sum| *sum)?, count)));
    }
    Ok(divided(dtype, fold_all::<S, _, _>(call, &Sum(Term::Element), Pairs::total)?, count))
}

/// What is made of a variance.
type Finish = fn(f64) -> f64;

/// `x:var([dim] [, flag])`: the variance. It is divided by the number of elements less 1, or by their number if `flag` is true. Torch7, for
/// floats.
fn variance<S: Subject>(lua: Raising) -> c_int {
    spread::<S>(lua, "variance", |variance| variance)
}

/// `x:std([dim] [, flag])`: the square root of the variance. Torch7, for floats.
fn deviation<S: Subject>(lua: Raising) -> c_int {
    spread::<S>(lua, "standard deviation", f64::sqrt)
}

fn spread<S: Subject>(lua: Raising, what: &'static str, finish: Finish) -> c_int {
    let dtype = Call::new(lua).dtype();
    let (number, is_population) = entry::run(lua, Call::new(lua), |call| {
        refuse_complex(call, what)?;
        // The flag may come first.
        if !S::HAS_DIMENSIONS || call.kind(2) == ffi::LUA_TBOOLEAN {
            call.expect_end(3)?;
            return Ok((None, call.flag(2)?));
        }
        let flag = call.flag(3)?;
        call.expect_end(4)?;
        Ok((if call.is_absent(2) { None } else { Some(call.whole(2)?) }, flag))
    });
    if let Some(number) = number {
        return push_lines(lua, class_of_means(dtype), number, |call, lines| {
            not_empty(lines, what)?;
            let spread = |_, spread: &<Spread as Fold>::State| Scalar::Float(finish(spread.total().variance(is_population)));
            lines.made(call, &Spread, class_of_means(dtype), &spread)
        });
    }
    let spread = entry::run(lua, Call::new(lua), |call| {
        count_of_all::<S>(call, what)?;
        Ok(finish(fold_all::<S, _, _>(call, &Spread, Pairs::total)?.variance(is_population)))
    });
    push(lua, Scalar::Float(spread))
}

fn refuse_complex(call: Call, what: &str) -> Result<(), Fault> {
    if call.dtype().is_complex() {
        return Err(Fault::new(format_args!("there is no {what} of complex numbers here")));
    }
    Ok(())
}

/// `x:norm([p [, dim]])`: the p-norm; `p` is 2. Torch7, for floats.
fn norm<S: Subject>(lua: Raising) -> c_int {
    let (p, number) = entry::run(lua, Call::new(lua), |call| {
        let p = if call.is_absent(2) { 2.0 } else { float(call.scalar(2)?) };
        Ok((p, dimension::<S>(call, 3)?))
    });
    let dtype = class_of_means(Call::new(lua).dtype()).part();
    if let Some(number) = number {
        return push_lines(lua, dtype, number, |call, lines| norm_by(call.dtype(), p, Along { call, lines, dtype }));
    }
    let norm = entry::run(lua, Call::new(lua), |call| norm_by(call.dtype(), p, Whole(call, PhantomData::<S>)));
    push(lua, Scalar::Float(norm))
}

/// A number as a double.
fn float(number: Scalar) -> f64 {
    use crate::convert::Number;
    f64::from_scalar(number)
}

/// What a norm is made of: all elements, or each line.
trait Way {
    type Result;

    /// Runs a fold. `finish` makes a norm of its state.
    fn run<F: Fold>(self, fold: &F, finish: impl Fn(&F::State) -> f64 + Sync) -> Result<Self::Result, Fault>;
}

struct Whole<'call, S>(Call<'call>, PhantomData<S>);

impl<S: Subject> Way for Whole<'_, S> {
    type Result = f64;

    fn run<F: Fold>(self, fold: &F, finish: impl Fn(&F::State) -> f64 + Sync) -> Result<f64, Fault> {
        fold_all::<S, F, _>(self.0, fold, finish)
    }
}

struct Along<'a, 'call> {
    call: Call<'call>,
    lines: &'a Lines,
    dtype: DType,
}

impl Way for Along<'_, '_> {
    type Result = Made;

    fn run<F: Fold>(self, fold: &F, finish: impl Fn(&F::State) -> f64 + Sync) -> Result<Made, Fault> {
        self.lines.made(self.call, fold, self.dtype, &|_, state| Scalar::Float(finish(state)))
    }
}

/// The p-norm of elements of a dtype.
fn norm_by<W: Way>(dtype: DType, p: f64, way: W) -> Result<W::Result, Fault> {
    // The squares of the parts of a complex number make the square of its magnitude.
    if p == 2.0 {
        return way.run(&Sum(Term::Square), |sum| sum.total().iter().sum::<f64>().sqrt());
    }
    if dtype.is_complex() { norm_of(p, OfComplex(way)) } else { norm_of(p, way) }
}

/// Gives the magnitudes of complex numbers to each fold.
struct OfComplex<W>(W);

impl<W: Way> Way for OfComplex<W> {
    type Result = W::Result;

    fn run<F: Fold>(self, fold: &F, finish: impl Fn(&F::State) -> f64 + Sync) -> Result<W::Result, Fault> {
        self.0.run(&OfMagnitudes(fold), finish)
    }
}

/// The p-norm of real numbers.
fn norm_of<W: Way>(p: f64, way: W) -> Result<W::Result, Fault> {
    let whole = |sum: &<Sum as Fold>::State| sum.total().iter().sum::<f64>();
    if p == 0.0 {
        way.run(&Sum(Term::IsNotZero), whole)
    } else if p.is_infinite() {
        let which = if p > 0.0 { Extreme::Greatest } else { Extreme::Least };
        way.run(&Magnitudes(which), |magnitude| magnitude.unwrap_or(0.0))
    } else if p == 1.0 {
        way.run(&Sum(Term::Magnitude), whole)
    } else {
        way.run(&Sum(Term::Power(p)), |sum| whole(sum).powf(1.0 / p))
    }
}
