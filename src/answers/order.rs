//! The first elements of lines in their order, or all of them.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::bulk::order::{Direction, Ranks};
use crate::bulk::threads::for_each_block;
use crate::bulk::{Readable, Writable};
use crate::error::Error;
use crate::fallible::NoMemory;
use crate::storage::Storage;
use crate::tensor::Elements;

/// Which elements of a line are looked for.
#[derive(Clone, Copy, Debug)]
pub struct First {
    /// Their number: at least 1, and at most that of all elements, unless there are none.
    pub wanted: usize,
    /// The order of the elements.
    pub direction: Direction,
}

/// Where the elements that were found are put: those of a line beside each other, those of the next line behind them.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The elements, if they are wanted.
    pub values: Option<Writable<'a>>,
    /// Their indices in the line, from 1: a block of Long.
    pub indices: Writable<'a>,
}

/// How many bytes an operation would read and write for an element, if it took as long as the element takes here.
const WEIGHT: usize = 64;

impl First {
    /// Finds the first elements of some lines, in several threads if the work is large. A line is a row of the tensor along its last
    /// dimension. Lines are numbered from 0 in row-major order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn of_lines(self, all: Elements<'_>, lines: Range<usize>, found: Found<'_>) -> Result<(), Error> {
        let length = all.sizes().last().copied().unwrap_or(1);
        let result = Mutex::new(Ok(()));
        for_each_block(lines.len(), length.max(1).saturating_mul(WEIGHT), |indices| {
            let done = self.of_block(all, lines.start + indices.start..lines.start + indices.end, length, found);
            let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
            *result = std::mem::replace(&mut *result, Ok(())).and(done);
        });
        result.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work of [`of_lines`](Self::of_lines) in the calling thread.
    fn of_block(self, all: Elements<'_>, lines: Range<usize>, length: usize, found: Found<'_>) -> Result<(), Error> {
        let mut ranks = Ranks::new(all.dtype(), length, self.wanted, self.direction)?;
        let mut copy = None;
        for line in lines {
            let range = line * length..(line + 1) * length;
            let source = match all.together(range.clone()) {
                Some(elements) => elements,
                None => {
                    let copy = match &mut copy {
                        Some(copy) => copy,
                        none => none.insert(Storage::unset(all.dtype(), length)?),
                    };
                    all.copy_to(copy.writable()?, range)?;
                    copy.readable()
                }
            };
            ranks.find(source, &mut || Ok::<_, Error>(()))?;
            self.put(&ranks, source, line, found);
        }
        Ok(())
    }

    /// Finds the first elements of one line, which nobody else can write. It calls `pause` now and then.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and the errors of `pause`.
    pub fn of_line<E: From<NoMemory>>(
        self,
        source: Readable<'_>,
        line: usize,
        found: Found<'_>,
        pause: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut ranks = Ranks::new(source.dtype(), source.size(), self.wanted, self.direction)?;
        ranks.find(source, pause)?;
        self.put(&ranks, source, line, found);
        Ok(())
    }

    fn put(self, ranks: &Ranks, source: Readable<'_>, line: usize, found: Found<'_>) {
        let range = line * self.wanted..(line + 1) * self.wanted;
        if let Some(values) = found.values {
            ranks.put_elements(values.part(range.clone()), source);
        }
        ranks.put_indices(found.indices.part(range));
    }
}
