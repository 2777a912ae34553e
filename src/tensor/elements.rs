//! The elements of a tensor, for reading.

use std::ops::Range;

use super::layout::Layout;
use super::pairs::Pairs;
use crate::bulk::{self, Readable, Writable};
use crate::element::DType;
use crate::error::Error;

/// The elements of a tensor whose storage had all of them when this was made. As long as it is used, the storage is not resized. Several
/// threads may read them at once.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    memory: Readable<'a>,
    layout: &'a Layout,
}

impl<'a> Elements<'a> {
    /// The elements of a layout in memory, which has all of them.
    pub(super) fn new(memory: Readable<'a>, layout: &'a Layout) -> Self {
        Self { memory, layout }
    }

    /// Their dtype.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.memory.dtype()
    }

    /// The sizes of all dimensions.
    #[must_use]
    pub fn sizes(&self) -> &'a [usize] {
        self.layout.sizes()
    }

    /// The elements with these numbers, from 0 in row-major order, if they lie side by side.
    ///
    /// # Panics
    /// If the range is not one of the elements.
    #[must_use]
    pub fn together(&self, range: Range<usize>) -> Option<Readable<'a>> {
        check_range(self.layout, &range);
        let first = self.layout.offset();
        self.layout.is_contiguous().then(|| self.memory.part(first + range.start..first + range.end))
    }

    /// Copies the elements with these numbers to memory with room for them, which is not theirs, and converts them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    ///
    /// # Panics
    /// If the range is not one of the elements, or if the memory has another number of elements.
    pub fn copy_to(&self, target: Writable<'_>, range: Range<usize>) -> Result<(), Error> {
        assert_eq!(target.size(), range.len(), "the memory has room for the elements");
        let begin = range.start;
        if let Some(source) = self.together(range.clone()) {
            bulk::copy(target, source);
            return Ok(());
        }
        let whole = Layout::contiguous(self.layout.sizes())?;
        if let Some(pairs) = Pairs::of(&whole, self.layout).filter(|_| !range.is_empty()) {
            pairs.for_each_box(range, |(to, from), axes| bulk::copy_strided(target, self.memory, (to - begin, from), axes));
        }
        Ok(())
    }
}

/// Makes sure that a range is one of the elements of a layout.
pub(super) fn check_range(layout: &Layout, range: &Range<usize>) {
    let elements = layout.elements();
    assert!(range.start <= range.end && range.end <= elements, "elements {range:?} are not those of a tensor of {elements}");
}
