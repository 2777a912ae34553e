//! Numbers as text, as C's `printf` and `scanf` have them: what the ascii form of a .t7 file is made of.
//!
//! `print` writes, `scan` reads, `powers` has the powers of ten that writing multiplies with.

mod powers;
mod print;
mod scan;
#[cfg(test)]
mod tests;

pub use print::{LONGEST, put_f32, put_f64, put_i64};
pub use scan::{f32_at, f64_at, i64_at};
