//! The files in which other programs keep arrays: safetensors, npy and npz. This module knows no Lua, and trusts no file.
//!
//! A reader reads the headers of a file and checks every number in them against the length of the file. It returns where the
//! elements of each tensor are in the file. Whoever maps or copies the elements afterwards needs nothing else from the file, so it
//! does no harm if somebody has changed the file by then. A writer makes the headers, and [`Saving`] writes the elements after them.
//!
//! ```text
//! opened              open files: their tensors as views of a map, or as copies
//! safetensors         the header of a safetensors file, and the index of several
//!   tensors           the tensors and the metadata in the JSON text
//!   json              reads JSON text
//!   dtypes            the names of dtypes in the file
//!   index             the index of a model that is in several files
//!   write             the header and the order of the tensors
//! saving              writes the tensors of a file, piece by piece
//! npz                 the npy files in a zip archive
//!   directory         where the entries of the archive are
//!   write             the records that Python writes
//! npy                 the header of an npy file
//!   literal           the Python literal in the header
//!   dtypes            the names of dtypes in the file
//!   write             the header that NumPy writes
//! source              a file that is read at any position
//! ```

pub mod npy;
pub mod npz;
mod opened;
pub mod safetensors;
mod saving;
mod source;

pub use crate::error::{Flaw, FormatError, Part};
pub use opened::{Member, Opened};
pub use saving::{Item, Saving};
pub use source::{ReadAt, Source};
