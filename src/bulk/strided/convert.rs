//! Strided copies with conversion, and comparisons: tile by tile, through buffers, by the kernels for elements that lie together.

use super::super::access::{Bytes, BytesMut, Readable, Writable};
use super::super::cast::{Buffer, Converter};
use super::super::compare;
use super::super::level::Level;
use super::moved::Moved;
use super::plan::Plan;
use super::plane::{Plane, Steps, Way};
use crate::element::DType;

/// The size of a buffer for a tile, in words of 8 bytes.
const WORDS: usize = 2048;

/// The least number of columns of a tile that is transposed.
const COLUMNS: usize = 16;

/// A row with as many elements, which lie together, is converted alone, where it is.
const LONG: usize = 256;

/// A row with fewer elements is not worth a call of a kernel.
const SHORT: usize = 32;

/// Calls `act` with the tiles of a plane, from the first to the last, until it returns false. A tile has at most `most` elements.
fn for_each_tile(plane: Plane, way: Way, most: usize, mut act: impl FnMut(Plane) -> bool) -> bool {
    let Plane { rows, cols, to, from } = plane;
    let width = cols.min(if way == Way::Turn { COLUMNS } else { most });
    let height = if way == Way::Runs && cols >= LONG { 1 } else { rows.min(most / width) };
    let mut tile = |row: usize, col: usize| {
        let (rows, cols) = (height.min(rows - row), width.min(cols - col));
        act(Plane { rows, cols, to: to.from(row, col), from: from.from(row, col) })
    };
    if way == Way::Turn {
        // The columns lie together in the source, so the processor notices that they are read one after the other.
        return (0..cols).step_by(width).all(|col| (0..rows).step_by(height).all(|row| tile(row, col)));
    }
    // A tile that is not as wide as the plane has a single row, so the elements come in their order.
    (0..rows).step_by(height).all(|row| (0..cols).step_by(width).all(|col| tile(row, col)))
}

/// Copies and converts elements between two dtypes whose bytes differ.
pub(super) fn copy(level: Level, target: Writable<'_>, source: Readable<'_>, plan: &Plan) {
    let (wide, narrow) = (target.dtype().width(), source.dtype().width());
    let (way, rows, cols) = plan.choose(narrow);
    let converter = Converter::new(level, target.dtype(), source.dtype());
    let moved = |width, way| Moved::new(level, width, way, false);
    let (mut first, mut second) = (Buffer::<WORDS>::new(), Buffer::<WORDS>::new());
    let most = WORDS * size_of::<u64>() / wide.max(narrow);
    plan.for_each_plane(rows, cols, way, |plane| {
        for_each_tile(plane, way, most, |tile| {
            let size = tile.rows * tile.cols;
            if way == Way::Turn && tile.rows >= SHORT {
                // The columns lie together in the source. They are converted one by one, and then transposed.
                let write = |buffer: BytesMut| {
                    for col in 0..tile.cols {
                        let (begin, from) = (col * tile.rows * wide, tile.from.at(0, col));
                        converter.run(buffer.part(begin..begin + tile.rows * wide), source.part(from..from + tile.rows).values());
                    }
                };
                let columns = readable(second.fill_with(size * wide, write), target.dtype());
                let from = Steps { first: 0, row: 1, col: tile.rows.cast_signed() };
                moved(wide, Way::Turn).run(target, columns, Plane { from, ..tile });
                return true;
            }
            let elements = gathered(&mut first, moved(narrow, way), source, tile, tile.from);
            let is_dense = tile.to.col == 1 && (tile.rows == 1 || tile.to.row == tile.cols.cast_signed());
            if is_dense {
                let target = target.part(tile.to.first..tile.to.first + size);
                converter.run(target.values(), elements.values());
            } else if tile.to.col == 1 && tile.cols >= SHORT {
                for row in 0..tile.rows {
                    let (begin, to) = (row * tile.cols, tile.to.at(row, 0));
                    let row = elements.part(begin..begin + tile.cols);
                    converter.run(target.part(to..to + tile.cols).values(), row.values());
                }
            } else {
                let write = |buffer: BytesMut| converter.run(buffer, elements.values());
                let converted = readable(second.fill_with(size * wide, write), target.dtype());
                moved(wide, Way::Each).run(target, converted, Plane { from: Steps::dense(tile.cols), ..tile });
            }
            true
        });
    });
}

/// Whether the elements of both blocks, which have the same dtype, are equal. The left block is the target of the plan.
pub(super) fn equal(level: Level, left: Readable<'_>, right: Readable<'_>, plan: &Plan) -> bool {
    let width = left.dtype().width();
    let (way, rows, cols) = plan.choose(width);
    let (mut first, mut second) = (Buffer::<WORDS>::new(), Buffer::<WORDS>::new());
    let moved = |way| Moved::new(level, width, way, false);
    let mut equal = true;
    plan.for_each_plane(rows, cols, way, |plane| {
        equal = equal
            && for_each_tile(plane, way, WORDS * size_of::<u64>() / width, |tile| {
                let runs = if tile.to.col == 1 { Way::Runs } else { Way::Each };
                let left = gathered(&mut first, moved(runs), left, tile, tile.to);
                compare::equal(level, left, gathered(&mut second, moved(way), right, tile, tile.from))
            });
    });
    equal
}

/// The elements of a tile that are at `from` in the source, row by row. They are moved to the buffer if they do not lie together.
fn gathered<'a>(buffer: &'a mut Buffer<WORDS>, moved: Moved, source: Readable<'a>, tile: Plane, from: Steps) -> Readable<'a> {
    let (size, dtype) = (tile.rows * tile.cols, source.dtype());
    if from.col == 1 && (tile.rows == 1 || from.row == tile.cols.cast_signed()) {
        return source.part(from.first..from.first + size);
    }
    let plane = Plane { to: Steps::dense(tile.cols), from, ..tile };
    let write = |buffer: BytesMut| moved.run(writable(buffer, dtype), source, plane);
    readable(buffer.fill_with(size * dtype.width(), write), dtype)
}

/// Bytes of a buffer as elements.
fn readable<'a>(bytes: Bytes, dtype: DType) -> Readable<'a> {
    // SAFETY: [in-bounds] the block has that many elements.
    unsafe { Readable::new(bytes.data(), dtype, bytes.size() / dtype.width()) }
}

/// Bytes of a buffer as elements that are written.
fn writable<'a>(bytes: BytesMut, dtype: DType) -> Writable<'a> {
    // SAFETY: [in-bounds] the block has that many elements.
    unsafe { Writable::new(bytes.data(), dtype, bytes.size() / dtype.width()) }
}
