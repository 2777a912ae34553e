//! Tensors: a storage that is seen in several dimensions. What is calculated from them is in `answers`.
//!
//! A [`Layout`] says where the elements of a tensor are: which element of the storage is the first one, and for each dimension its
//! size and its *stride*, the distance in the storage between neighbours along this dimension. All functions that return another
//! view of the same elements are functions from layout to layout, and touch no memory.
//!
//! ```text
//! elements of the storage  0  1  2  3  4  5            a layout of 2 x 3 with strides 3, 1   0 1 2
//!                                                                                            3 4 5
//!                                                      its transpose: 3 x 2 with strides 1, 3  0 3
//!                                                                                              1 4
//!                                                                                              2 5
//! ```
//!
//! Sizes, strides and offsets are in elements. Dimensions and indices count from 0, except in the functions of
//! `numbers.rs`, which read the numbers of a Lua program, and in errors.

mod axes;
mod contents;
mod elements;
mod layout;
mod numbers;
mod pairs;
mod parts;
mod shape;
mod view;

pub use contents::Tensor;
pub use elements::Elements;
pub use layout::Layout;
pub use numbers::checked_size;
pub use parts::Pieces;
pub use shape::Shape;
pub use view::Reshaped;
