//! Products and distances of two storages or tensors: dot, cosine, dist, and a matrix by a vector.

use std::cell::RefCell;
use std::ffi::c_int;
use std::ops::Range;

use super::folded::Lines;
use super::subject::{OfBoth, Subject};
use super::sums::{class_of_sums, is_whole, push_number};
use crate::answers::{Both, Cosines, Fold, LEVELS, Others, Products, WholeProducts, fold_range, read_as_floats};
use crate::bulk::Readable;
use crate::bulk::reduce::Pairs;
use crate::convert::Scalar;
use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::entry::{self, Answer, Method, function, raising};
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::steps::{STEP, changed, in_steps};
use crate::lua::tensor::{Made, make_as};
use crate::storage::Storage;
use crate::tensor::{Elements, Layout, Tensor};

pub const fn methods<S: Subject>() -> &'static [Method] {
    const { &[(c"dist", function(distance::<S>)), (c"dot", raising(dot::<S>))] }
}

/// The methods that only tensors have.
pub const OF_TENSORS: &[Method] = &[(c"mv", raising(mv))];

/// The functions of the module.
pub const FUNCTIONS: &[Method] = &[(c"cosine", function(cosine)), (c"dist", function(distance::<OfBoth>))];

/// Elements in a dtype, side by side.
pub enum Beside<'a> {
    /// They are so in the tensor.
    There(Readable<'a>),
    Copied(Storage),
}

impl<'a> Beside<'a> {
    /// The elements of a tensor with these numbers, from 0 in row-major order.
    pub fn of(all: Elements<'a>, dtype: DType, range: Range<usize>) -> Result<Self, Fault> {
        if let Some(there) = all.together(range.clone()).filter(|there| there.dtype() == dtype) {
            return Ok(Self::There(there));
        }
        let storage = Storage::unset(dtype, range.len())?;
        all.copy_to(storage.writable()?, range)?;
        Ok(Self::Copied(storage))
    }

    pub fn elements(&self) -> Readable<'_> {
        match self {
            Self::There(elements) => *elements,
            Self::Copied(storage) => storage.readable(),
        }
    }
}

