//! Transposing a plane whose rows lie together in the target and whose columns lie together in the source.
//!
//! The plane is divided into tiles of one cache line of elements in both directions. A tile is read into a buffer, transposed there,
//! and written in whole lines, so that each line of memory is touched once, even if the rows are a power of two apart and so compete
//! for the same few places of the caches.

use super::super::access::{Bytes, BytesMut, Values, ValuesMut, get_as, set_as};
use super::super::stream;
use super::plane::{Plane, Steps};
use crate::element::Element;

/// The number of rows that are transposed from the first to the last column before the next ones. They are so few that the processor
/// remembers where their pages in the target are.
const ROWS: usize = 512;

/// Sixteen bytes.
type Lane = lane::Lane;

/// A row of a tile: a cache line.
type Line = [Lane; stream::LINE / size_of::<Lane>()];

/// A plane of elements of type `T`, of which `LINE` fill a cache line. The plane is inside both blocks.
pub(super) struct Turn<T, const LINE: usize> {
    target: ValuesMut<T>,
    source: Values<T>,
    plane: Plane,
    streamed: bool,
}

impl<T: Element, const LINE: usize> Turn<T, LINE> {
    /// The plane is inside both blocks, its columns lie together in the source and its rows in the target. If `streamed`, the
    /// caller calls [`stream::finish`] at the end.
    pub(super) fn new(target: ValuesMut<T>, source: Values<T>, plane: Plane, streamed: bool) -> Self {
        assert!(LINE * size_of::<T>() == stream::LINE && plane.to.col == 1 && plane.from.row == 1, "the plane is a transpose");
        Self { target, source, plane, streamed }
    }

    /// The number of columns before the first cache line that begins in a row of the target, if the lines of all rows begin at the
    /// same column.
    fn columns_before_line(&self) -> Option<usize> {
        let Plane { to, .. } = self.plane;
        let (first, width) = (self.target.data().wrapping_add(to.first).addr(), size_of::<T>());
        let aligned = first.is_multiple_of(width) && (to.row.wrapping_mul(width.cast_signed()) % stream::LINE.cast_signed() == 0);
        aligned.then_some(first.wrapping_neg() % stream::LINE / width)
    }
}

impl<T: Element, const LINE: usize> Turn<T, LINE> {
    /// Transposes the plane. The tiles are written and read in lanes of 16 bytes, for which every processor has the instructions. With
    /// longer vectors a line would be read right after shorter pieces of it were written, and that has to wait for the stores.
    pub(super) fn run(self) {
        let Plane { rows, cols, to, from } = self.plane;
        let mut turned = Tile::<LINE>::new();
        if rows < LINE || cols < LINE {
            return self.run_small(&mut turned);
        }
        let before = self.columns_before_line().filter(|_| self.streamed);
        for block in (0..rows).step_by(ROWS) {
            let end = rows.min(block + ROWS).max(LINE);
            let mut next = 0;
            while next < cols {
                // The last tiles, and the first ones before a line begins, overlap others. They write the same elements again.
                let col = next.min(cols - LINE);
                let streamed = before.is_some_and(|before| col % LINE == before % LINE);
                for row in (block..end).step_by(LINE) {
                    let row = row.min(end - LINE);
                    if !streamed {
                        self.prefetch(to.from(row + LINE, col));
                    }
                    let (to, from) = (to.from(row, col), from.from(row, col));
                    let read = |number, lane| self.lane(from, number, lane);
                    if size_of::<T>() >= 4 && !streamed {
                        // A tile has so few lines that the first-level cache keeps them until they are complete.
                        turn::<T>(LINE, LINE, read, |row, lane, value| self.write_lane(to, row, lane, value));
                    } else {
                        turn::<T>(LINE, LINE, read, |row, lane, value| turned.0[row][lane] = value);
                        self.write(&turned, to, streamed);
                    }
                }
                next = before.filter(|&before| next == 0 && before > 0).unwrap_or(next + LINE);
            }
        }
    }

    /// Transposes a plane that is smaller than a tile in one direction at least.
    fn run_small(&self, turned: &mut Tile<LINE>) {
        let Plane { rows, cols, to, from } = self.plane;
        let mut edge = Tile::<LINE>::new();
        for row in (0..rows).step_by(LINE) {
            for col in (0..cols).step_by(LINE) {
                let (height, width) = (LINE.min(rows - row), LINE.min(cols - col));
                self.read_small(&mut edge, from.from(row, col), height, width);
                turn::<T>(height, width, |col, lane| edge.0[col][lane], |row, lane, value| turned.0[row][lane] = value);
                self.write_small(turned, to.from(row, col), height, width);
            }
        }
    }

