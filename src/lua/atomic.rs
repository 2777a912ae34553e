//! `torch.atomic`: single elements that several threads and processes access at once. `docs/atomic.md` describes it.
//!
//! ```text
//! access      the functions that read and write an element
//! wait        wait and notify
//! direct      the same as access for LuaJIT's FFI, which lua/torch/atomic.lua calls
//! argument    the storage and the index
//! ```

mod access;
mod argument;
mod direct;
mod wait;

use super::methods::Method;
use super::state::Name;
pub use direct::functions as direct;

/// The tables of the module. `lua/torch/atomic.lua` makes the public ones of them.
pub const TABLES: [(Name, &[Method]); 3] =
    [(c"atomic", &access::FUNCTIONS), (c"atomicexact", &access::EXACT), (c"atomicwait", wait::FUNCTIONS)];
