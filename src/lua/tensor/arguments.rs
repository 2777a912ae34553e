//! Reads arguments of tensors' methods: tensors, dimensions, indices and sizes. Nothing here raises.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::payload::payload;
use crate::convert::{Scalar, truncate};
use crate::element::DType;
use crate::error::{Error, MAX_DIMENSIONS, ShapeError};
use crate::fallible::collected;
use crate::lua::args::{Call, no_class, show};
use crate::lua::fault::{Fault, written};
use crate::lua::userdata::{self, Borrowed};
use crate::tensor::{Layout, Tensor, checked_size};

/// A tensor that is borrowed from its userdata. No Lua code may run while it is used, so numbers are read before: reading an FFI
/// value runs Lua code.
pub struct BorrowedTensor<'a> {
    pub storage: Borrowed<'a>,
    pub layout: &'a Layout,
    /// Whether the tensor has a storage to show.
    pub shows_storage: bool,
}

impl BorrowedTensor<'_> {
    /// The operations of the engine on the elements.
    pub fn elements(&self) -> Tensor<'_> {
        Tensor::new(&self.storage, self.layout)
    }

    pub fn dtype(&self) -> DType {
        self.storage.dtype()
    }
}

/// A list of numbers in the arguments, and the number of the argument that follows it.
pub struct Numbers {
    pub list: Vec<i64>,
    pub next: c_int,
}

