//! The same for safetensors, npy and npz files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use torch_storage::formats::{Item, Opened, Saving, Source, npz};
use torch_storage::storage::Storage;
use torch_storage::tensor::Layout;
use torch_storage::{DType, Error};

use crate::counting::untested;
use crate::{at_each_allocation, refused};

/// What a file has before it is saved.
const OLD: &[u8] = b"the old file";

/// The metadata of the safetensors files.
const METADATA: &[(&str, &str)] = &[("format", "pt"), ("a \"quote\"\n", ""), ("", "\u{1}\\ and \u{1f600}")];

/// A folder with a short path, and one whose path is longer than those that the standard library copies to the stack.
fn folders() -> (tempfile::TempDir, [PathBuf; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let (short, deep) = (folder.path().join("short"), folder.path().join("a".repeat(200)).join("b".repeat(200)));
    for folder in [&short, &deep] {
        std::fs::create_dir_all(folder).unwrap();
    }
    (folder, [short, deep])
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<OsString> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// A tensor over all elements of a new storage.
fn item(name: &str, dtype: DType, size: usize, layout: Layout) -> Item {
    Item { name: name.to_owned(), storage: Storage::zeroed(dtype, size).unwrap(), layout }
}

/// Tensors of all dtypes, layouts and kinds of names.
fn items() -> Vec<Item> {
    let sizes = |sizes: &[usize]| Layout::contiguous(sizes).unwrap();
    let dtypes = DType::ALL.iter();
    let mut items: Vec<Item> = dtypes.map(|&dtype| item(dtype.dtype_name(), dtype, 6, sizes(&[2, 3]))).collect();
    items.push(item("layer.1/вес.npy", DType::Float, 12, sizes(&[3, 4]).transpose(0, 1).unwrap()));
    items.push(item("quote\"d\\ \n\u{1}", DType::Half, 12, sizes(&[3, 4]).narrow(1, 1, 2).unwrap()));
    items.push(item(&"n".repeat(5000), DType::BFloat16, 1, sizes(&[1]).expand(&[1000]).unwrap()));
    items.push(item("", DType::Long, 1, sizes(&[])));
    items.push(item("empty", DType::Int, 0, sizes(&[0, 4])));
    let turned = sizes(&[2; 12]).permute(&[6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5]).unwrap();
    items.push(item("many dimensions", DType::Byte, 4096, turned));
    // These dimensions cannot be joined. docs/safety.md says what happens if there are more than eight of them.
    let swapped = sizes(&[2; 8]).permute(&[1, 0, 3, 2, 5, 4, 7, 6]).unwrap();
    items.push(item("many axes", DType::Byte, 256, swapped));
    items
}

/// The tensors that a safetensors file can have.
fn items_of_safetensors() -> Vec<Item> {
    let mut items = items();
    items.retain(|item| item.storage.dtype() != DType::ComplexDouble);
    items
}

/// A view of a tensor, which is saved.
fn view(item: &Item) -> Result<Item, Error> {
    let storage = item.storage.view(0, item.storage.size())?;
    Ok(Item { name: untested(|| item.name.clone()), storage, layout: item.layout.try_clone()? })
}

/// Views of tensors.
fn views(items: &[Item]) -> Result<Vec<Item>, Error> {
    let mut views = untested(|| Vec::with_capacity(items.len()));
    for item in items {
        views.push(view(item)?);
    }
    Ok(views)
}

/// Writes a whole file.
fn finish(saving: Result<Saving, Error>) -> Result<(), Error> {
    let mut saving = saving?;
    while saving.step()? {}
    saving.finish()
}

/// Saves to `path`, where there is an old file. It stays if that fails, and the folder has no other file afterwards.
fn save(path: &Path, is_atomic: bool, begin: impl Fn(&Path, bool) -> Result<Saving, Error>) -> Result<(), Error> {
    untested(|| std::fs::write(path, OLD)).unwrap();
    let result = finish(begin(path, is_atomic));
    untested(|| {
        assert_eq!(names(path.parent().unwrap()), [path.file_name().unwrap()]);
        let is_old = std::fs::read(path).unwrap() == OLD;
        assert!(is_old == result.is_err() || !is_atomic, "{result:?}");
    });
    result
}

#[test]
fn saving_safetensors_npy_and_npz_files() {
    let (_folder, folders) = folders();
    let (all, some) = (items(), items_of_safetensors());
    for folder in &folders {
        let path = folder.join("a file");
        for is_atomic in [true, false] {
            at_each_allocation("safetensors", || {
                save(&path, is_atomic, |path, is_atomic| Saving::safetensors(path, is_atomic, views(&some)?, METADATA))
            });
            at_each_allocation("npz", || save(&path, is_atomic, |path, is_atomic| Saving::npz(path, is_atomic, views(&all)?)));
            // One of the dtypes is enough, and the layouts after it.
            for item in &all[DType::ALL.len() - 1..] {
                at_each_allocation("npy", || save(&path, is_atomic, |path, is_atomic| Saving::npy(path, is_atomic, view(item)?)));
            }
        }
        // The records of an archive differ where nothing can be changed after it is written.
        let null = Path::new("/dev/null");
        at_each_allocation("a device", || finish(Saving::npz(null, true, views(&all)?)));
    }
}

#[test]
fn saving_what_is_refused() {
    let (_folder, folders) = folders();
    let one = |name: &str, dtype| item(name, dtype, 1, Layout::contiguous(&[1]).unwrap());
    let long = "n".repeat(65_532);
    let [metadata, complex] = [[one("__metadata__", DType::Int)], [one("complex", DType::ComplexDouble)]];
    let twice = [one("twice", DType::Int), one("twice", DType::Int)];
    let [nul, long_name, outside] = [
        [one("a\0b", DType::Int)],
        [one(&long, DType::Int)],
        [item("outside", DType::Int, 1, Layout::contiguous(&[2]).unwrap())],
    ];
    for folder in &folders {
        let path = folder.join("a file");
        at_each_allocation("tensors", || {
            let refuse = |begin: &dyn Fn() -> Result<Saving, Error>| refused(save(&path, true, |_, _| begin()));
            for items in [metadata.as_slice(), &complex, &twice, &outside] {
                refuse(&|| Saving::safetensors(&path, true, views(items)?, METADATA))?;
            }
            for items in [&nul, &long_name, &outside] {
                refuse(&|| Saving::npz(&path, true, views(items)?))?;
            }
            refuse(&|| Saving::npy(&path, true, view(&outside[0])?))
        });
        let below = path.join("no/file");
        let paths = [folder.as_path(), &below, Path::new("a\0b"), Path::new(&long)];
        at_each_allocation("paths", || {
            for path in paths {
                refused(finish(Saving::npy(path, true, view(&complex[0])?)))?;
                refused(finish(Saving::npz(path, true, views(&complex)?)))?;
                refused(finish(Saving::safetensors(path, true, views(&twice[..1])?, METADATA)))?;
            }
            Ok(())
        });
    }
}

/// The dtype that the reader of a file has to name.
fn wanted(path: &Path) -> Option<DType> {
    (path.file_stem() == Some("bfloat16".as_ref())).then_some(DType::BFloat16)
}

fn open(path: &Path, maps: bool) -> Result<Opened, Error> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => Opened::npy(path, wanted(path), maps),
        Some("npz") => Opened::npz(path, wanted(path), maps),
        _ => Opened::safetensors(path, maps),
    }
}

