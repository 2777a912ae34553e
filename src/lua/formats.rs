//! Files of other programs: `torch.safetensors`, `torch.npy` and `torch.npz`. The cargo feature `formats` includes this folder, and
//! `lua/torch/formats.lua` makes the public tables.

use super::methods::Method;
use super::state::Name;

/// The tables of the module, each with its name and the lists of its functions.
pub const TABLES: [(Name, &[&[Method]]); 3] = [(c"safetensors", &[]), (c"npy", &[]), (c"npz", &[])];
