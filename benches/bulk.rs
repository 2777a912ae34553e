//! Measures every kernel with every dtype, on blocks in the first-level cache, in the last-level cache and in main memory.
//!
//! `cargo bench --features internals --bench bulk` runs all of them, and with `-- 'copy.*Half -> Float'` some. The kernels use one thread
//! and the best instructions of this machine, unless `THREADS` and `TORCH_STORAGE_CPU` say otherwise. A size counts the bytes read and
//! those written.
#![allow(missing_docs, reason = "divan's macros make public functions")]

use std::fmt;

use divan::Bencher;
use divan::counter::BytesCount;
use torch_storage::DType;
use torch_storage::bulk::{self, Writable};
use torch_storage::convert::Scalar;
use torch_storage::storage::Storage;

/// 16 KiB, 4 MiB, 80 MB.
const SIZES: [usize; 3] = [16 << 10, 4 << 20, 80_000_000];

fn main() {
    let threads = std::env::var("THREADS").ok().and_then(|threads| threads.parse().ok());
    bulk::set_threads(threads.unwrap_or(1));
    divan::main();
}

/// An operation, and on how much.
#[derive(Clone, Copy)]
struct Case {
    to: DType,
    from: DType,
    /// Bytes read and written for one element.
    moved: usize,
    bytes: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |dtype: DType| dtype.short_name().trim_end_matches("Storage");
        write!(f, "{} -> {}, {} KiB", name(self.from), name(self.to), self.bytes >> 10)
    }
}

impl Case {
    /// Runs `kernel` on a target, a source, and the number of their elements.
    fn run(self, bencher: Bencher<'_, '_>, kernel: impl Fn(&Storage, &Storage, usize) + Sync) {
        let size = self.bytes / self.moved;
        let storage = |dtype, value| Storage::zeroed(dtype, size).and_then(|storage| storage.fill(value).map(|()| storage));
        match (storage(self.to, Scalar::Signed(1)), storage(self.from, Scalar::Signed(1))) {
            // A storage must stay in one thread, and the measured function runs in this one.
            (Ok(target), Ok(source)) => {
                bencher.counter(BytesCount::new(size * self.moved)).bench_local(|| kernel(&target, &source, size));
            }
            (Err(error), _) | (_, Err(error)) => eprintln!("{self}: {error}"),
        }
    }
}

/// All elements of a storage that can be written.
fn writable(storage: &Storage, size: usize) -> Writable<'_> {
    // SAFETY: [live] [in-bounds] the storage has that many elements, and nobody resizes it.
    unsafe { Writable::new(storage.data(), storage.dtype(), size) }
}

/// One operation for each dtype, which moves `times` times the width of the dtype for each element.
fn classes(times: usize) -> Vec<Case> {
    let case = |&dtype: &DType| SIZES.map(|bytes| Case { to: dtype, from: dtype, moved: times * dtype.width(), bytes });
    DType::ALL.iter().flat_map(case).collect()
}

fn pairs() -> Vec<Case> {
    let case = |from: DType, to: DType| SIZES.map(|bytes| Case { to, from, moved: to.width() + from.width(), bytes });
    DType::ALL.iter().flat_map(|&from| DType::ALL.iter().flat_map(move |&to| case(from, to))).collect()
}

#[divan::bench(args = classes(1), max_time = 0.2)]
fn fill(bencher: Bencher<'_, '_>, case: Case) {
    case.run(bencher, |target, _, size| {
        bulk::fill(writable(target, size), Scalar::Float(7.0));
    });
}

#[divan::bench(args = pairs(), max_time = 0.2)]
fn copy(bencher: Bencher<'_, '_>, case: Case) {
    case.run(bencher, |target, source, size| {
        bulk::copy(writable(target, size), writable(source, size).readable());
    });
}

#[divan::bench(args = classes(2), max_time = 0.2)]
fn equal(bencher: Bencher<'_, '_>, case: Case) {
    case.run(bencher, |left, right, size| {
        divan::black_box(bulk::equal(writable(left, size).readable(), writable(right, size).readable()));
    });
}

#[divan::bench(args = classes(2), max_time = 0.2)]
fn byteswap(bencher: Bencher<'_, '_>, case: Case) {
    case.run(bencher, |block, _, size| {
        bulk::byteswap(writable(block, size), block.dtype().width());
    });
}
