//! Where a number belongs among sorted elements: search.

use std::ffi::c_int;

use super::number::number;
use super::order::refuse_complex;
use super::subject::Subject;
use crate::answers::{Bound, Side, Sorted, search_all};
use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::entry::{self, Method, raising};
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::steps::{changed, in_steps};
use crate::lua::tensor::{Made, class, make_as};
use crate::lua::userdata;
use crate::storage::Storage;
use crate::tensor::{Layout, Tensor};

pub const fn methods<S: Subject>() -> &'static [Method] {
    const { &[(c"search", raising(search::<S>))] }
}

/// How many bytes of a step a search takes, so that a step takes a tenth of a second.
const STEP_WEIGHT: usize = 1024;

/// `x:search(v [, right])`: the index of the sorted element before which `v` belongs, from 1; of a storage or tensor of numbers a
/// LongStorage or LongTensor of the indices.
fn search<S: Subject>(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    if call.count() > 1 && class(call.state(), 2).is_some() {
        return make_as(lua, call, DType::Long, |call| {
            let numbers = call.tensor(2)?;
            let layout = Layout::contiguous(numbers.layout.sizes())?;
            let copy = numbers_of(&numbers.elements())?;
            Ok(Made::new(search_numbers::<S>(call, &copy)?, layout))
        });
    }
    if call.count() > 1 && userdata::class(call.state(), 2).is_some() {
        return entry::construct(lua, call, DType::Long, |call| {
            let numbers = call.storage(2)?;
            let layout = Layout::contiguous(&[numbers.size()])?;
            let copy = numbers_of(&Tensor::new(&numbers, &layout))?;
            search_numbers::<S>(call, &copy)
        });
    }
    let place = entry::run(lua, call, |call| {
        S::with(call, |tensor, _| Ok(tensor.check()?))?;
        let number = number(call, "number, or a storage or tensor of numbers,")?;
        let side = side(call)?;
        let bound = Bound::of(number, side, call.dtype()).ok_or_else(not_a_number)?;
        S::with(call, |tensor, layout| {
            let mut place = 0;
            sorted(tensor, layout)?.find(&[bound], |_, found| place = found);
            Ok(place + 1)
        })
    });
    lua.push_count(place);
    1
}

/// Argument 3 as the side of equal elements on which a number belongs.
fn side(call: Call) -> Result<Side, Fault> {
    let is_right = call.flag(3)?;
    call.expect_end(4)?;
    refuse_complex(call)?;
    Ok(if is_right { Side::Right } else { Side::Left })
}

fn not_a_number() -> Fault {
    Fault::argument(2, "NaN has no place among sorted elements")
}

/// A copy of the numbers that are looked for, because a hook could free or change them.
fn numbers_of(numbers: &Tensor<'_>) -> Result<Storage, Fault> {
    let dtype = numbers.storage().dtype();
    if dtype.is_complex() {
        return Err(Fault::argument(2, "complex numbers have no order"));
    }
    Ok(numbers.to_storage(dtype)?)
}

/// The elements among which is searched: those of a storage, or of a tensor of one dimension.
fn sorted<'a>(tensor: &Tensor<'a>, layout: &Layout) -> Result<Sorted<'a>, Fault> {
    tensor.check()?;
    let ([size], [stride]) = (layout.sizes(), layout.strides()) else {
        let got = layout.dimensions();
        return Err(Fault::new(format_args!("a tensor of one dimension is searched, and this one has {got}")));
    };
    Ok(Sorted::new(tensor.storage().readable(), layout.offset(), *stride, *size))
}

/// A new storage of where each number belongs.
fn search_numbers<S: Subject>(call: Call, numbers: &Storage) -> Result<Storage, Fault> {
    let side = side(call)?;
    let size = S::with(call, |tensor, layout| sorted(tensor, layout).map(|_| layout.elements()))?;
    let places = Storage::unset(DType::Long, numbers.size())?;
    in_steps(call, numbers.size(), STEP_WEIGHT, |done, now| {
        let range = done..done + now;
        S::with(call, |tensor, layout| {
            if layout.elements() != size {
                return Err(changed());
            }
            let target = places.writable()?.part(range.clone());
            if search_all(sorted(tensor, layout)?, numbers.readable().part(range.clone()), side, target) {
                Ok(())
            } else {
                Err(not_a_number())
            }
        })
    })?;
    Ok(places)
}