/// Opens a file and loads all of its tensors, as views of a map where it has one. Returns their number.
fn load(path: &Path, maps: bool) -> Result<usize, Error> {
    let mut opened = open(path, maps)?;
    let count = opened.members().len();
    for member in 0..count {
        let storage = match opened.view(member)? {
            Some(view) => view,
            None => {
                opened.begin_copy(member)?;
                while opened.copy_piece()?.is_some() {}
                opened.take_copy().unwrap()
            }
        };
        assert_eq!(opened.find(&opened.members()[member].name)?, member);
        assert_eq!(storage.size(), opened.members()[member].layout.elements());
        opened.members()[member].layout.span_in(storage.size())?;
    }
    refused(opened.find(b"a name that no tensor has"))?;
    Ok(count)
}

/// The path of a file that another program wrote.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/formats").join(name)
}

/// The files of all formats in a folder below those.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(data(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file() && path.extension() != Some("tsv".as_ref()));
    files.sort_unstable();
    files
}

#[test]
fn loading_safetensors_npy_and_npz_files() {
    let (_folder, folders) = folders();
    let mut paths = files("");
    paths
        .retain(|path| !["refused", "deflated"].iter().any(|name| path.file_name().unwrap().to_str().unwrap().starts_with(name)));
    for folder in &folders {
        let path = folder.join("saved.safetensors");
        finish(Saving::safetensors(&path, true, items_of_safetensors(), METADATA)).unwrap();
        paths.push(path);
        let path = folder.join("bfloat16.npz");
        let mut items = items();
        // NumPy writes only how wide elements of eight bits are, and they are not the dtype that is named below.
        items.retain(|item| !item.name.starts_with("float8"));
        finish(Saving::npz(&path, true, items)).unwrap();
        paths.push(path);
    }
    for path in &paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        for maps in [true, false] {
            at_each_allocation(name, || {
                assert!(load(path, maps)? > 0);
                Ok(())
            });
        }
    }
}