    /// Prefetches the lines of the target that a tile is written to. There need not be memory at these addresses.
    #[inline(always)]
    fn prefetch(&self, to: Steps) {
        for row in 0..LINE {
            stream::prefetch_for_writing(self.target.data().wrapping_add(to.at(row, 0)).cast());
        }
    }

    /// A lane of a column of a tile that is a cache line high.
    #[inline(always)]
    fn lane(&self, from: Steps, col: usize, lane: usize) -> Lane {
        let first: *const Lane = self.source.data().wrapping_add(from.at(0, col)).cast();
        // SAFETY: [in-bounds] the tile is inside the plane, whose columns lie together in the source.
        unsafe { first.wrapping_add(lane).read_unaligned() }
    }

    /// Writes a lane of a row of a tile that is a cache line wide.
    #[inline(always)]
    fn write_lane(&self, to: Steps, row: usize, lane: usize, value: Lane) {
        let first: *mut Lane = self.target.data().wrapping_add(to.at(row, 0)).cast();
        // SAFETY: [in-bounds] the tile is inside the plane, whose rows lie together in the target.
        unsafe { first.wrapping_add(lane).write_unaligned(value) };
    }

    /// Writes the rows of a tile that is a cache line wide and high.
    #[inline(always)]
    fn write(&self, turned: &Tile<LINE>, to: Steps, streamed: bool) {
        let bytes: BytesMut = self.target.retyped();
        for (row, line) in turned.0.iter().enumerate() {
            let first = to.at(row, 0) * size_of::<T>();
            if streamed {
                // SAFETY: [layout] the line is an array of bytes in the tile.
                let line = unsafe { Bytes::new(line.as_ptr().cast(), stream::LINE) };
                stream::copy(bytes.part(first..first + stream::LINE), line);
            } else {
                // SAFETY: [in-bounds] the tile is inside the plane, whose rows lie together in the target.
                unsafe { bytes.data().wrapping_add(first).cast::<Line>().write_unaligned(*line) };
            }
        }
    }

    /// Reads the columns of a tile of any size.
    #[inline(always)]
    fn read_small(&self, edge: &mut Tile<LINE>, from: Steps, height: usize, width: usize) {
        for (col, line) in edge.0[..width].iter_mut().enumerate() {
            let first = self.source.data().wrapping_add(from.at(0, col)).cast();
            for row in 0..height {
                // SAFETY: [in-bounds] the tile is inside the plane, whose columns lie together in the source.
                let value = unsafe { get_as::<T>(first, row) };
                // SAFETY: [in-bounds] the height is at most that of a line of the tile.
                unsafe { set_as(line.as_mut_ptr().cast(), row, value) };
            }
        }
    }

    /// Writes the rows of a tile of any size.
    #[inline(always)]
    fn write_small(&self, turned: &Tile<LINE>, to: Steps, height: usize, width: usize) {
        for (row, line) in turned.0[..height].iter().enumerate() {
            let first = self.target.data().wrapping_add(to.at(row, 0)).cast();
            for col in 0..width {
                // SAFETY: [in-bounds] the width is at most that of a line of the tile.
                let value = unsafe { get_as::<T>(line.as_ptr().cast(), col) };
                // SAFETY: [in-bounds] the tile is inside the plane, whose rows lie together in the target.
                unsafe { set_as(first, col, value) };
            }
        }
    }
}

/// A tile: `LINE` cache lines.
struct Tile<const LINE: usize>([Line; LINE]);

impl<const LINE: usize> Tile<LINE> {
    fn new() -> Self {
        Self([[lane::ZERO; 4]; LINE])
    }
}

/// Exchanges the rows and the columns of a tile. `get` returns a lane of one of its `width` columns, which have `height` elements, and
/// `put` takes a lane of a row.
#[inline(always)]
fn turn<T: Element>(height: usize, width: usize, get: impl Fn(usize, usize) -> Lane, mut put: impl FnMut(usize, usize, Lane)) {
    // So many elements are in a lane. A square of as many lanes is transposed by interleaving the first half of the lanes with the
    // second half, again and again.
    let side = size_of::<Lane>() / size_of::<T>();
    for below in (0..width).step_by(side) {
        for right in 0..height.div_ceil(side) {
            let mut square = [lane::ZERO; 16];
            for (number, lane) in square[..side].iter_mut().enumerate() {
                *lane = get(below + number, right);
            }
            let mut distance = 1;
            while distance < side {
                let old = square;
                for number in 0..side / 2 {
                    square[2 * number] = lane::low::<T>(old[number], old[number + side / 2]);
                    square[2 * number + 1] = lane::high::<T>(old[number], old[number + side / 2]);
                }
                distance *= 2;
            }
            for (number, lane) in square[..side].iter().enumerate() {
                put(right * side + number, below / side, *lane);
            }
        }
    }
}

