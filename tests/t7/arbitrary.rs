//! Arbitrary trees are the same after they are written and read.

use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::TestCaseError;
use torch_storage::storage::Storage;
use torch_storage::t7::{Encoding, tag};
use torch_storage::tensor::Layout;
use torch_storage::{DType, Error};

use crate::property::{read, write};
use crate::tree::{Id, Node, Tree};
use crate::{B32, big_endian};

/// The values from which a node is made. Its kind decides which of them are used.
#[derive(Clone, Debug)]
struct Recipe {
    kind: u8,
    number: f64,
    bytes: Vec<u8>,
    /// Numbers from which other nodes are chosen. They may come before or after this one.
    others: Vec<usize>,
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let whole = (-4_i32..9).prop_map(f64::from);
    let number = prop_oneof![any::<f64>(), whole, Just(f64::NAN), Just(-0.0), Just(f64::NEG_INFINITY), Just(5e-324)];
    let bytes = prop_oneof![vec(any::<u8>(), 0..40), Just(b"\n".to_vec()), Just(b"1\n2\n ".to_vec()), Just(b"V 1".to_vec())];
    (any::<u8>(), number, bytes, vec(any::<usize>(), 0..9)).prop_map(|(kind, number, bytes, others)| Recipe {
        kind,
        number,
        bytes,
        others,
    })
}

/// The names of classes and the versions that are used.
const NAMES: &[&str] = &["nn.Linear", "", "torch.Foo", "V x", "\n", "torch.FloatTensor2"];
const VERSIONS: &[Option<&str>] = &[Some("1"), None, Some("2.5"), Some("-1e3"), Some("0x10")];

/// A storage with these elements. Longs fit into 4 bytes, so that files of 32-bit machines can have them.
fn storage(dtype: DType, bytes: &[u8]) -> Result<Storage, Error> {
    if dtype != DType::Long {
        return Storage::from_bytes(dtype, bytes);
    }
    let longs: Vec<u8> =
        bytes.as_chunks::<4>().0.iter().flat_map(|&bytes| i64::from(i32::from_ne_bytes(bytes)).to_ne_bytes()).collect();
    Storage::from_bytes(dtype, &longs)
}

