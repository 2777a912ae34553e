//! Tests of the `.t7` format with trees of values: files of Torch7, arbitrary files, hostile files, and the memory that reading
//! takes. And tests of its parts: inputs, numbers as text, classes and shapes.

mod arbitrary;
mod ascii;
mod big_endian;
mod class;
#[path = "../counting/mod.rs"]
mod counting;
mod golden;
mod hostile;
mod input;
mod memory;
mod mutation;
mod property;
mod same;
mod shape;
mod sources;
mod tree;

use std::error::Error as AnyError;

use torch_storage::Error;
use torch_storage::t7::Encoding;

type Outcome = Result<(), Box<dyn AnyError>>;

/// Binary files of 32-bit machines.
const B32: Encoding = Encoding::Binary { long: 4, swapped: false };

/// The offset and the message of an error in a file.
fn fault<T>(result: Result<T, Error>) -> Option<(u64, String)> {
    match result {
        Err(Error::Malformed(malformed)) => Some((malformed.offset, malformed.to_string())),
        _ => None,
    }
}