/// Goes through the elements of argument 1 and of argument 2 in steps. Both have one class and as many elements. Calls `act` with the first
/// ones, the numbers of those of the step, and the second ones beside them, in the dtype `reads`.
fn for_each_step<S: Subject>(
    call: Call,
    reads: DType,
    act: impl Fn(Elements<'_>, Range<usize>, Others<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let dtype = S::dtype(call)?;
    let with_both = |range: Option<Range<usize>>| {
        S::with(call, |this, layout| {
            S::with_other(call, 2, dtype, |other, beside| {
                let (here, there) = (layout.elements(), beside.elements());
                this.check()?;
                other.check()?;
                if here != there {
                    return Err(Fault::argument(2, format_args!("{here} elements expected, as argument 1 has, got {there}")));
                }
                let range = match range {
                    Some(range) if range.end > here => return Err(changed()),
                    Some(range) => range,
                    // All at once, if a step has room for them.
                    None if here.saturating_mul(dtype.width()) <= STEP => 0..here,
                    None => return Ok(here),
                };
                let others = Beside::of(other.elements()?, reads, range.clone())?;
                act(this.elements()?, range.clone(), Others::beside(range.start, others.elements()))?;
                Ok(0)
            })
        })
    };
    let left = with_both(None)?;
    in_steps(call, left, dtype.width(), |done, now| with_both(Some(done..done + now)).map(drop))
}

/// The sum of what is calculated from the elements of argument 1 and argument 2, which are floats or complex numbers, or are read as such.
fn sum_of_both<S: Subject>(call: Call, both: Both) -> Result<[f64; 2], Fault> {
    let state = RefCell::new(Pairs::new());
    for_each_step::<S>(call, read_as_floats(S::dtype(call)?), |elements, range, others| {
        Ok(fold_range(&Products::new(others, both), elements, range, &mut state.borrow_mut())?)
    })?;
    Ok(state.into_inner().total())
}

/// `x:dot(y)`: the sum of the products of the elements of two storages or tensors of one class, with as many elements. Torch7.
fn dot<S: Subject>(lua: Raising) -> c_int {
    let product = entry::run(lua, Call::new(lua), |call| {
        call.expect_end(3)?;
        let dtype = S::dtype(call)?;
        if !is_whole(dtype) {
            let [re, im] = sum_of_both::<S>(call, Both::Product)?;
            return Ok(if dtype.is_complex() { Scalar::Complex(re, im) } else { Scalar::Float(re) });
        }
        let state = RefCell::new(0);
        for_each_step::<S>(call, dtype, |elements, range, others| {
            Ok(fold_range(&WholeProducts::new(others), elements, range, &mut state.borrow_mut())?)
        })?;
        let sum = state.into_inner();
        Ok(if class_of_sums(dtype) == DType::UInt64 { Scalar::Unsigned(sum) } else { Scalar::Signed(sum.cast_signed()) })
    });
    push_number(lua, product)
}

/// `torch.dist(x, y)`, `x:dist(y)`: the Euclidean distance of two storages or tensors of one class, with as many elements. Torch7, for
/// floats, which also has other norms.
fn distance<S: Subject>(call: Call) -> Result<Answer, Fault> {
    call.expect_end(3)?;
    Ok(Answer::Element(Scalar::Float(sum_of_both::<S>(call, Both::SquareOfDistance)?[0].sqrt())))
}

/// `torch.cosine(x, y)`: the cosine of the angle between two storages or tensors of one class, with as many elements, as vectors. It is
/// NaN if one has the length 0.
fn cosine(call: Call) -> Result<Answer, Fault> {
    call.expect_end(3)?;
    if OfBoth::dtype(call)?.is_complex() {
        return Err(Fault::argument(1, "complex vectors have no angle here"));
    }
    let state = RefCell::new(None);
    let squares = RefCell::new(Pairs::<[f64; 2], LEVELS>::new());
    for_each_step::<OfBoth>(call, read_as_floats(OfBoth::dtype(call)?), |elements, range, others| {
        let fold = Cosines::new(others);
        let mut state = state.borrow_mut();
        fold_range(&fold, elements, range, state.get_or_insert_with(|| fold.start()))?;
        others.add_squares(&mut squares.borrow_mut());
        Ok(())
    })?;
    let real = |[even, odd]: [f64; 2]| even + odd;
    let cosine = state.into_inner().map_or(f64::NAN, |[products, own]| {
        real(products.total()) / (real(own.total()).sqrt() * real(squares.into_inner().total()).sqrt())
    });
    Ok(Answer::Element(Scalar::Float(cosine)))
}

/// `x:mv(v)`: the product of a matrix and a vector of one class: a tensor with a number for each row. Torch7's `torch.mv(x, v)`.
fn mv(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    make_as(lua, call, call.dtype(), |call| {
        call.expect_end(3)?;
        let dtype = call.dtype();
        let rows = {
            let (this, vector) = (call.this_tensor()?, call.tensor_of(2, dtype)?);
            let [rows, columns] = *this.layout.sizes() else {
                let got = this.layout.dimensions();
                return Err(Fault::new(format_args!("a matrix of two dimensions expected, got {got}")));
            };
            if vector.layout.sizes() != [columns] {
                let (elements, dimensions) = (vector.layout.elements(), vector.layout.dimensions());
                let got = format_args!("{elements} in {dimensions} dimension(s)");
                return Err(Fault::argument(2, format_args!("a vector of {columns} elements expected, got {got}")));
            }
            rows
        };
        let reads = if is_whole(dtype) { dtype } else { read_as_floats(dtype) };
        // A copy, because a hook could free the vector.
        let others = {
            let vector = call.tensor_of(2, dtype)?;
            Tensor::new(&vector.storage, vector.layout).to_storage(if reads == DType::Float { DType::Double } else { reads })?
        };
        let others = Others::beside_lines(others.readable());
        let lines = Lines::along(call, 2)?;
        let made = if is_whole(dtype) {
            lines.made(call, &WholeProducts::new(others), dtype, &|_, &sum| Scalar::Signed(sum.cast_signed()))?
        } else {
            lines.made(call, &Products::new(others, Both::Product), dtype, &|_, sum| {
                let [re, im] = sum.total();
                if dtype.is_complex() { Scalar::Complex(re, im) } else { Scalar::Float(re) }
            })?
        };
        Ok(Made::new(made.storage, Layout::contiguous(&[rows])?))
    })
}