/// A tree whose nodes refer to each other in any way.
fn tree(recipes: &[Recipe]) -> Result<Tree, Error> {
    let mut tree = Tree::new()?;
    // All nodes are added first, because a node may refer to a later one.
    let ids = recipes.iter().map(|_| tree.add(Node::Nil)).collect::<Result<Vec<Id>, Error>>()?;
    for (&id, recipe) in ids.iter().zip(recipes) {
        let pick = |number: usize| {
            let choices = ids.len() + 3;
            match number % choices {
                0 => Id::NIL,
                1 => Id::FALSE,
                2 => Id::TRUE,
                other => ids[other - 3],
            }
        };
        let other = recipe.others.first().map_or(Id::NIL, |&number| pick(number));
        let first = usize::from(recipe.bytes.first().copied().unwrap_or(0));
        // The format has only the classes of Torch7.
        let dtype = Some(DType::ALL[first % DType::ALL.len()]).filter(|dtype| dtype.is_in_torch7()).unwrap_or(DType::Byte);
        let version = match VERSIONS[recipe.bytes.len() % VERSIONS.len()] {
            Some(text) => tree.add_string(text.as_bytes())?,
            None => Id::NIL,
        };
        let node = match recipe.kind % 10 {
            0 => Node::Number(recipe.number),
            1 => Node::String(recipe.bytes.clone()),
            2 | 3 => Node::Table(recipe.others.as_chunks::<2>().0.iter().map(|&[key, value]| (pick(key), pick(value))).collect()),
            4 | 5 => {
                let cuda = if recipe.kind < 40 { "Cuda" } else { "" };
                let name = format!("torch.{cuda}{}Storage", dtype.element_name());
                let class = tree.add_string(name.as_bytes())?;
                Node::Storage { class, version, elements: storage(dtype, &recipe.bytes)? }
            }
            6 => {
                let class = tree.add_string(format!("torch.{}Tensor", dtype.element_name()).as_bytes())?;
                let elements = storage(dtype, &recipe.bytes)?;
                // The layout uses all elements. It has a stride of 0 and negative strides.
                let available = elements.size();
                let (sizes, strides) = ([available, 2, 1], [-1, 0, isize::try_from(i32::MIN).unwrap_or(0)]);
                let dimensions = recipe.others.len().min(3);
                let layout = match available.checked_sub(1) {
                    Some(last) if dimensions > 0 => Layout::strided(last, &sizes[..dimensions], &strides[..dimensions])?,
                    _ => Layout::contiguous(&[0])?,
                };
                let storage_class = tree.add_string(dtype.class_name().as_bytes())?;
                let storage = tree.add(Node::Storage { class: storage_class, version, elements })?;
                let storage = if layout.elements() == 0 { Id::NIL } else { storage };
                Node::Tensor { class, version, layout: layout.into(), storage }
            }
            7 | 8 => {
                let class = tree.add_string(NAMES[first % NAMES.len()].as_bytes())?;
                Node::Object { class, version, value: other }
            }
            _ => {
                // A function with tag 6 must not lead to itself through other such functions.
                let tag = [tag::FUNCTION, tag::INDEXED_FUNCTION, tag::NAMED_FUNCTION][first % 3];
                let upvalues = if tag == tag::FUNCTION { Id::TRUE } else { other };
                Node::Function { tag, code: recipe.bytes.clone().into(), upvalues }
            }
        };
        tree.replace(id, node);
    }
    // A value that cannot be a key is replaced.
    for &id in &ids {
        if let Node::Table(pairs) = tree.node(id) {
            let is_key = |key: Id| match tree.node(key) {
                Node::Nil => false,
                Node::Number(number) => !number.is_nan(),
                _ => true,
            };
            let pairs = pairs.iter().map(|&(key, value)| (if is_key(key) { key } else { Id::TRUE }, value)).collect();
            tree.replace(id, Node::Table(pairs));
        }
    }
    tree.set_root(ids.last().copied().unwrap_or(Id::NIL));
    Ok(tree)
}

fn check_round_trip(recipes: &[Recipe]) -> Result<(), TestCaseError> {
    let failed = |error: Error| TestCaseError::fail(error.to_string());
    let tree = tree(recipes).map_err(failed)?;
    for encoding in [Encoding::NATIVE, B32, Encoding::Ascii] {
        let bytes = write(&tree, encoding).map_err(failed)?;
        let again = read(&bytes, encoding, true).map_err(failed)?;
        prop_assert!(again.is_same(&tree).map_err(failed)?, "{:?}: {}", encoding, bytes.escape_ascii());
        prop_assert!(tree.is_same(&again).map_err(failed)?);
        prop_assert_eq!(write(&again, encoding).map_err(failed)?, bytes);
    }
    for long in [4, 8] {
        let again = read(&big_endian::file(&tree, long), Encoding::Binary { long, swapped: true }, true).map_err(failed)?;
        prop_assert!(again.is_same(&tree).map_err(failed)?);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_is_the_same_after_writing_and_reading(recipes in vec(recipe(), 0..24)) {
        check_round_trip(&recipes)?;
    }

    #[test]
    fn trees_that_differ_are_not_the_same(recipes in vec(recipe(), 1..12), changed: usize, other in recipe()) {
        let failed = |error: Error| TestCaseError::fail(error.to_string());
        let mut others = recipes.clone();
        let changed = changed % others.len();
        others[changed] = other;
        let (one, two) = (tree(&recipes).map_err(failed)?, tree(&others).map_err(failed)?);
        // An ascii file loses only the bits of NaNs.
        let is_same = write(&one, Encoding::Ascii).map_err(failed)? == write(&two, Encoding::Ascii).map_err(failed)?;
        prop_assert!(!is_same || one.is_same(&two).map_err(failed)?);
        let no_nans = |recipes: &[Recipe]| recipes.iter().all(|recipe| !recipe.number.is_nan() && recipe.bytes.len() < 2);
        if no_nans(&recipes) && no_nans(&others) {
            prop_assert_eq!(one.is_same(&two).map_err(failed)?, is_same);
        }
    }
}
