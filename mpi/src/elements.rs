//! Elements of a storage as a buffer of MPI, and the operations of reductions.
//!
//! Numbers travel as the types that MPI has for them. Types that MPI does not have (half, bfloat16, floats of 8 bits) travel as bytes.

use std::ffi::c_int;

use crate::failure::{Failure, Outcome};
use crate::sys::{self, MOST, MPI_Datatype, MPI_Op, Mpi, RawBuffer, constant};
use crate::table::{View, dtype};

/// A block of a long buffer has two to the power of this many elements.
const EXPONENT: u32 = 30;

/// MPI's type of the elements, and how many of them are one element: more than one if they travel as bytes.
pub fn datatype(view: &View) -> (MPI_Datatype, usize) {
    let found = match view.dtype {
        dtype::BYTE | dtype::BOOL => constant!(RSMPI_UINT8_T),
        dtype::CHAR => constant!(RSMPI_INT8_T),
        dtype::SHORT => constant!(RSMPI_INT16_T),
        dtype::INT => constant!(RSMPI_INT32_T),
        dtype::LONG => constant!(RSMPI_INT64_T),
        dtype::UINT16 => constant!(RSMPI_UINT16_T),
        dtype::UINT32 => constant!(RSMPI_UINT32_T),
        dtype::UINT64 => constant!(RSMPI_UINT64_T),
        dtype::FLOAT => constant!(RSMPI_FLOAT),
        dtype::DOUBLE => constant!(RSMPI_DOUBLE),
        dtype::COMPLEX_FLOAT => constant!(RSMPI_FLOAT_COMPLEX),
        dtype::COMPLEX_DOUBLE => constant!(RSMPI_DOUBLE_COMPLEX),
        _ => return (sys::byte(), view.width),
    };
    (found, 1)
}

/// A buffer for one call of MPI.
pub struct Buffer {
    raw: RawBuffer,
    /// The type was made for this buffer.
    made: Option<(Mpi, MPI_Datatype)>,
}

impl Buffer {
    /// The elements of a view, however many they are.
    ///
    /// # Safety
    /// `[live]`: the view's elements stay where they are until MPI does not use the buffer any more.
    pub unsafe fn new(mpi: Mpi, view: &View) -> Outcome<Self> {
        let (element, times) = datatype(view);
        let count = view.size * times;
        if let Ok(count) = c_int::try_from(count) {
            // SAFETY: [live] [in-bounds] the view has that many elements.
            return Ok(Self { raw: unsafe { RawBuffer::new(view.data, count, element) }, made: None });
        }
        // More than 2^31-1: one element of a type that is as long as the whole.
        let too_long = || Failure::new(format!("{count} elements are too many for MPI"));
        let blocks = c_int::try_from(count >> EXPONENT).map_err(|_| too_long())?;
        let rest = c_int::try_from(count & ((1 << EXPONENT) - 1)).map_err(|_| too_long())?;
        let long = mpi.long_type(element, view.width / times, EXPONENT, blocks, rest)?;
        // SAFETY: [live] [in-bounds] the type is as long as the view.
        Ok(Self { raw: unsafe { RawBuffer::new(view.data, 1, long) }, made: Some((mpi, long)) })
    }

    pub const fn raw(&self) -> RawBuffer {
        self.raw
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some((mpi, made)) = self.made {
            mpi.free_type(made);
        }
    }
}

/// The pieces of a reduction, which has no type that is longer than an element: first element and number of elements.
pub fn pieces(size: usize) -> impl Iterator<Item = (usize, usize)> {
    const LONGEST: usize = 1 << EXPONENT;
    const { assert!(LONGEST <= MOST) };
    // An empty reduction is one piece, so that the ranks still call MPI.
    (0..size.div_ceil(LONGEST).max(1)).map(move |n| (n * LONGEST, (size - n * LONGEST).min(LONGEST)))
}

/// What a reduction does with two elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    Sum,
    Product,
    Minimum,
    Maximum,
    And,
    Or,
    Xor,
}

impl Operation {
    pub const ALL: [(&'static str, Self); 7] = [
        ("sum", Self::Sum),
        ("prod", Self::Product),
        ("min", Self::Minimum),
        ("max", Self::Maximum),
        ("and", Self::And),
        ("or", Self::Or),
        ("xor", Self::Xor),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }

    /// MPI's operation for elements of this type, or why there is none.
    pub fn for_elements(self, view: &View) -> Result<MPI_Op, String> {
        use Operation::{And, Maximum, Minimum, Or, Product, Sum, Xor};
        let class = view.class();
        let is_float = matches!(view.dtype, dtype::FLOAT | dtype::DOUBLE);
        match view.dtype {
            dtype::BOOL => match self {
                And | Minimum => Ok(constant!(RSMPI_LAND)),
                Or | Maximum => Ok(constant!(RSMPI_LOR)),
                Xor => Ok(constant!(RSMPI_LXOR)),
                Sum | Product => Err(format!("'{}' of {class} is not a boolean: use 'and', 'or' or 'xor'", self.name())),
            },
            dtype::COMPLEX_FLOAT | dtype::COMPLEX_DOUBLE => match self {
                Sum => Ok(constant!(RSMPI_SUM)),
                Product => Ok(constant!(RSMPI_PROD)),
                _ => Err(format!("complex numbers have no '{}': 'sum' and 'prod' work for {class}", self.name())),
            },
            dtype::BYTE
            | dtype::CHAR
            | dtype::SHORT
            | dtype::INT
            | dtype::LONG
            | dtype::UINT16
            | dtype::UINT32
            | dtype::UINT64
            | dtype::FLOAT
            | dtype::DOUBLE => match self {
                Sum => Ok(constant!(RSMPI_SUM)),
                Product => Ok(constant!(RSMPI_PROD)),
                Minimum => Ok(constant!(RSMPI_MIN)),
                Maximum => Ok(constant!(RSMPI_MAX)),
                And | Or | Xor if is_float => Err(format!("'{}' works on bits, which {class} does not have", self.name())),
                And => Ok(constant!(RSMPI_BAND)),
                Or => Ok(constant!(RSMPI_BOR)),
                Xor => Ok(constant!(RSMPI_BXOR)),
            },
            dtype::UNTYPED => {
                Err(format!("{class} has no numbers to reduce: s:view('torch.FloatStorage') gives its bytes a type"))
            }
            _ => Err(format!("MPI does not reduce {class}: convert it, for example with s:float()")),
        }
    }
}
