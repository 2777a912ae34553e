//! Typed arrays over memory that Lua does not own: Torch7's storages.
//!
//! A Rust program uses [`Storage`], [`DType`], [`Error`], the types of elements in [`convert`], and with the feature `host` the module
//! `host`. The feature `internals` opens the other modules to the tests, benchmarks and fuzzers of this repository. Programs cannot
//! rely on them: they are not sound by themselves, and change without notice.
//!
//! `docs/architecture.md` explains how it all works. This is the map of the crate: a module uses only those below it.
//!
//! ```text
//! host         (feature)   Rust programs that embed Lua with mlua; the Lua files are inside it
//! lua/torch/*.lua          the public table: classes, printing, compiled element access
//! ------------------------ require 'torch.core'
//! lua          (feature)   Lua's C API: arguments, userdata, errors; a file of methods for each subject
//! ------------------------ no module below this line knows Lua
//! program                  storages as Rust programs see them: handles that stay in one thread
//!   making, maps           new storages and views; mapped files
//!   elements, atomic       access to elements next to other threads; in one step, and waiting
//!   exchange               tokens and names
//!   refused                programs that must not compile
//! atomic                   single elements that several threads and processes access at once; waiting until one changes
//! answers      (feature)   what is made of many elements, and adding and multiplying in place
//!   fold                   going through elements in parts and in threads, or through lines along a dimension
//!   sums, spread           sums of elements, of what is calculated from each of them; how far they are from their mean
//!   products, magnitudes   sums of what is calculated from two elements; complex numbers by their magnitudes
//!   extremes, counts       the least and the greatest element; how often an element occurs
//!   order, search          sorting, the first elements in order; where a number belongs among sorted elements
//!   quotient, nearest      a sum of integers divided by their number; the best of many scores
//!   scale                  adding and multiplying in place
//! formats      (feature)   safetensors, npy and npz files: which tensors they have, and where; new files
//!   safetensors, npy, npz  a file and a folder for each format
//!   opened                 open files: their tensors as views of a map, or as copies
//!   saving                 writes a new file, piece by piece
//!   source                 a file that is read at any position
//! t7                       the .t7 format: bytes to events, values to bytes
//!   reader, writer         events from a file; values to a file
//!   class, shape, ascii    names of storages and tensors; sizes and strides of tensors; numbers as text
//!   input                  the bytes of a file, of a string or of a storage
//! output                   the bytes that are written: a new file takes the place of the old one when it is complete
//! picking                  makes and picks elements of storages and tensors, without calculating with them
//!   records, indexed       one field of records of equal length; elements with given indices along a dimension
//!   nonzero, sequence      where elements are not 0; numbers at equal distances
//! tensor                   tensors: a storage in several dimensions
//!   layout, shape          where the elements are: an offset, sizes and strides
//!   view, parts, axes      views with other sizes; ranges and pieces; other dimensions
//!   elements               the elements for reading, also in several threads
//!   contents, pairs        fill, copy, compare; how two tensors go through their elements together
//!   numbers                dimensions and indices as Lua programs write them
//! storage                  a storage: a typed, sized array over memory; create, view, resize
//!   elements               reads, writes, fills, copies and compares elements
//!   maps                   methods of mapped files: flush, advise, check; pages that stay in memory
//!   owned                  storages over memory of Rust values
//!   exchange, shared       tokens and publications; storages in shared memory
//!   block, header          what a storage consists of, in one allocation; the part of it that C and the FFI see
//!   refcount, register     how many references a storage has; which Lua states and threads hold them
//!   numbered               the records of the register, by their numbers
//!   references, resize     retain and free; changing the size and the reserved capacity
//!   memory                 heap, mapped file, shared memory, foreign memory: how each is allocated and freed
//!   locks, state_id        the locks of the process, their order, and fork; the number of a Lua state
//!   sync                   atomics, cells and locks, which are others in the models of threads that loom runs
//! bulk                     fill, copy, compare, byte order: over checked ranges, with threads for large ones
//!   cast                   copies with conversion, step by step, in memory that may overlap
//!   fill, compare, swap    the other kernels
//!   records, picked        one field of records; elements that are picked by their indices
//!   strided                the same over elements at equal distances in several dimensions
//!   reduce, scale, order   sums, extremes and counts of a part; adding and multiplying; sorting (the feature `answers`)
//!   lanes, stream          steps with vector instructions; stores that bypass the caches
//!   racing                 the same where other threads access the elements at the same time
//!   access                 ranges of elements: what the kernels take
//!   level, threads         the instructions that the processor has; the threads
//! element                  the one list of dtypes
//! convert                  the rules by which numbers become elements; small floats, booleans and complex numbers
//! system                   calls of the operating system: files, pages, signals
//! error                    what can go wrong: the facts and the words
//! fallible                 allocations that return an error instead of ending the process
//! budget                   how many bytes the storages of a Lua state have, and how many they may have
//! ```

#![cfg_attr(
    not(feature = "internals"),
    allow(dead_code, unused_imports, reason = "the rest of the library, or its tests, use what a program without Lua does not")
)]

#[cfg(not(all(any(unix, windows), target_pointer_width = "64")))]
compile_error!(
    "torch-storage needs a 64-bit system (Linux, macOS, a BSD or Windows): it maps files and counts elements in 64 bits"
);

#[cfg(all(feature = "answers", not(feature = "internals")))]
mod answers;
#[cfg(all(feature = "answers", feature = "internals"))]
pub mod answers;
mod atomic;
mod budget;
#[cfg(not(feature = "internals"))]
mod bulk;
#[cfg(feature = "internals")]
pub mod bulk;
pub mod convert;
#[cfg(not(feature = "internals"))]
mod element;
#[cfg(feature = "internals")]
pub mod element;
pub mod error;
mod fallible;
#[cfg(all(feature = "formats", not(feature = "internals")))]
mod formats;
#[cfg(all(feature = "formats", feature = "internals"))]
pub mod formats;
#[cfg(feature = "host")]
pub mod host;
#[cfg(not(feature = "internals"))]
mod output;
#[cfg(feature = "internals")]
pub mod output;
#[cfg(not(feature = "internals"))]
mod picking;
#[cfg(feature = "internals")]
pub mod picking;
mod program;
#[cfg(not(feature = "internals"))]
mod storage;
#[cfg(feature = "internals")]
pub mod storage;
mod system;
#[cfg(not(feature = "internals"))]
mod t7;
#[cfg(feature = "internals")]
pub mod t7;
#[cfg(not(feature = "internals"))]
mod tensor;
#[cfg(feature = "internals")]
pub mod tensor;

#[cfg(feature = "lua")]
mod lua;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use atomic::Waited;
pub use element::{DType, Element};
pub use error::Error;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use program::AtomicElement;
pub use program::{Storage, Token};
pub use storage::{Advice, MapOptions, Sharing, unlink_shared_memory};
