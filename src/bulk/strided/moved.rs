//! Moving the elements of a plane.

use super::super::access::{Bytes, BytesMut, Readable, Values, ValuesMut, Writable, get_as, set_as};
use super::super::level::{Kernel, Level};
use super::super::{cast, fill, stream};
use super::plane::{Plane, Steps, Way};
use super::turn::Turn;
use crate::convert::Complex;
use crate::element::Element;

/// The shortest row in bytes that is filled by the kernel for blocks that lie together.
const RUN: usize = 256;

/// A way to move elements of a width, chosen once for many planes.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    level: Level,
    width: usize,
    way: Way,
    streamed: bool,
}

impl Moved {
    pub(super) fn new(level: Level, width: usize, way: Way, streamed: bool) -> Self {
        Self { level, width, way, streamed }
    }

    /// Moves the elements of a plane. Both blocks have elements of this width.
    pub(super) fn run(self, target: Writable<'_>, source: Readable<'_>, plane: Plane) {
        debug_assert!(self.width == target.dtype().width() && self.width == source.dtype().width());
        if self.way == Way::Runs {
            return self.move_runs(target.values(), source.values(), plane);
        }
        if plane.to.col == 1 && plane.from.col == 0 && plane.cols * self.width >= RUN {
            return self.repeat(target, source, plane);
        }
        match self.width {
            1 => self.move_elements::<u8, 64>(target, source, plane),
            2 => self.move_elements::<i16, 32>(target, source, plane),
            4 => self.move_elements::<i32, 16>(target, source, plane),
            8 => self.move_elements::<i64, 8>(target, source, plane),
            _ => self.move_elements::<Complex<f64>, 4>(target, source, plane),
        }
    }

    fn move_elements<T: Element, const LINE: usize>(self, target: Writable<'_>, source: Readable<'_>, plane: Plane) {
        let (target, source) = (target.values::<T>(), source.values::<T>());
        plane.check(target.size(), source.size());
        match self.way {
            Way::Turn => Turn::<T, LINE>::new(target, source, plane, self.streamed).run(),
            _ => self.level.without_gathers().run(Each { target, source, plane }),
        }
    }

    /// Fills each row, which lies together in the target, with one element.
    fn repeat(self, target: Writable<'_>, source: Readable<'_>, plane: Plane) {
        let Plane { rows, cols, to, from } = plane;
        // Rows of a few pages are written faster through the caches.
        let streamed = self.streamed && stream::speeds_up_fill(cols * self.width);
        for row in 0..rows {
            let (to, from) = (to.at(row, 0), from.at(row, 0));
            let pattern = fill::repeated(source.part(from..from + 1).values());
            fill::fill(self.level, target.part(to..to + cols).values(), pattern, streamed);
        }
    }

    fn move_runs(self, target: BytesMut, source: Bytes, plane: Plane) {
        let Plane { rows, cols, to, from } = plane;
        let width = self.width.cast_signed();
        let in_bytes = |steps: Steps| Steps { first: steps.first * self.width, row: steps.row.wrapping_mul(width), col: 1 };
        let (to, from, run) = (in_bytes(to), in_bytes(from), cols * self.width);
        if run >= stream::WORTHWHILE_RUN && self.streamed {
            for row in 0..rows {
                let (to, from) = (to.at(row, 0), from.at(row, 0));
                cast::copy_bytes(target.part(to..to + run), source.part(from..from + run), true);
            }
            return;
        }
        let plane = Plane { rows, cols: run, to, from };
        plane.check(target.size(), source.size());
        self.level.without_gathers().run(Runs { target, source, plane });
    }
}

/// Elements one by one. The plane is inside both blocks.
struct Each<T> {
    target: ValuesMut<T>,
    source: Values<T>,
    plane: Plane,
}

impl<T: Element> Kernel for Each<T> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        // With a constant distance the compiler makes vectors of the loop.
        match (self.plane.to.col, self.plane.from.col) {
            (1, -1) => self.rows(1, -1),
            (1, 2) => self.rows(1, 2),
            (1, 3) => self.rows(1, 3),
            (1, 4) => self.rows(1, 4),
            (1, step) => self.rows(1, step),
            (step, 1) => self.rows(step, 1),
            (to, from) => self.rows(to, from),
        }
    }
}

impl<T: Element> Each<T> {
    #[inline(always)]
    fn rows(&self, to: isize, from: isize) {
        let Plane { rows, cols, to: targets, from: sources } = self.plane;
        for row in 0..rows {
            let target = self.target.data().wrapping_add(targets.at(row, 0));
            let source = self.source.data().wrapping_add(sources.at(row, 0));
            for col in 0..cols {
                let col = col.cast_signed();
                // SAFETY: [in-bounds] the row and the column are those of the plane, which `Plane::check` found inside the source.
                let value = unsafe { get_as::<T>(source.wrapping_offset(col * from).cast(), 0) };
                // SAFETY: [in-bounds] the row and the column are those of the plane, which `Plane::check` found inside the target.
                unsafe { set_as(target.wrapping_offset(col * to).cast(), 0, value) };
            }
        }
    }
}

/// Rows of bytes that lie together in both blocks. The plane is inside both blocks.
struct Runs {
    target: BytesMut,
    source: Bytes,
    plane: Plane,
}

impl Kernel for Runs {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        macro_rules! by_size {
            ($($size:literal)*) => {
                match self.plane.cols {
                    $($size => self.rows(|target, source| {
                        // SAFETY: [in-bounds] the run is a row of the plane, which `Plane::check` found inside the source.
                        let run = unsafe { source.cast::<[u8; $size]>().read() };
                        // SAFETY: [in-bounds] the run is a row of the plane, which `Plane::check` found inside the target.
                        unsafe { target.cast::<[u8; $size]>().write(run) };
                    }),)*
                    17..=32 => self.rows(|target, source| {
                        let end = self.plane.cols - 16;
                        // SAFETY: [in-bounds] the run has more than 16 bytes, and is a row of the plane.
                        let first = unsafe { source.cast::<[u8; 16]>().read() };
                        // SAFETY: [in-bounds] these are the last 16 bytes of the run.
                        let last = unsafe { source.wrapping_add(end).cast::<[u8; 16]>().read() };
                        // SAFETY: [in-bounds] the run has more than 16 bytes, and is a row of the plane.
                        unsafe { target.cast::<[u8; 16]>().write(first) };
                        // SAFETY: [in-bounds] these are the last 16 bytes of the run.
                        unsafe { target.wrapping_add(end).cast::<[u8; 16]>().write(last) };
                    }),
                    size => self.rows(|target, source| {
                        // SAFETY: [in-bounds] the run is a row of the plane, which `Plane::check` found inside both blocks.
                        unsafe { std::ptr::copy(source, target, size) };
                    }),
                }
            };
        }
        by_size!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    }
}

impl Runs {
    #[inline(always)]
    fn rows(&self, copy: impl Fn(*mut u8, *const u8)) {
        for row in 0..self.plane.rows {
            let target = self.target.data().wrapping_add(self.plane.to.at(row, 0));
            copy(target, self.source.data().wrapping_add(self.plane.from.at(row, 0)));
        }
    }
}
