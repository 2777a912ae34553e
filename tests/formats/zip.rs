//! Zip archives, right and wrong ones.

use crc32fast::hash;

/// An entry of an archive. The fields are what the records say.
pub struct Entry {
    pub name: Vec<u8>,
    pub data: Vec<u8>,
    pub method: u16,
    pub flags: u16,
    pub stored: u32,
    pub size: u32,
    pub checksum: u32,
    /// Where the directory says that the entry begins; `None` for where it does.
    pub begin: Option<u32>,
    pub extra: Vec<u8>,
}

impl Entry {
    /// A stored entry.
    pub fn new(name: &str, data: &[u8]) -> Self {
        let size = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let name = name.as_bytes().to_vec();
        let checksum = hash(data);
        Self { name, data: data.to_vec(), method: 0, flags: 0x800, stored: size, size, checksum, begin: None, extra: Vec::new() }
    }
}

/// The end record of an archive.
#[derive(Clone, Copy)]
pub struct End {
    pub disk: u16,
    pub first_disk: u16,
    pub here: u16,
    pub entries: u16,
    pub size: u32,
    pub start: u32,
    pub comment: u16,
}

/// An archive of entries, whose end record `change` may change.
pub fn archive(entries: &[Entry], change: impl FnOnce(&mut End)) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let begin = entry.begin.unwrap_or(u32::try_from(file.len()).unwrap_or(u32::MAX));
        let name = u16::try_from(entry.name.len()).unwrap_or(u16::MAX).to_le_bytes();
        let extra = u16::try_from(entry.extra.len()).unwrap_or(u16::MAX).to_le_bytes();
        let mut shared = [20, entry.flags, entry.method, 0, 33].map(u16::to_le_bytes).concat();
        shared.extend([entry.checksum, entry.stored, entry.size].map(u32::to_le_bytes).concat());
        file.extend([b"PK\x03\x04", shared.as_slice(), &name, &[0, 0], &entry.name, &entry.data].concat());
        let tail = [[0; 8].as_slice(), &[0; 2], &begin.to_le_bytes(), &entry.name, &entry.extra].concat();
        directory.extend([b"PK\x01\x02", [20, 0].as_slice(), &shared, &name, &extra, &tail].concat());
    }
    let count = u16::try_from(entries.len()).unwrap_or(u16::MAX);
    let size = u32::try_from(directory.len()).unwrap_or(u32::MAX);
    let start = u32::try_from(file.len()).unwrap_or(u32::MAX);
    let mut end = End { disk: 0, first_disk: 0, here: count, entries: count, size, start, comment: 0 };
    change(&mut end);
    file.extend(directory);
    file.extend(b"PK\x05\x06");
    file.extend([end.disk, end.first_disk, end.here, end.entries].map(u16::to_le_bytes).concat());
    file.extend([end.size, end.start].map(u32::to_le_bytes).concat());
    file.extend(end.comment.to_le_bytes());
    file
}
