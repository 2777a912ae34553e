//! The fields that describe a dtype in an entry of `core.classes`.

use super::direct;
use super::state::Name;
use super::userdata;
use crate::convert::count_to_f64;
use crate::element::DType;

/// The value of a field. It has no destructor, so it may be alive while Lua raises an error.
#[derive(Clone, Copy)]
pub enum Field {
    /// This dtype does not have the field.
    Absent,
    Text(&'static str),
    Number(f64),
    Boolean(bool),
}

/// The fields of a dtype. A small float also has its format, and the address of the function that converts a number to its bits.
pub fn of(dtype: DType) -> [(Name, Field); 15] {
    use Field::{Absent, Boolean, Number, Text};
    let small = dtype.small_float();
    let format = small.map(|float| float.format);
    let number = |number: Option<u32>| number.map_or(Absent, |number| Number(number.into()));
    [
        (c"name", Text(dtype.class_name())),
        (c"element", Text(dtype.element_name())),
        (c"ctype", Text(dtype.c_type())),
        (c"kind", Text(dtype.kind().name())),
        (c"width", Number(count_to_f64(dtype.width()))),
        (c"cast", Text(dtype.cast_name().to_str().unwrap_or(""))),
        (c"other_names", Text(dtype.other_names())),
        (c"about", Text(dtype.about())),
        (c"in_torch7", Boolean(dtype.is_in_torch7())),
        (c"magic", Number(count_to_f64(userdata::magic(dtype).expose_provenance()))),
        (c"bits", direct::bits(dtype).map_or(Absent, Number)),
        (c"mantissa", number(format.map(|format| format.mantissa))),
        (c"bias", number(format.map(|format| format.bias))),
        (c"overflow", number(format.map(|format| format.overflow))),
        (c"one_zero", format.map_or(Absent, |format| Boolean(format.one_zero))),
    ]
}
