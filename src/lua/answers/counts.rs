//! How many elements equal a number: count, any, all.

use super::folded::fold_all;
use super::number::number;
use super::subject::Subject;
use crate::answers::{Count, as_element};
use crate::convert::Scalar;
use crate::lua::args::Call;
use crate::lua::entry::{Answer, Method, function};
use crate::lua::fault::Fault;

pub const fn methods<S: Subject>() -> &'static [Method] {
    const { &[(c"all", function(all::<S>)), (c"any", function(any::<S>)), (c"count", function(count::<S>))] }
}

/// `x:count(v)`: how many elements equal a number.
fn count<S: Subject>(call: Call) -> Result<Answer, Fault> {
    S::with(call, |tensor, _| Ok(tensor.check()?))?;
    let wanted = number(call, "number")?;
    refuse_complex(call)?;
    call.expect_end(3)?;
    let Some(wanted) = as_element(call.dtype(), wanted) else { return Ok(Answer::Count(0)) };
    Ok(Answer::Count(fold_all::<S, _, _>(call, &Count { wanted, enough: usize::MAX }, |count| *count)?))
}

/// `x:any()`: whether an element is not 0. Torch7, for bytes.
fn any<S: Subject>(call: Call) -> Result<Answer, Fault> {
    let elements = counted::<S>(call)?;
    Ok(Answer::Boolean(zeros::<S>(call, elements)? < elements))
}

/// `x:all()`: whether no element is 0. Torch7, for bytes.
fn all<S: Subject>(call: Call) -> Result<Answer, Fault> {
    counted::<S>(call)?;
    Ok(Answer::Boolean(zeros::<S>(call, 1)? == 0))
}

/// The number of elements, which is not 0.
fn counted<S: Subject>(call: Call) -> Result<usize, Fault> {
    refuse_complex(call)?;
    call.expect_end(2)?;
    match S::with(call, |_, layout| Ok(layout.elements()))? {
        0 => Err(Fault::new("there are no elements")),
        elements => Ok(elements),
    }
}

/// How many elements are 0. It stops when there are `enough`.
fn zeros<S: Subject>(call: Call, enough: usize) -> Result<usize, Fault> {
    fold_all::<S, _, _>(call, &Count { wanted: Scalar::Float(0.0), enough }, |count| *count)
}

fn refuse_complex(call: Call) -> Result<(), Fault> {
    if call.dtype().is_complex() {
        return Err(Fault::new("complex numbers are not counted here; x:nonzero() finds those that are not 0"));
    }
    Ok(())
}
