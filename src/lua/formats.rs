//! Files of other programs: `torch.safetensors`, `torch.npy` and `torch.npz`. The cargo feature `formats` includes this folder, and
//! `lua/torch/formats.lua` makes the public tables.
//!
//! ```text
//! object       torch.safetensors.open, and the methods of its result
//! load         torch.safetensors.load, torch.npy.load and torch.npz.load
//! save         torch.safetensors.save, torch.npy.save and torch.npz.save
//! open         a file that is open for loading, and its Lua values
//! task         what a call has to do, by its arguments
//! ```
//!
//! A module uses only the modules below it.

mod load;
mod object;
mod open;
mod save;
mod task;

use super::methods::Method;
use super::state::Name;
use crate::lua::entry::raising;

pub use object::METHODS;

/// The tables of the module, each with its name and its functions.
pub const TABLES: [(Name, &[Method]); 3] = [
    (
        c"safetensors",
        &[(c"load", raising(load::safetensors)), (c"open", raising(object::open)), (c"save", raising(save::safetensors))],
    ),
    (c"npy", &[(c"load", raising(load::npy)), (c"save", raising(save::npy))]),
    (c"npz", &[(c"load", raising(load::npz)), (c"save", raising(save::npz))]),
];
