//! Memory that runs out, at each allocation in turn: the operation returns an error, and leaves nothing behind.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../counting/mod.rs"]
mod counting;
#[cfg(feature = "formats")]
mod formats;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use counting::{fail_at, live, succeed, untested};
use torch_storage::bulk::Field;
use torch_storage::convert::Scalar;
use torch_storage::output::Output;
use torch_storage::picking;
use torch_storage::storage::{MapOptions, Sharing, StateId, Storage, Token, shared_memory, unlink_shared_memory};
use torch_storage::t7::{self, Encoding, Event, Input, Reader, Writer};
use torch_storage::tensor::{Layout, Tensor};
use torch_storage::{DType, Error};

/// Who holds the storages of these tests.
fn state() -> StateId {
    StateId::of_this_thread()
}

/// Runs `act` again and again, and lets its first allocation fail, then its second, and so on, until it needs no more. Each failure
/// has to be an error whose text can be shown, and to leave as much memory as there was before. Returns the number of allocations.
fn at_each_allocation(name: &str, act: impl Fn() -> Result<(), Error>) -> usize {
    // What is allocated once, such as the room of a list, is there afterwards.
    for _ in 0..3 {
        act().expect(name);
    }
    let mut most = 0;
    for lasting in [false, true] {
        for number in 0.. {
            let before = live();
            fail_at(number, lasting);
            let result = act();
            let failed = succeed();
            if let Err(error) = &result {
                let mut text = String::with_capacity(10_000);
                fail_at(0, true);
                let written = write!(text, "{error}");
                assert_eq!((written.is_ok(), succeed()), (true, 0), "{name}: the text of allocation {number}'s error");
                assert!(text.contains("memory") || text.contains("..."), "{name}, allocation {number}: {text}");
            }
            drop(result);
            assert_eq!(live(), before, "{name}: something is left after a failure of allocation {number}");
            if failed == 0 {
                most = most.max(number);
                break;
            }
        }
    }
    most
}

/// An error that is expected, so that what follows is tested, too. That there is no memory for it is an error.
fn refused<T>(result: Result<T, Error>) -> Result<(), Error> {
    match result {
        Ok(_) => Err(Error::SpentToken),
        Err(error @ Error::OutOfMemory { .. }) => Err(error),
        Err(_) => Ok(()),
    }
}

#[test]
fn making_and_changing_storages() {
    let sizes = [0, 1, 30, 1000, 100_000, 10_000_000];
    at_each_allocation("zeroed", || sizes.iter().try_for_each(|&size| Storage::zeroed(DType::Double, size).map(drop)));
    at_each_allocation("resize", || {
        let storage = Storage::zeroed(DType::Float, 3)?;
        let view = storage.view(1, 2)?;
        sizes.iter().try_for_each(|&size| storage.resize(size, state()))?;
        drop(view);
        storage.reserve(1000, state())?;
        storage.cast(DType::Double).map(drop)
    });
    at_each_allocation("views", || {
        let storage = Storage::zeroed(DType::Long, 100)?;
        let views = [storage.view(1, 2)?, storage.view(50, 10)?, storage.reinterpret(DType::Int, 8, 4)?];
        drop(storage);
        drop(views);
        Ok(())
    });
    at_each_allocation("owner", || {
        let owner = [1_u8; 100];
        // SAFETY: [vouched] a storage of no elements has no memory.
        unsafe { Storage::from_raw_parts(owner, DType::Byte, std::ptr::null_mut(), 0, true) }.map(drop)
    });
    at_each_allocation("refused", || {
        let storage = Storage::from_bytes(DType::Byte, &[1, 2, 3])?;
        refused(storage.view(2, 2))?;
        refused(storage.view(0, 2)?.resize(1, state()))?;
        refused(storage.copy_from(&Storage::zeroed(DType::Byte, 2)?))?;
        refused(storage.advise(torch_storage::storage::Advice::Random))
    });
}

