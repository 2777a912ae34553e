//! The elements of storages in a file: how many there can be, and they themselves.

use super::Reader;
use super::scalars::{self, end_of_line, malformed};
use crate::bulk::{self, Writable};
use crate::element::{DType, with_element};
use crate::error::Error;
use crate::storage::Storage;
use crate::t7::{Encoding, Problem};

impl Reader {
    /// The size of a storage: a C `long`, and as many elements can be left.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn size(&mut self, dtype: DType) -> Result<usize, Error> {
        let start = self.position();
        let count = self.long()?;
        self.expect_at(start, dtype, count)
    }

    /// How many elements `count` are, if so many can be left.
    ///
    /// # Errors
    /// [`Error::Malformed`].
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
        let place = if is_possible { self.position() } else { start };
        fits.ok_or_else(|| malformed(place, Problem::Count { what: "elements", count, left }))
    }

    /// The next `count` elements of a block, as a part of the map; `None` if there is no map, or if they stand otherwise in the file than
    /// in memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], the system's.
    pub fn mapped(&mut self, dtype: DType, count: usize) -> Result<Option<Storage>, Error> {
        let as_in_memory = match self.encoding {
            Encoding::Ascii => false,
            Encoding::Binary { long, swapped } => !(swapped && dtype.width() > 1 || dtype == DType::Long && long != 8),
        };
        let Some(map) = self.map.as_ref().filter(|_| as_in_memory) else { return Ok(None) };
        let start = usize::try_from(self.input.position()).unwrap_or(usize::MAX);
        let part = map.reinterpret(dtype, start, count)?;
        self.input.skip(part.nbytes() as u64)?;
        Ok(Some(part))
    }

    /// The next `count` elements of a block. The caller has asked [`expect_elements`](Self::expect_elements) about all of it; when it
    /// has all, it calls [`end_of_elements`](Self::end_of_elements).
    ///
    /// # Errors
    /// [`Error::Malformed`], the system's.
    ///
    /// # Safety
    /// `[live]` `[in-bounds]`: `target` is valid for writes of `count` elements.
    pub unsafe fn elements(&mut self, dtype: DType, target: *mut u8, count: usize) -> Result<(), Error> {
        match self.encoding {
            Encoding::Ascii if dtype.width() > 1 => with_element!(dtype, T => {
                (0..count).try_for_each(|place| {
                    let value = scalars::element::<T>(&mut self.input)?;
                    // SAFETY: [live] [in-bounds] the index is below the count, and the caller says that the target takes so many.
                    unsafe { bulk::set_as::<T>(target, place, value) };
                    Ok(())
                })
            }),
            Encoding::Binary { long: 4, .. } if dtype == DType::Long => (0..count).try_for_each(|place| {
                let value = self.int()?;
                // SAFETY: [live] [in-bounds] the index is below the count, and the caller says that the target takes so many.
                unsafe { bulk::set_as::<i64>(target, place, i64::from(value)) };
                Ok(())
            }),
            Encoding::Ascii | Encoding::Binary { .. } => {
                let bytes = count * dtype.width();
                self.input.expect("elements", bytes)?;
                // SAFETY: [live] [in-bounds] the caller says that the target takes so many bytes.
                unsafe { self.input.read_into(target, bytes) }?;
                if matches!(self.encoding, Encoding::Binary { swapped: true, .. }) {
                    // SAFETY: [in-bounds] the caller vouches for so many bytes, which have just been written.
                    bulk::byteswap(unsafe { Writable::new(target, DType::Byte, bytes) }, dtype.part().width());
                }
                Ok(())
            }
        }
    }

    /// The end of a block of `count` elements, which ascii files mark.
    ///
    /// # Errors
    /// The system's.
    pub fn end_of_elements(&mut self, count: usize) -> Result<(), Error> {
        if self.encoding == Encoding::Ascii && count > 0 { end_of_line(&mut self.input) } else { Ok(()) }
    }
}
