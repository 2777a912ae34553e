//! Parts of storages, raw copies and byte order; large operations in several threads, and where threads cannot be had.

use std::error::Error as AnyError;
use std::process::Command;

use torch_storage::bulk::{self, Level, Readable, Writable};
use torch_storage::convert::Scalar;
use torch_storage::storage::{MapOptions, StateId};
use torch_storage::{DType, Error, Storage};

type Outcome = Result<(), Box<dyn AnyError>>;

/// Elements of a class, as numbers.
fn storage(dtype: DType, numbers: &[f64]) -> Result<Storage, Error> {
    let storage = Storage::zeroed(dtype, numbers.len())?;
    for (place, &number) in numbers.iter().enumerate() {
        storage.set(place, Scalar::Float(number))?;
    }
    Ok(storage)
}

fn numbers(storage: &Storage) -> Vec<f64> {
    (0..storage.size()).filter_map(|place| storage.get(place)).collect()
}

/// What numbers are as elements of a class: 1 in a bool, 9 in an integer for 9.7.
fn as_class(dtype: DType, elements: &[f64]) -> Result<Vec<f64>, Error> {
    storage(dtype, elements).map(|storage| numbers(&storage))
}

fn is_out_of_range(result: Result<(), Error>, expected: (usize, usize, usize)) -> bool {
    matches!(result, Err(Error::OutOfRange { offset, size, available }) if (offset, size, available) == expected)
}

#[test]
fn a_range_is_filled_and_nothing_else() -> Outcome {
    for &dtype in DType::ALL {
        let block = storage(dtype, &[1.0, 0.0, 3.0, 0.0, 5.0])?;
        block.fill_range(1, 3, Scalar::Float(9.7))?;
        // Converted, and once: 9 in an integer.
        let filled = as_class(dtype, &[1.0, 9.7, 9.7, 9.7, 5.0])?;
        assert_eq!(numbers(&block), filled, "{dtype:?}");
        block.fill_range(5, 0, Scalar::Float(0.0))?;
        assert!(is_out_of_range(block.fill_range(3, 3, Scalar::Float(0.0)), (3, 3, 5)));
        assert!(is_out_of_range(block.fill_range(6, 0, Scalar::Float(0.0)), (6, 0, 5)));
        assert!(is_out_of_range(block.fill_range(1, usize::MAX, Scalar::Float(0.0)), (1, usize::MAX, 5)));
        assert_eq!(numbers(&block), filled, "{dtype:?}");
    }
    Ok(())
}

#[test]
fn a_range_is_copied_with_conversion_and_overlap() -> Outcome {
    for &from in DType::ALL {
        for &to in DType::ALL {
            let source = storage(from, &[1.0, 0.0, 3.0, 4.0])?;
            let target = storage(to, &[10.0, 20.0, 30.0, 40.0, 0.0])?;
            target.copy_range(2, &source, 1, 3)?;
            let [_, zero, three, four] = numbers(&source)[..] else { return Err("four elements".into()) };
            let copied = as_class(to, &[10.0, 20.0, zero, three, four])?;
            assert_eq!(numbers(&target), copied, "{from:?} to {to:?}");
            assert!(is_out_of_range(target.copy_range(3, &source, 0, 3), (3, 3, 5)));
            assert!(is_out_of_range(target.copy_range(0, &source, 2, 3), (2, 3, 4)));
            assert_eq!(numbers(&target), copied, "{from:?} to {to:?}");
        }
        let block = storage(from, &[1.0, 0.0, 3.0, 4.0, 5.0])?;
        block.copy_range(1, &block, 0, 4)?;
        assert_eq!(numbers(&block), as_class(from, &[1.0, 1.0, 0.0, 3.0, 4.0])?, "{from:?}");
        let view = block.view(1, 4)?;
        block.copy_range(0, &view, 0, 4)?;
        assert_eq!(numbers(&block), as_class(from, &[1.0, 0.0, 3.0, 4.0, 4.0])?, "{from:?}");
    }
    Ok(())
}

#[test]
fn bytes_are_copied_as_they_are() -> Outcome {
    let floats = storage(DType::Float, &[1.0, -2.0])?;
    let bytes = Storage::zeroed(DType::Byte, 8)?;
    bytes.copy_bytes(&floats)?;
    let back = Storage::zeroed(DType::Float, 2)?;
    back.copy_bytes(&bytes)?;
    assert_eq!(numbers(&back), [1.0, -2.0]);
    let short = Storage::zeroed(DType::Short, 5)?;
    assert!(matches!(short.copy_bytes(&floats), Err(Error::LengthMismatch { expected: 10, got: 8 })));
    let before = numbers(&bytes);
    bytes.view(1, 7)?.copy_bytes(&bytes.view(0, 7)?)?;
    let moved: Vec<f64> = before[..1].iter().chain(&before[..7]).copied().collect();
    assert_eq!(numbers(&bytes), moved);
    Ok(())
}