#[test]
fn references_tokens_and_publications() {
    let other = StateId::new(std::num::NonZeroUsize::new(7).unwrap());
    at_each_allocation("retain", || {
        let storage = Storage::zeroed(DType::Int, 3)?;
        storage.retain(state())?;
        let address = std::ptr::from_ref(&*storage).addr();
        let adopted = Storage::adopt(address, DType::Int, other);
        if adopted.is_err() {
            assert!(storage.release_retained(state()));
        }
        _ = adopted?.release(other);
        Ok(())
    });
    at_each_allocation("share", || {
        let storage = Storage::zeroed(DType::Int, 3)?;
        let shared = storage.share_with(state(), other)?;
        let handed = shared.hand_over(other, state()).map_err(|(shared, error)| {
            _ = shared.release(other);
            error
        })?;
        drop(handed);
        Ok(())
    });
    at_each_allocation("token", || {
        let storage = Storage::zeroed(DType::Int, 3)?;
        let token = storage.token(state())?;
        let taken = Storage::from_token(token, other);
        if taken.is_err() {
            // Nothing has changed, so the token can be taken when there is memory again.
            _ = untested(|| Storage::from_token(token, other))?.release(other);
        }
        _ = taken?.release(other);
        refused(Storage::from_token(token, other))?;
        refused("torch-storage:1:2:3".parse::<Token>()?.parked())
    });
    at_each_allocation("publish", || {
        let (storage, second) = (Storage::zeroed(DType::Int, 3)?, Storage::zeroed(DType::Int, 3)?);
        storage.publish(b"a name of a publication", state())?;
        let found = (|| {
            let found = Storage::lookup(b"a name of a publication", other)?;
            _ = found.and_then(|found| found.release(other));
            refused(second.publish(b"a name of a publication", state()))
        })();
        let ended = Storage::unpublish(b"a name of a publication", other);
        if ended.is_err() {
            let ended = untested(|| Storage::unpublish(b"a name of a publication", other));
            _ = ended?.and_then(|storage| storage.release(other));
        }
        _ = ended?.and_then(|storage| storage.release(other));
        found
    });
}

#[test]
fn maps_and_shared_memory() {
    let folder = tempfile::tempdir().unwrap();
    // Long names are copied to the heap by the standard library.
    let deep = folder.path().join("a".repeat(200)).join("b".repeat(200));
    std::fs::create_dir_all(&deep).unwrap();
    for folder in [folder.path(), &deep] {
        let (path, below, long) = (folder.join("file"), folder.join("file/no"), "n".repeat(5000));
        at_each_allocation("map", || {
            let options = MapOptions { sharing: Sharing::Shared, size: Some(10), ..MapOptions::default() };
            let map = Storage::map(DType::Int, &path, &options)?;
            assert!(map.check()? && map.file_name().is_some());
            map.flush(true)?;
            map.advise(torch_storage::storage::Advice::WillNeed)?;
            drop(map);
            drop(Storage::map(DType::Int, &path, &MapOptions { lock: true, huge_pages: true, ..MapOptions::default() })?);
            refused(Storage::map(DType::Int, &path, &MapOptions { offset: 1000, ..MapOptions::default() }))?;
            refused(Storage::map(DType::Int, &path, &MapOptions { size: Some(1000), ..MapOptions::default() }))?;
            refused(Storage::map(DType::Int, &below, &MapOptions::default()))?;
            refused(Storage::map(DType::Int, Path::new("a\0b"), &MapOptions::default()))?;
            refused(Storage::map(DType::Int, Path::new(&long), &MapOptions::default()))?;
            untested(|| std::fs::remove_file(&path)).unwrap();
            refused(Storage::map(DType::Int, &path, &MapOptions { sharing: Sharing::Shared, ..MapOptions::default() }))
        });
    }
    if cfg!(target_os = "linux") {
        let name = OsString::from(format!("torch-storage-exhausted-{}", std::process::id()));
        at_each_allocation("shared", || {
            let shared = Storage::shared(DType::Int, &name, Some(4))?;
            let again = Storage::shared(DType::Int, &name, None)?;
            assert!(again.shared_memory_name().is_some());
            let storage = Storage::zeroed(DType::Int, 4)?;
            refused(storage.share_memory(Some(&name), state()))?;
            storage.share_memory(None, state())?;
            drop((shared, again));
            refused(Storage::shared(DType::Int, &name, None))?;
            refused(Storage::shared(DType::Int, "a/b".as_ref(), None))?;
            assert!(!unlink_shared_memory(&name)?);
            shared_memory().map(drop)
        });
    }
}

