//! Loading and saving `.t7` files, and the open files that `read` and `write` of a class get.
//!
//! ```text
//! whole                 torch.load, torch.save and their like: from the arguments to the closed file
//! opening               opening a file for a request, and ending it
//! elements, tensors     methods of files for numbers, elements and strings; what the Lua side asks about tensors
//! load, save            Lua values from events; Lua values to a file
//! pace                  from time to time: the host may interrupt, and the progress function is called
//! path                  how a message names the value in hand
//! slots                 the Lua values of the tables and objects that are not complete yet
//! guard                 protected calls of the functions that work on an open file
//! block                 the open file as a userdata
//! request, writing      what a call asks for; what is known while a file is written
//! ```
//!
//! Each may use those below it. Values are built and taken apart without recursion: the levels of tables and objects that are not
//! whole are an array in Rust, next to a table of their Lua values. Only `read` and `write` of a class, which load and save inside,
//! make the stack deeper.

mod block;
mod elements;
mod guard;
mod load;
mod opening;
mod pace;
mod path;
mod request;
mod save;
mod slots;
mod tensors;
mod whole;
mod writing;

use super::entry::{Answer, functions};
use super::methods::Method;
use crate::element::DType;
use block::{block_at, bytes_as_number, idle_block};

/// What a file in Lua's hands can do, apart from [`for_each_element_method`].
pub const METHODS: &[Method] = &[
    (c"readObject", load::read_object),
    (c"writeObject", save::write_object),
    (c"readString", elements::read_string),
    (c"writeString", elements::write_string),
    (c"position", position),
    (c"__gc", close),
];

/// The functions of the module, and what its Lua side calls.
pub const FUNCTIONS: &[Method] = &[
    (c"load", whole::load),
    (c"save", whole::save),
    (c"serialize", whole::serialize),
    (c"deserialize", whole::deserialize),
    (c"serializeToStorage", whole::serialize_to_storage),
    (c"deserializeFromStorage", whole::deserialize_from_storage),
    (c"setrecords", whole::set_records),
    (c"t7elements", elements::storage),
    (c"t7index", save::index),
    (c"checktensor", tensors::check_tensor),
    (c"gather", tensors::gather),
];

/// Calls `register` with the functions that read and write elements of a class: `readByte`, `writeByte` and so on.
pub fn for_each_element_method(dtype: DType, register: impl FnMut(Method)) {
    elements::methods(dtype).into_iter().flatten().for_each(register);
}

functions! {
    /// `file:position()`: how many bytes were read or written so far.
    fn position(call) {
        let position = idle_block(call, 1)?.with(|open| Ok(open.position()))?;
        Ok(Answer::Number(bytes_as_number(position)))
    }

    /// `__gc` of a file: gives it up if it is still open. Does nothing with other values, which Lua code may pass.
    fn close(call) {
        if let Ok(block) = block_at(call, 1) {
            block.close(call.state());
        }
        Ok(Answer::Nothing)
    }
}
