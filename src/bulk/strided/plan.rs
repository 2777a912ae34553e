//! The dimensions of a strided operation, in the order that suits the memory.

use std::ops::Range;

use smallvec::SmallVec;

use super::plane::{Plane, Steps, Way};

/// The largest number of axes: a copy between two tensors of different shapes may need those of both.
pub const MAX_AXES: usize = 128;

/// A dimension of a loop over elements of two blocks: the number of steps, and how far a step goes in each of them, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The number of elements along this axis.
    pub size: usize,
    /// The distance between neighbours in the target.
    pub target: isize,
    /// The distance between neighbours in the source.
    pub source: isize,
}

/// Axes. Up to eight are kept without an allocation.
pub type Axes = SmallVec<[Axis; 8]>;

/// The number of columns that are moved before another plane begins, if the planes share the memory of the columns.
const BLOCK: usize = 16 << 10;

const NO_AXIS: Axis = Axis { size: 1, target: 1, source: 1 };

/// What a strided operation goes through: the first element of each block, and the axes. There is at least one axis, and at least
/// one element.
///
/// Unless the plan is ordered, elements may be visited in any order. Then no element of the target is there twice, the target's
/// strides are positive and get smaller from axis to axis, and axes that can be one are one.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) target: usize,
    pub(super) source: usize,
    axes: Axes,
    ordered: bool,
}

impl Plan {
    /// A plan for a copy; `None` if there are no elements.
    pub(super) fn new(firsts: (usize, usize), axes: &[Axis]) -> Option<Self> {
        let mut plan = Self::unchanged(firsts, axes)?;
        plan.drop_overwritten();
        plan.ordered = plan.may_write_twice();
        if !plan.ordered {
            plan.sort();
        }
        plan.merge();
        Some(plan)
    }

    /// A plan for a fill, in which it does not matter how often an element is written.
    pub(super) fn for_fill(first: usize, axes: &[Axis]) -> Option<Self> {
        let mut plan = Self::unchanged((first, 0), axes)?;
        plan.axes.iter_mut().for_each(|axis| axis.source = 0);
        plan.drop_overwritten();
        plan.ordered = plan.may_write_twice();
        plan.sort();
        plan.merge();
        Some(plan)
    }

    /// A plan for a comparison, which writes nothing.
    pub(super) fn for_comparison(firsts: (usize, usize), axes: &[Axis]) -> Option<Self> {
        let mut plan = Self::unchanged(firsts, axes)?;
        plan.sort();
        plan.merge();
        Some(plan)
    }

    /// The axes as they are, without those of size 1.
    fn unchanged(firsts: (usize, usize), axes: &[Axis]) -> Option<Self> {
        assert!(axes.len() <= MAX_AXES, "there are at most {MAX_AXES} axes");
        if axes.iter().any(|axis| axis.size == 0) {
            return None;
        }
        let axes = axes.iter().copied().filter(|axis| axis.size != 1).collect();
        Some(Self { target: firsts.0, source: firsts.1, axes, ordered: false })
    }

    /// Leaves out elements that are overwritten by the last step along an axis whose stride in the target is 0.
    fn drop_overwritten(&mut self) {
        let source = &mut self.source;
        self.axes.retain(|axis| {
            if axis.target == 0 {
                *source = source.wrapping_add_signed(axis.source.wrapping_mul(axis.size.cast_signed() - 1));
            }
            axis.target != 0
        });
    }

    /// Whether two elements may go to the same one of the target. They do not if the steps along each axis are longer than the
    /// distance that all axes with shorter steps reach.
    fn may_write_twice(&self) -> bool {
        let mut order = self.axes.clone();
        order.sort_unstable_by_key(|axis| axis.target.unsigned_abs());
        let mut reach = 0_usize;
        order.iter().any(|axis| {
            let step = axis.target.unsigned_abs();
            let twice = step <= reach;
            reach = reach.saturating_add(step.saturating_mul(axis.size - 1));
            twice
        })
    }

    /// Goes through the target from its lowest element up, where the order allows it.
    fn sort(&mut self) {
        for axis in &mut self.axes {
            if axis.target < 0 {
                let back = axis.size.cast_signed() - 1;
                self.target = self.target.wrapping_add_signed(axis.target.wrapping_mul(back));
                self.source = self.source.wrapping_add_signed(axis.source.wrapping_mul(back));
                (axis.target, axis.source) = (axis.target.wrapping_neg(), axis.source.wrapping_neg());
            }
        }
        let by_step = |axis: &Axis| (std::cmp::Reverse(axis.target), std::cmp::Reverse(axis.source.unsigned_abs()));
        self.axes.sort_by_key(by_step);
    }

    /// Makes one axis of neighbours that are one in both blocks.
    fn merge(&mut self) {
        for axis in std::mem::take(&mut self.axes) {
            let size = axis.size.cast_signed();
            match self.axes.last_mut() {
                Some(outer)
                    if Some(outer.target) == axis.target.checked_mul(size)
                        && Some(outer.source) == axis.source.checked_mul(size) =>
                {
                    *outer = Axis { size: outer.size * axis.size, ..axis };
                }
                _ => self.axes.push(axis),
            }
        }
        if self.axes.is_empty() {
            self.axes.push(NO_AXIS);
        }
    }

