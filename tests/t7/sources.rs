//! Files, maps and memory give the same trees.

use torch_storage::DType;
use torch_storage::convert::Scalar;
use torch_storage::output::Output;
use torch_storage::storage::Storage;
use torch_storage::t7::{Encoding, Input, Reader, Writer};

use crate::golden::all;
use crate::property::{read, write};
use crate::tree::{Id, Node, Tree};
use crate::{B32, Outcome};

/// A tree whose file is larger than the buffer of a reader. Most of its values are small, and some are large.
fn large() -> Result<Tree, torch_storage::Error> {
    let mut tree = Tree::new()?;
    let class = tree.add_string(b"torch.LongStorage")?;
    let version = tree.add_string(b"1")?;
    let mut pairs = Vec::new();
    for number in 0..40_000_i32 {
        let key = tree.add(Node::Number(f64::from(number)))?;
        let value = if number % 10_000 == 7 {
            let elements = Storage::zeroed(DType::Long, 100_000)?;
            elements.fill(Scalar::Float(f64::from(number)))?;
            tree.add(Node::Storage { class, version, elements })?
        } else {
            tree.add_string(format!("{number}\n").repeat(3).as_bytes())?
        };
        pairs.push((key, value));
    }
    let long = tree.add_string(&vec![b'x'; 1_000_000])?;
    pairs.push((long, Id::NIL));
    let root = tree.add(Node::Table(pairs))?;
    tree.set_root(root);
    Ok(tree)
}

#[test]
fn a_file_is_read_in_pieces() -> Outcome {
    let tree = large()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("large.t7");
    for encoding in [Encoding::NATIVE, B32, Encoding::Ascii] {
        let mut writer = Writer::new(Output::to_file(&path, true, 0)?, encoding);
        tree.write(&mut writer)?;
        writer.finish()?;
        let length = std::fs::metadata(&path)?.len();
        assert_eq!(length, writer.position());
        let mut reader = Reader::new(Input::open(&path)?, encoding, true);
        assert!(Tree::read(&mut reader)?.is_same(&tree)?, "{encoding:?}");
        assert!(reader.is_at_end()? && reader.position() == length);
        assert_eq!(std::fs::read(&path)?, write(&tree, encoding)?);
    }
    Ok(())
}

#[test]
fn storages_of_a_mapped_file_are_views_of_the_map() -> Outcome {
    for golden in all()? {
        let map = Storage::from_bytes(DType::Byte, &golden.bytes)?;
        let mut reader = Reader::new(golden.bytes.clone().into(), golden.encoding, true);
        reader.use_map(map.view(0, map.size())?);
        let tree = Tree::read(&mut reader)?;
        assert!(reader.is_at_end()?, "{}", golden.name);
        assert!(tree.is_same(&read(&golden.bytes, golden.encoding, true)?)?, "{}", golden.name);
        if let Node::Storage { elements, .. } = tree.node(tree.root()) {
            let is_inside = !elements.is_disjoint(&map) || elements.size() == 0;
            assert_eq!(is_inside, golden.encoding == Encoding::NATIVE || elements.size() == 0, "{}", golden.name);
        }
    }
    Ok(())
}

#[test]
fn no_part_of_a_map_is_retyped_unless_the_map_was_used_before() -> Outcome {
    let bytes = vec![0; 16];
    let mut reader = Reader::new(bytes.clone().into(), Encoding::NATIVE, true);
    reader.use_map(Storage::from_bytes(DType::Byte, &bytes)?);
    reader.restart(Encoding::NATIVE);
    let parts = [reader.mapped(DType::Float, 1)?, reader.mapped(DType::Double, 1)?];
    assert!(parts.iter().flatten().all(|part| !part.is_retyped()) && parts.iter().flatten().count() == 2);
    // Now the same bytes may get another dtype.
    reader.restart(B32);
    let part = reader.mapped(DType::Int, 2)?;
    assert_eq!(part.map(|part| part.is_retyped()), Some(true));
    Ok(())
}

#[test]
fn several_objects_follow_each_other() -> Outcome {
    let bytes = b"1 5 3 1 0 3 1 2 3\nabc  ";
    let mut reader = Reader::new(bytes.to_vec().into(), Encoding::Ascii, true);
    let first = Tree::read(&mut reader)?;
    assert!(matches!(first.node(first.root()), Node::Number(5.0)));
    let second = Tree::read(&mut reader)?;
    assert!(matches!(second.node(second.root()), Node::Table(pairs) if pairs.is_empty()));
    // The third object is a reference to an object of the second tree, which this tree does not have.
    assert!(!reader.is_at_end()?);
    let third = Tree::read(&mut reader).map_err(|error| error.to_string()).err();
    assert_eq!(third.as_deref(), Some("at byte 10: object 1 has not been read yet"));
    let fourth = Tree::read(&mut reader)?;
    assert_eq!(fourth.string(fourth.root()), Some(&b"abc"[..]));
    assert!(reader.is_at_end()?);
    Ok(())
}
