//! A property of any bytes: they are not a tree, or the tree is the same after it is written and read again. The tests and the
//! fuzzer in `fuzz/` use it.

use torch_storage::Error;
use torch_storage::output::Output;
use torch_storage::t7::{Encoding, Reader, Writer};

use crate::tree::Tree;

/// The encodings, by the low three bits of a selector. `None` means that the first bytes decide.
pub const ENCODINGS: [Option<Encoding>; 6] = [
    Some(Encoding::NATIVE),
    Some(Encoding::Binary { long: 4, swapped: false }),
    Some(Encoding::Binary { long: 8, swapped: true }),
    Some(Encoding::Binary { long: 4, swapped: true }),
    Some(Encoding::Ascii),
    None,
];

/// The bit of a selector that turns references off: an index that occurs again is a new object.
pub const UNREFERENCED: u8 = 0x80;

/// The bit of a selector that keeps the order of keys, so that fewer pairs are read at once.
pub const ORDERED: u8 = 0x40;

/// Reads an object.
pub fn read(bytes: &[u8], encoding: Encoding, referenced: bool) -> Result<Tree, Error> {
    read_with(bytes, encoding, referenced, false)
}

fn read_with(bytes: &[u8], encoding: Encoding, referenced: bool, ordered: bool) -> Result<Tree, Error> {
    let mut reader = Reader::new(bytes.to_vec().into(), encoding, referenced);
    if ordered {
        reader.keep_order();
    }
    Tree::read(&mut reader)
}

/// The bytes of a tree.
pub fn write(tree: &Tree, encoding: Encoding) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(Output::to_memory(), encoding);
    tree.write(&mut writer)?;
    writer.finish()?;
    Ok(writer.memory().to_vec())
}

/// Whether `data`, a selector and the bytes of a file, is a tree. An error is a violation of the property.
pub fn check(data: &[u8]) -> Result<bool, String> {
    let Some((&selector, bytes)) = data.split_first() else { return Ok(false) };
    let chosen = ENCODINGS[usize::from(selector & 7) % ENCODINGS.len()];
    let Some(encoding) = chosen.or_else(|| Encoding::detect(bytes)) else { return Ok(false) };
    let tree = match read_with(bytes, encoding, selector & UNREFERENCED == 0, selector & ORDERED != 0) {
        Ok(tree) => tree,
        Err(Error::Malformed(malformed)) if malformed.offset > u64::try_from(bytes.len()).unwrap_or(0) => {
            return Err(format!("wrong at byte {} of {}", malformed.offset, bytes.len()));
        }
        Err(Error::Malformed(malformed)) if malformed.to_string().is_empty() => return Err("no message".to_owned()),
        Err(Error::Malformed(_)) => return Ok(false),
        // Any other error means that the reader has trusted a length: memory for it was not there.
        Err(error) => return Err(format!("reading: {error}")),
    };
    // Files are written only in this machine's byte order.
    let own = match encoding {
        Encoding::Binary { long, .. } => Encoding::Binary { long, swapped: false },
        Encoding::Ascii => Encoding::Ascii,
    };
    let written = write(&tree, own).map_err(|error| format!("writing what was read: {error}"))?;
    let again = read(&written, own, true).map_err(|error| format!("reading what was written: {error}"))?;
    if !again.is_same(&tree).map_err(|error| error.to_string())? {
        return Err("another tree after writing and reading".to_owned());
    }
    let rewritten = write(&again, own).map_err(|error| format!("writing again: {error}"))?;
    if rewritten == written { Ok(true) } else { Err("other bytes after writing again".to_owned()) }
}