#[test]
fn tensors() {
    let eight = [2_usize, 1, 2, 1, 2, 1, 2, 3];
    for sizes in [&eight[5..], &eight] {
        at_each_allocation("tensor", || {
            let storage = Storage::zeroed(DType::Float, 100)?;
            let layout = Layout::contiguous(sizes)?;
            let last = sizes.len() - 1;
            let turned = layout.transpose(0, last)?.unsqueeze(1)?.try_clone()?;
            let parts = [layout.narrow(last, 1, 2)?, layout.select(0, 0)?, layout.squeeze()?, layout.unfold(last, 2, 1)?];
            layout.split(last, 2)?.chunks()?;
            Tensor::new(&storage, &turned).fill(Scalar::Float(7.0))?;
            let order: Vec<usize> = Vec::new();
            refused(layout.permute(&order))?;
            refused(layout.view(&[5, 5]))?;
            refused(turned.view(&[-1, 3, 1]))?;
            refused(layout.expand(&[3, 3]))?;
            refused(layout.span_in(1))?;
            refused(Layout::contiguous(&[1; 65]))?;
            drop(parts);
            Tensor::new(&storage, &layout).to_storage(DType::Double).map(drop)
        });
    }
}

/// All pieces of a dimension.
trait Chunks {
    fn chunks(self) -> Result<(), Error>;
}

impl Chunks for torch_storage::tensor::Pieces {
    fn chunks(self) -> Result<(), Error> {
        self.into_iter().try_for_each(|piece| piece.map(drop))
    }
}

#[test]
fn saving_and_loading_t7_files() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a".repeat(200)).join("b".repeat(200));
    std::fs::create_dir_all(&deep).unwrap();
    for folder in [folder.path(), &deep] {
        let link = folder.join("link");
        std::os::unix::fs::symlink("file.t7", &link).unwrap();
        for (encoding, atomic) in [(Encoding::NATIVE, true), (Encoding::Ascii, false)] {
            at_each_allocation("save", || {
                let mut writer = Writer::new(Output::to_file(&link, atomic, 0)?, encoding);
                writer.int(4)?;
                writer.string(b"a string")?;
                writer.layout(&Layout::contiguous(&[2, 3])?)?;
                writer.int(t7::tag::NIL)?;
                writer.finish()
            });
            at_each_allocation("load", || {
                let mut reader = Reader::new(Input::open(&link)?, encoding, true);
                reader.int()?;
                assert_eq!(reader.string()?, b"a string");
                reader.layout()?;
                assert!(matches!(reader.next()?, Event::Nil));
                refused(reader.next().map(|_| ()))
            });
        }
        at_each_allocation("memory", || {
            let mut writer = Writer::new(Output::to_memory(), Encoding::NATIVE);
            (0..100).try_for_each(|_| writer.string(&[7; 50_000]))?;
            writer.take_storage().map(drop)
        });
        let (missing, below, long) = (folder.join("no"), folder.join("no/file"), "n".repeat(5000));
        at_each_allocation("files that are refused", || {
            refused(Output::to_file(folder, true, 0))?;
            refused(Output::to_file(&below, true, 0))?;
            refused(Output::to_file(Path::new(&long), true, 0))?;
            refused(Input::open(&missing))?;
            refused(Input::open(folder))
        });
        assert_eq!(
            std::fs::read_dir(folder).unwrap().filter(|entry| entry.as_ref().unwrap().path() != deep.parent().unwrap()).count(),
            2
        );
    }
}

