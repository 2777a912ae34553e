//! Nested tables of numbers as tensors, and tensors as nested tables.

use super::making::Made;
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::methods::Method;
use crate::lua::state::Raising;

/// The methods of this file.
pub const METHODS: &[Method] = &[];

/// Makes room on the stack for the tables of a nested table.
pub fn make_room(lua: Raising, call: Call) {
    let _ = (lua, call);
}

/// `torch.TYPETensor(rows)`: the numbers of a nested table.
pub fn from_rows(call: Call) -> Result<Made, Fault> {
    Err(call.mismatch(1, "sizes"))
}