#[test]
fn loading_files_that_are_refused() {
    let mut paths = files("hostile");
    paths.extend(files("").into_iter().filter(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("refused") || name == "deflated.npz"
    }));
    assert!(paths.len() > 100);
    for path in &paths {
        at_each_allocation(path.to_str().unwrap(), || {
            refused(load(path, true))?;
            refused(load(path, false))
        });
    }
    let floats = data("v1.npy");
    at_each_allocation("dtype", || refused(Opened::npy(&floats, Some(DType::BFloat16), true)));
    let (_folder, folders) = folders();
    for folder in &folders {
        let long = "n".repeat(5000);
        let mut missing = Vec::new();
        for name in ["no.npy", "no.npz", "no.safetensors", "no.safetensors.index.json", "below/no.npy", "a\0b.npz", &long] {
            missing.push(folder.join(name));
        }
        missing.push(folder.clone());
        at_each_allocation("files that are not there", || missing.iter().try_for_each(|path| refused(load(path, true))));
        // A shard that is not there, and one without the tensor.
        let index = folder.join("x.safetensors.index.json");
        std::fs::write(&index, r#"{"weight_map": {"a": "shard.safetensors"}}"#).unwrap();
        at_each_allocation("missing shard", || refused(load(&index, true)));
        let shard = folder.join("shard.safetensors");
        finish(Saving::safetensors(&shard, true, Vec::new(), &[])).unwrap();
        at_each_allocation("missing tensor", || refused(load(&index, true)));
        // A file that becomes shorter after it was opened, and one whose checksum is wrong.
        let path = folder.join("x.npz");
        finish(Saving::npz(&path, true, vec![item("x", DType::Byte, 1000, Layout::contiguous(&[1000]).unwrap())])).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[500] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        at_each_allocation("checksum", || {
            refused(load(&path, false))?;
            let bytes = bytes.as_slice();
            let source = Source::of_bytes(&path, &bytes);
            let contents = npz::read(&source, None)?;
            refused(npz::check(&source, &contents.arrays[0]))
        });
        at_each_allocation("shorter", || {
            untested(|| std::fs::write(&path, &bytes)).unwrap();
            let mut opened = Opened::npz(&path, None, false)?;
            untested(|| std::fs::File::options().write(true).open(&path).unwrap().set_len(400)).unwrap();
            refused(opened.begin_copy(0).and_then(|()| opened.copy_piece()))
        });
    }
}
