//! Files that Torch7 wrote. They are read, written back, read in the other byte order, and cut and changed at every byte.

use std::fs;
use std::path::Path;

use torch_storage::t7::Encoding;

use crate::property::{ENCODINGS, ORDERED, UNREFERENCED, check, read, write};
use crate::tree::{Id, Node, Tree};
use crate::{B32, Outcome, big_endian, fault};

/// A file that Torch7 wrote.
pub struct Golden {
    pub name: String,
    pub encoding: Encoding,
    pub bytes: Vec<u8>,
}

impl Golden {
    /// The input for `property::check`: a selector and the bytes.
    pub fn seed(&self) -> Vec<u8> {
        let selector = ENCODINGS.iter().position(|&encoding| encoding == Some(self.encoding));
        [&[selector.and_then(|number| u8::try_from(number).ok()).unwrap_or(0)], &*self.bytes].concat()
    }
}

pub fn all() -> Result<Vec<Golden>, std::io::Error> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec/support/golden");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "t7") {
            continue;
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let encoding = match () {
            () if name.contains(".ascii.") => Encoding::Ascii,
            () if name.starts_with("long_size4") => B32,
            () => Encoding::NATIVE,
        };
        all.push(Golden { name, encoding, bytes: fs::read(path)? });
    }
    all.sort_by(|one, two| one.name.cmp(&two.name));
    assert!(all.len() > 70, "only {} files of Torch7", all.len());
    Ok(all)
}

#[test]
fn each_file_is_written_back_byte_for_byte() -> Outcome {
    for golden in all()? {
        let tree = read(&golden.bytes, golden.encoding, true)?;
        assert_eq!(write(&tree, golden.encoding)?, golden.bytes, "{}", golden.name);
        // If no index occurs twice, reading without references makes no difference.
        let unreferenced = read(&golden.bytes, golden.encoding, false);
        let has_references = ["shared", "cyclic", "storage_and_tensor", "twice"].iter().any(|part| golden.name.contains(part));
        if has_references {
            let same = unreferenced.is_ok_and(|tree| write(&tree, golden.encoding).is_ok_and(|bytes| bytes == golden.bytes));
            assert!(!same, "{}", golden.name);
        } else {
            assert_eq!(write(&unreferenced?, golden.encoding)?, golden.bytes, "{}", golden.name);
        }
    }
    Ok(())
}

#[test]
fn binary_and_ascii_files_have_the_same_values() -> Outcome {
    let all = all()?;
    let mut pairs = 0;
    for ascii in all.iter().filter(|golden| golden.encoding == Encoding::Ascii) {
        let name = ascii.name.replace(".ascii.", ".bin.");
        let Some(binary) = all.iter().find(|golden| golden.name == name) else { continue };
        let (one, two) = (read(&ascii.bytes, ascii.encoding, true)?, read(&binary.bytes, binary.encoding, true)?);
        // The order of keys depends on addresses.
        assert!(one.is_same(&two)? || name.starts_with("table_multi_keys"), "{name}");
        assert_eq!(write(&two, Encoding::Ascii)?.len(), ascii.bytes.len(), "{name}");
        pairs += 1;
    }
    assert!(pairs > 35, "{pairs} pairs");
    Ok(())
}

#[test]
fn each_file_is_the_same_in_the_other_byte_order() -> Outcome {
    for golden in all()? {
        let tree = read(&golden.bytes, golden.encoding, true)?;
        for long in [4, 8] {
            let foreign = big_endian::file(&tree, long);
            let encoding = Encoding::Binary { long, swapped: true };
            assert!(read(&foreign, encoding, true)?.is_same(&tree)?, "{} with longs of {long}", golden.name);
            let detected = Encoding::detect(&foreign);
            // A file with nil is the same in both byte orders.
            let swapped = foreign[..4] != [0; 4];
            assert_eq!(detected, Some(Encoding::Binary { long: 8, swapped }), "{}", golden.name);
        }
        let encoding = if golden.encoding == B32 { Encoding::NATIVE } else { golden.encoding };
        assert_eq!(Encoding::detect(&golden.bytes), Some(encoding), "{}", golden.name);
    }
    Ok(())
}

#[test]
fn most_seeds_of_the_fuzzer_are_trees() -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/t7");
    let (mut trees, mut seeds) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let seed = fs::read(&path)?;
        let is_tree = check(&seed).map_err(|why| format!("{}: {why}", path.display()))?;
        // Some seeds are invalid on purpose, or use an index twice without references.
        let name = path.to_string_lossy();
        let expected = !name.contains("nokey") && !name.contains(".unreferenced") && !name.contains(".detect2");
        assert!(is_tree || !expected, "{name}");
        trees += usize::from(is_tree);
        seeds += 1;
    }
    assert!(trees > 100 && trees < seeds, "{trees} of {seeds}");
    Ok(())
}

