//! Reads the elements of storages.

use super::Reader;
use super::scalars::{self, end_of_line, malformed};
use crate::bulk::{self, Writable};
use crate::element::{DType, with_element};
use crate::error::Error;
use crate::storage::Storage;
use crate::t7::{Encoding, Problem};

impl Reader {
    /// Reads the size of a storage, a C `long`. Fails if the rest of the file is too short for that many elements.
    pub fn size(&mut self, dtype: DType) -> Result<usize, Error> {
        let start = self.position();
        let count = self.long()?;
        self.expect_at(start, dtype, count)
    }

    /// Checks that the rest of the file can have `count` elements, and returns that number.
    pub fn expect_elements(&mut self, dtype: DType, count: i64) -> Result<usize, Error> {
        self.expect_at(self.position(), dtype, count)
    }

    fn expect_at(&mut self, start: u64, dtype: DType, count: i64) -> Result<usize, Error> {
        self.has_read_long |= dtype == DType::Long;
        let left = self.input.left();
        let most = self.most(self.encoding.width(dtype) as u64);
        let fits = usize::try_from(count).ok().filter(|&count| count as u64 <= most);
        // An impossible count is reported at the count, a truncated file at the elements.
        let is_possible = u64::try_from(count).is_ok_and(|count| count <= self.total());
        let offset = if is_possible { self.position() } else { start };
        fits.ok_or_else(|| malformed(offset, Problem::Count { what: "elements", count, left }))
    }

    /// The next `count` elements of a block as a part of the map. Returns `None` if there is no map, or if the elements are
    /// not in the file as they are in memory.
    pub fn mapped(&mut self, dtype: DType, count: usize) -> Result<Option<Storage>, Error> {
        let as_in_memory = match self.encoding {
            Encoding::Ascii => false,
            Encoding::Binary { long, swapped } => !(swapped && dtype.width() > 1 || dtype == DType::Long && long != 8),
        };
        let Some(map) = self.map.as_mut().filter(|_| as_in_memory) else { return Ok(None) };
        let start = usize::try_from(self.input.position()).unwrap_or(usize::MAX);
        // The reader only goes forward, so the parts that it makes in one pass share no bytes.
        let part =
            if map.is_used_again { map.bytes.reinterpret(dtype, start, count) } else { map.bytes.part(dtype, start, count) }?;
        map.has_parts = true;
        self.input.skip(part.nbytes() as u64)?;
        Ok(Some(part))
    }

    /// Reads the next `count` elements of a block. Before the first part the caller checks the block with
    /// [`expect_elements`](Self::expect_elements), and after the last part it calls [`end_of_elements`](Self::end_of_elements).
    ///
    /// # Safety
    /// `[live]` `[in-bounds]`: `target` is valid for writes of `count` elements.
    pub unsafe fn elements(&mut self, dtype: DType, target: *mut u8, count: usize) -> Result<(), Error> {
        match self.encoding {
            Encoding::Ascii if dtype.width() > 1 => with_element!(dtype, T => {
                (0..count).try_for_each(|index| {
                    let value = scalars::element::<T>(&mut self.input)?;
                    // SAFETY: [live] [in-bounds] the target has room for `count` elements, and the index is below `count`.
                    unsafe { bulk::set_as::<T>(target, index, value) };
                    Ok(())
                })
            }),
            Encoding::Binary { long: 4, .. } if dtype == DType::Long => (0..count).try_for_each(|index| {
                let value = self.int()?;
                // SAFETY: [live] [in-bounds] the target has room for `count` elements, and the index is below `count`.
                unsafe { bulk::set_as::<i64>(target, index, i64::from(value)) };
                Ok(())
            }),
            Encoding::Ascii | Encoding::Binary { .. } => {
                let bytes = count * dtype.width();
                self.input.expect("elements", bytes)?;
                // SAFETY: [live] [in-bounds] the target has room for `count` elements, which are `bytes` bytes.
                unsafe { self.input.read_into(target, bytes) }?;
                if matches!(self.encoding, Encoding::Binary { swapped: true, .. }) {
                    // SAFETY: [live] [in-bounds] `bytes` bytes of the target have just been written.
                    bulk::byteswap(unsafe { Writable::new(target, DType::Byte, bytes) }, dtype.part().width());
                }
                Ok(())
            }
        }
    }

    /// Reads the end of a block of `count` elements: in an ascii file, the end of the line.
    pub fn end_of_elements(&mut self, count: usize) -> Result<(), Error> {
        if self.encoding == Encoding::Ascii && count > 0 { end_of_line(&mut self.input) } else { Ok(()) }
    }
}
