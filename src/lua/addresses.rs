//! Whether the programs of a Lua state get raw addresses, and may give them. A Rust program can hide them from its scripts.

use super::args::Call;
use super::context::Context;
use super::fault::Fault;

/// Whether the functions of this Lua state take and give no addresses.
pub fn are_hidden(call: Call) -> bool {
    Context::of(call.state()).shared().hides_addresses.get()
}

/// Fails if addresses are hidden. Every function that takes or gives an address calls this first.
pub fn expect_shown(call: Call) -> Result<(), Fault> {
    if are_hidden(call) { Err(Fault::new(HIDDEN)) } else { Ok(()) }
}

/// The error for an address although addresses are hidden.
pub const HIDDEN: &str = "the host program gives its scripts no raw addresses, and takes none from them";