    /// Checks that all elements are in blocks with these numbers of elements.
    pub(super) fn check(&self, target: usize, source: usize) {
        let is_inside = |first: usize, size: usize, step: fn(&Axis) -> isize| {
            let (mut low, mut high) = (first as i128, first as i128);
            for axis in self.axes() {
                let way = (axis.size as i128 - 1).saturating_mul(step(axis) as i128);
                let end = if way < 0 { &mut low } else { &mut high };
                *end = end.saturating_add(way);
            }
            low >= 0 && high < size as i128
        };
        assert!(is_inside(self.target, target, |axis| axis.target), "all elements are in the target");
        assert!(is_inside(self.source, source, |axis| axis.source), "all elements are in the source");
    }

    pub(super) fn axes(&self) -> &[Axis] {
        &self.axes
    }

    fn last(&self) -> Axis {
        self.axes[self.axes.len() - 1]
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.ordered
    }

    pub(super) fn elements(&self) -> usize {
        self.axes().iter().map(|axis| axis.size).product()
    }

    /// The number of elements if they lie together, in the same order in both blocks.
    pub(super) fn whole_run(&self) -> Option<usize> {
        (self.axes.len() == 1 && self.last().target == 1 && self.last().source == 1).then_some(self.last().size)
    }

    /// The number of elements if those of the target lie together.
    pub(super) fn filled_run(&self) -> Option<usize> {
        (self.axes.len() == 1 && self.last().target == 1).then_some(self.last().size)
    }

    /// The axis along which the work is divided among threads: the one with the longest steps that has many. In a transpose it is not
    /// the axis whose elements lie together in the source, because all threads would read parts of the same lines.
    pub(super) fn widest_axis(&self) -> usize {
        let many = |axis: &Axis| axis.size >= 16;
        let turned = self.last().source.unsigned_abs() > 1;
        let apart = self.axes().iter().position(|axis| many(axis) && !(turned && axis.source.unsigned_abs() == 1));
        let longest = || (0..self.axes.len()).max_by_key(|&axis| self.axes[axis].size);
        apart.or_else(|| self.axes().iter().position(many)).or_else(longest).unwrap_or(0)
    }

    /// The part of the plan with a range of the steps along an axis.
    pub(super) fn narrowed(&self, axis: usize, range: Range<usize>) -> Self {
        let mut part = self.clone();
        let Axis { target, source, .. } = self.axes[axis];
        part.target = self.target.wrapping_add_signed(target.wrapping_mul(range.start.cast_signed()));
        part.source = self.source.wrapping_add_signed(source.wrapping_mul(range.start.cast_signed()));
        part.axes[axis].size = range.len();
        part
    }

    /// How elements of `width` bytes are moved, and the axes that are the rows and the columns of the plane. The rows are not an axis if
    /// there is only one.
    pub(super) fn choose(&self, width: usize) -> (Way, Option<usize>, usize) {
        let last = self.axes.len() - 1;
        let Axis { size, target, source } = self.axes[last];
        let runs = target == 1 && source == 1;
        if self.ordered {
            return (if runs { Way::Runs } else { Way::Each }, last.checked_sub(1), last);
        }
        let others = |cols: usize| (0..self.axes.len()).filter(move |&axis| axis != cols);
        if runs {
            return (Way::Runs, others(last).max_by_key(|&axis| self.axes[axis].size), last);
        }
        // A transpose in blocks is worth it if a block has several elements in both directions.
        let several = (16 / width).clamp(4, 8);
        let rows = others(last).find(|&axis| self.axes[axis].source == 1);
        if let Some(rows) = rows.filter(|&rows| target == 1 && size >= several && self.axes[rows].size >= several) {
            return (Way::Turn, Some(rows), last);
        }
        let longest = (0..self.axes.len()).max_by_key(|&axis| self.axes[axis].size).unwrap_or(last);
        let cols = if size < 32 { longest } else { last };
        (Way::Each, others(cols).min_by_key(|&axis| self.axes[axis].source.unsigned_abs()), cols)
    }

    /// Calls `act` with every plane of the two axes.
    pub(super) fn for_each_plane(&self, rows: Option<usize>, cols: usize, way: Way, mut act: impl FnMut(Plane)) {
        let row = rows.map_or(Axis { size: 1, target: 0, source: 0 }, |rows| self.axes[rows]);
        let col = self.axes[cols];
        let outer = self.elements() / row.size / col.size;
        // Rows that are closer together than columns share cache lines.
        let shared = way == Way::Each && row.source.unsigned_abs() < col.source.unsigned_abs();
        let block = if shared && outer * row.size > 1 && !self.ordered { BLOCK } else { col.size };
        for start in (0..col.size).step_by(block) {
            let size = block.min(col.size - start);
            for number in 0..outer {
                let (mut target, mut source, mut rest) = (self.target, self.source, number);
                let mut go = |axis: Axis, steps: usize| {
                    target = target.wrapping_add_signed(axis.target.wrapping_mul(steps.cast_signed()));
                    source = source.wrapping_add_signed(axis.source.wrapping_mul(steps.cast_signed()));
                };
                go(col, start);
                for (number, &axis) in self.axes().iter().enumerate().rev() {
                    if number != cols && Some(number) != rows {
                        go(axis, rest % axis.size);
                        rest /= axis.size;
                    }
                }
                let to = Steps { first: target, row: row.target, col: col.target };
                let from = Steps { first: source, row: row.source, col: col.source };
                act(Plane { rows: row.size, cols: size, to, from });
            }
        }
    }
}
