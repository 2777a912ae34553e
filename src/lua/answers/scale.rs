//! Adding and multiplying in place: add, mul.

use super::products::Beside;
use super::subject::Subject;
use crate::answers::Scale;
use crate::bulk::Readable;
use crate::convert::Scalar;
use crate::lua::args::Call;
use crate::lua::entry::{Answer, Method, function};
use crate::lua::fault::Fault;
use crate::lua::steps::{changed, in_steps};
use crate::storage::Storage;

pub const fn methods<S: Subject>() -> &'static [Method] {
    const { &[(c"add", function(add::<S>)), (c"mul", function(multiply::<S>))] }
}

/// `x:mul(v)`: multiplies each element by a number, which is converted to an element first; returns x. Torch7.
fn multiply<S: Subject>(call: Call) -> Result<Answer, Fault> {
    S::with(call, |tensor, _| Ok(tensor.check()?))?;
    let number = call.element(2)?;
    call.expect_end(3)?;
    scale::<S>(call, Scale::Multiply(number), None)
}

/// `x:add(v)`, `x:add(y)`, `x:add(v, y)`: adds a number, the elements of another storage or tensor of the class, or these times a number;
/// returns x. Torch7.
fn add<S: Subject>(call: Call) -> Result<Answer, Fault> {
    S::with(call, |tensor, _| Ok(tensor.check()?))?;
    call.expect_end(4)?;
    let is_object = call.kind(2) == mlua_sys::LUA_TUSERDATA;
    if is_object && call.is_absent(3) {
        return scale::<S>(call, Scale::AddScaled(Scalar::Signed(1)), Some(2));
    }
    let number = call.element(2)?;
    if call.is_absent(3) {
        return scale::<S>(call, Scale::Add(number), None);
    }
    scale::<S>(call, Scale::AddScaled(number), Some(3))
}

/// How many bytes of a step an element takes that may be changed alone, so that a step takes a tenth of a second or two.
const STRIDED_WEIGHT: usize = 128;

/// Changes all elements of argument 1. Argument `beside`, if there is one, has as many elements and the same class.
fn scale<S: Subject>(call: Call, scale: Scale, beside: Option<i32>) -> Result<Answer, Fault> {
    let (elements, copy) = prepared::<S>(call, beside)?;
    let is_contiguous = S::with(call, |_, layout| Ok(layout.is_contiguous()))?;
    in_steps(call, elements, if is_contiguous { call.dtype().width() } else { STRIDED_WEIGHT }, |done, now| {
        let range = done..done + now;
        S::with(call, |this, layout| {
            if layout.elements() != elements {
                return Err(changed());
            }
            let run = |beside: Option<Readable<'_>>| -> Result<(), Fault> {
                Ok(scale.run(this.storage(), layout, range.clone(), beside)?)
            };
            match (&copy, beside) {
                (Some(copy), _) => run(Some(copy.readable().part(range.clone()))),
                (None, Some(n)) => S::with_other(call, n, call.dtype(), |other, layout| {
                    if layout.elements() != elements {
                        return Err(changed());
                    }
                    run(Some(Beside::of(other.elements()?, call.dtype(), range.clone())?.elements()))
                }),
                (None, None) => run(None),
            }
        })
    })?;
    Ok(Answer::Value(1))
}

/// The number of elements of argument 1, after all arguments were checked; and a copy of argument `beside` if its elements may lie among
/// those that are changed.
fn prepared<S: Subject>(call: Call, beside: Option<i32>) -> Result<(usize, Option<Storage>), Fault> {
    S::with(call, |this, layout| {
        this.check()?;
        this.storage().writable()?;
        let Some(n) = beside else { return Ok((layout.elements(), None)) };
        S::with_other(call, n, call.dtype(), |other, beside| {
            other.check()?;
            let (here, there) = (layout.elements(), beside.elements());
            if here != there {
                return Err(Fault::argument(n, format_args!("{here} elements expected, as argument 1 has, got {there}")));
            }
            let is_same = this.storage().address() == other.storage().address() && layout == beside && layout.is_contiguous();
            let copy = if is_same || this.is_disjoint(other) { None } else { Some(other.to_storage(call.dtype())?) };
            Ok((here, copy))
        })
    })
}
