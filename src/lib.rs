//! Torch7's storages: one-dimensional typed arrays of C numbers over memory that Lua does not own.
//!
//! ```text
//! lua/torch/*.lua          the public table: classes, printing, the FFI side
//! ------------------------ require 'torch.core'
//! lua          (feature)   Lua's C API: arguments, userdata, errors, one file of methods a subject
//! ------------------------ no Lua below this line
//! storage                  Storage: a handle on (memory, data pointer, size, dtype); create, view, resize
//!   header, refcount       what the FFI sees of it; how many references it has
//!   body, state_id         header and memory together; which Lua state a reference belongs to
//!   elements               reading, writing, filling, copying, comparing
//!   maps, pinned           what only mapped files have: flushing, advice, checking; pages that stay in memory
//!   references, exchange   outstanding retains; tokens and publications
//!   shared                 storages in shared memory: attached by name, or moved there
//!   memory                 heap, mapped file, shared memory, foreign pointer: how each is got and given back
//!   register, locks        whose the references are; the process-wide locks, their order, and fork
//! bulk                     fill, copy, compare, byte order over raw pointers; several threads for large ones
//!   access                 elements in memory, checked against their number: what the kernels take
//!   cast                   copying with conversion, in steps, in memory that may overlap
//!   lanes                  the steps that have processor instructions of their own
//!   fill, compare, swap    the other kernels
//!   stream                 stores past the caches
//!   level, threads         what the processor can do; how many cores there are
//! t7                       the .t7 format: values to bytes and back
//!   reader, writer, tree   one value after the other; a whole file
//!   class, ascii           storages and tensors by name; numbers as text
//!   input, output          files and memory; a file that replaces another when it is whole
//! convert                  the rules from number to element; the small floats and booleans in files of their own
//! element                  the one list of element types
//! system                   files, pages, signals and cores: what is asked of the operating system
//! error                    what can go wrong, as facts
//! ```

#[cfg(not(all(unix, target_pointer_width = "64")))]
compile_error!("torch-storage needs a 64-bit Unix (Linux or macOS): it maps files with mmap and counts elements in 64 bits");

pub mod bulk;
pub mod convert;
pub mod element;
pub mod error;
pub mod storage;
mod system;
pub mod t7;

#[cfg(any(feature = "lua51", feature = "luajit"))]
mod lua;

pub use element::DType;
pub use error::Error;
pub use storage::Storage;