#[test]
fn byte_order_is_turned_round_and_back() -> Outcome {
    for &dtype in DType::ALL {
        let block = storage(dtype, &[1.0, 2.0, 100.0])?;
        let before = numbers(&block);
        block.byteswap(None)?;
        assert_eq!(numbers(&block) == before, dtype.width() == 1, "{dtype:?}");
        block.byteswap(Some(dtype.part().width()))?;
        assert_eq!(numbers(&block), before, "{dtype:?}");
    }
    let bytes = storage(DType::Byte, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    bytes.byteswap(Some(2))?;
    assert_eq!(numbers(&bytes), [2.0, 1.0, 4.0, 3.0, 6.0, 5.0]);
    assert!(matches!(bytes.byteswap(Some(4)), Err(Error::NoWords { width: 4, bytes: 6 })));
    for width in [0, 3, 16] {
        assert!(matches!(bytes.byteswap(Some(width)), Err(Error::NoWords { .. })), "{width}");
    }
    assert_eq!(numbers(&bytes), [2.0, 1.0, 4.0, 3.0, 6.0, 5.0]);
    Ok(())
}

#[test]
fn what_can_only_be_read_stays() -> Outcome {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), [7; 64])?;
    let map = Storage::map(DType::Int, file.path(), &MapOptions { read_only: true, ..MapOptions::default() })?;
    let other = Storage::zeroed(DType::Int, 16)?;
    let refused = |result| matches!(result, Err(Error::ReadOnly { .. }));
    assert!(refused(map.fill_range(0, 1, Scalar::Float(1.0))));
    assert!(refused(map.copy_range(0, &other, 0, 1)));
    assert!(refused(map.copy_bytes(&other)));
    assert!(refused(map.byteswap(None)));
    other.copy_range(0, &map, 0, 16)?;
    assert!(other.equals(&map));
    Ok(())
}

/// Large enough for several threads and for streaming stores, and nothing that either divides.
const LARGE: usize = (9 << 20) + 12_345;

/// Large fills and copies, next to the same in one thread.
fn check_large() -> Outcome {
    let source = Storage::zeroed(DType::Double, LARGE)?;
    for start in (0..LARGE).step_by(1000) {
        let part = source.view(start, 1000.min(LARGE - start))?;
        part.fill(Scalar::Float(number(start)))?;
    }
    let targets = [
        (DType::Byte, 3),
        (DType::Half, 1),
        (DType::Float, 5),
        (DType::Double, 0),
        (DType::Long, 2),
        (DType::BFloat16, 1),
        (DType::Bool, 7),
        (DType::Float8_e5m2, 4),
    ];
    for (to, offset) in targets {
        let target = Storage::zeroed(to, LARGE)?;
        target.fill(Scalar::Float(85.0))?;
        let size = LARGE - offset - 1;
        target.copy_range(offset, &source, 0, size)?;
        for place in (0..size).step_by(499).chain(size - 70..size) {
            let expected = storage(to, &[number(place)])?.get(0);
            assert_eq!(target.get(place + offset), expected, "{to:?} at {place}");
        }
        let outside = storage(to, &[85.0])?.get(0);
        assert!((0..offset).chain([LARGE - 1]).all(|place| target.get(place) == outside), "outside");
        let again = Storage::zeroed(to, LARGE)?;
        // SAFETY: [live] [in-bounds] the storage has that many elements.
        let into = unsafe { Writable::new(again.data(), to, LARGE) };
        // SAFETY: [live] [in-bounds] the storage has that many elements.
        one_level().copy(into, unsafe { Readable::new(source.data(), DType::Double, LARGE) });
        assert!(target.view(offset, size)?.equals(&again.view(0, size)?), "{to:?}");
    }
    Ok(())
}

fn number(place: usize) -> f64 {
    let block = u32::try_from(place / 1000).unwrap_or(0);
    f64::from(block) * 1.25 - 100.0
}

/// The lowest level, in one thread.
fn one_level() -> Level {
    Level::available().next().unwrap_or_else(Level::current)
}

/// Runs one of the ignored tests below in a process of its own.
fn alone(test: &str, variable: Option<(&str, &str)>) -> Result<String, Box<dyn AnyError>> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env_remove("TORCH_STORAGE_CPU")
        .envs(variable);
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{test}: {text}{}", String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

