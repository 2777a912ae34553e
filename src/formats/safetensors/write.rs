//! The header of a safetensors file, byte for byte as the reference writes it, apart from the order of the metadata.

use super::super::source::bytes_of;
use super::json::METADATA;
use super::{FileDType, LONGEST, PREFIX};
use crate::element::DType;
use crate::error::Error;

/// What an error calls the format.
const FORMAT: &str = "a safetensors file";

/// The beginning of a file, and the order in which the elements of the tensors follow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The length of the header and the header.
    pub header: Vec<u8>,
    /// The positions of the tensors in the list that was given. Their elements follow the header in this order, without gaps.
    pub order: Vec<usize>,
}

/// Plans a file of tensors, each with its name, its dtype and its sizes, and of metadata.
///
/// As in the reference, the tensors are sorted by dtype, the widest first, and then by name, and spaces fill the header to a
/// multiple of 8 bytes. The metadata is sorted by name. The reference does not sort it, and writes broken JSON if it is empty;
/// here a file with empty metadata has none.
///
/// # Errors
/// [`Error::NotInFormat`] for a name that is there twice or that the format uses itself, for a dtype that the format does not
/// have, and for a header that no reader accepts.
pub fn plan(tensors: &[(&str, DType, &[usize])], metadata: &[(&str, &str)]) -> Result<Plan, Error> {
    let mut sorted = Vec::with_capacity(tensors.len());
    for (index, &(name, dtype, sizes)) in tensors.iter().enumerate() {
        let refuse = |why| Error::NotInFormat { format: FORMAT, name: name.into(), why };
        if name == METADATA {
            return Err(refuse("the name is that of the metadata"));
        }
        let dtype = FileDType::of(dtype).ok_or_else(|| refuse("the format has no dtype for complex numbers of 16 bytes"))?;
        sorted.push((dtype, name, sizes, index));
    }
    sorted.sort_by(|(a_dtype, a_name, ..), (b_dtype, b_name, ..)| b_dtype.cmp(a_dtype).then(a_name.cmp(b_name)));
    let mut header = b"{".to_vec();
    let mut begin = 0_u64;
    if !metadata.is_empty() {
        let mut metadata = metadata.to_vec();
        metadata.sort_unstable();
        let entries: Vec<String> = metadata.iter().map(|(name, text)| format!("{}:{}", json(name), json(text))).collect();
        header.extend(format!("{}:{{{}}}", json(METADATA), entries.join(",")).as_bytes());
    }
    for &(dtype, name, sizes, _) in &sorted {
        let comma = if header.len() > 1 { "," } else { "" };
        let end = bytes_of(sizes, dtype.bits()).ok().and_then(|bytes| begin.checked_add(bytes));
        let end = end.filter(|&end| i64::try_from(end).is_ok()).ok_or_else(|| {
            let why = "the file would have more than 2^63-1 bytes";
            Error::NotInFormat { format: FORMAT, name: name.into(), why }
        })?;
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let (dtype, sizes) = (dtype.name(), sizes.join(","));
        let entry = format!(r#"{comma}{}:{{"dtype":"{dtype}","shape":[{sizes}],"data_offsets":[{begin},{end}]}}"#, json(name));
        header.extend(entry.as_bytes());
        begin = end;
    }
    header.push(b'}');
    header.resize(header.len().next_multiple_of(8), b' ');
    let length = header.len() as u64;
    let last = sorted.last().map_or("", |&(_, name, ..)| name);
    if length > LONGEST {
        let why = "the header would have more than 100,000,000 bytes";
        return Err(Error::NotInFormat { format: FORMAT, name: last.into(), why });
    }
    let mut names: Vec<&str> = sorted.iter().map(|&(_, name, ..)| name).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::NotInFormat { format: FORMAT, name: pair[0].into(), why: "another tensor has this name" });
    }
    debug_assert_eq!(PREFIX, length.to_le_bytes().len() as u64);
    header.splice(0..0, length.to_le_bytes());
    Ok(Plan { header, order: sorted.into_iter().map(|(.., index)| index).collect() })
}

/// A text as a JSON string.
fn json(text: &str) -> String {
    // Writing a string to memory cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}
