//! Loads and saves `.t7` files. The `read` and `write` methods of classes get open files, which are userdata.
//!
//! ```text
//! api                   torch.load, torch.save and similar functions, from the arguments to the closed file
//! medium                opens the file, string or storage of a task, and finishes it
//! elements, cuda        methods of a file for numbers, elements and bytes; functions for records of CUDA tensors
//! load, save            make Lua values from events; write Lua values to a file
//! storages              makes new storages, and reads and writes their elements in pieces
//! levels                the Lua values of the tables and objects that are not complete
//! path                  the path to the current value, for messages
//! open                  an open file, its Lua values, and the functions that work on it
//! task, writing         what a call has to do; the state of a file that is being written
//! ```
//!
//! A module uses only the modules below it. Values are loaded and saved without recursion: the tables and objects that are not
//! complete are in an array in Rust, and their Lua values are in a Lua table. The stack becomes deeper only if `read` or `write`
//! of a class loads or saves objects.

mod api;
mod cuda;
mod elements;
mod levels;
mod load;
mod medium;
mod open;
mod path;
mod save;
mod storages;
mod task;
mod writing;

use super::entry::{Answer, function, raising};
use super::methods::Method;
use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::file::File;
use open::{Block, file_method};

/// The methods of an open file. [`for_each_element_method`] has the others.
pub const METHODS: &[Method] = &[
    (c"readObject", file_method::<1, _>(load::read_object)),
    (c"writeObject", file_method::<1, _>(save::write_object)),
    (c"readString", file_method::<1, _>(elements::read_string)),
    (c"writeString", file_method::<1, _>(elements::write_string)),
    (c"position", function(position)),
    (c"__gc", function(close)),
];

/// The functions of the module. Some are public, and the others are for `lua/torch`.
pub const FUNCTIONS: &[Method] = &[
    (c"load", raising(api::load)),
    (c"save", raising(api::save)),
    (c"serialize", raising(api::serialize)),
    (c"deserialize", raising(api::deserialize)),
    (c"serializeToStorage", raising(api::serialize_to_storage)),
    (c"deserializeFromStorage", raising(api::deserialize_from_storage)),
    (c"setrecords", raising(api::set_records)),
    (c"t7elements", file_method::<1, _>(elements::storage)),
    (c"t7index", file_method::<2, _>(save::index)),
    (c"t7layout", file_method::<1, _>(save::layout)),
    (c"checktensor", function(cuda::check_tensor)),
    (c"gather", raising(cuda::gather)),
];

/// Calls `register` with the methods that read and write elements of a class: `readByte`, `writeByte` and so on.
pub fn for_each_element_method(dtype: DType, register: impl FnMut(Method)) {
    elements::methods(dtype).into_iter().flatten().for_each(register);
}

/// `file:position()`: the number of bytes that have been read or written.
fn position(call: Call) -> Result<Answer, Fault> {
    // SAFETY: [live] argument 1 stays in its slot during the call.
    let position = unsafe { Block::find_idle(call, 1) }?.with(|open| Ok(open.position()))?;
    Ok(Answer::Count(usize::try_from(position).unwrap_or(usize::MAX)))
}

/// `__gc` of a file: closes it if it is open. Does nothing with other values, which Lua code may pass.
fn close(call: Call) -> Result<Answer, Fault> {
    // SAFETY: [live] argument 1 stays in its slot during the call.
    if let Ok(block) = unsafe { Block::find(call, 1) } {
        block.close(call.state());
    }
    Ok(Answer::Nothing)
}
