//! The functions that Lua can call, a file for each subject. The lists of methods say which kind of function each is: see
//! [`entry`](super::entry).
//!
//! ```text
//! construct           the constructors, clone, sub, fromstring
//! from_table          the constructor from a table
//! files               constructors of mapped files; flush, advise, check
//! buffer              frombuffer, buffer: storages over the memory of other values
//! element             s[i], s[i] = v, #s, get, set
//! exact               one element with all its bits: exact, decimal
//! contents            all elements: fill, zero, copy, rawcopy, byteswap, equal
//! transfer            elements as Lua values and back: totable, unpack, iter, string
//! casts               storages of another class: type, view and the method of each class
//! resize              resize, reserve
//! inspect             sizes, kind of memory, addresses, device; pin
//! references          retain, free, __gc, __eq
//! sharing             shared memory, tokens, publications
//! module              functions of the module
//! ```

pub mod buffer;
pub mod casts;
pub mod construct;
pub mod contents;
pub mod element;
pub mod exact;
pub mod files;
pub mod from_table;
pub mod inspect;
pub mod module;
pub mod references;
pub mod resize;
pub mod sharing;
pub mod transfer;

pub use super::entry::Method;
use super::picking;
use crate::element::DType;

/// Calls `register` with every method and metamethod of a class.
pub fn for_each(dtype: DType, mut register: impl FnMut(Method)) {
    let shared = [
        buffer::METHODS,
        casts::METHODS,
        construct::METHODS,
        contents::METHODS,
        exact::METHODS,
        files::METHODS,
        inspect::METHODS,
        picking::METHODS,
        references::METHODS,
        resize::METHODS,
        sharing::METHODS,
        transfer::METHODS,
    ];
    let of_some_luas = references::CLOSE.into_iter().chain(transfer::PAIRS.into_iter().flatten());
    shared
        .into_iter()
        .flatten()
        .copied()
        .chain(casts::casts())
        .chain(element::methods(dtype))
        .chain(of_some_luas)
        .for_each(&mut register);
    #[cfg(feature = "answers")]
    super::answers::for_storages(dtype, register);
}
