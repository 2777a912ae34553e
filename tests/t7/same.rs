//! Tests of the comparison of trees.

use torch_storage::convert::Scalar;
use torch_storage::storage::Storage;
use torch_storage::t7::{Encoding, tag};
use torch_storage::{DType, Error};

use crate::Outcome;
use crate::property::read;
use crate::tree::{Id, Node, Tree};

/// Whether two files have the same tree. Both directions must give the same result.
fn is_same(one: &str, two: &str) -> Result<bool, Error> {
    let read = |text: &str| read(text.as_bytes(), Encoding::Ascii, true);
    let (one, two) = (read(one)?, read(two)?);
    let same = one.is_same(&two)?;
    assert_eq!(two.is_same(&one)?, same);
    assert!(one.is_same(&one)? && two.is_same(&two)?);
    Ok(same)
}

#[test]
fn one_object_is_not_the_same_as_two_equal_ones() -> Outcome {
    // {[true] = t, [false] = t} with one table t, and with two. Then the same with storages, objects and functions.
    for object in ["3 I 0 ", "4 I 3\nV 1 17\ntorch.ByteStorage 0 ", "4 I 3\nV 1 3\nFoo 0 ", "7 I 0 0 ", "8 I 1\nx 0 "] {
        let first = object.replace('I', "2");
        let tag = &object[..1];
        let one = format!("3 1 2 5 1 {first}5 0 {tag} 2 ");
        let two = format!("3 1 2 5 1 {first}5 0 {}", object.replace('I', "3"));
        assert!(!is_same(&one, &two)?, "{object}");
        // The numbers of the indices do not matter.
        assert!(is_same(&one, &one.replace(" 2 ", " 7 ").replacen(" 7 ", " 2 ", 1))?, "{object}");
    }
    // A table in itself, and a table in another one that is in the first: the second cycle is longer.
    assert!(!is_same("3 1 1 5 1 3 1", "3 1 1 5 1 3 2 1 5 1 3 1")?);
    // Functions of tag 6 have no index, so each is a different one.
    assert!(is_same("3 1 2 5 1 6 0 0 5 0 6 0 0", "3 9 2 5 1 6 0 0 5 0 6 0 0")?);
    Ok(())
}

#[test]
fn one_difference_is_enough() -> Outcome {
    for (one, two) in [
        ("0", "5 0"),
        ("5 0", "5 1"),
        ("1 0", "1 -0"),
        ("1 1", "2 1\n1"),
        ("2 1\na", "2 1\nb"),
        ("2 1\na", "2 2\naa"),
        ("3 1 0", "3 1 1 5 1 0     "),
        ("3 1 1 5 1 0     ", "3 1 1 5 1 5 1   "),
        ("3 1 1 5 1 0     ", "3 1 1 5 0 0     "),
        // The order of keys counts.
        ("3 1 2 5 1 0 5 0 0           ", "3 1 2 5 0 0 5 1 0           "),
        ("4 1 1\na 0", "4 1 1\nb 0"),
        ("4 1 1\na 0", "4 1 1\na 5 0"),
        ("4 1 1\na 0", "4 1 3\nV 1 1\na 0"),
        ("4 1 3\nV 2 1\na 0", "4 1 3\nV 1 1\na 0"),
        ("4 1 17\ntorch.ByteStorage 0", "4 1 17\ntorch.CharStorage 0"),
        ("4 1 17\ntorch.ByteStorage 0", "4 1 3\nV 1 17\ntorch.ByteStorage 0"),
        ("4 1 17\ntorch.ByteStorage 1\na", "4 1 17\ntorch.ByteStorage 1\nb"),
        ("4 1 17\ntorch.ByteStorage 1\na", "4 1 17\ntorch.ByteStorage 0"),
        ("4 1 17\ntorch.LongStorage 1 9007199254740993", "4 1 17\ntorch.LongStorage 1 9007199254740992"),
        ("4 1 18\ntorch.FloatStorage 1 0 ", "4 1 18\ntorch.FloatStorage 1 -0"),
        ("4 1 17\ntorch.CudaStorage 1 0 ", "4 1 18\ntorch.FloatStorage 1 0 "),
        ("4 1 15\ntorch.IntTensor 2 0 2 2 1 1 0", "4 1 15\ntorch.IntTensor 2 0 2 1 1 1 0"),
        ("4 1 15\ntorch.IntTensor 2 0 2 2 1 1 0", "4 1 15\ntorch.IntTensor 2 2 0 2 1 1 0"),
        ("4 1 15\ntorch.IntTensor 1 0 1 1 0", "4 1 15\ntorch.IntTensor 2 0 1 1 1 1 0"),
        ("4 1 15\ntorch.IntTensor 0 1 0 ", "4 1 15\ntorch.IntTensor 0 2 0 "),
        ("4 1 15\ntorch.IntTensor 0 1 0", "4 1 15\ntorch.IntTensor 0 1 4 2 16\ntorch.IntStorage 0"),
        ("6 0 0", "7 1 0 0"),
        ("7 1 0 0", "8 1 0 0"),
        ("7 1 1\na 0", "7 1 1\nb 0"),
        ("7 1 0 0", "7 1 0 5 0"),
    ] {
        assert!(!is_same(one, two)?, "{one}, {two}");
        assert!(is_same(one, one)? && is_same(two, two)?, "{one}, {two}");
    }
    Ok(())
}

#[test]
fn all_nans_are_the_same() -> Outcome {
    let tree = |bits: u64| -> Result<Tree, Error> {
        let mut tree = Tree::new()?;
        let number = tree.add(Node::Number(f64::from_bits(bits)))?;
        let elements = Storage::zeroed(DType::Double, 1)?;
        elements.set(0, Scalar::Float(f64::from_bits(bits)))?;
        let class = tree.add_string(b"torch.DoubleStorage")?;
        let storage = tree.add(Node::Storage { class, version: Id::NIL, elements })?;
        let root = tree.add(Node::Table(vec![(Id::TRUE, number), (Id::FALSE, storage)]))?;
        tree.set_root(root);
        Ok(tree)
    };
    let quiet = f64::NAN.to_bits();
    assert!(tree(quiet)?.is_same(&tree(quiet | 1 << 63 | 77)?)?);
    assert!(!tree(quiet)?.is_same(&tree(1.0_f64.to_bits())?)?);
    Ok(())
}

#[test]
fn comparing_rings_of_functions_ends() -> Outcome {
    // Rings of functions of tag 6. No file can have them.
    let ring = |codes: &[&str]| -> Result<Tree, Error> {
        let mut tree = Tree::new()?;
        let ids = codes.iter().map(|_| tree.add(Node::Nil)).collect::<Result<Vec<Id>, Error>>()?;
        for (n, code) in codes.iter().enumerate() {
            let node = Node::Function { tag: tag::FUNCTION, code: code.as_bytes().into(), upvalues: ids[(n + 1) % ids.len()] };
            tree.replace(ids[n], node);
        }
        tree.set_root(ids[0]);
        Ok(tree)
    };
    assert!(ring(&["a"])?.is_same(&ring(&["a", "a", "a"])?)?);
    assert!(!ring(&["a", "a"])?.is_same(&ring(&["a", "a", "b"])?)?);
    assert!(!ring(&["a", "b"])?.is_same(&ring(&["a", "b", "a"])?)?);
    Ok(())
}

#[test]
fn a_tensor_of_size_0_is_the_same_as_one_without_dimensions() -> Outcome {
    assert!(is_same("4 1 15\ntorch.IntTensor 0 3 0", "4 1 15\ntorch.IntTensor 1 0 7 3 0")?);
    Ok(())
}
