//! Planes: rows and columns of elements at equal distances, in a target and in a source.

/// How the elements of a plane are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Each row lies together, in the target and in the source.
    Runs,
    /// Rows lie together in the target and columns in the source: a transpose.
    Turn,
    /// One by one.
    Each,
}

/// Where the elements of a plane are in a block: the index of the first one, and the steps from row to row and from column to
/// column, in elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    pub(super) first: usize,
    pub(super) row: isize,
    pub(super) col: isize,
}

impl Steps {
    /// The steps in a block in which rows of `cols` elements follow each other.
    pub(super) fn dense(cols: usize) -> Self {
        Self { first: 0, row: cols.cast_signed(), col: 1 }
    }

    /// The index of an element.
    #[inline(always)]
    pub(super) fn at(self, row: usize, col: usize) -> usize {
        let steps = self.row.wrapping_mul(row.cast_signed()).wrapping_add(self.col.wrapping_mul(col.cast_signed()));
        self.first.wrapping_add_signed(steps)
    }

    /// The same steps from another element on.
    pub(super) fn from(self, row: usize, col: usize) -> Self {
        Self { first: self.at(row, col), ..self }
    }

    /// Whether all elements are among `size` elements. There is at least one row and one column.
    fn are_inside(self, rows: usize, cols: usize, size: usize) -> bool {
        let way = |count: usize, step: isize| (count.cast_signed() - 1).checked_mul(step);
        let (Some(down), Some(right)) = (way(rows, self.row), way(cols, self.col)) else { return false };
        let (Some(low), Some(high)) = (down.min(0).checked_add(right.min(0)), down.max(0).checked_add(right.max(0))) else {
            return false;
        };
        self.first.checked_add_signed(low).is_some() && self.first.checked_add_signed(high).is_some_and(|high| high < size)
    }
}

/// The elements of a plane, in the target and in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) to: Steps,
    pub(super) from: Steps,
}

impl Plane {
    /// Checks that the plane is inside blocks with these numbers of elements. The loops over planes rely on it.
    pub(super) fn check(self, target: usize, source: usize) {
        let Self { rows, cols, to, from } = self;
        assert!(rows > 0 && cols > 0, "a plane has elements");
        assert!(to.are_inside(rows, cols, target), "the plane is inside the target");
        assert!(from.are_inside(rows, cols, source), "the plane is inside the source");
    }
}
