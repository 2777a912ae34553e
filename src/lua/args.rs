//! Reading arguments: numbers, storages, classes, FFI values. Nothing here raises.

mod classes;
mod misspelt;
mod near;
mod numbers;

use std::ffi::c_int;
use std::fmt::Display;

use mlua_sys as ffi;

use super::complex;
use super::context::{Context, Shared};
use super::fault::{Fault, written};
use super::state::{CDATA, Raising, State};
use super::tensor;
use super::userdata::{self, Borrowed};
use crate::convert::{Number, Scalar, join_words, truncate};
use crate::element::{DType, with_element};
use crate::error::shown;
use crate::storage::StateId;

pub use misspelt::misspelt;
pub use near::no_class;
pub use numbers::{Range, out_of_bounds, show, show_range, whole};

/// A call of one of our functions. Arguments are numbered from 1; in a method, argument 1 is the object. It is two words, so it stays in
/// registers: with a third, `s:copy(o)` took 7 % longer.
#[derive(Clone, Copy)]
pub struct Call<'call> {
    state: State<'call>,
    count: c_int,
    frame: c_int,
}

/// The kind of an FFI value, as the classifier in Lua tells it.
#[derive(Clone, Copy)]
pub enum Cdata {
    /// An `int64_t`.
    Signed(i64),
    /// A `uint64_t`.
    Unsigned(u64),
    Pointer {
        /// The address that it points to.
        address: usize,
        /// Whether its target is `const`.
        constant: bool,
    },
    Array {
        /// The address of its first element.
        address: usize,
        /// Its length in bytes.
        bytes: usize,
        /// Whether its elements are constant.
        constant: bool,
    },
    /// Anything else.
    Other,
}

impl<'call> Call<'call> {
    /// The call that has just begun: everything on the stack is an argument.
    pub fn new(lua: Raising<'call>) -> Self {
        let count = lua.top();
        Self { state: lua.state(), count, frame: count }
    }

    /// The same call with more values on the stack. If its body has to run again after a collection, the values up to stack index
    /// `frame` are kept, and those above it are dropped.
    pub fn with_frame(self, frame: c_int) -> Self {
        Self { frame, ..self }
    }

    /// The call without its first argument, for `__call`: Lua passes the class itself as the first argument.
    pub fn without_first(self) -> Self {
        if self.count == 0 {
            return self;
        }
        self.state.remove(1);
        Self { count: self.count - 1, frame: self.frame - 1, ..self }
    }