/// Sixteen bytes as the processor interleaves them.
#[cfg(target_arch = "x86_64")]
mod lane {
    use std::arch::x86_64::{
        __m128i, _mm_unpackhi_epi8, _mm_unpackhi_epi16, _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi8,
        _mm_unpacklo_epi16, _mm_unpacklo_epi32, _mm_unpacklo_epi64,
    };

    pub type Lane = __m128i;

    // SAFETY: [layout] any bits are a valid vector.
    pub const ZERO: Lane = unsafe { std::mem::zeroed() };

    /// The first halves of two lanes, with their elements in turn.
    #[inline(always)]
    pub fn low<T>(a: Lane, b: Lane) -> Lane {
        // SAFETY: [cpu] every x86-64 processor has SSE2.
        unsafe { low_sse2::<T>(a, b) }
    }

    /// The second halves of two lanes, with their elements in turn.
    #[inline(always)]
    pub fn high<T>(a: Lane, b: Lane) -> Lane {
        // SAFETY: [cpu] every x86-64 processor has SSE2.
        unsafe { high_sse2::<T>(a, b) }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn low_sse2<T>(a: Lane, b: Lane) -> Lane {
        match size_of::<T>() {
            1 => _mm_unpacklo_epi8(a, b),
            2 => _mm_unpacklo_epi16(a, b),
            4 => _mm_unpacklo_epi32(a, b),
            _ => _mm_unpacklo_epi64(a, b),
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn high_sse2<T>(a: Lane, b: Lane) -> Lane {
        match size_of::<T>() {
            1 => _mm_unpackhi_epi8(a, b),
            2 => _mm_unpackhi_epi16(a, b),
            4 => _mm_unpackhi_epi32(a, b),
            _ => _mm_unpackhi_epi64(a, b),
        }
    }
}

/// Sixteen bytes as the processor interleaves them.
#[cfg(target_arch = "aarch64")]
mod lane {
    use std::arch::aarch64::{
        uint8x16_t, vreinterpretq_u8_u16, vreinterpretq_u8_u32, vreinterpretq_u8_u64, vreinterpretq_u16_u8, vreinterpretq_u32_u8,
        vreinterpretq_u64_u8, vzip1q_u8, vzip1q_u16, vzip1q_u32, vzip1q_u64, vzip2q_u8, vzip2q_u16, vzip2q_u32, vzip2q_u64,
    };

    pub type Lane = uint8x16_t;

    // SAFETY: [layout] any bits are a valid vector.
    pub const ZERO: Lane = unsafe { std::mem::zeroed() };

    /// The first halves of two lanes, with their elements in turn.
    #[inline(always)]
    pub fn low<T>(a: Lane, b: Lane) -> Lane {
        // SAFETY: [cpu] every aarch64 processor has NEON.
        unsafe { low_neon::<T>(a, b) }
    }

    /// The second halves of two lanes, with their elements in turn.
    #[inline(always)]
    pub fn high<T>(a: Lane, b: Lane) -> Lane {
        // SAFETY: [cpu] every aarch64 processor has NEON.
        unsafe { high_neon::<T>(a, b) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn low_neon<T>(a: Lane, b: Lane) -> Lane {
        match size_of::<T>() {
            1 => vzip1q_u8(a, b),
            2 => vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b))),
            4 => vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b))),
            _ => vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b))),
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn high_neon<T>(a: Lane, b: Lane) -> Lane {
        match size_of::<T>() {
            1 => vzip2q_u8(a, b),
            2 => vreinterpretq_u8_u16(vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b))),
            4 => vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b))),
            _ => vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b))),
        }
    }
}

/// Sixteen bytes, which the compiler interleaves with the instructions of the processor.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod lane {
    pub type Lane = [u8; 16];

    pub const ZERO: Lane = [0; 16];

    #[inline(always)]
    fn interleaved<T>(a: Lane, b: Lane, half: usize) -> Lane {
        let width = size_of::<T>();
        std::array::from_fn(|byte| {
            let (element, part) = (byte / width, byte % width);
            let from = half + element / 2 * width + part;
            if element % 2 == 0 { a[from] } else { b[from] }
        })
    }

    /// The first halves of two lanes, with their elements in turn.
    #[inline(always)]
    pub fn low<T>(a: Lane, b: Lane) -> Lane {
        interleaved::<T>(a, b, 0)
    }

    /// The second halves of two lanes, with their elements in turn.
    #[inline(always)]
    pub fn high<T>(a: Lane, b: Lane) -> Lane {
        interleaved::<T>(a, b, 8)
    }
}
