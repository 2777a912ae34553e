//! `zeros`, `ones`, `range` and `linspace`: new tensors of the default class, or of the class whose functions they are.

use std::ffi::c_int;

use crate::convert::{Number, Scalar};
use crate::element::DType;
use crate::lua::args::{Call, show};
use crate::lua::entry::Answer;
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::steps::in_steps;
use crate::lua::tensor::{self, Made, make_as};
use crate::picking::Sequence;
use crate::storage::Storage;
use crate::tensor::Layout;

/// `core.setdefaultclass(class)`: the functions of the module make tensors of this class from now on.
pub fn set_default_class(call: Call) -> Result<Answer, Fault> {
    call.shared().default_class.set(call.tensor_class(1)?);
    Ok(Answer::Nothing)
}

/// `torch.zeros(sizes)`, `torch.TYPETensor.zeros(sizes)`: a tensor of zeros. Torch7.
pub fn zeros<const DEFAULT: bool>(lua: Raising) -> c_int {
    make::<DEFAULT>(lua, |call, dtype| filled(call, dtype, "zeros", 0))
}

/// `torch.ones(sizes)`, `torch.TYPETensor.ones(sizes)`: a tensor of ones. Torch7.
pub fn ones<const DEFAULT: bool>(lua: Raising) -> c_int {
    make::<DEFAULT>(lua, |call, dtype| filled(call, dtype, "ones", 1))
}

/// `torch.range(first, last [, step])`, `torch.TYPETensor.range(...)`: the numbers from `first` to `last`, or the last one before that.
/// Torch7.
pub fn range<const DEFAULT: bool>(lua: Raising) -> c_int {
    make::<DEFAULT>(lua, |call, dtype| {
        refuse_tensor(call, "range")?;
        let (first, last) = (call.scalar(1)?, call.scalar(2)?);
        let step = if call.is_absent(3) { Scalar::Signed(1) } else { call.scalar(3)? };
        call.expect_end(4)?;
        let (sequence, count) = match (whole(first), whole(last), whole(step)) {
            (Some(first), Some(last), Some(step)) => whole_range(first, last, step)?,
            _ => float_range([first, last, step])?,
        };
        sequence_of(call, dtype, sequence, count)
    })
}

/// `torch.linspace(first, last [, n])`, `torch.TYPETensor.linspace(...)`: `n` numbers at equal distances from `first` to `last`. Torch7.
pub fn linspace<const DEFAULT: bool>(lua: Raising) -> c_int {
    make::<DEFAULT>(lua, |call, dtype| {
        refuse_tensor(call, "linspace")?;
        let (first, last) = (finite(call.scalar(1)?, 1)?, finite(call.scalar(2)?, 2)?);
        let count = if call.is_absent(3) { 100 } else { call.size(3)? };
        call.expect_end(4)?;
        if count == 1 && first != last {
            let (first, last) = (show(Scalar::Float(first)), show(Scalar::Float(last)));
            return Err(Fault::argument(3, format_args!("1 number cannot be both {first} and {last}")));
        }
        let way = if count > 1 { last - first } else { 0.0 };
        if !way.is_finite() {
            return Err(Fault::argument(2, "the distance between the two numbers is too large for a double"));
        }
        let parts = Scalar::Unsigned(count.saturating_sub(1).max(1) as u64);
        sequence_of(call, dtype, Sequence::Float { first, way, parts: f64::from_scalar(parts) }, count)
    })
}

/// Pushes the tensor that `body` makes for a class: the default class, or that of the function.
fn make<const DEFAULT: bool>(lua: Raising, body: impl Fn(Call, DType) -> Result<Made, Fault>) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    let dtype = if DEFAULT { call.shared().default_class.get() } else { call.dtype() };
    make_as(lua, call, dtype, |call| body(call, dtype))
}

