//! Numbers of Lua 5.1, 5.2 and LuaJIT: all are doubles. `integers.rs` has the same functions for later Luas.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::{Key, State};
use crate::bulk::Readable;
use crate::convert::{Number, Scalar, count_to_f64, zero_based_index};
use crate::element::Element;

/// Whether Lua has integers of 64 bits beside floats.
pub const HAS_INTEGERS: bool = false;

/// A real number as Lua has it.
pub type Real = f64;

pub const ZERO: Real = 0.0;

/// Element `index` (from 0) as a number; `None` if the index is out of range.
#[inline]
pub fn real_at(elements: Readable<'_>, index: usize) -> Option<Real> {
    elements.get(index)
}

impl State<'_> {
    /// The value as a number, if it is a number or a string that Lua can convert to one.
    pub fn scalar(self, index: c_int) -> Option<Scalar> {
        self.number(index).map(Scalar::Float)
    }

    /// The value as a double, if it is a number.
    #[inline]
    pub fn double(self, index: c_int) -> Option<f64> {
        (self.kind(index) == ffi::LUA_TNUMBER).then(|| self.raw_number(index))
    }

    /// The value as a number, when the caller has checked that it is one.
    pub fn raw_scalar(self, index: c_int) -> Scalar {
        Scalar::Float(self.raw_number(index))
    }

    #[inline]
    pub fn push_real(self, number: Real) {
        self.push_number(number);
    }

    /// Pushes a real number; of a complex number, the real part.
    #[inline]
    pub fn push_scalar(self, number: Scalar) {
        self.push_number(f64::from_scalar(number));
    }

    /// Pushes a number of elements or bytes, or an address.
    #[inline]
    pub fn push_count(self, count: usize) {
        self.push_number(count_to_f64(count));
    }

    /// Pushes a number that was not made by this Lua.
    #[inline]
    pub fn push_whole(self, number: f64) {
        self.push_number(number);
    }

    /// What the value is as a key, for the limit `bound` of a storage's header.
    #[inline]
    pub fn quick_key(self, index: c_int, bound: f64) -> Key {
        match self.kind(index) {
            ffi::LUA_TNUMBER => zero_based_index(self.raw_number(index), bound).map_or(Key::Other, Key::Index),
            ffi::LUA_TSTRING => Key::Name,
            _ => Key::Other,
        }
    }

    /// The index (from 0) that the value means, if it is a number within the limit `bound` of a storage's header.
    #[inline]
    pub fn quick_index(self, index: c_int, bound: f64) -> Option<usize> {
        if self.kind(index) == ffi::LUA_TNUMBER { zero_based_index(self.raw_number(index), bound) } else { None }
    }

    /// The index (from 0) that the value means in a dimension of a size. What is not a number counts as 0, which is not an index.
    #[inline]
    pub fn quick_number(self, index: c_int, size: usize) -> Option<usize> {
        zero_based_index(self.raw_number(index), count_to_f64(size))
    }

    /// The element that the value becomes, if it is a number.
    #[inline]
    pub fn quick_element<T: Element>(self, index: c_int) -> Option<T> {
        (self.kind(index) == ffi::LUA_TNUMBER).then(|| <T as Number>::from_f64(self.raw_number(index)))
    }
}
