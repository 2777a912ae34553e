//! Tensors: layouts and views without memory, and operations on the elements of strided tensors.

mod contents;
mod errors;
mod model;
mod numpy;
mod table;