fn filled(call: Call, dtype: DType, name: &str, value: i64) -> Result<Made, Fault> {
    refuse_tensor(call, name)?;
    if call.count() == 0 {
        let class = dtype.tensor_class_name();
        return Err(Fault::new(format_args!("{name} needs sizes, as in {class}.{name}(2, 3)")));
    }
    let sizes = call.only_sizes(1)?;
    let layout = Layout::contiguous(&sizes)?;
    let elements = layout.elements();
    let storage = if value == 0 { Storage::zeroed(dtype, elements)? } else { Storage::unset(dtype, elements)? };
    if value != 0 {
        in_steps(call, elements, dtype.width(), |done, now| Ok(storage.fill_range(done, now, Scalar::Signed(value))?))?;
    }
    Ok(Made { storage, layout, shows_storage: sizes != [0] })
}

/// The fault for a tensor as the first argument. Torch7 resizes it and puts the result into it; it may also come from a call with a colon.
fn refuse_tensor(call: Call, name: &str) -> Result<(), Fault> {
    let Some(dtype) = tensor::class(call.state(), 1).filter(|_| call.count() > 0) else { return Ok(()) };
    let class = dtype.tensor_class_name();
    Err(Fault::new(format_args!("{name} makes a new tensor, got {class} first: {class}.{name}(...) makes one of this class")))
}

fn sequence_of(call: Call, dtype: DType, sequence: Sequence, count: usize) -> Result<Made, Fault> {
    let layout = Layout::contiguous(&[count])?;
    let storage = Storage::unset(dtype, count)?;
    in_steps(call, count, dtype.width().max(size_of::<f64>()), |done, now| Ok(sequence.write(&storage, done..done + now)?))?;
    Ok(Made { storage, layout, shows_storage: count > 0 })
}

/// A whole number that an `i64` holds. A float has it exactly up to 2^53.
fn whole(number: Scalar) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number {
        Scalar::Signed(number) => Some(number),
        Scalar::Unsigned(number) => i64::try_from(number).ok(),
        Scalar::Float(float) if float.fract() == 0.0 && float.abs() <= EXACT => Some(i64::from_f64(float)),
        _ => None,
    }
}

fn whole_range(first: i64, last: i64, step: i64) -> Result<(Sequence, usize), Fault> {
    let way = i128::from(last) - i128::from(first);
    check_step(
        [Scalar::Signed(first), Scalar::Signed(last), Scalar::Signed(step)],
        step == 0,
        way < 0 && step > 0 || way > 0 && step < 0,
    )?;
    let count = usize::try_from(way / i128::from(step) + 1).unwrap_or(usize::MAX);
    Ok((Sequence::Whole { first, step }, count))
}

fn float_range(numbers: [Scalar; 3]) -> Result<(Sequence, usize), Fault> {
    let [first, last, step] = [finite(numbers[0], 1)?, finite(numbers[1], 2)?, finite(numbers[2], 3)?];
    check_step(numbers, step == 0.0, last < first && step > 0.0 || last > first && step < 0.0)?;
    // More than 2^62 elements are refused in any case.
    let steps = ((last - first) / step).floor().min(4.7e18);
    let count = usize::try_from(i64::from_f64(steps)).unwrap_or(usize::MAX).saturating_add(1);
    Ok((Sequence::Float { first, way: step, parts: 1.0 }, count))
}

fn check_step([first, last, step]: [Scalar; 3], is_zero: bool, leads_away: bool) -> Result<(), Fault> {
    if is_zero {
        return Err(Fault::argument(3, "the step is 0"));
    }
    if leads_away {
        let (first, last, step) = (show(first), show(last), show(step));
        return Err(Fault::argument(2, format_args!("steps of {step} do not lead from {first} to {last}")));
    }
    Ok(())
}

/// Argument `n` as a double that is neither infinite nor NaN.
fn finite(number: Scalar, n: c_int) -> Result<f64, Fault> {
    let float = f64::from_scalar(number);
    if float.is_finite() {
        Ok(float)
    } else {
        Err(Fault::argument(n, format_args!("a finite number is needed, got {}", show(number))))
    }
}
