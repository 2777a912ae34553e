//! Hostile npz files.

use std::path::Path;

use torch_storage::formats::{Source, npz};

use crate::hostile::Case;
use crate::zip::{End, Entry, archive};

/// An npy file of two floats.
fn array() -> Vec<u8> {
    crate::npy_file(1, b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", &[0; 8])
}

/// An archive with the arrays `a` and `b`. The second one is changed.
fn changed(change: impl FnOnce(&mut Entry)) -> Vec<u8> {
    let mut second = Entry::new("b.npy", &array());
    change(&mut second);
    archive(&[Entry::new("a.npy", &array()), second], |_| {})
}

/// An archive with the arrays `a` and `b`, whose end record is changed.
fn ended(change: impl FnOnce(&mut End)) -> Vec<u8> {
    archive(&[Entry::new("a.npy", &array()), Entry::new("b.npy", &array())], change)
}

/// The same with a large end record (`here`, `entries`, `size` and `start`) and its locator before the end record.
fn large(change: impl FnOnce(&mut [u64; 4]), locator: impl FnOnce(u64) -> u64) -> Vec<u8> {
    let mut numbers = [0; 4];
    let whole = archive(&[Entry::new("a.npy", &array())], |end| {
        numbers = [1, 1, u64::from(end.size), u64::from(end.start)];
        (end.here, end.entries, end.size, end.start) = (u16::MAX, u16::MAX, u32::MAX, u32::MAX);
    });
    change(&mut numbers);
    let (front, end) = whole.split_at(whole.len() - 22);
    let mut file = front.to_vec();
    file.extend([b"PK\x06\x06".as_slice(), &44_u64.to_le_bytes(), &[45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat());
    file.extend(numbers.map(u64::to_le_bytes).concat());
    let at = locator(front.len() as u64);
    file.extend([b"PK\x06\x07".as_slice(), &[0; 4], &at.to_le_bytes(), &[1, 0, 0, 0], end].concat());
    file
}

#[test]
fn the_archives_that_are_changed_here_are_right_before() -> crate::Outcome {
    for (file, count) in [(changed(|_| {}), 2), (ended(|_| {}), 2), (large(|_| {}, |at| at), 1)] {
        let slice = file.as_slice();
        let source = Source::of_bytes(Path::new("x.npz"), &slice);
        let entries = npz::read(&source, None)?.arrays;
        assert_eq!(entries.len(), count);
        for entry in &entries {
            npz::check(&source, entry)?;
        }
    }
    Ok(())
}

#[test]
fn arrays_are_in_the_order_of_their_names() -> crate::Outcome {
    let names = ["b.npy", "a.npy", "a-b.npy", "a/b.npy", ".npy"];
    let file = archive(&names.map(|name| Entry::new(name, &array())), |_| {});
    let slice = file.as_slice();
    let entries = npz::read(&Source::of_bytes(Path::new("x.npz"), &slice), None)?.arrays;
    let names: Vec<_> = entries.iter().map(|entry| str::from_utf8(&entry.name)).collect::<Result<_, _>>()?;
    assert_eq!(names, ["", "a", "a-b", "a/b", "b"]);
    Ok(())
}

#[test]
fn an_archive_may_have_long_records() -> crate::Outcome {
    // The directory is longer than what is read at once.
    let names: Vec<_> = (0..300).map(|number| format!("{number:03}{}", "n".repeat(1000))).collect();
    let many = archive(&names.iter().map(|name| Entry::new(name, &array())).collect::<Vec<_>>(), |_| {});
    // The longest comment, and one that is as long as what is searched first.
    let commented = |bytes: u16| [ended(|end| end.comment = bytes), vec![b' '; usize::from(bytes)]].concat();
    let size = array().len() as u64;
    let other_field = [2, 0, 3, 0, 7, 7, 7];
    let extra = [other_field.as_slice(), &[1, 0, 24, 0], &size.to_le_bytes(), &size.to_le_bytes(), &0_u64.to_le_bytes()].concat();
    let mut first = Entry::new("a", &array());
    (first.stored, first.size, first.begin, first.extra) = (u32::MAX, u32::MAX, Some(u32::MAX), extra);
    let wide = archive(&[first], |_| {});
    for (file, count) in [(many, 300), (commented(65_535), 2), (commented(1024), 2), (commented(1002), 2), (wide, 1)] {
        assert!(crate::property::check_npz(&file)?);
        let slice = file.as_slice();
        let source = Source::of_bytes(Path::new("x.npz"), &slice);
        let arrays = npz::read(&source, None)?.arrays;
        assert_eq!(arrays.len(), count);
        for entry in &arrays {
            npz::check(&source, entry)?;
        }
    }
    Ok(())
}

/// The names of the arrays of an archive, and those of its other entries.
fn names(entries: &[Entry]) -> Result<(String, String), Box<dyn std::error::Error>> {
    let file = archive(entries, |_| {});
    let slice = file.as_slice();
    let source = Source::of_bytes(Path::new("x.npz"), &slice);
    let contents = npz::read(&source, None)?;
    for entry in &contents.arrays {
        npz::check(&source, entry)?;
    }
    let arrays: Vec<_> = contents.arrays.into_iter().map(|entry| entry.name).collect();
    Ok((String::from_utf8(arrays.join(&b' '))?, String::from_utf8(contents.others.join(&b' '))?))
}

#[test]
fn an_array_needs_no_npy_at_the_end_of_its_name() -> crate::Outcome {
    let text = |name: &str| Entry::new(name, b"hello, world");
    let array = |name: &str| Entry::new(name, &array());
    let found = names(&[text("read.me"), array("b.npy"), array("a"), array("c.npy.txt"), Entry::new("empty", b""), text(".np")])?;
    assert_eq!(found, ("a b c.npy.txt".to_owned(), ".np empty read.me".to_owned()));
    // An entry that only begins like an array says so.
    let message = names(&[Entry::new("a", b"\x93NUMPY\x09\x00")]).map_err(|error| error.to_string()).err().unwrap_or_default();
    assert!(message.contains("(entry 'a'): version 1.0, 2.0 or 3.0"), "{message}");
    Ok(())
}

#[test]
fn two_arrays_whose_names_differ_by_npy_are_both_there() -> crate::Outcome {
    let found = |entries: &[&str]| names(&entries.iter().map(|name| Entry::new(name, &array())).collect::<Vec<_>>());
    assert_eq!(found(&["a.npy", "a"])?.0, "a a.npy");
    assert_eq!(found(&["a.npy", "a.npy.npy", "a-", "a"])?.0, "a a- a.npy a.npy.npy");
    // What `torch.npz.save` writes for the names `a` and `a.npy`.
    assert_eq!(found(&["a.npy", "a.npy.npy"])?.0, "a a.npy");
    assert_eq!(found(&["", ".npy", ".npy.npy"])?.0, " .npy .npy.npy");
    let other = names(&[Entry::new("a", b"text"), Entry::new("a.npy", &array())])?;
    assert_eq!(other, ("a".to_owned(), "a".to_owned()));
    Ok(())
}

#[test]
fn a_checksum_that_is_not_that_of_the_data_is_noticed() -> crate::Outcome {
    let file = changed(|entry| entry.checksum ^= 1);
    let slice = file.as_slice();
    let source = Source::of_bytes(Path::new("x.npz"), &slice);
    let entries = npz::read(&source, None)?.arrays;
    assert!(npz::check(&source, &entries[0]).is_ok());
    let message = npz::check(&source, &entries[1]).map_err(|error| error.to_string()).err().unwrap_or_default();
    assert!(message.contains("(entry 'b.npy'): the checksum of the entry is"), "{message}");
    Ok(())
}

pub fn cases() -> Vec<Case> {
    let good = ended(|_| {});
    let with = |front: &[u8], file: &[u8], back: &[u8]| [front, file, back].concat();
    let mut no_record = good.clone();
    let directory = good.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap_or(0);
    no_record[directory] = b'Q';
    // The last record has a name of one byte more than the directory.
    let mut cut_name = good.clone();
    cut_name[good.len() - 22 - 5 - 18] = 6;
    let mut cut_record = good[..good.len() - 22].to_vec();
    cut_record.extend([0; 45]);
    cut_record.extend(&good[good.len() - 22..]);
    let size = good.len() - 22 - directory + 45;
    let at = cut_record.len() - 10;
    cut_record[at..at + 4].copy_from_slice(&u32::try_from(size).unwrap_or(0).to_le_bytes());
    let mut no_local = good.clone();
    no_local[0] = b'Q';
    let wide = [[1, 0, 8, 0].as_slice(), &[0xff; 8]].concat();
    vec![
        ("empty.npz", Vec::new(), "this is not an npz file"),
        ("other.npz", array(), "this is not an npz file"),
        ("no_end.npz", good[..good.len() - 22].to_vec(), "the end record is missing or cut"),
        ("cut_end.npz", good[..good.len() - 1].to_vec(), "the end record is missing or cut"),
        ("cut_front.npz", good[1..].to_vec(), "the end record says"),
        ("front.npz", with(b"#!/bin/sh\n", &good, b""), "the end record"),
        ("behind.npz", with(b"", &good, b"x"), "1 byte follows the archive"),
        ("two.npz", with(&good, &good, b""), "the end record"),
        ("comment.npz", ended(|end| end.comment = 10), "the comment of the archive expected (10 bytes), but 0 bytes are left"),
        ("disk.npz", ended(|end| end.disk = 1), "a part of one in several files"),
        ("first_disk.npz", ended(|end| end.first_disk = 1), "a part of one in several files"),
        ("one_here.npz", ended(|end| end.here = 1), "a part of one in several files"),
        ("too_few.npz", ended(|end| (end.here, end.entries) = (1, 1)), "has 1 entries, and it has 2"),
        ("too_many.npz", ended(|end| (end.here, end.entries) = (3, 3)), "has 3 entries, and it has 2"),
        ("none.npz", ended(|end| (end.here, end.entries) = (0, 0)), "has 0 entries, and it has 2"),
        ("short_directory.npz", ended(|end| end.size -= 1), "the end record says that the directory has"),
        ("long_directory.npz", ended(|end| end.size += 1), "the end record says that the directory has"),
        ("huge_directory.npz", ended(|end| end.size = u32::MAX), "the end record says that the directory has"),
        ("late_directory.npz", ended(|end| end.start += 1), "the end record says that the directory has"),
        ("directory_inside.npz", ended(|end| (end.start, end.size) = (end.start + 4, end.size - 4)), "the directory"),
        ("directory_of_nothing.npz", ended(|end| (end.start, end.size) = (end.start + end.size, 0)), "the directory"),
        ("directory_outside.npz", ended(|end| end.start = u32::MAX - 1), "the end record"),
        ("no_record.npz", no_record, "the directory has no record there"),
        ("cut_record.npz", cut_record, "a record of the archive is cut"),
        ("cut_name.npz", cut_name, "a record of the archive is cut"),
        ("no_local_header.npz", no_local, "(entry 'a.npy'): the entry has no header there"),
        ("twice.npz", changed(|entry| entry.name = b"a.npy".to_vec()), "(entry 'a.npy'): the name 'a.npy' is there twice"),
        ("same_place.npz", changed(|entry| entry.begin = Some(0)), "the entry overlaps"),
        ("overlap.npz", changed(|entry| entry.begin = Some(8)), "overlaps"),
        ("in_the_directory.npz", changed(|entry| entry.begin = Some(350)), "overlaps the directory"),
        ("outside.npz", changed(|entry| entry.begin = Some(u32::MAX - 1)), "overlaps the directory"),
        ("large_entry.npz", changed(|entry| (entry.stored, entry.size) = (120, 120)), "overlaps the directory"),
        (
            "huge_entry.npz",
            changed(|entry| (entry.stored, entry.size) = (1 << 31, 1 << 31)),
            "the entry expected (2147483648 bytes)",
        ),
        ("wide_entry.npz", changed(|entry| (entry.stored, entry.size, entry.extra) = (u32::MAX, 90, wide)), "(entry 'b.npy')"),
        ("two_sizes.npz", changed(|entry| entry.size += 1), "(entry 'b.npy'): a stored entry has one size"),
        ("deflated.npz", changed(|entry| entry.method = 8), "(entry 'b.npy'): the entry is compressed: save it with numpy.savez"),
        ("method_12.npz", changed(|entry| entry.method = 12), "(entry 'b.npy'): the entry is compressed by method 12"),
        ("method_99.npz", changed(|entry| entry.method = 99), "method 99"),
        ("encrypted.npz", changed(|entry| entry.flags |= 1), "(entry 'b.npy'): the entry is encrypted"),
        ("strongly_encrypted.npz", changed(|entry| entry.flags |= 0x40), "the entry is encrypted"),
        ("masked.npz", changed(|entry| entry.flags |= 0x2000), "the entry is encrypted"),
        ("not_utf8.npz", changed(|entry| entry.name = b"\xff.npy".to_vec()), "the text is not UTF-8"),
        ("no_npy.npz", archive(&[Entry::new("a.npy", b"hello, world")], |_| {}), "(entry 'a.npy'): this is not an npy file"),
        ("empty_npy.npz", archive(&[Entry::new("a.npy", b"")], |_| {}), "(entry 'a.npy'): this is not an npy file"),
        ("cut_npy.npz", archive(&[Entry::new("a.npy", &array()[..70])], |_| {}), "(entry 'a.npy'): the elements expected"),
        ("large_twice.npz", large(|numbers| numbers[1] = 2, |at| at), "a part of one in several files"),
        ("large_entries.npz", large(|numbers| (numbers[0], numbers[1]) = (2, 2), |at| at), "has 2 entries, and it has 1"),
        ("huge_entries.npz", large(|numbers| (numbers[0], numbers[1]) = (1 << 60, 1 << 60), |at| at), "entries, and it has 1"),
        ("large_size.npz", large(|numbers| numbers[2] += 1, |at| at), "the end record says"),
        ("large_start.npz", large(|numbers| numbers[3] = u64::MAX, |at| at), "the end record"),
        ("large_elsewhere.npz", large(|_| {}, |at| at - 1), "the end record for large archives is not where it should be"),
        ("large_nowhere.npz", large(|_| {}, |_| u64::MAX), "the end record for large archives is not where it should be"),
    ]
}
