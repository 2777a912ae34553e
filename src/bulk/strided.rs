//! Fill, copy and compare elements that lie at equal distances in several dimensions.
//!
//! The dimensions are brought into an order that suits the memory (`plan.rs`). Two of them are a *plane*, whose elements are moved
//! by one kernel: in runs that lie together, transposed in blocks, or one by one (`moved.rs`, `turn.rs`). A conversion moves tiles
//! through a buffer, and converts them by the kernels of `cast.rs`.

mod convert;
mod moved;
mod plan;
mod plane;
#[cfg(test)]
mod tests;
mod turn;

use super::access::{Readable, Writable};
use super::level::Level;
use super::{cast, fill, stream, threads};
use crate::convert::Scalar;
use moved::Moved;
use plan::Plan;
pub use plan::{Axes, Axis, MAX_AXES};
use plane::{Plane, Way};

/// Copies elements, and converts them by the rules of `convert.rs`. Both blocks begin anywhere; element `firsts.0` of the target
/// and element `firsts.1` of the source (from 0) are the first ones, and each axis tells how many there are and how far apart.
/// If several elements go to the same one of the target, the last of them in row-major order is kept.
///
/// An element of the target must not be one of the source too: it would not be determined which value is copied.
///
/// # Panics
/// If an element is outside its block, or there are more than [`MAX_AXES`] axes.
pub fn copy_strided(target: Writable<'_>, source: Readable<'_>, firsts: (usize, usize), axes: &[Axis]) {
    let Some(plan) = Plan::new(firsts, axes) else { return };
    plan.check(target.size(), source.size());
    if let Some(size) = plan.whole_run() {
        return super::copy(target.part(plan.target..plan.target + size), source.part(plan.source..plan.source + size));
    }
    let [to, from] = [target.dtype(), source.dtype()].map(|dtype| plan.elements() * dtype.width());
    let streamed = stream::speeds_up_copy(to, from);
    copy(Level::current(), target, source, &plan, streamed);
}

/// Does the work of [`copy_strided`] at a level. If `streamed`, stores go past the caches where that is possible.
fn copy(level: Level, target: Writable<'_>, source: Readable<'_>, plan: &Plan, streamed: bool) {
    let (to, from) = (cast::kernel_dtype(target.dtype()), cast::kernel_dtype(source.dtype()));
    let (target, source) = (target.retyped(to), source.retyped(from));
    in_threads(plan, to.width() + from.width(), |plan| {
        if cast::same_bytes(to, from) {
            move_all(level, target, source, plan, streamed);
        } else {
            convert::copy(level, target, source, plan);
        }
    });
}

/// Sets the elements to `value`, which is converted once. `first` and the axes tell which, as in [`copy_strided`]; the distances
/// in the source do not matter.
///
/// # Panics
/// If an element is outside the block, or there are more than [`MAX_AXES`] axes.
pub fn fill_strided(target: Writable<'_>, value: Scalar, first: usize, axes: &[Axis]) {
    let Some(plan) = Plan::for_fill(first, axes) else { return };
    plan.check(target.size(), 1);
    if let Some(size) = plan.filled_run() {
        return fill(target.part(plan.target..plan.target + size), value);
    }
    let width = target.dtype().width();
    let pattern = fill::pattern(target.dtype(), value);
    let streamed = stream::speeds_up_fill(plan.elements() * width);
    in_threads(&plan, width, |plan| {
        move_all(Level::current(), target, Readable::of(&pattern, target.dtype()), plan, streamed);
    });
}

/// Whether the elements of two blocks of the same dtype are equal. NaN differs from itself, and -0 equals 0. `firsts` and the axes
/// tell which elements are compared, as in [`copy_strided`]: the left block is the target there.
///
/// # Panics
/// If an element is outside its block, if the dtypes differ, or if there are more than [`MAX_AXES`] axes.
#[must_use]
pub fn equal_strided(left: Readable<'_>, right: Readable<'_>, firsts: (usize, usize), axes: &[Axis]) -> bool {
    assert_eq!(left.dtype(), right.dtype(), "both blocks have the same dtype");
    let Some(plan) = Plan::for_comparison(firsts, axes) else { return true };
    plan.check(left.size(), right.size());
    convert::equal(Level::current(), left, right, &plan)
}

/// Calls `act` with the plan, or in several threads with parts of it if the work is large. `weight` is the number of bytes that are
/// read and written for one element.
fn in_threads(plan: &Plan, weight: usize, act: impl Fn(&Plan) + Sync) {
    if plan.is_ordered() || !threads::are_worth_starting(plan.elements().saturating_mul(weight)) {
        return act(plan);
    }
    let axis = plan.widest_axis();
    let size = plan.axes()[axis].size;
    // The parts have different elements of the target, because no element of the target is there twice.
    threads::for_each_block(size, plan.elements() / size * weight, |range| act(&plan.narrowed(axis, range)));
}

/// Moves elements of the same width, as they are.
fn move_all(level: Level, target: Writable<'_>, source: Readable<'_>, plan: &Plan, streamed: bool) {
    let width = target.dtype().width();
    let (way, rows, cols) = plan.choose(width);
    let streamed = streamed || way == Way::Turn && stream::speeds_up_transpose(plan.elements() * width);
    let moved = Moved::new(level, width, way, streamed);
    plan.for_each_plane(rows, cols, way, |plane: Plane| moved.run(target, source, plane));
    if way == Way::Turn && streamed {
        stream::finish();
    }
}
