//! Going through the elements of a tensor.

use std::ops::Range;
use std::sync::Mutex;

use crate::bulk::reduce::PART;
use crate::bulk::threads::{are_worth_starting, for_each_block};
use crate::bulk::{Buffer, Readable};
use crate::element::DType;
use crate::error::Error;
use crate::fallible;
use crate::tensor::Elements;

/// What is made of the elements, one part after the other.
pub trait Fold: Sync {
    /// What is known after some parts.
    type State: Send;

    /// The dtype in which the elements of a dtype are read. The two are the same, or elements are converted.
    fn reads(&self, dtype: DType) -> DType;

    /// What is known before the first element.
    fn start(&self) -> Self::State;

    /// Adds the next part. `first` is the number of its first element in the tensor, from 0.
    fn add(&self, state: &mut Self::State, part: Readable<'_>, first: usize);

    /// Adds what is known of the elements behind those of `state`. There is a power of two of parts, and before them a multiple of it; at
    /// the end there may be less.
    fn join(&self, state: &mut Self::State, behind: Self::State);

    /// Makes a state for each of several lines, which lie one behind the other and are at most a part long, and calls `put` with the number
    /// of the line and its state. The first one has the number `line`.
    fn each_line(&self, line: usize, lines: Readable<'_>, length: usize, put: &dyn Fn(usize, &Self::State)) {
        for number in 0..lines.size() / length {
            let mut state = self.start();
            self.add(&mut state, lines.part(number * length..(number + 1) * length), (line + number) * length);
            put(line + number, &state);
        }
    }

    /// Whether more elements make no difference.
    fn is_decided(&self, state: &Self::State) -> bool;
}

/// How many levels of results there may be: for 2^51 elements, more than a program can go through.
pub const LEVELS: usize = 40;

/// A buffer for the elements of a part that are converted, or that do not lie together. Complex elements are converted in halves of a part.
type PartBuffer = Buffer<PART>;

/// The number of elements of a part. The two parts of a complex number count as elements.
fn part_of(dtype: DType) -> usize {
    if dtype.is_complex() { PART / 2 } else { PART }
}

/// Adds the elements of a tensor with these numbers, from 0 in row-major order, to a state. They follow those that were added before, which
/// are none, or a multiple of a power of two that is not smaller than this range.
///
/// # Errors
/// [`Error::OutOfMemory`].
#[inline(never)]
pub fn fold_range<F: Fold>(fold: &F, all: Elements<'_>, range: Range<usize>, state: &mut F::State) -> Result<(), Error> {
    let dtype = all.dtype();
    let width = dtype.width().max(fold.reads(dtype).width());
    if !are_worth_starting(range.len().saturating_mul(width)) {
        return fold_parts(fold, all, range, state);
    }
    in_threads(fold, all, range, width, state)
}

/// Calls `act` with blocks of indices, in several threads if the work is large. It is compiled once for all folds.
fn in_blocks(size: usize, weight: usize, act: &(dyn Fn(Range<usize>) + Sync)) {
    for_each_block(size, weight, act);
}

/// Makes a state of all elements.
///
/// # Errors
/// Those of [`fold_range`].
pub fn fold_all_of<F: Fold>(fold: &F, all: Elements<'_>) -> Result<F::State, Error> {
    let mut state = fold.start();
    fold_range(fold, all, 0..all.sizes().iter().product(), &mut state)?;
    Ok(state)
}

/// Does the work of [`fold_range`] in several threads. Each block of parts has a state of its own.
#[inline(never)]
fn in_threads<F: Fold>(
    fold: &F,
    all: Elements<'_>,
    range: Range<usize>,
    width: usize,
    state: &mut F::State,
) -> Result<(), Error> {
    let mut blocks = fallible::list(range.len() / BLOCK + 1)?;
    blocks.resize_with(range.len() / BLOCK + 1, || None);
    let blocks = Mutex::new((blocks, Ok(())));
    let act = |indices: Range<usize>| {
        let mut start = indices.start;
        while start < indices.end {
            let end = indices.end.min(start + BLOCK);
            let mut own = fold.start();
            let result = fold_parts(fold, all, range.start + start..range.start + end, &mut own);
            let mut done = blocks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            done.0[start / BLOCK] = Some(own);
            done.1 = std::mem::replace(&mut done.1, Ok(())).and(result);
            start = end;
        }
    };
    in_blocks(range.len(), width, &act);
    let (blocks, result) = blocks.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for block in blocks.into_iter().flatten() {
        fold.join(state, block);
    }
    result
}

/// The number of elements for which a thread has a state of its own. A power of two: threads get multiples of it.
const BLOCK: usize = 1 << 18;

/// Adds the elements with these numbers in the calling thread.
fn fold_parts<F: Fold>(fold: &F, all: Elements<'_>, range: Range<usize>, state: &mut F::State) -> Result<(), Error> {
    let (dtype, part) = (fold.reads(all.dtype()), part_of(all.dtype()));
    if let Some(elements) = all.together(range.clone()).filter(|elements| elements.dtype() == dtype) {
        for start in (0..elements.size()).step_by(part) {
            fold.add(state, elements.part(start..elements.size().min(start + part)), range.start + start);
            if fold.is_decided(state) {
                break;
            }
        }
        return Ok(());
    }
    for_each_copy(all, dtype, range, part, &mut |first, elements| {
        fold.add(state, elements, first);
        !fold.is_decided(state)
    })
}

/// Copies elements to a buffer, `step` of them at a time, converts them, and calls `act` with the number of the first one and with the
/// elements, until it returns false.
#[inline(never)]
fn for_each_copy(
    all: Elements<'_>,
    dtype: DType,
    range: Range<usize>,
    step: usize,
    act: &mut dyn FnMut(usize, Readable<'_>) -> bool,
) -> Result<(), Error> {
    let mut buffer = PartBuffer::new();
    for start in range.clone().step_by(step) {
        let end = range.end.min(start + step);
        let copied = buffer.elements(dtype, end - start, |target| all.copy_to(target, start..end))?;
        if !act(start, copied) {
            break;
        }
    }
    Ok(())
}

/// Makes a state for each of some lines, and calls `put` with the number of the line and its state, in any order and in several threads. A
/// line is a row of the tensor along its last dimension. Lines are numbered from 0 in row-major order. Each has the result that it would
/// have alone.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn fold_lines<F: Fold>(
    fold: &F,
    all: Elements<'_>,
    lines: Range<usize>,
    put: &(dyn Fn(usize, &F::State) + Sync),
) -> Result<(), Error> {
    let length = all.sizes().last().copied().unwrap_or(1);
    let (dtype, part) = (all.dtype(), part_of(all.dtype()));
    let width = dtype.width().max(fold.reads(dtype).width());
    if length > part {
        for line in lines {
            let mut state = fold.start();
            fold_range(fold, all, line * length..(line + 1) * length, &mut state)?;
            put(line, &state);
        }
        return Ok(());
    }
    let result = Mutex::new(Ok(()));
    let act = |indices: Range<usize>| {
        let done = fold_short_lines(fold, all, lines.start + indices.start..lines.start + indices.end, length, put);
        let mut result = result.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *result = std::mem::replace(&mut *result, Ok(())).and(done);
    };
    in_blocks(lines.len(), length.max(1).saturating_mul(width), &act);
    result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Does the work of [`fold_lines`] for lines that are at most a part long, in the calling thread.
fn fold_short_lines<F: Fold>(
    fold: &F,
    all: Elements<'_>,
    lines: Range<usize>,
    length: usize,
    put: &dyn Fn(usize, &F::State),
) -> Result<(), Error> {
    if length == 0 {
        lines.for_each(|line| put(line, &fold.start()));
        return Ok(());
    }
    let dtype = fold.reads(all.dtype());
    let range = lines.start * length..lines.end * length;
    if let Some(elements) = all.together(range.clone()).filter(|elements| elements.dtype() == dtype) {
        fold.each_line(lines.start, elements, length, put);
        return Ok(());
    }
    let step = part_of(all.dtype()) / length * length;
    for_each_copy(all, dtype, range, step, &mut |first, elements| {
        fold.each_line(first / length, elements, length, put);
        true
    })
}