fn named(name: &str) -> Result<(Tree, Encoding), Box<dyn std::error::Error>> {
    let all = all()?;
    let golden = all.iter().find(|golden| golden.name == name).ok_or("no such file")?;
    Ok((read(&golden.bytes, golden.encoding, true)?, golden.encoding))
}

fn text(tree: &Tree, id: Id) -> String {
    String::from_utf8_lossy(tree.string(id).unwrap_or(b"?")).into_owned()
}

#[test]
fn the_values_of_the_files_are_as_expected() -> Outcome {
    for form in ["bin", "ascii"] {
        let (tree, _) = named(&format!("table_cyclic.{form}.t7"))?;
        let Node::Table(pairs) = tree.node(tree.root()) else { return Err("no table".into()) };
        assert_eq!(pairs.len(), 2);
        assert_eq!(pairs[1].1, tree.root());

        let (tree, _) = named(&format!("tensor_transposed.{form}.t7"))?;
        let Node::Tensor { class, version, layout, storage } = tree.node(tree.root()) else { return Err("no tensor".into()) };
        assert_eq!((text(&tree, *class), text(&tree, *version)), ("torch.FloatTensor".into(), "1".into()));
        assert_eq!((layout.sizes(), layout.strides(), layout.offset()), (&[3, 2][..], &[1, 3][..], 0));
        let Node::Storage { elements, .. } = tree.node(*storage) else { return Err("no storage".into()) };
        assert_eq!((0..6).filter_map(|index| elements.get(index)).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);

        let (tree, _) = named(&format!("tensor_empty.{form}.t7"))?;
        assert!(matches!(tree.node(tree.root()), Node::Tensor { storage: Id::NIL, layout, .. } if layout.sizes() == [0]));

        let (tree, _) = named(&format!("legacy_nover_Int.{form}.t7"))?;
        assert!(matches!(tree.node(tree.root()), Node::Storage { version: Id::NIL, .. }));

        let (tree, _) = named(&format!("table_shared_storage.{form}.t7"))?;
        assert!(matches!(tree.node(tree.root()), Node::Table(pairs) if pairs[0].1 == pairs[1].1));
        let (tree, _) = named(&format!("unreferenced.{form}.t7"))?;
        assert!(matches!(tree.node(tree.root()), Node::Table(pairs) if pairs[0].1 != pairs[1].1));
    }
    let (tree, encoding) = named("long_size4.bin.t7")?;
    assert_eq!(encoding, B32);
    let Node::Storage { elements, .. } = tree.node(tree.root()) else { return Err("no storage".into()) };
    assert_eq!((elements.get(0), elements.get(1), elements.get(2)), (Some(1.0), Some(-2.0), Some(-2_147_483_648.0)));
    Ok(())
}

#[test]
fn a_file_that_is_cut_is_an_error() -> Outcome {
    for golden in all()? {
        for end in 0..golden.bytes.len() {
            let part = &golden.bytes[..end];
            // A text can still be valid if the end of a number or of a line is missing.
            if golden.encoding == Encoding::Ascii && end > 0 {
                check(&[&[4], part].concat())?;
                continue;
            }
            let (offset, _) = fault(read(part, golden.encoding, true)).ok_or_else(|| format!("{} to {end}", golden.name))?;
            assert!(offset <= u64::try_from(end)?, "{} to {end}: {offset}", golden.name);
        }
    }
    Ok(())
}

#[test]
fn a_file_with_a_wrong_byte_is_an_error_or_a_tree() -> Outcome {
    let (mut trees, mut all_of_them) = (0, 0);
    for golden in all()? {
        let mut seed = golden.seed();
        for offset in 1..seed.len() {
            let right = seed[offset];
            let near = [right ^ 1, right ^ 0x80, right.wrapping_add(1), right.wrapping_sub(1)];
            for wrong in near.into_iter().chain([0, 1, 4, 8, 0x7f, 0x80, 0xff]).chain(*b"\n -+.09aV~") {
                seed[offset] = wrong;
                for bits in [0, UNREFERENCED, ORDERED] {
                    seed[0] |= bits;
                    let read = check(&seed).map_err(|why| format!("{} with {wrong} at {}: {why}", golden.name, offset - 1))?;
                    trees += usize::from(read);
                    all_of_them += 1;
                    seed[0] &= !bits;
                }
            }
            seed[offset] = right;
        }
    }
    assert!(trees > all_of_them / 10 && trees < all_of_them * 9 / 10, "{trees} of {all_of_them}");
    Ok(())
}
