//! Numbers of Lua 5.3 and later: integers of 64 bits, and doubles. `floats.rs` has the same functions for earlier Luas.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::{Key, State};
use crate::bulk::Readable;
use crate::convert::{Number, Scalar, is_beyond_exact, is_exact, whole, zero_based_integer};
use crate::element::{Element, Kind};

/// Whether Lua has integers of 64 bits beside floats.
pub const HAS_INTEGERS: bool = true;

/// A real number as Lua has it.
pub type Real = Scalar;

pub const ZERO: Real = Scalar::Signed(0);

/// Element `index` (from 0) as a number; `None` if the index is out of range.
#[inline]
pub fn real_at(elements: Readable<'_>, index: usize) -> Option<Real> {
    elements.get_scalar(index)
}

impl State<'_> {
    /// The value as a number, if it is a number or a string that Lua can convert to one.
    pub fn scalar(self, index: c_int) -> Option<Scalar> {
        match self.kind(index) {
            ffi::LUA_TNUMBER => Some(self.raw_scalar(index)),
            ffi::LUA_TSTRING => self.number_in_string(index),
            _ => None,
        }
    }

    /// The value as a double, if it is a number that a double holds exactly. Some large integers give `None`, although a double holds
    /// them.
    #[inline]
    pub fn double(self, index: c_int) -> Option<f64> {
        if self.kind(index) != ffi::LUA_TNUMBER {
            return None;
        }
        let number = self.raw_number(index);
        (!is_beyond_exact(number) || !self.is_integer(index)).then_some(number)
    }

    /// The number that `tonumber` gives for a string.
    fn number_in_string(self, index: c_int) -> Option<Scalar> {
        // SAFETY: [live] the string stays in its slot, and no Lua code runs.
        let bytes = unsafe { self.string(index) }?;
        // SAFETY: [state] a string of Lua ends with a zero byte, and there is a free slot, which `room` checks in builds with debug
        // assertions.
        let read = unsafe { ffi::lua_stringtonumber(self.room(1), bytes.as_ptr().cast()) };
        if read == 0 {
            return None;
        }
        let number = self.raw_scalar(-1);
        self.set_top(self.top() - 1);
        // A zero byte in the string ends the number, and `tonumber` does not accept what follows.
        (read == bytes.len() + 1).then_some(number)
    }

    /// The value as a number, when the caller has checked that it is one.
    pub fn raw_scalar(self, index: c_int) -> Scalar {
        if self.is_integer(index) { Scalar::Signed(self.raw_integer(index)) } else { Scalar::Float(self.raw_number(index)) }
    }

    fn is_integer(self, index: c_int) -> bool {
        // SAFETY: [state] asking changes nothing.
        unsafe { ffi::lua_isinteger(self.raw, index) != 0 }
    }

    /// The integer that the caller has checked.
    fn raw_integer(self, index: c_int) -> i64 {
        self.integer(index).unwrap_or(0)
    }

    /// The value as an integer, if it is an integer, a float without a fraction, or a string that Lua converts to one of these.
    #[inline]
    fn integer(self, index: c_int) -> Option<i64> {
        let mut is_integer = 0;
        // SAFETY: [state] Lua converts a string without changing it.
        let integer = unsafe { ffi::lua_tointegerx(self.raw, index, &raw mut is_integer) };
        (is_integer != 0).then_some(integer)
    }

    #[inline]
    pub fn push_real(self, number: Real) {
        self.push_scalar(number);
    }

    /// Pushes a real number; of a complex number, the real part. An unsigned integer becomes the integer with the same 64 bits.
    #[inline]
    pub fn push_scalar(self, number: Scalar) {
        match number {
            Scalar::Signed(number) => self.push_integer(number),
            Scalar::Unsigned(number) => self.push_integer(number.cast_signed()),
            Scalar::Float(number) | Scalar::Complex(number, _) => self.push_number(number),
        }
    }

    /// Pushes a number of elements or bytes, or an address.
    #[inline]
    pub fn push_count(self, count: usize) {
        self.push_scalar(Scalar::Unsigned(count as u64));
    }

    /// Pushes a number that was not made by this Lua. It becomes an integer if it has no fraction and is at most 2^53, except for -0.
    pub fn push_whole(self, number: f64) {
        match whole(number) {
            Some(integer) => self.push_integer(integer),
            None => self.push_number(number),
        }
    }

    #[inline]
    fn push_integer(self, integer: i64) {
        // SAFETY: [state] this call has a free stack slot, which `room` checks in builds with debug assertions.
        unsafe { ffi::lua_pushinteger(self.room(1), integer) };
    }

    /// What the value is as a key, for the limit `bound` of a storage's header. A number with a fraction is another value here, and so
    /// are strings with digits.
    #[inline]
    pub fn quick_key(self, index: c_int, bound: f64) -> Key {
        match self.integer(index) {
            Some(integer) => zero_based_integer(integer, bound).map_or(Key::Other, Key::Index),
            None if self.kind(index) == ffi::LUA_TSTRING => Key::Name,
            None => Key::Other,
        }
    }

    /// The index (from 0) that the value means, if it is a number within the limit `bound` of a storage's header. A number with a
    /// fraction gives `None`, although it may be an index.
    #[inline]
    pub fn quick_index(self, index: c_int, bound: f64) -> Option<usize> {
        zero_based_integer(self.integer(index)?, bound)
    }

    /// The index (from 0) that the value means in a dimension of a size. A number with a fraction gives `None`, although it may be an
    /// index.
    #[inline]
    pub fn quick_number(self, index: c_int, size: usize) -> Option<usize> {
        usize::try_from(self.integer(index)?.checked_sub(1)?).ok().filter(|&index| index < size)
    }

    /// The element that the value becomes, if it is a number, or a string with a small number.
    ///
    /// To ask for the type takes time, and is only necessary for numbers that Lua gives for strings with other values: numbers beyond
    /// 2^53 are rounded, and 0 may be the string `-0`.
    #[inline(always)]
    pub fn quick_element<T: Element>(self, index: c_int) -> Option<T> {
        if matches!(T::DTYPE.kind(), Kind::Unsigned | Kind::Signed | Kind::Untyped)
            && let Some(integer) = self.integer(index)
        {
            let is_sure = is_exact(integer) || self.kind(index) == ffi::LUA_TNUMBER;
            return is_sure.then(|| <T as Number>::from_i64(integer));
        }
        let mut is_number = 0;
        // SAFETY: [state] Lua converts a string without changing it.
        let number = unsafe { ffi::lua_tonumberx(self.raw, index, &raw mut is_number) };
        if is_number == 0 || is_beyond_exact(number) || number == 0.0 {
            return (self.kind(index) == ffi::LUA_TNUMBER).then(|| T::from_scalar(self.raw_scalar(index)));
        }
        Some(<T as Number>::from_f64(number))
    }
}