#[test]
fn picking() {
    let numbers = Storage::from_bytes(DType::Short, &[1; 600]).unwrap();
    let turned = Layout::contiguous(&[100, 3]).unwrap().transpose(0, 1).unwrap();
    let source = (&numbers, &turned);
    at_each_allocation("pick", || {
        let (target, layout) = (Storage::zeroed(DType::Short, 600)?, Layout::contiguous(&[3, 200])?);
        picking::pick((&target, &layout), 0, source, 1, &[99; 200])
    });
    at_each_allocation("nonzero", || {
        let target = Storage::zeroed(DType::Long, 2 * picking::count_nonzero(source, 0..300)?)?;
        assert_eq!(picking::write_places(source, 0..300, &target, 0)?, 300);
        assert_eq!(picking::select(source, source, 0..300, &Storage::zeroed(DType::Short, 300)?, 0)?, 300);
        Ok(())
    });
    at_each_allocation("column", || {
        let field = Field { offset: 1, record: 6, word: 4 };
        let (column, bytes) = (Storage::zeroed(DType::Int, 100)?, numbers.reinterpret(DType::Byte, 0, 600)?);
        picking::read_field((&bytes, 0), (&column, 0), 100, field)?;
        picking::write_field((&Storage::zeroed(DType::Byte, 600)?, 0), (&column, 0), 100, field)
    });
}

#[cfg(feature = "answers")]
#[test]
fn answers() {
    use torch_storage::answers::{
        Direction, Extreme, First, Found, List, Nearest, Scale, Scored, Sum, Term, fold_all_of, fold_lines,
    };
    use torch_storage::bulk::{Level, Readable, Writable};

    let _ = Level::current();
    let numbers = Storage::from_bytes(DType::Short, &[1; 600]).unwrap();
    let turned = Layout::contiguous(&[100, 3]).unwrap().transpose(0, 1).unwrap();
    let all = Tensor::new(&numbers, &turned).elements().unwrap();
    at_each_allocation("fold", || {
        let whole = fold_all_of(&Sum(Term::Element), all)?.total();
        assert_eq!(whole, [150.0 * 257.0; 2]);
        fold_lines(&Sum(Term::Element), all, 0..3, &|_, sum| assert_eq!(sum.total(), [50.0 * 257.0; 2]))
    });
    let nearest = at_each_allocation("nearest", || {
        let mut nearest = Nearest::new(3, 100, Extreme::Greatest)?;
        (0..100).for_each(|row| nearest.add(Scored { row, score: 1.0 }));
        assert!(nearest.best().iter().map(|scored| scored.row).eq(0..3));
        Ok(())
    });
    assert!(nearest > 0);
    let order = at_each_allocation("order", || {
        let (mut values, mut indices) = ([0; 12], [0; 48]);
        let first = First { wanted: 2, direction: Direction::Ascending };
        let found =
            Found { values: Some(Writable::of(&mut values, DType::Short)), indices: Writable::of(&mut indices, DType::Long) };
        first.of_lines(all, 0..3, found)?;
        assert_eq!((values[10], values[11], indices[40]), (1, 1, 2));
        Ok(())
    });
    assert!(order > 0);
    let bytes = [1; 600];
    let sort = at_each_allocation("sort", || {
        let mut list = List::<i16>::with_room(300)?;
        list.add(Readable::of(&bytes, DType::Short));
        list.sort(Direction::Descending, &mut || Ok::<_, Error>(()))?.put(Writable::of(&mut [0; 600], DType::Short));
        Ok(())
    });
    assert!(sort > 0);
    at_each_allocation("scale", || {
        let target = Storage::zeroed(DType::Short, 300)?;
        Scale::Add(Scalar::Signed(3)).run(&target, &turned, 0..300, None)?;
        assert_eq!(target.get(299), Some(3.0));
        Ok(())
    });
}

#[test]
fn work_of_several_threads() {
    let (from, to) = (Storage::zeroed(DType::Float, 20_000_000).unwrap(), Storage::zeroed(DType::Double, 20_000_000).unwrap());
    torch_storage::bulk::set_threads(3);
    let allocations = at_each_allocation("copy", || to.copy_from(&from));
    assert_eq!(allocations, 0);
    torch_storage::bulk::set_threads(0);
}
