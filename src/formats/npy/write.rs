//! The header of an npy file, byte for byte as NumPy writes it.

use std::io::Write;

use super::{MAGIC, dtypes};
use crate::element::DType;
use crate::error::Error;
use crate::fallible;
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
pub fn header(dtype: DType, layout: &Layout) -> Result<(Vec<u8>, Order), Error> {
    /// The number of bytes besides the sizes, which is smaller than this.
    const MOST: usize = 4 * ALIGNMENT;
    let order = if !layout.is_contiguous() && is_fortran(layout) { Order::Fortran } else { Order::C };
    let sizes = layout.sizes();
    // There is room for all that is written, so that writing cannot fail.
    let mut header = fallible::list(MOST + DIGITS * sizes.len())?;
    header.extend(MAGIC);
    header.extend([1, 0, 0, 0]);
    let begin = header.len();
    let (byte_order, letter, width) = dtypes::descr(dtype);
    let fortran = if order == Order::Fortran { "True" } else { "False" };
    let _ = write!(header, "{{'descr': '{byte_order}{letter}{width}', 'fortran_order': {fortran}, 'shape': (");
    for (index, size) in sizes.iter().enumerate() {
        let _ = write!(header, "{}{size}", if index > 0 { ", " } else { "" });
    }
    header.extend(if sizes.len() == 1 { ",), }".as_bytes() } else { b"), }" });
    let growing = if order == Order::Fortran { sizes.last() } else { sizes.first() };
    if let Some(size) = growing {
        let digits = size.checked_ilog10().map_or(1, |power| power as usize + 1);
        header.resize(header.len() + DIGITS - digits, b' ');
    }
    // As in NumPy, this adds 64 spaces if none are needed.
    let end = header.len() + 1;
    let end = end + ALIGNMENT - end % ALIGNMENT;
    header.resize(end - 1, b' ');
    header.push(b'\n');
    // 64 sizes of 19 digits take fewer than 65,535 bytes, so this is always version 1.0.
    let length = u16::try_from(end - begin).unwrap_or(u16::MAX);
    header[begin - 2..begin].copy_from_slice(&length.to_le_bytes());
    Ok((header, order))
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
