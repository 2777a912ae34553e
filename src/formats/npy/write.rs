//! The header of an npy file, byte for byte as NumPy writes it.

use std::fmt::Write;

use super::{MAGIC, dtypes};
use crate::element::DType;
use crate::tensor::Layout;

/// The headers of NumPy end at a multiple of this.
const ALIGNMENT: usize = 64;

/// NumPy leaves room for as many digits in the dimension along which a file may grow.
const DIGITS: usize = 21;

/// The order in which elements are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last index changes fastest.
    C,
    /// The first index changes fastest.
    Fortran,
}

/// The header of a file with the elements of a tensor, and the order in which the elements follow it.
///
/// As in NumPy, the order is Fortran's only if the elements lie side by side in this order and not in C's. The elements of all
/// other tensors are written in C's order, whatever their layout is.
#[must_use]
pub fn header(dtype: DType, layout: &Layout) -> (Vec<u8>, Order) {
    let order = if !layout.is_contiguous() && is_fortran(layout) { Order::Fortran } else { Order::C };
    let sizes = layout.sizes();
    let mut text = format!("{{'descr': '{}', 'fortran_order': ", dtypes::descr(dtype));
    text += if order == Order::Fortran { "True, 'shape': (" } else { "False, 'shape': (" };
    for (index, size) in sizes.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{size}");
    }
    text += if sizes.len() == 1 { ",), }" } else { "), }" };
    let growing = if order == Order::Fortran { sizes.last() } else { sizes.first() };
    if let Some(size) = growing {
        text += &" ".repeat(DIGITS - size.to_string().len());
    }
    // 64 sizes of 19 digits take fewer than 65,535 bytes, so this is always version 1.0.
    let begin = MAGIC.len() + 4;
    let length = text.len() + 1;
    // As in NumPy, this adds 64 spaces if none are needed.
    let length = length + ALIGNMENT - (begin + length) % ALIGNMENT;
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
    header.extend(text.as_bytes());
    header.resize(begin + length - 1, b' ');
    header.push(b'\n');
    (header, order)
}

/// Whether the elements follow each other with the first index changing fastest.
fn is_fortran(layout: &Layout) -> bool {
    let mut expected = 1;
    layout.elements() == 0
        || layout.sizes().iter().zip(layout.strides()).filter(|(size, _)| **size != 1).all(|(&size, &stride)| {
            let fits = stride == expected;
            expected = expected.wrapping_mul(size.cast_signed());
            fits
        })
}
