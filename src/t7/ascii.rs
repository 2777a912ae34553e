//! Numbers as text, for ascii `.t7` files. `print` writes them like C's `printf`, and `scan` reads them like C's `scanf`. `powers`
//! has the powers of ten that `print` multiplies by.

mod powers;
mod print;
mod scan;

pub use print::{LONGEST, put_f32, put_f64, put_i64};
pub use scan::{f32_at, f64_at, i64_at};
