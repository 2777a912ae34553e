//! Operations on ranges of elements and on raw bytes, and large operations with several threads or without any.

use std::error::Error as AnyError;
use std::process::Command;

use torch_storage::bulk::{self, Level, Readable, Writable};
use torch_storage::convert::Scalar;
use torch_storage::storage::{MapOptions, StateId, Storage};
use torch_storage::{DType, Error};

type Outcome = Result<(), Box<dyn AnyError>>;

/// A storage with these numbers as its elements.
fn storage(dtype: DType, numbers: &[f64]) -> Result<Storage, Error> {
    let storage = Storage::zeroed(dtype, numbers.len())?;
    for (index, &number) in numbers.iter().enumerate() {
        storage.set(index, Scalar::Float(number))?;
    }
    Ok(storage)
}

fn numbers(storage: &Storage) -> Vec<f64> {
    (0..storage.size()).filter_map(|index| storage.get(index)).collect()
}

/// The numbers after conversion to a dtype: 9.7 becomes 9 as an integer and 1 as a boolean.
fn converted(dtype: DType, elements: &[f64]) -> Result<Vec<f64>, Error> {
    storage(dtype, elements).map(|storage| numbers(&storage))
}

fn is_out_of_range(result: Result<(), Error>, expected: (usize, usize, usize)) -> bool {
    matches!(result, Err(Error::OutOfRange { offset, size, available }) if (offset, size, available) == expected)
}