#[test]
fn several_threads_do_what_one_does() -> Outcome {
    alone("large_in_three_threads", None).map(|_| ())
}

#[test]
#[ignore = "a process of the tests"]
fn large_in_three_threads() -> Outcome {
    bulk::set_threads(3);
    check_large()
}

#[cfg(target_os = "linux")]
#[test]
fn where_no_thread_can_be_had_the_work_is_done_here() -> Outcome {
    alone("large_without_threads", None).map(|_| ())
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "a process of the tests"]
fn large_without_threads() -> Outcome {
    let (target, source) = (Storage::zeroed(DType::Float, LARGE)?, Storage::zeroed(DType::Double, LARGE)?);
    // The stack of a thread that has ended would be used again.
    bulk::set_threads(1);
    source.fill(Scalar::Float(2.5))?;
    bulk::set_threads(4);
    // No more address space than there is: not enough for a stack.
    let pages: u64 = std::fs::read_to_string("/proc/self/statm")?.split(' ').next().ok_or("no size")?.parse()?;
    let limit = libc::rlimit { rlim_cur: pages * 4096 + (96 << 10), rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit is read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    assert!(std::thread::Builder::new().stack_size(256 << 10).spawn(|| ()).is_err(), "a thread could be had");
    target.copy_from(&source)?;
    assert!((0..LARGE).all(|place| target.get(place) == Some(2.5)));
    target.fill(Scalar::Float(-1.0))?;
    assert!((0..LARGE).all(|place| target.get(place) == Some(-1.0)));
    Ok(())
}

#[test]
fn the_environment_lowers_the_level() -> Outcome {
    let highest = Level::available().last().map(Level::name).ok_or("there is one")?;
    for level in Level::available() {
        let report = alone("report", Some(("TORCH_STORAGE_CPU", level.name())))?;
        assert!(report.contains(&format!("level {};", level.name())), "{report}");
    }
    for variable in [None, Some(("TORCH_STORAGE_CPU", "no such")), Some(("TORCH_STORAGE_CPU", "avx512"))] {
        let report = alone("report", variable)?;
        assert!(report.contains(&format!("level {highest};")), "{variable:?}: {report}");
    }
    Ok(())
}

#[test]
#[ignore = "a process of the tests"]
fn report() {
    println!("level {};", Level::current().name());
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "a process of the tests"]
fn one_core() -> Outcome {
    // SAFETY: zeros are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: it changes nothing.
    let core = usize::try_from(unsafe { libc::sched_getcpu() })?;
    // SAFETY: the core that this thread runs on is in every set.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: the set is read, and has that size.
    assert_eq!(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) }, 0);
    assert_eq!(bulk::threads(), 1);
    bulk::set_threads(5);
    assert_eq!(bulk::threads(), 5);
    // Workers that have nowhere to go stay.
    check_large()
}

#[cfg(target_os = "linux")]
#[test]
fn as_many_threads_as_cores_that_may_be_used() -> Outcome {
    alone("one_core", None).map(|_| ())
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "a process of the tests"]
fn large_after_fork() -> Outcome {
    bulk::set_threads(3);
    let (target, source) = (Storage::zeroed(DType::Float, LARGE)?, Storage::zeroed(DType::Double, LARGE)?);
    source.fill(Scalar::Float(2.5))?;
    // SAFETY: the child only copies and ends; the allocator's locks are kept right across a fork by the C library.
    let child = unsafe { libc::fork() };
    let copied = target.copy_from(&source).is_ok() && target.get(LARGE - 1) == Some(2.5);
    if child == 0 {
        // SAFETY: the child ends, without what the parent's harness would do at its end.
        unsafe { libc::_exit(if copied { 7 } else { 8 }) };
    }
    let mut status = 0;
    // SAFETY: the status is written.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(libc::WEXITSTATUS(status), 7);
    assert!(copied);
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_forked_child_has_threads_as_well() -> Outcome {
    alone("large_after_fork", None).map(|_| ())
}

#[test]
fn a_view_of_memory_that_was_left_is_still_filled() -> Outcome {
    let whole = storage(DType::Short, &[1.0, 2.0, 3.0])?;
    let part = whole.view(1, 2)?;
    whole.resize(100, StateId::PROGRAM)?;
    part.fill_range(1, 1, Scalar::Float(9.0))?;
    assert_eq!(numbers(&part), [2.0, 9.0]);
    assert_eq!(whole.get(2), Some(3.0));
    Ok(())
}