    pub fn state(self) -> State<'call> {
        self.state
    }

    /// How many arguments there are.
    pub fn count(self) -> c_int {
        self.count
    }

    /// How many values at the bottom of the stack belong to the call.
    pub fn frame(self) -> c_int {
        self.frame
    }

    /// The class that the running function belongs to.
    #[inline]
    pub fn dtype(self) -> DType {
        Context::of(self.state).dtype()
    }

    /// The data that the functions of this Lua state share.
    #[inline]
    pub fn shared(self) -> &'call Shared {
        Context::of(self.state).shared()
    }

    /// The Lua state of this call. References that the call takes or gives back belong to it.
    pub fn state_id(self) -> StateId {
        self.shared().id
    }

    /// The Lua type of argument `n`. It is `LUA_TNONE` if there are fewer arguments, even if values have been pushed since.
    pub fn kind(self, n: c_int) -> c_int {
        if n > self.count { ffi::LUA_TNONE } else { self.state.kind(n) }
    }

    /// Whether argument `n` is nil or missing.
    pub fn is_absent(self, n: c_int) -> bool {
        self.kind(n) <= ffi::LUA_TNIL
    }

    /// The name of the type of argument `n`: the class name of a storage or tensor, and Lua's name of the type for other values. Lua code
    /// cannot change it.
    pub fn type_name(self, n: c_int) -> &'static str {
        if n > self.count {
            return "no value";
        }
        self.name_of(n)
    }

    /// Does the same as [`type_name`](Self::type_name) for the value at a stack index.
    pub fn name_of(self, index: c_int) -> &'static str {
        if let Some(dtype) = userdata::class(self.state, index) {
            return dtype.class_name();
        }
        tensor::class(self.state, index).map_or_else(|| self.state.kind_name(index), DType::tensor_class_name)
    }

    /// The fault `EXPECTED expected, got TYPE`, about argument `n`.
    pub fn mismatch(self, n: c_int, expected: impl Display) -> Fault {
        Fault::argument(n, format_args!("{expected} expected, got {}", self.type_name(n)))
    }

    /// The value at a stack index, for messages: a string with its bytes, and of other values the type.
    pub fn show_value(self, index: c_int) -> impl Display {
        // SAFETY: [live] the value stays in its slot while it is shown.
        let (text, name) = (unsafe { self.state.string(index) }, self.name_of(index));
        written(move |f| match text {
            Some(text) => write!(f, "string '{}'", shown(text)),
            None => f.write_str(name),
        })
    }

    /// The key at argument 2 that an object does not have, for messages.
    pub fn show_key(self) -> impl Display {
        // SAFETY: [live] the key stays in its slot while it is shown.
        let name = unsafe { self.state.string(2) };
        let (is_cdata, kind) = (self.state.kind(2) == CDATA, self.type_name(2));
        written(move |f| match name {
            Some(name) => write!(f, "'{}'", shown(name)),
            None if is_cdata => f.write_str("a cdata"),
            None => write!(f, "a {kind}"),
        })
    }

    /// Argument 1 as a storage of the function's class.
    #[inline]
    pub fn this(self) -> Result<Borrowed<'call>, Fault> {
        let this = if self.count > 0 {
            // SAFETY: [live] argument 1 stays in its slot, and the body uses the storage only until Lua code runs.
            unsafe { userdata::storage_of(self.state, 1, self.dtype()) }
        } else {
            None
        };
        this.ok_or_else(|| self.not_this())
    }

    /// Argument `n` as a storage of one class.
    pub fn storage_of(self, n: c_int, dtype: DType) -> Result<Borrowed<'call>, Fault> {
        // SAFETY: [live] argument `n` stays in its slot, and the body uses the storage only until Lua code runs.
        match unsafe { userdata::payload(self.state, n) } {
            Some((payload, class)) if class == dtype && n <= self.count => userdata::storage(payload).ok_or_else(|| freed(n)),
            _ => Err(self.no_storage(n, dtype.class_name())),
        }
    }

    /// Argument `n` as a storage of any class.
    pub fn storage(self, n: c_int) -> Result<Borrowed<'call>, Fault> {
        // SAFETY: [live] argument `n` stays in its slot, and the body uses the storage only until Lua code runs.
        match unsafe { userdata::payload(self.state, n) } {
            Some((payload, _)) if n <= self.count => userdata::storage(payload).ok_or_else(|| freed(n)),
            _ if self.kind(n) == ffi::LUA_TTABLE => Err(Fault::argument(
                n,
                "torch.*Storage expected, got table: torch.FloatStorage(t), for example, makes a storage of it",
            )),
            _ => Err(self.no_storage(n, "torch.*Storage")),
        }
    }

    /// The value at a stack index as a number: a number, a string that Lua's rules read as one, or a 64-bit FFI integer.
    pub fn scalar_at(self, index: c_int) -> Result<Option<Scalar>, Fault> {
        if let Some(number) = self.state.scalar(index) {
            return Ok(Some(number));
        }
        Ok(match self.cdata(index)? {
            Cdata::Signed(number) => Some(Scalar::Signed(number)),
            Cdata::Unsigned(number) => Some(Scalar::Unsigned(number)),
            _ => None,
        })
    }

    /// Argument `n` as a number.
    pub fn scalar(self, n: c_int) -> Result<Scalar, Fault> {
        if n > self.count {
            return Err(self.mismatch(n, "number"));
        }
        self.scalar_at(n)?.ok_or_else(|| self.mismatch(n, "number"))
    }

    /// The value at a stack index, if an element of the function's class can be set to it: a number; for a Bool also a boolean;
    /// for a complex class also a complex number. A decimal integer in a string is read exactly, before Lua's rules for strings apply.
    pub fn element_at(self, index: c_int) -> Result<Option<Scalar>, Fault> {
        self.element_of(self.dtype(), index)
    }

    /// Does the same as [`element_at`](Self::element_at) for an element of another class than the function's.
    pub fn element_of(self, dtype: DType, index: c_int) -> Result<Option<Scalar>, Fault> {
        // SAFETY: [live] the text is read at once.
        if let Some(text) = unsafe { self.state.string(index) } {
            return dtype.read_decimal(text).map_or_else(|| self.scalar_at(index), |number| Ok(Some(number)));
        }
        if dtype == DType::Bool && self.state.kind(index) == ffi::LUA_TBOOLEAN {
            return Ok(Some(Scalar::Signed(self.state.boolean(index).into())));
        }
        if dtype.is_complex()
            && let Some(number) = complex::read(self.state, index)?
        {
            return Ok(Some(number));
        }
        self.scalar_at(index)
    }

    /// Argument `n` as the value of an element.
    pub fn element(self, n: c_int) -> Result<Scalar, Fault> {
        let found = if n > self.count { None } else { self.element_at(n)? };
        found.ok_or_else(|| self.mismatch(n, self.element_kind()))
    }

    /// Argument `n` as a part of a complex number of the function's class. It is converted to the type of the part here, because a
    /// Lua number does not hold all 64-bit integers.
    pub fn complex_part(self, n: c_int) -> Result<f64, Fault> {
        let dtype = self.dtype().part();
        // SAFETY: [live] the text is read at once.
        let exact = unsafe { self.state.string(n) }.and_then(|text| dtype.read_decimal(text));
        let number = exact.map_or_else(|| self.scalar(n), Ok)?;
        Ok(with_element!(dtype, T => T::from_scalar(number).to_f64()))
    }

    /// The types that an element of the function's class can be set to, for messages.
    pub fn element_kind(self) -> &'static str {
        match self.dtype() {
            dtype if dtype.is_complex() => "number, {re=, im=}, {re, im} or FFI complex",
            DType::Bool => "number or boolean",
            _ => "number",
        }
    }

    /// Argument `n` as a boolean; `false` if it is missing.
    pub fn flag(self, n: c_int) -> Result<bool, Fault> {
        if self.is_absent(n) {
            return Ok(false);
        }
        self.boolean(n)
    }

    /// Argument `n` as a boolean.
    pub fn boolean(self, n: c_int) -> Result<bool, Fault> {
        if self.kind(n) == ffi::LUA_TBOOLEAN { Ok(self.state.boolean(n)) } else { Err(self.mismatch(n, "boolean")) }
    }

    /// Argument `n` as a string. The bytes are valid as long as the call runs.
    pub fn string(self, n: c_int) -> Result<&'call [u8], Fault> {
        // SAFETY: [live] an argument stays in its slot during the call.
        unsafe { self.state.string(n) }.filter(|_| n <= self.count).ok_or_else(|| self.mismatch(n, "string"))
    }

    /// The kind of the FFI value at a stack index. The classifier is Lua code and may run finalizers: callers look their storages up
    /// afterwards.
    pub fn cdata(self, index: c_int) -> Result<Cdata, Fault> {
        let state = self.state;
        let Some(classifier) = self.shared().classifier.get() else { return Ok(Cdata::Other) };
        if state.kind(index) != CDATA {
            return Ok(Cdata::Other);
        }
        let (top, index) = (state.top(), state.absolute(index));
        state.push_referenced(classifier);
        state.push_value(index);
        let result = if state.protected_call(1, 5) { Ok(self.classified(top)) } else { Err(Fault::on_top(state)) };
        state.set_top(top);
        result
    }

    /// The classifier's five results above `top` as a [`Cdata`]. They are described at `set_classifier` in `methods/module.rs`.
    fn classified(self, top: c_int) -> Cdata {
        let number = |n| self.state.number(top + n);
        let (Some(kind), Some(high), Some(low)) = (number(1), number(2), number(3)) else { return Cdata::Other };
        let bits = join_words(high, low);
        let unsigned = bits.cast_unsigned();
        let address = usize::try_from(unsigned).unwrap_or(0);
        let constant = self.state.boolean(top + 5);
        match kind {
            1.0 => Cdata::Signed(bits),
            2.0 => Cdata::Unsigned(unsigned),
            3.0 => Cdata::Pointer { address, constant },
            4.0 => {
                let bytes = number(4).and_then(|bytes| truncate(Scalar::Float(bytes)));
                let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
                Cdata::Array { address, bytes, constant }
            }
            _ => Cdata::Other,
        }
    }
}

fn freed(n: c_int) -> Fault {
    Fault::argument(n, "storage was freed")
}
