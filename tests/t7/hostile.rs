//! Files with wrong claims, and trees that no file can have.

use torch_storage::storage::Storage;
use torch_storage::t7::{Delivery, Encoding, Event, Reader, tag};
use torch_storage::tensor::Layout;
use torch_storage::{DType, Error};

use crate::property::{read, write};
use crate::tree::{Id, Node, Tree};
use crate::{B32, Outcome, fault};

/// A binary file made of these parts.
fn file(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn int(value: i32) -> [u8; 4] {
    value.to_ne_bytes()
}

fn long(value: i64) -> [u8; 8] {
    value.to_ne_bytes()
}

/// The tag, the index, the version and the class of an object.
fn object(index: i32, class: &str) -> Vec<u8> {
    let length = i32::try_from(class.len()).unwrap_or(-1);
    file(&[&int(4), &int(index), &int(3), b"V 1", &int(length), class.as_bytes()])
}

#[track_caller]
fn check(bytes: &[u8], encoding: Encoding, offset: usize, message: &str) {
    let expected = (u64::try_from(offset).unwrap_or(u64::MAX), message.to_owned());
    assert_eq!(fault(read(bytes, encoding, true)), Some(expected), "{}", bytes.escape_ascii());
}

#[test]
fn every_count_is_compared_with_the_rest_of_the_file() -> Outcome {
    let binary = Encoding::NATIVE;
    for (count, announced) in [
        (i32::MAX, "2147483647 pairs are announced, but 8 bytes are left"),
        (1, "1 pair is announced, but 8 bytes are left"),
        (-1, "the number of pairs must not be negative, got -1"),
        (i32::MIN, "the number of pairs must not be negative, got -2147483648"),
    ] {
        let bytes = file(&[&int(3), &int(1), &int(count), &long(0)]);
        check(&bytes, binary, 8, announced);
        let text = format!("3\n1\n{count}\n5");
        let message = announced.replace("8 bytes are", "1 byte is");
        check(text.as_bytes(), Encoding::Ascii, 4, &message);
    }
    for count in [i32::MAX, 4, -1] {
        let bytes = file(&[&int(2), &int(count), b"abc"]);
        let message = match count {
            0.. => format!("{count} bytes are announced, but 3 bytes are left"),
            _ => format!("the number of bytes must not be negative, got {count}"),
        };
        check(&bytes, binary, 4, &message);
    }
    for &dtype in DType::ALL.iter().filter(|dtype| dtype.is_in_torch7()) {
        let head = object(1, dtype.class_name());
        for count in [i64::MAX, 1 << 62, (1 << 61) + 1, 1 << 32, 17] {
            let bytes = file(&[&head, &long(count), &[0; 16]]);
            // An impossible count is reported at the count, and missing elements where they should be.
            let offset = if usize::try_from(count)? > bytes.len() { head.len() } else { head.len() + 8 };
            check(&bytes, binary, offset, &format!("{count} elements are announced, but 16 bytes are left"));
        }
        let bytes = file(&[&head, &long(-1)]);
        check(&bytes, binary, head.len(), "the number of elements must not be negative, got -1");
    }
    let head = object(1, "torch.DoubleTensor");
    for dimensions in [i32::MAX, 3] {
        let bytes = file(&[&head, &int(dimensions), &[0; 16]]);
        check(&bytes, binary, head.len() + 4, &format!("{dimensions} elements are announced, but 16 bytes are left"));
    }
    // A tensor of two dimensions has five numbers: two sizes, two strides and the offset.
    let bytes = file(&[&head, &int(2), &[0; 16]]);
    check(&bytes, binary, head.len() + 20, "2 elements are announced, but 0 bytes are left");
    let bytes = file(&[&head, &int(2), &[0; 32]]);
    check(&bytes, binary, head.len() + 36, "a long expected (8 bytes), but 0 bytes are left");
    let bytes = file(&[&head, &int(2), &[0; 16]]);
    check(&bytes, B32, head.len() + 20, "a long expected (4 bytes), but 0 bytes are left");
    // Elements of one byte are bytes in ascii files too.
    check(b"4\n1\n3\nV 1\n17\ntorch.ByteStorage\n3\nab", Encoding::Ascii, 33, "3 elements are announced, but 2 bytes are left");
    Ok(())
}

#[test]
fn an_invalid_object_is_an_error_at_its_offset() {
    let binary = Encoding::NATIVE;
    check(b"", binary, 0, "an int expected (4 bytes), but 0 bytes are left");
    check(b"\0\0\0", binary, 0, "an int expected (4 bytes), but 3 bytes are left");
    check(b"\0", binary, 0, "an int expected (4 bytes), but 1 byte is left");
    check(&int(9), binary, 0, "the tag of an object expected (0 to 8), got 9");
    check(&int(-1), binary, 0, "the tag of an object expected (0 to 8), got -1");
    check(b"", Encoding::Ascii, 0, "an int expected (1 byte), but 0 bytes are left");
    check(b"\n\n 9", Encoding::Ascii, 3, "the tag of an object expected (0 to 8), got 9");
    check(b"3\n1\n1\n x     ", Encoding::Ascii, 7, "an int expected, got 'x'");
    check(b"3\n 2147483648\n", Encoding::Ascii, 3, "an int expected (-2^31 to 2^31-1), got 2147483648");
    check(b"1 \t x", Encoding::Ascii, 4, "a number expected, got 'x'");
    check(b"3 1 2 5 1 0 0    ", Encoding::Ascii, 12, "nil cannot be the key of a table");
    let nan = f64::NAN.to_ne_bytes();
    check(&file(&[&int(3), &int(1), &int(1), &int(1), &nan, &int(0)]), binary, 12, "NaN cannot be the key of a table");
    check(b"3 1 1 1 nan 0", Encoding::Ascii, 6, "NaN cannot be the key of a table");
}

#[test]
fn a_tensor_is_inside_a_storage_of_its_own_dtype() -> Outcome {
    let tensor = |numbers: [i64; 3], storage: &[u8]| {
        let longs: Vec<u8> = numbers.iter().flat_map(|&number| long(number)).collect();
        file(&[&object(1, "torch.IntTensor"), &int(1), &longs, storage])
    };
    let storage = |class: &str| file(&[&object(2, class), &long(1), &[0; 8]]);
    let ints = storage("torch.IntStorage");
    let offset = tensor([1, 1, 1], &[]).len();
    assert!(read(&tensor([1, 1, 1], &ints), Encoding::NATIVE, true).is_ok());
    assert!(read(&tensor([1, 1, 1], &storage("torch.CudaIntStorage")), Encoding::NATIVE, true).is_ok());
    for (numbers, what, message) in [
        ([2, 1, 1], &*ints, "the tensor of 2 with strides 1 uses elements 1 to 2 of its storage, which has 1"),
        ([1, 1, 2], &*ints, "the tensor of 1 with strides 1 uses elements 2 to 2 of its storage, which has 1"),
        ([1, 1, 1], &int(0), "the storage of a torch.IntTensor must be a torch.IntStorage, got nil"),
        (
            [1, 1, 1],
            &*storage("torch.FloatStorage"),
            "the storage of a torch.IntTensor must be a torch.IntStorage, got torch.FloatStorage",
        ),
        (
            [1, 1, 1],
            &file(&[&int(3), &int(1)]),
            "the storage of a torch.IntTensor must be a torch.IntStorage, got torch.IntTensor",
        ),
        ([0, 1, 1], &file(&[&int(5), &int(1)]), "the storage of a torch.IntTensor must be a torch.IntStorage, got boolean"),
    ] {
        check(&tensor(numbers, what), Encoding::NATIVE, offset, message);
    }
    // Numbers that fit no storage are an error where they begin.
    let offset = object(1, "torch.IntTensor").len();
    for (numbers, message) in [
        (
            [2, i64::MAX, i64::MAX],
            "the tensor of 2 with strides 9223372036854775807 uses elements 9223372036854775807 to 18446744073709551614 of its \
             storage, and elements are counted from 1 to 2^63-1",
        ),
        ([1, 1, 0], "the offset of a tensor is 1 or more, got 0"),
        ([-1, 1, 1], "size -1 is not allowed: sizes are 0 or more"),
    ] {
        check(&tensor(numbers, &ints), Encoding::NATIVE, offset, message);
    }
    let many = file(&[&object(1, "torch.IntTensor"), &int(65), &[0; 65 * 16 + 8], &ints]);
    check(&many, Encoding::NATIVE, offset, "a tensor can have at most 64 dimensions, got 65");
    Ok(())
}

#[test]
fn an_index_means_the_object_that_had_it_first() -> Outcome {
    // As in Torch7, the tag of a reference does not matter. The table is {[true] = object 7}, and object 7 is the table itself.
    for tag in [3, 4, 7, 8] {
        let bytes = file(&[&int(3), &int(7), &int(1), &int(5), &int(1), &int(tag), &int(7)]);
        let tree = read(&bytes, Encoding::NATIVE, true)?;
        assert!(matches!(tree.node(tree.root()), Node::Table(pairs) if pairs[..] == [(Id::TRUE, tree.root())]), "{tag}");
    }
    // Any number can be an index, and the indices can be in any order.
    let indices = [i32::MIN, -1, 0, 2, 1, 3, i32::MAX, 4];
    let text: String = indices.iter().map(|index| format!("5 1 3 {index} 0 ")).collect();
    let again: String = indices.iter().map(|index| format!("5 1 3 {index} ")).collect();
    let tree = read(format!("3 100 16 {text}{again}").as_bytes(), Encoding::Ascii, true)?;
    let Node::Table(pairs) = tree.node(tree.root()) else { return Err("no table".into()) };
    let (first, second) = pairs.split_at(indices.len());
    assert_eq!(first, second);
    assert!(first.iter().enumerate().all(|(n, pair)| first[..n].iter().all(|other| other.1 != pair.1)));
    // Without references, every occurrence is a new object.
    let bytes = b"3 1 2 5 1 3 1 0 5 0 3 1 0";
    assert!(
        read(bytes, Encoding::Ascii, true).is_err()
            || !read(bytes, Encoding::Ascii, true)?.is_same(&read(bytes, Encoding::Ascii, false)?)?
    );
    let tree = read(bytes, Encoding::Ascii, false)?;
    assert!(matches!(tree.node(tree.root()), Node::Table(pairs) if pairs[0].1 != pairs[1].1 && pairs[0].1 != tree.root()));
    Ok(())
}

#[test]
fn a_million_levels_are_not_too_deep() -> Outcome {
    const DEPTH: usize = 1_000_000;
    // The beginning and the end of {[true] = {[true] = ...}}, of {[{[{...}] = nil}] = nil}, of objects and of functions of all
    // kinds.
    for (front, back) in
        [("3 I 1 5 1 ", ""), ("3 I 1 ", "0 "), ("4 I 3\nV 1 1\nx", ""), ("6 0 ", ""), ("7 I 0 ", ""), ("8 I 0 ", "")]
    {
        let mut bytes = Vec::new();
        for index in 1..=DEPTH {
            bytes.extend(front.replace('I', &index.to_string()).as_bytes());
        }
        let cut = bytes.clone();
        bytes.extend(b"2 1\nx ");
        bytes.extend(back.repeat(DEPTH).as_bytes());
        let tree = read(&bytes, Encoding::Ascii, true)?;
        assert!(tree.len() > DEPTH, "{front}");
        let written = write(&tree, Encoding::NATIVE)?;
        let again = read(&written, Encoding::NATIVE, true)?;
        assert!(again.is_same(&tree)?, "{front}");
        assert!(read(&cut, Encoding::Ascii, true).is_err(), "{front}");
    }
    Ok(())
}

#[test]
fn trees_that_no_file_can_have_are_not_written() -> Outcome {
    let mut tree = Tree::new()?;
    let one = tree.add(Node::Number(1.0))?;
    let nan = tree.add(Node::Number(f64::NAN))?;
    let name = tree.add_string(b"torch.IntStorage")?;
    let tensor = tree.add_string(b"torch.IntTensor")?;
    let like_a_version = tree.add_string(b"V 1")?;
    let foo = tree.add_string(b"Foo")?;
    let ints = || Storage::zeroed(DType::Int, 2);
    let (nil, version) = (Id::NIL, tree.add_string(b"1")?);
    let storage = tree.add(Node::Storage { class: name, version, elements: ints()? })?;
    let layout = |size: usize| Layout::contiguous(&[size]).map(Box::new);
    let itself = tree.add(Node::Nil)?;
    tree.replace(itself, Node::Function { tag: tag::FUNCTION, code: b"x".to_vec().into(), upvalues: itself });
    for (node, expected) in [
        (Node::Table(vec![(one, one), (nil, one)]), "at byte 36: nil cannot be the key of a table"),
        (Node::Table(vec![(nan, one)]), "at byte 12: NaN cannot be the key of a table"),
        (
            Node::Object { class: one, version, value: nil },
            "at byte 8: the class must be neither of storages nor of tensors, got number",
        ),
        (
            Node::Object { class: name, version, value: nil },
            "at byte 8: the class must be neither of storages nor of tensors, got 'torch.IntStorage'",
        ),
        (
            Node::Object { class: like_a_version, version: nil, value: nil },
            "at byte 8: a class with the name 'V 1' must have a version",
        ),
        (Node::Object { class: foo, version: foo, value: nil }, "at byte 8: a version must be a number, got 'Foo'"),
        (Node::Object { class: foo, version: one, value: nil }, "at byte 8: a version must be a string or nil, got number"),
        (
            Node::Storage { class: name, version, elements: Storage::zeroed(DType::Byte, 1)? },
            "at byte 8: the class must be torch.ByteStorage, got 'torch.IntStorage'",
        ),
        (
            Node::Tensor { class: tensor, version, layout: layout(3)?, storage },
            "at byte 8: the tensor of 3 with strides 1 uses elements 1 to 3 of its storage, which has 2",
        ),
        (Node::Tensor { class: foo, version, layout: layout(1)?, storage }, "at byte 8: 'Foo' is not a class of tensors"),
        (
            Node::Function { tag: 5, code: b"x".to_vec().into(), upvalues: nil },
            "at byte 0: the tag of a function must be 6, 7 or 8, got 5",
        ),
    ] {
        let root = tree.add(node)?;
        tree.set_root(root);
        assert_eq!(write(&tree, Encoding::NATIVE).map_err(|error| error.to_string()), Err(expected.to_owned()));
    }
    tree.set_root(itself);
    let message = write(&tree, Encoding::NATIVE).map_err(|error| error.to_string()).err().unwrap_or_default();
    assert!(message.ends_with(": a function of tag 6 cannot be its own table of upvalues"), "{message}");
    assert!(tree.is_same(&tree)?);
    // An id of another tree means nil.
    let mut small = Tree::new()?;
    small.set_root(itself);
    assert_eq!(write(&small, Encoding::NATIVE)?, int(0));
    small.replace(Id::TRUE, Node::Nil);
    assert!(matches!(small.node(Id::TRUE), Node::Boolean(true)));
    Ok(())
}

/// Reads pairs of numbers up to the key `true`. Returns them, and the number of pairs that came in an [`Event::Pairs`].
fn number_pairs(reader: &mut Reader) -> Result<(Vec<(f64, f64)>, usize), Error> {
    let (mut pairs, mut at_once, mut key) = (Vec::new(), 0, 0.0);
    loop {
        let number = match reader.next()? {
            Event::Table { .. } => continue,
            Event::Pairs(read) => {
                pairs.extend(read.iter().map(|&(key, value)| (f64::from(key), value)));
                at_once += read.len();
                continue;
            }
            Event::Number(number) => number,
            _ => return Ok((pairs, at_once)),
        };
        match reader.deliver() {
            Delivery::Key { .. } => key = number,
            Delivery::Value { key: whole, .. } => pairs.push((whole.map_or(key, f64::from), number)),
            Delivery::Root | Delivery::Rest => return Ok((pairs, at_once)),
        }
    }
}

#[test]
fn pairs_of_numbers_are_read_at_once_with_any_keys() -> Outcome {
    let keys = [1.0, 2.0, -5.0, 0.0, 1.5, f64::INFINITY, -1e300, f64::from(i32::MIN), f64::from(i32::MAX), 3e9];
    for key in keys {
        for keeps_order in [false, true] {
            let number = |number: f64| file(&[&int(1), &number.to_ne_bytes()]);
            let head = file(&[&int(3), &int(1), &int(3)]);
            let end = file(&[&int(5), &int(1), &int(0)]);
            let bytes = file(&[&head, &number(key), &number(7.0), &number(key + 1.0), &number(8.0), &end]);
            let mut reader = Reader::new(bytes.into(), Encoding::NATIVE, true);
            if keeps_order {
                reader.keep_order();
            }
            let (pairs, at_once) = number_pairs(&mut reader)?;
            assert_eq!(pairs, [(key, 7.0), (key + 1.0, 8.0)]);
            let is_whole = |key: f64| (1.0..=f64::from(i32::MAX)).contains(&key) && key.fract() == 0.0;
            // If the order is kept, a key that is not the next one ends the sequence.
            let expected =
                if keeps_order && key != 1.0 { 0 } else { usize::from(is_whole(key)) + usize::from(is_whole(key + 1.0)) };
            assert_eq!(at_once, expected, "{key} {keeps_order}");
        }
    }
    Ok(())
}