#[test]
fn fill_range_fills_its_range_only() -> Outcome {
    for &dtype in DType::ALL {
        let block = storage(dtype, &[1.0, 0.0, 3.0, 0.0, 5.0])?;
        block.fill_range(1, 3, Scalar::Float(9.7))?;
        // The value is converted once, before the fill: 9.7 becomes 9 in integers.
        let filled = converted(dtype, &[1.0, 9.7, 9.7, 9.7, 5.0])?;
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
fn copy_range_converts_and_allows_overlap() -> Outcome {
    for &from in DType::ALL {
        for &to in DType::ALL {
            let source = storage(from, &[1.0, 0.0, 3.0, 4.0])?;
            let target = storage(to, &[10.0, 20.0, 30.0, 40.0, 0.0])?;
            target.copy_range(2, &source, 1, 3)?;
            let [_, zero, three, four] = numbers(&source)[..] else { return Err("four elements expected".into()) };
            let copied = converted(to, &[10.0, 20.0, zero, three, four])?;
            assert_eq!(numbers(&target), copied, "{from:?} to {to:?}");
            assert!(is_out_of_range(target.copy_range(3, &source, 0, 3), (3, 3, 5)));
            assert!(is_out_of_range(target.copy_range(0, &source, 2, 3), (2, 3, 4)));
            assert_eq!(numbers(&target), copied, "{from:?} to {to:?}");
        }
        let block = storage(from, &[1.0, 0.0, 3.0, 4.0, 5.0])?;
        block.copy_range(1, &block, 0, 4)?;
        assert_eq!(numbers(&block), converted(from, &[1.0, 1.0, 0.0, 3.0, 4.0])?, "{from:?}");
        let view = block.view(1, 4)?;
        block.copy_range(0, &view, 0, 4)?;
        assert_eq!(numbers(&block), converted(from, &[1.0, 0.0, 3.0, 4.0, 4.0])?, "{from:?}");
    }
    Ok(())
}

#[test]
fn copy_bytes_does_not_convert() -> Outcome {
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
fn byteswap_reverses_the_bytes_of_each_word() -> Outcome {
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
fn a_read_only_storage_refuses_every_write() -> Outcome {
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

/// Enough elements for several threads and for streaming stores. The number is not a multiple of what either handles at a time.
const LARGE: usize = (9 << 20) + 12_345;

/// Compares large fills and copies with the same operations in one thread.
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
        for index in (0..size).step_by(499).chain(size - 70..size) {
            let expected = storage(to, &[number(index)])?.get(0);
            assert_eq!(target.get(index + offset), expected, "{to:?} at index {index}");
        }
        let outside = storage(to, &[85.0])?.get(0);
        assert!(
            (0..offset).chain([LARGE - 1]).all(|index| target.get(index) == outside),
            "{to:?}: elements outside the range changed"
        );
        let again = Storage::zeroed(to, LARGE)?;
        // SAFETY: [live] [in-bounds] the storage has that many elements.
        let into = unsafe { Writable::new(again.data(), to, LARGE) };
        // SAFETY: [live] [in-bounds] the storage has that many elements.
        one_level().copy(into, unsafe { Readable::new(source.data(), DType::Double, LARGE) });
        assert!(target.view(offset, size)?.equals(&again.view(0, size)?), "{to:?}");
    }
    Ok(())
}

fn number(index: usize) -> f64 {
    let block = u32::try_from(index / 1000).unwrap_or(0);
    f64::from(block) * 1.25 - 100.0
}

/// The lowest level of vector instructions. `Level::copy` uses one thread.
fn one_level() -> Level {
    Level::available().next().unwrap_or_else(Level::current)
}

/// Runs one of the ignored tests below in a child process.
fn run_child(test: &str, variable: Option<(&str, &str)>) -> Result<String, Box<dyn AnyError>> {
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
fn several_threads_give_the_same_result_as_one() -> Outcome {
    run_child("large_in_three_threads", None).map(|_| ())
}

#[test]
#[ignore = "another test runs this one in a child process"]
fn large_in_three_threads() -> Outcome {
    bulk::set_threads(3);
    check_large()
}

#[cfg(target_os = "linux")]
#[test]
fn the_calling_thread_does_the_work_if_no_thread_can_be_started() -> Outcome {
    run_child("large_without_threads", None).map(|_| ())
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "another test runs this one in a child process"]
fn large_without_threads() -> Outcome {
    let (target, source) = (Storage::zeroed(DType::Float, LARGE)?, Storage::zeroed(DType::Double, LARGE)?);
    // This fill uses one thread: the stack of a thread that has ended could be reused, and so a thread could be started below.
    bulk::set_threads(1);
    source.fill(Scalar::Float(2.5))?;
    bulk::set_threads(4);
    // The limit leaves less address space than the stack of a thread needs.
    let pages: u64 = std::fs::read_to_string("/proc/self/statm")?.split(' ').next().ok_or("statm is empty")?.parse()?;
    // SAFETY: [system] the call takes no pointers.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) })?;
    let limit = libc::rlimit { rlim_cur: pages * page + (96 << 10), rlim_max: libc::RLIM_INFINITY };
    // SAFETY: [system] the limit is a local variable, which the call reads.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    assert!(std::thread::Builder::new().stack_size(256 << 10).spawn(|| ()).is_err(), "a thread could be started");
    target.copy_from(&source)?;
    assert!((0..LARGE).all(|index| target.get(index) == Some(2.5)));
    target.fill(Scalar::Float(-1.0))?;
    assert!((0..LARGE).all(|index| target.get(index) == Some(-1.0)));
    Ok(())
}

#[test]
fn the_environment_variable_can_lower_the_level() -> Outcome {
    let highest = Level::available().last().map(Level::name).ok_or("no level is available")?;
    for level in Level::available() {
        let report = run_child("report", Some(("TORCH_STORAGE_CPU", level.name())))?;
        assert!(report.contains(&format!("level {};", level.name())), "{report}");
    }
    for variable in [None, Some(("TORCH_STORAGE_CPU", "no such")), Some(("TORCH_STORAGE_CPU", "avx512"))] {
        let report = run_child("report", variable)?;
        assert!(report.contains(&format!("level {highest};")), "{variable:?}: {report}");
    }
    Ok(())
}

#[test]
#[ignore = "another test runs this one in a child process"]
fn report() {
    println!("level {};", Level::current().name());
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "another test runs this one in a child process"]
fn one_core() -> Outcome {
    // SAFETY: [layout] an empty set consists of zeros.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: [system] the call takes no arguments.
    let core = usize::try_from(unsafe { libc::sched_getcpu() })?;
    // SAFETY: [in-bounds] the set has room for every core, including the one that this thread runs on.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: [system] the set is a local variable of the given size, which the call reads.
    assert_eq!(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) }, 0);
    assert_eq!(bulk::threads(), 1);
    bulk::set_threads(5);
    assert_eq!(bulk::threads(), 5);
    // All five threads share the one core.
    check_large()
}

#[cfg(target_os = "linux")]
#[test]
fn the_default_is_one_thread_for_each_core_that_may_be_used() -> Outcome {
    run_child("one_core", None).map(|_| ())
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "another test runs this one in a child process"]
fn large_after_fork() -> Outcome {
    bulk::set_threads(3);
    let (target, source) = (Storage::zeroed(DType::Float, LARGE)?, Storage::zeroed(DType::Double, LARGE)?);
    source.fill(Scalar::Float(2.5))?;
    // SAFETY: [system] the child only copies and exits. The C library keeps the locks of its allocator consistent across a fork.
    let child = unsafe { libc::fork() };
    let copied = target.copy_from(&source).is_ok() && target.get(LARGE - 1) == Some(2.5);
    if child == 0 {
        // SAFETY: [system] the call ends the child at once, so that the test harness does not run on in it.
        unsafe { libc::_exit(if copied { 7 } else { 8 }) };
    }
    let mut status = 0;
    // SAFETY: [system] the status is a local variable, which the call writes.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(libc::WEXITSTATUS(status), 7);
    assert!(copied);
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_forked_child_can_use_threads() -> Outcome {
    run_child("large_after_fork", None).map(|_| ())
}

#[test]
fn a_view_keeps_the_old_memory_when_its_storage_moves() -> Outcome {
    let whole = storage(DType::Short, &[1.0, 2.0, 3.0])?;
    let part = whole.view(1, 2)?;
    whole.resize(100, StateId::of_this_thread())?;
    part.fill_range(1, 1, Scalar::Float(9.0))?;
    assert_eq!(numbers(&part), [2.0, 9.0]);
    assert_eq!(whole.get(2), Some(3.0));
    Ok(())
}
