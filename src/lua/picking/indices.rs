//! Reads indices from a LongTensor, a LongStorage or a list of numbers.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::bulk::{self, Writable};
use crate::convert::truncate;
use crate::element::DType;
use crate::fallible::list;
use crate::lua::args::{Call, show};
use crate::lua::fault::Fault;
use crate::lua::tensor;

/// The indices at an argument.
#[derive(Clone, Copy)]
pub struct Indices<'call> {
    call: Call<'call>,
    n: c_int,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Tensor,
    Storage,
    List,
}

impl<'call> Indices<'call> {
    /// The indices at argument `n`.
    pub fn at(call: Call<'call>, n: c_int) -> Result<Self, Fault> {
        let of = |kind| Ok(Self { call, n, kind });
        match call.kind(n) {
            ffi::LUA_TTABLE if call.class_of_table(n).is_none() && call.tensor_class_of_table(n).is_none() => of(Kind::List),
            ffi::LUA_TUSERDATA if tensor::class(call.state(), n) == Some(DType::Long) => of(Kind::Tensor),
            ffi::LUA_TUSERDATA if call.is_list(n) => of(Kind::Storage),
            _ => Err(call.mismatch(n, "torch.LongTensor, torch.LongStorage or list of indices")),
        }
    }

    /// How many there are.
    pub fn count(self) -> Result<usize, Fault> {
        let Self { call, n, kind } = self;
        match kind {
            Kind::List => Ok(call.state().length(n)),
            Kind::Storage => Ok(call.storage_of(n, DType::Long)?.size()),
            Kind::Tensor => match call.tensor_of(n, DType::Long)?.layout.sizes() {
                [size] => Ok(*size),
                sizes => {
                    let dimensions = sizes.len();
                    Err(Fault::argument(n, format_args!("indices have 1 dimension, got a tensor of {dimensions}")))
                }
            },
        }
    }

    /// The numbers from number `first` (from 0) on. Reading those of a list may run Lua code.
    pub fn read(self, first: usize, count: usize) -> Result<Vec<i64>, Fault> {
        let Self { call, n, kind } = self;
        let mut numbers = list(count)?;
        match kind {
            Kind::List => {
                for k in first + 1..=first + count {
                    numbers.push(self.number(k)?);
                }
            }
            Kind::Storage => {
                numbers.resize(count, 0);
                let storage = call.storage_of(n, DType::Long)?;
                let range = storage.range(first, count)?;
                bulk::copy(Writable::of_integers(&mut numbers), storage.readable().part(range));
            }
            Kind::Tensor => {
                numbers.resize(count, 0);
                let tensor = call.tensor_of(n, DType::Long)?;
                if tensor.layout.elements() < first + count {
                    return Err(crate::lua::steps::changed());
                }
                tensor.elements().copy_to(Writable::of_integers(&mut numbers), first..first + count)?;
            }
        }
        Ok(numbers)
    }

    /// Number `k`, from 1, of a list.
    fn number(self, k: usize) -> Result<i64, Fault> {
        let (state, n) = (self.call.state(), self.n);
        let Some(table) = state.table(n) else { return Err(self.call.mismatch(n, "list of indices")) };
        let top = state.top();
        state.raw_get(table, c_int::try_from(k).unwrap_or(c_int::MAX));
        let number = self.call.scalar_at(top + 1)?;
        let got = self.call.name_of(top + 1);
        state.set_top(top);
        let number =
            number.ok_or_else(|| Fault::argument(n, format_args!("index {k} of the list: number expected, got {got}")))?;
        let whole = truncate(number);
        whole.ok_or_else(|| {
            Fault::argument(n, format_args!("index {k} of the list: a whole number is needed, got {}", show(number)))
        })
    }
}
