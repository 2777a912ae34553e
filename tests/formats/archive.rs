//! The records of large archives, compared with those of Python, and read.

use std::error::Error as AnyError;
use std::fmt::Write;
use std::os::unix::fs::FileExt;

use torch_storage::DType;
use torch_storage::formats::npz::{Archive, Completion};
use torch_storage::formats::{Source, npy, npz};
use torch_storage::tensor::Layout;

use crate::{Outcome, data};

/// The entries in a field of the table: their names and sizes.
fn entries(field: &str) -> Result<Vec<(String, u64)>, Box<dyn AnyError>> {
    if let Ok(count) = field.parse::<usize>() {
        return Ok((0..count).map(|number| (format!("{number:05x}"), 192)).collect());
    }
    let pairs = field.split_terminator(',').map(|entry| entry.split_once('=').ok_or_else(|| entry.to_owned()));
    pairs.map(|pair| pair.map_err(Into::into).and_then(|(name, size)| Ok((name.to_owned(), size.parse()?)))).collect()
}

/// How the table shows bytes.
fn shown(bytes: &[u8]) -> String {
    if bytes.len() >= 4000 {
        return format!("crc32 {:08x}", crc32fast::hash(bytes));
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[test]
fn the_records_are_those_of_python() -> Outcome {
    let text = std::fs::read_to_string(data("npz_records.tsv"))?;
    let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows.len(), 7);
    for row in rows {
        let [entries_field, headers, directory] = *row.split('\t').collect::<Vec<_>>() else { return Err(row.into()) };
        let mut archive = Archive::new(true);
        let (mut written, mut position) = (Vec::new(), 0);
        for (index, (name, size)) in entries(entries_field)?.into_iter().enumerate() {
            let mut header = archive.add(&name, size)?;
            let length = header.len() as u64;
            let checksum = u32::try_from(0x0102_0304 + index)?;
            let Completion::Replace(at, bytes) = archive.complete(index, checksum) else { return Err("a record follows".into()) };
            let at = usize::try_from(at - position)?;
            header[at..at + 4].copy_from_slice(&bytes);
            written.extend(header);
            position += length + size;
        }
        assert_eq!(shown(&written), headers, "{entries_field}");
        assert_eq!(shown(&archive.directory()?), directory, "{entries_field}");
        assert_eq!(archive.length(), position + archive.directory()?.len() as u64);
    }
    Ok(())
}

/// A sparse file with entries of these sizes, which are more than 4 GiB.
#[test]
fn large_archives_are_read() -> Outcome {
    let sizes = [5 << 30, 1, 3 << 30, 6 << 30];
    for is_changeable in [true, false] {
        let path = tempfile::NamedTempFile::new()?;
        let mut archive = Archive::new(is_changeable);
        let (mut position, mut begins) = (0, Vec::new());
        for (index, &size) in sizes.iter().enumerate() {
            let (header, _) = npy::header(DType::Byte, &Layout::contiguous(&[size])?)?;
            let bytes = header.len() as u64 + size as u64;
            let record = archive.add(&index.to_string(), bytes)?;
            let start = [record, header].concat();
            path.as_file().write_all_at(&start, position)?;
            begins.push(position + start.len() as u64);
            position += start.len() as u64 + size as u64;
            match archive.complete(index, 7) {
                Completion::Replace(at, bytes) => path.as_file().write_all_at(&bytes, at)?,
                Completion::Append(bytes) => {
                    path.as_file().write_all_at(&bytes, position)?;
                    position += bytes.len() as u64;
                }
            }
        }
        path.as_file().write_all_at(&archive.directory()?, position)?;
        assert_eq!(path.as_file().metadata()?.len(), archive.length());
        let read = npz::read(&Source::of_file(path.path(), path.as_file())?, None)?.arrays;
        assert_eq!(read.len(), sizes.len());
        for ((entry, &size), begin) in read.iter().zip(&sizes).zip(begins) {
            assert_eq!(entry.array.layout.sizes(), [size], "{is_changeable}");
            assert_eq!(entry.array.data, begin..begin + size as u64, "{is_changeable}");
        }
    }
    Ok(())
}

#[test]
fn what_an_archive_cannot_have_is_refused() -> Outcome {
    let mut archive = Archive::new(true);
    let longest = "x".repeat(65_531);
    archive.add(&longest, 1)?;
    for (name, size, why) in [
        (longest + "x", 1, "at most 65,531 bytes"),
        ("a\0b".to_owned(), 1, "ends at a zero byte"),
        ("a".to_owned(), u64::MAX, "more than 2^62 bytes"),
        ("a".to_owned(), 1 << 62, "more than 2^62 bytes"),
    ] {
        let message = archive.add(&name, size).map_err(|error| error.to_string()).err().unwrap_or_default();
        assert!(message.starts_with("an npz file cannot have the tensor '") && message.contains(why), "{message}");
    }
    Ok(())
}
