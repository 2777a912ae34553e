//! The memory that reading takes is limited by the length of the headers in the file.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use torch_storage::Error;
use torch_storage::formats::{Opened, Source, npy, npz, safetensors};

use crate::counting::peak;
use crate::zip::{Entry, archive};
use crate::{Outcome, npy_file, safetensors_file};

/// The largest number of bytes of memory for a byte of a header, and in addition to that: the buffer for a record of a directory.
const BYTES_A_BYTE: usize = 5;
const BASE: usize = 300_000;

/// Reads a file, and checks the memory that this takes.
fn check(name: &str, bytes: &[u8], read: fn(&Source<'_>) -> Result<(), Error>) -> Outcome {
    let taken = peak(|| drop(read(&Source::of_bytes(Path::new(name), &bytes))));
    let most = BYTES_A_BYTE * bytes.len() + BASE;
    if taken <= most { Ok(()) } else { Err(format!("{name}: {taken} bytes for {}, {most} expected", bytes.len()).into()) }
}

fn read_safetensors(source: &Source<'_>) -> Result<(), Error> {
    safetensors::read(source).map(|_| ())
}

#[test]
fn the_most_expensive_headers_take_a_multiple_of_their_length() -> Outcome {
    let repeated = |part: &str| part.repeat(1_000_000 / part.len());
    let tensors: Vec<String> =
        (0..20_000).map(|name| format!(r#""{name:x}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#)).collect();
    let texts: Vec<String> = (0..100_000).map(|name| format!(r#""{name:x}":"""#)).collect();
    for (name, header) in [
        ("tensors", format!("{{{}}}", tensors.join(","))),
        ("numbers", format!(r#"{{"a":{{"x":[{}0]}}}}"#, repeated("0,"))),
        ("sizes", format!(r#"{{"a":{{"shape":[{}0]}}}}"#, repeated("0,"))),
        ("offsets", format!(r#"{{"a":{{"data_offsets":[{}0]}}}}"#, repeated("0,"))),
        ("strings", format!(r#"{{"a":{{"x":[{}0]}}}}"#, repeated("\"\","))),
        ("arrays", format!(r#"{{"a":{{"x":[{}0]}}}}"#, repeated("[],"))),
        ("brackets", format!(r#"{{"a":{{"x":{}"#, repeated("["))),
        ("name", format!(r#"{{"{}":1}}"#, repeated("a"))),
        ("escapes", format!(r#"{{"{}":1}}"#, repeated("\\u0061"))),
        ("dtype", format!(r#"{{"a":{{"dtype":"{}"}}}}"#, repeated("a"))),
        ("key", format!(r#"{{"a":{{"{}":1}}}}"#, repeated("a"))),
        ("text", format!(r#"{{"__metadata__":{{"a":"{}"}}}}"#, repeated("a"))),
    ] {
        check(name, &safetensors_file(header.as_bytes(), &[]), read_safetensors)?;
        check(name, header.as_bytes(), |source| safetensors::Index::read(source, Path::new("x")).map(|_| ()))?;
    }
    // Short names with empty texts take a pair of strings for 10 bytes.
    let metadata = safetensors_file(format!(r#"{{"__metadata__":{{{}}}}}"#, texts.join(",")).as_bytes(), &[]);
    let taken = peak(|| drop(read_safetensors(&Source::of_bytes(Path::new("metadata"), &metadata.as_slice()))));
    assert!(taken < 20 * metadata.len(), "{taken} for {}", metadata.len());
    Ok(())
}

#[test]
fn a_length_in_a_file_takes_no_memory() -> Outcome {
    let mut header = 99_999_999_u64.to_le_bytes().to_vec();
    header.extend(b"{}");
    check("a header of 100 MB", &header, read_safetensors)?;
    let shape = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }";
    check("an array of 4 TB", &npy_file(1, shape, &[]), |source| npy::read(source, None).map(|_| ()))?;
    let mut large = Entry::new("a.npy", &npy_file(1, shape, &[]));
    (large.stored, large.size) = (u32::MAX - 1, u32::MAX - 1);
    check("an entry of 4 GB", &archive(&[large], |_| {}), |source| npz::read(source, None).map(|_| ()))?;
    Ok(())
}

#[test]
fn a_sparse_file_of_100_gib_is_opened_by_its_header() -> Outcome {
    const BYTES: u64 = 100 << 30;
    let path = tempfile::tempdir()?.keep().join("sparse.safetensors");
    let mut file = File::create(&path)?;
    let header = format!(r#"{{"w":{{"dtype":"U8","shape":[{BYTES}],"data_offsets":[0,{BYTES}]}}}}"#);
    file.write_all(&safetensors_file(header.as_bytes(), &[]))?;
    file.set_len(8 + header.len() as u64 + BYTES)?;
    let mut result = None;
    let taken = peak(|| result = Some(Opened::safetensors(&path, false)));
    std::fs::remove_dir_all(path.parent().unwrap_or(&path))?;
    assert_eq!(result.ok_or("nothing was opened")??.members()[0].bytes(), BYTES);
    assert!(taken < 10_000, "{taken}");
    Ok(())
}
