//! How two tensors go through their elements together, if they have as many, in row-major order of each.

use std::ops::Range;

use super::layout::Layout;
use super::shape::{Sizes, Strides};
use crate::bulk::{Axes, Axis};

/// Axes that go through the elements of two tensors at once, in row-major order of both.
pub(super) struct Pairs {
    /// The first element of each tensor.
    firsts: (usize, usize),
    axes: Axes,
}

/// A dimension that is not used up yet.
#[derive(Clone, Copy)]
struct Rest {
    size: usize,
    stride: isize,
}

/// The dimensions of a tensor from the last to the first, without those of size 1. Neighbours that are one dimension are given
/// as one.
fn dimensions(layout: &Layout) -> impl Iterator<Item = Rest> {
    let each = |(&size, &stride): (&usize, &isize)| Rest { size, stride };
    let mut left = layout.sizes().iter().zip(layout.strides()).rev().map(each).filter(|rest| rest.size != 1).peekable();
    std::iter::from_fn(move || {
        let mut inner = left.next()?;
        while let Some(outer) = left.next_if(|outer| Some(outer.stride) == inner.stride.checked_mul(inner.size.cast_signed())) {
            inner.size *= outer.size;
        }
        Some(inner)
    })
}

impl Layout {
    /// Layouts of this tensor and of `source` for a copy that has the same result and goes through fewer elements: the last of those
    /// that go to the same one, where this tensor has a stride of 0. An expanded tensor can have more elements than a loop could ever
    /// go through. `None` if there are no such elements, or if the tensors do not have the same number of elements.
    #[inline]
    #[must_use]
    pub fn copied_once(&self, source: &Self) -> Option<(Self, Self)> {
        if self.repeats() { self.once(source, |axis| axis.target == 0) } else { None }
    }

    /// Layouts of two tensors of the same sizes for a comparison that has the same result and goes through fewer elements: each pair
    /// once, where both have a stride of 0. `None` if there are no such pairs.
    #[inline]
    #[must_use]
    pub fn compared_once(&self, other: &Self) -> Option<(Self, Self)> {
        if self.repeats() { self.once(other, |axis| axis.target == 0 && axis.source == 0) } else { None }
    }

    /// Whether a dimension has a stride of 0. The size may still be 1.
    #[inline]
    fn repeats(&self) -> bool {
        self.strides().contains(&0)
    }

    #[cold]
    fn once(&self, other: &Self, is_needless: impl Fn(&Axis) -> bool) -> Option<(Self, Self)> {
        if self.elements() != other.elements() || self.elements() == 0 {
            return None;
        }
        Pairs::of(self, other)?.last_of(is_needless)
    }
}

impl Pairs {
    /// The axes for two tensors with the same number of elements, which is not 0; `None` if the dimensions of one begin in the
    /// middle of a dimension of the other, as in 2 x 3 and 3 x 2.
    pub(super) fn of(target: &Layout, source: &Layout) -> Option<Self> {
        let mut pairs = Self { firsts: (target.offset(), source.offset()), axes: Axes::new() };
        let (mut targets, mut sources) = (dimensions(target), dimensions(source));
        let (mut to, mut from) = (targets.next(), sources.next());
        // The axes are found from the last to the first.
        while let (Some(target), Some(source)) = (to, from) {
            let size = target.size.min(source.size);
            pairs.axes.push(Axis { size, target: target.stride, source: source.stride });
            let rest = |all: Rest, next: Option<Rest>| match all.size / size {
                _ if !all.size.is_multiple_of(size) => None,
                1 => Some(next),
                left => Some(Some(Rest { size: left, stride: all.stride.wrapping_mul(size.cast_signed()) })),
            };
            to = rest(target, if target.size == size { targets.next() } else { None })?;
            from = rest(source, if source.size == size { sources.next() } else { None })?;
        }
        pairs.axes.reverse();
        Some(pairs)
    }

    /// The axes for one tensor, whose elements are both the target and the source.
    pub(super) fn alone(layout: &Layout) -> Option<Self> {
        Self::of(layout, layout)
    }

    /// The pair without the axes for which `is_needless` is true: of those, only the last step counts. The layouts of the two tensors
    /// have a dimension for each axis that is left. `None` if a layout cannot have that many.
    fn last_of(self, is_needless: impl Fn(&Axis) -> bool) -> Option<(Layout, Layout)> {
        let mut firsts = self.firsts;
        let (mut sizes, mut targets, mut sources) = (Sizes::new(), Strides::new(), Strides::new());
        for axis in &self.axes {
            if is_needless(axis) {
                let steps = axis.size.cast_signed() - 1;
                firsts.0 = firsts.0.wrapping_add_signed(axis.target.wrapping_mul(steps));
                firsts.1 = firsts.1.wrapping_add_signed(axis.source.wrapping_mul(steps));
            } else {
                sizes.push(axis.size);
                targets.push(axis.target);
                sources.push(axis.source);
            }
        }
        Some((Layout::strided(firsts.0, &sizes, &targets).ok()?, Layout::strided(firsts.1, &sizes, &sources).ok()?))
    }

    /// Calls `act` with boxes of elements that make up a range of the elements: with the first element of each tensor, and the
    /// axes. The boxes come in the order of the elements.
    pub(super) fn for_each_box(mut self, range: Range<usize>, mut act: impl FnMut((usize, usize), &[Axis])) {
        let mut done = range.start;
        while done < range.end {
            let axes = self.axes.as_slice();
            // The outermost axis that the box can begin with here: those inside it are at their first steps, and fit into the rest.
            let (mut inner, mut axis) = (1, axes.len());
            while axis > 0 && done.is_multiple_of(inner * axes[axis - 1].size) && inner * axes[axis - 1].size <= range.end - done
            {
                axis -= 1;
                inner *= axes[axis].size;
            }
            let (mut rest, mut firsts) = (done / inner, self.firsts);
            for axis in axes[..axis].iter().rev() {
                let index = (rest % axis.size).cast_signed();
                firsts.0 = firsts.0.wrapping_add_signed(axis.target.wrapping_mul(index));
                firsts.1 = firsts.1.wrapping_add_signed(axis.source.wrapping_mul(index));
                rest /= axis.size;
            }
            let Some(outer) = axis.checked_sub(1) else {
                act(firsts, axes);
                break;
            };
            // Several steps of the next axis, but not all.
            let size = axes[outer].size;
            let steps = (size - done / inner % size).min((range.end - done) / inner);
            self.axes[outer].size = steps;
            act(firsts, &self.axes[outer..]);
            self.axes[outer].size = size;
            done += inner * steps;
        }
    }
}