impl<'call> Call<'call> {
    /// Argument 1 as a tensor of the function's class.
    pub fn this_tensor(self) -> Result<BorrowedTensor<'call>, Fault> {
        self.tensor_of(1, self.dtype()).map_err(|fault| self.not_this_tensor().unwrap_or(fault))
    }

    /// Argument `n` as a tensor of one class.
    pub fn tensor_of(self, n: c_int, dtype: DType) -> Result<BorrowedTensor<'call>, Fault> {
        self.tensor_if(n, |class| class == dtype, dtype.tensor_class_name())
    }

    /// Argument `n` as a tensor of any class.
    pub fn tensor(self, n: c_int) -> Result<BorrowedTensor<'call>, Fault> {
        self.tensor_if(n, |_| true, "torch.*Tensor")
    }

    fn tensor_if(self, n: c_int, is_right: impl Fn(DType) -> bool, expected: &str) -> Result<BorrowedTensor<'call>, Fault> {
        // SAFETY: [live] argument `n` stays in its slot, and the body uses the tensor only until Lua code runs.
        match unsafe { payload(self.state(), n) } {
            Some((payload, class)) if n <= self.count() && is_right(class) => match payload.parts() {
                Some((storage, layout)) => Ok(BorrowedTensor { storage, layout, shows_storage: payload.shows_storage() }),
                None => Err(Fault::argument(n, "the tensor has no storage: it was collected, or it is being loaded")),
            },
            _ if userdata::class(self.state(), n).is_some() && n <= self.count() => {
                let got = self.type_name(n);
                Err(Fault::argument(n, format_args!("{expected} expected, got {got}: s:view(-1) is a tensor of its elements")))
            }
            _ => Err(self.mismatch(n, expected)),
        }
    }

    /// The fault for argument 1 of a method that was called with a point, or on the class.
    fn not_this_tensor(self) -> Option<Fault> {
        if self.count() > 0 && self.kind(1) == ffi::LUA_TUSERDATA {
            return None;
        }
        let class = self.dtype().tensor_class_name();
        let why = written(|f| match self.kind(1) {
            ffi::LUA_TTABLE if self.tensor_class_of_table(1).is_some() => {
                write!(f, "this is a class; {class}(...) makes a tensor")
            }
            _ => f.write_str("methods are called with a colon, as in x:size()"),
        });
        Some(Fault::argument(1, format_args!("{class} expected, got {}: {why}", self.type_name(1))))
    }

    /// Whole numbers, truncated toward zero, from argument `n` on: a table or a LongStorage of them, or all arguments that are left.
    pub fn numbers(self, n: c_int) -> Result<Numbers, Fault> {
        if self.is_list(n) {
            return Ok(Numbers { list: self.list(n)?, next: n + 1 });
        }
        let last = self.count();
        self.check_count(usize::try_from(last + 1 - n).unwrap_or(0))?;
        Ok(Numbers { list: collected((n..=last).map(|n| self.whole(n)))?, next: (last + 1).max(n) })
    }

    /// Does the same as [`numbers`](Self::numbers). It is a fault if anything follows a table or LongStorage.
    pub fn only_numbers(self, n: c_int) -> Result<Vec<i64>, Fault> {
        let Numbers { list, next } = self.numbers(n)?;
        self.expect_end(next)?;
        Ok(list)
    }

    /// Sizes from argument `n` on, which are the last arguments.
    pub fn only_sizes(self, n: c_int) -> Result<Vec<usize>, Fault> {
        sizes(&self.only_numbers(n)?)
    }

    /// It is a fault if there is an argument `n`.
    pub fn expect_end(self, n: c_int) -> Result<(), Fault> {
        if self.is_absent(n) { Ok(()) } else { Err(self.mismatch(n, "nothing more")) }
    }

    /// Whether argument `n` is a table or a LongStorage.
    pub fn is_list(self, n: c_int) -> bool {
        self.kind(n) == ffi::LUA_TTABLE || n <= self.count() && userdata::class(self.state(), n) == Some(DType::Long)
    }

    /// The whole numbers of the table or LongStorage at argument `n`.
    pub fn list(self, n: c_int) -> Result<Vec<i64>, Fault> {
        let state = self.state();
        let Some(table) = state.table(n) else {
            let longs = self.storage_of(n, DType::Long)?;
            self.check_count(longs.size())?;
            return collected((0..longs.size()).filter_map(|index| truncate(longs.get_scalar(index)?)).map(Ok));
        };
        let count = state.length(n);
        if count == 0 && (self.tensor_class_of_table(n).is_some() || self.class_of_table(n).is_some()) {
            return Err(self.mismatch(n, "numbers or a list of numbers"));
        }
        self.check_count(count)?;
        let top = state.top();
        collected((1..=c_int::try_from(count).unwrap_or(0)).map(|k| {
            state.raw_get(table, k);
            let number = self.scalar_at(top + 1)?;
            let got = self.name_of(top + 1);
            state.set_top(top);
            let number =
                number.ok_or_else(|| Fault::argument(n, format_args!("number {k} of the list: number expected, got {got}")))?;
            truncate(number).ok_or_else(|| {
                Fault::argument(n, format_args!("number {k} of the list: a whole number is needed, got {}", show(number)))
            })
        }))
    }

    /// Argument `n` as a class of tensors: its name, the name of the storage class or of the dtype, or a constructor or metatable.
    pub fn tensor_class(self, n: c_int) -> Result<DType, Fault> {
        if self.is_absent(n) {
            return self.class(n);
        }
        self.tensor_class_at(n).map_err(|wrong| wrong.at(n))
    }

    /// The value at a stack index as a class of tensors, or what is wrong with it.
    pub fn tensor_class_at(self, index: c_int) -> Result<DType, Fault> {
        // SAFETY: [live] the string stays in its slot while its name is looked for.
        let name = unsafe { self.state().string(index) }.and_then(|name| std::str::from_utf8(name).ok());
        let by_name = |name: &str| {
            let has_name = |dtype: &DType| {
                dtype.tensor_class_name() == name || dtype.tensor_class_name().strip_prefix("torch.") == Some(name)
            };
            DType::ALL.iter().copied().find(has_name)
        };
        let dtype = match (name.and_then(by_name), self.state().kind(index)) {
            (Some(dtype), _) => dtype,
            (None, ffi::LUA_TTABLE) => match self.tensor_class_of_table(index) {
                Some(dtype) => dtype,
                None => self.class_at(index)?,
            },
            (None, _) => self.class_at(index).map_err(|wrong| match name {
                Some(name) => no_class(name.as_bytes(), super::dtypes(), DType::tensor_class_name),
                None => wrong,
            })?,
        };
        if dtype.is_untyped() {
            return Err(Fault::new("there are no tensors of bytes without a type; x:untyped() is a storage of the bytes"));
        }
        Ok(dtype)
    }

    /// A list with more numbers than a tensor has dimensions is refused before it is read. A list of sizes and strides may be twice
    /// as long.
    fn check_count(self, count: usize) -> Result<(), Fault> {
        if count <= 2 * MAX_DIMENSIONS {
            return Ok(());
        }
        Err(Error::from(ShapeError::TooManyDimensions { dimensions: count }).into())
    }

    /// A number as argument `n` for a dimension, an index or a count. Callers look tensors up afterwards.
    pub fn number_or(self, n: c_int, default: i64) -> Result<i64, Fault> {
        if self.is_absent(n) { Ok(default) } else { self.whole(n) }
    }
}

pub fn sizes(numbers: &[i64]) -> Result<Vec<usize>, Fault> {
    collected(numbers.iter().map(|&size| Ok(checked_size(size)?)))
}

pub fn strides(numbers: &[i64]) -> Result<Vec<isize>, Fault> {
    // An `isize` has 64 bits.
    collected(numbers.iter().filter_map(|&stride| isize::try_from(stride).ok()).map(Ok))
}

/// A number for which at least `least` is needed, as an unsigned one. `what` names it in the fault.
pub fn at_least(number: i64, least: i64, what: &'static str) -> Result<usize, Fault> {
    match usize::try_from(number) {
        Ok(count) if number >= least => Ok(count),
        _ => Err(Fault::new(format_args!("{what} is {least} or more, got {}", show(Scalar::Signed(number))))),
    }
}
