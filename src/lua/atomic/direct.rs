//! The functions of `torch.atomic` for LuaJIT's FFI, which calls them without Lua's C API. `lua/torch/atomic.lua` calls them.
//!
//! They check everything but the type of the userdata: the class, the index, the alignment, and whether the element can be written. They
//! return NaN if they have done nothing, and then the C function decides: it checks everything again, and raises the error. So an element
//! that is NaN is left to the C function as well.

use super::access::{Add, And, Exchange, Max, Min, Operation, Or, Store, Sub, Xor, is_for};
use crate::atomic::{At, Atomic, with_atomic};
use crate::convert::{Number, zero_based_index};
use crate::element::{DType, Element};
use crate::lua::direct::{Function, address};
use crate::lua::userdata::{self, Payload};

const ONE: &str = "double (*)(const void *, double, double)";

/// The functions in `core.direct` whose names begin with `atomic_`.
pub fn functions() -> [Function; 11] {
    [
        ("atomic_load", "double (*)(const void *, double)", address(load as *const ())),
        ("atomic_store", ONE, address(with_value::<Store> as *const ())),
        ("atomic_exchange", ONE, address(with_value::<Exchange> as *const ())),
        ("atomic_compareExchange", "double (*)(const void *, double, double, double)", address(compare_exchange as *const ())),
        ("atomic_add", ONE, address(with_value::<Add> as *const ())),
        ("atomic_sub", ONE, address(with_value::<Sub> as *const ())),
        ("atomic_band", ONE, address(with_value::<And> as *const ())),
        ("atomic_bor", ONE, address(with_value::<Or> as *const ())),
        ("atomic_bxor", ONE, address(with_value::<Xor> as *const ())),
        ("atomic_min", ONE, address(with_value::<Min> as *const ())),
        ("atomic_max", ONE, address(with_value::<Max> as *const ())),
    ]
}

/// # Safety
/// `[layout]`: lua/torch/atomic.lua has checked the magic word, so `payload` is that of a storage. `[live]`: its userdata stays alive
/// during the call.
unsafe extern "C" fn load(payload: *const Payload, index: f64) -> f64 {
    // SAFETY: [layout] [live] lua/torch/atomic.lua has checked the userdata, and holds it.
    let payload = unsafe { &*payload };
    // SAFETY: [live] the userdata is held, and no Lua code runs in this function.
    let Some((header, dtype)) = (unsafe { userdata::header_behind(payload) }) else { return f64::NAN };
    let Some(index) = zero_based_index(index, header.read_limit()) else { return f64::NAN };
    with_atomic!(dtype, T => {
        // SAFETY: [atomic] [in-bounds] the index is below the size in the live header, and nothing is written.
        unsafe { At::<T>::new(header.data(), index) }.map_or(f64::NAN, |element| element.load().to_f64())
    }, else f64::NAN)
}

/// # Safety
/// `[layout]` and `[live]`: as for [`load`].
unsafe extern "C" fn with_value<O: Operation>(payload: *const Payload, index: f64, value: f64) -> f64 {
    // SAFETY: [layout] [live] lua/torch/atomic.lua has checked the userdata, and holds it.
    let payload = unsafe { &*payload };
    // SAFETY: [live] the userdata is held, and no Lua code runs in this function.
    let Some((header, dtype)) = (unsafe { userdata::header_behind(payload) }) else { return f64::NAN };
    let Some(index) = zero_based_index(index, header.write_limit()) else { return f64::NAN };
    with_atomic!(dtype, T => {
        if !is_for::<O>(T::DTYPE) {
            return f64::NAN;
        }
        // SAFETY: [atomic] [in-bounds] the index is below the size in the live header, and the memory is writable.
        let Some(element) = (unsafe { At::<T>::new(header.data(), index) }) else { return f64::NAN };
        let value = <T as Number>::from_f64(value);
        if is_float(T::DTYPE) { unless_nan::<T, O>(element, value) } else { O::carry_out(element, value).to_f64() }
    }, else f64::NAN)
}

/// Whether an element may be NaN.
const fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::Float | DType::Double)
}

/// Carries out an operation on a float, unless the function would return NaN.
fn unless_nan<T: Atomic, O: Operation>(element: At<'_, T>, value: T) -> f64 {
    if O::IS_STORE {
        let stored = value.to_f64();
        if !stored.is_nan() {
            element.store(value);
        }
        return stored;
    }
    let mut old = element.load();
    loop {
        let new = O::CHANGE.map_or(value, |change| old.changed(change, value));
        if old.to_f64().is_nan() {
            return f64::NAN;
        }
        match element.compare_exchange(old, new) {
            (old, true) => return old.to_f64(),
            (now, false) => old = now,
        }
    }
}

/// Integers and Bool, as long as twice the element is an exact number. Returns that, plus 1 if `new` was written.
///
/// # Safety
/// `[layout]` and `[live]`: as for [`load`].
unsafe extern "C" fn compare_exchange(payload: *const Payload, index: f64, expected: f64, new: f64) -> f64 {
    // SAFETY: [layout] [live] lua/torch/atomic.lua has checked the userdata, and holds it.
    let payload = unsafe { &*payload };
    // SAFETY: [live] the userdata is held, and no Lua code runs in this function.
    let Some((header, dtype)) = (unsafe { userdata::header_behind(payload) }) else { return f64::NAN };
    let Some(index) = zero_based_index(index, header.write_limit()) else { return f64::NAN };
    with_atomic!(dtype, T => {
        // SAFETY: [atomic] [in-bounds] the index is below the size in the live header, and the memory is writable.
        let Some(element) = (unsafe { At::<T>::new(header.data(), index) }) else { return f64::NAN };
        let (expected, new) = (<T as Number>::from_f64(expected), <T as Number>::from_f64(new));
        // If the element is `expected`, it is returned, so whether it is exact is known before anything is written.
        if is_float(T::DTYPE) || expected.to_f64().abs() >= EXACT {
            return f64::NAN;
        }
        let (old, written) = element.compare_exchange(expected, new);
        let old = old.to_f64();
        if old.abs() < EXACT { 2.0 * old + f64::from(u8::from(written)) } else { f64::NAN }
    }, else f64::NAN)
}

/// Twice a smaller number, and 1 more, is an exact double.
const EXACT: f64 = 4_503_599_627_370_496.0;
