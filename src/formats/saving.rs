//! Writes the tensors of a safetensors, npy or npz file, piece by piece.

use std::ops::Range;
use std::path::Path;

use crc32fast::Hasher;

use super::npz::{Archive, Completion};
use super::{npy, safetensors};
use crate::bulk::{self, Readable, Writable};
use crate::element::DType;
use crate::error::Error;
use crate::fallible;
use crate::output::Output;
use crate::storage::Storage;
use crate::tensor::{Layout, Tensor};

/// The size of a piece in bytes. A piece that is collected stays in the cache until it is written.
const PIECE: usize = 1 << 20;

/// A tensor that is saved. The storage is a view that nobody else has, so that its memory stays where it is.
#[derive(Debug)]
pub struct Item {
    /// The name in the file. An npy file has none.
    pub name: String,
    /// The storage of the elements.
    pub storage: Storage,
    /// Where the elements are in the storage.
    pub layout: Layout,
}

impl Item {
    fn dtype(&self) -> DType {
        self.storage.dtype()
    }

    /// The number of bytes of all elements.
    fn bytes(&self) -> Result<u64, Error> {
        let (size, dtype) = (self.layout.elements(), self.dtype());
        // There may be so many elements that share memory that no file has room for them.
        let bytes = size.checked_mul(dtype.width()).filter(|&bytes| isize::try_from(bytes).is_ok());
        bytes.map(|bytes| bytes as u64).ok_or(Error::TooLarge { size, dtype })
    }

    fn tensor(&self) -> Tensor<'_> {
        Tensor::new(&self.storage, &self.layout)
    }
}

/// A file that is being saved. It exists under its name when [`finish`](Self::finish) has succeeded: see [`Output::to_file`].
pub struct Saving {
    output: Output,
    items: Vec<Item>,
    sections: Vec<Section>,
    archive: Option<Archive>,
    /// The number of sections that are complete.
    complete: usize,
    /// The number of elements of the next section that are written.
    done: usize,
    /// The checksum of the section so far.
    checksum: Hasher,
    /// Memory for a piece whose elements have to be collected, or whose checksum is needed.
    piece: Vec<u8>,
    total: u64,
}

/// A tensor, and the bytes that are written before its elements: the headers of an entry of an npz file.
struct Section {
    lead: Vec<u8>,
    /// Where the bytes that have a checksum begin in `lead`.
    checked: usize,
    /// The position of the tensor in the list of them.
    item: usize,
    /// The number of bytes of the elements.
    bytes: u64,
    /// The elements as a range of the storage, if they lie there in the order of the file.
    run: Option<Range<usize>>,
}

impl Saving {
    /// Begins a safetensors file of tensors with different names, and of metadata.
    ///
    /// # Errors
    /// Those of [`safetensors::plan`] and of [`Output::to_file`]; [`ShapeError::Outside`](crate::error::ShapeError) if a tensor is
    /// not inside its storage. No file was changed.
    pub fn safetensors(path: &Path, atomic: bool, items: Vec<Item>, metadata: &[(&str, &str)]) -> Result<Self, Error> {
        let tensors = fallible::list_of(items.iter().map(|item| (item.name.as_str(), item.dtype(), item.layout.sizes())))?;
        let plan = safetensors::plan(&tensors, metadata)?;
        let mut sections = fallible::list(items.len())?;
        for &index in &plan.order {
            fallible::push(&mut sections, Section::new(Vec::new(), (index, &items[index]), npy::Order::C)?)?;
        }
        Self::begin(path, atomic, &plan.header, items, sections)
    }

    /// Begins an npy file.
    ///
    /// # Errors
    /// The same, without those of `plan`.
    pub fn npy(path: &Path, atomic: bool, item: Item) -> Result<Self, Error> {
        let (header, order) = npy::header(item.dtype(), &item.layout)?;
        let sections = fallible::list_of([Section::new(Vec::new(), (0, &item), order)?].into_iter())?;
        Self::begin(path, atomic, &header, fallible::list_of([item].into_iter())?, sections)
    }

    /// Begins an npz file of arrays with different names. They are written in the order of the bytes of their names.
    ///
    /// # Errors
    /// The same; [`Error::NotInFormat`] for a name that cannot be that of an entry.
    pub fn npz(path: &Path, atomic: bool, items: Vec<Item>) -> Result<Self, Error> {
        let mut items = items;
        items.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let plan = |is_changeable| -> Result<_, Error> {
            let mut archive = Archive::new(is_changeable);
            let mut sections = fallible::list(items.len())?;
            for (index, item) in items.iter().enumerate() {
                let (header, order) = npy::header(item.dtype(), &item.layout)?;
                let mut lead = archive.add(&item.name, header.len() as u64 + item.bytes()?)?;
                let checked = lead.len();
                fallible::append(&mut lead, &header)?;
                fallible::push(&mut sections, Section { checked, ..Section::new(lead, (index, item), order)? })?;
            }
            Ok((sections, archive))
        };
        // A file is opened only if all can be saved. A pipe or a device needs other headers.
        let mut planned = plan(true)?;
        let output = Output::to_file(path, atomic, planned.1.length())?;
        if !output.is_changeable() {
            planned = plan(false)?;
        }
        let total = planned.1.length();
        Ok(Self::new(output, total, items, planned.0, Some(planned.1)))
    }

    /// Begins a file of a header and of elements after it.
    fn begin(path: &Path, atomic: bool, header: &[u8], items: Vec<Item>, sections: Vec<Section>) -> Result<Self, Error> {
        let total = header.len() as u64 + sections.iter().map(|section| section.bytes).sum::<u64>();
        let mut output = Output::to_file(path, atomic, total)?;
        output.put(header)?;
        Ok(Self::new(output, total, items, sections, None))
    }

    fn new(output: Output, total: u64, items: Vec<Item>, sections: Vec<Section>, archive: Option<Archive>) -> Self {
        let (checksum, piece) = (Hasher::new(), Vec::new());
        Self { output, items, sections, archive, complete: 0, done: 0, checksum, piece, total }
    }

    /// The number of bytes of the file.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of bytes that are written.
    pub fn position(&self) -> u64 {
        self.output.position()
    }

    /// Writes the next piece. Returns false if there is none.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::File`]. After that the new file is removed when this value is dropped.
    pub fn step(&mut self) -> Result<bool, Error> {
        let Some(section) = self.sections.get(self.complete) else { return Ok(false) };
        if self.done == 0 {
            self.output.put(&section.lead)?;
            self.checksum = Hasher::new();
            self.checksum.update(&section.lead[section.checked..]);
        }
        let item = &self.items[section.item];
        let elements = item.layout.elements();
        let now = self.done..elements.min(self.done + PIECE / item.dtype().width());
        self.done = now.end;
        match section.run.clone().filter(|_| self.archive.is_none()) {
            Some(run) => self.output.write(item.storage.readable().part(run.start + now.start..run.start + now.end))?,
            None => self.write_collected(now)?,
        }
        if self.done == elements {
            self.complete_section()?;
        }
        Ok(true)
    }

    /// Ends the file, when all pieces are written. It has its name after that.
    pub fn finish(&mut self) -> Result<(), Error> {
        if let Some(archive) = &self.archive {
            self.output.put(&archive.directory()?)?;
        }
        debug_assert_eq!(self.position(), self.total);
        self.output.finish()
    }

    /// Gives back the tensors. A file that is not finished is removed.
    #[must_use]
    pub fn into_items(self) -> Vec<Item> {
        self.items
    }

    /// Collects elements of the next section, and writes them. Nobody else can change them between the two, so the checksum is right.
    fn write_collected(&mut self, range: Range<usize>) -> Result<(), Error> {
        let section = &self.sections[self.complete];
        let item = &self.items[section.item];
        let bytes = range.len() * item.dtype().width();
        if self.piece.len() < bytes {
            let more = bytes - self.piece.len();
            self.piece.try_reserve_exact(more).map_err(|_| Error::OutOfMemory { bytes })?;
            self.piece.resize(bytes, 0);
        }
        let piece = &mut self.piece[..bytes];
        let target = Writable::of(piece, item.dtype());
        match &section.run {
            Some(run) => bulk::copy(target, item.storage.readable().part(run.start + range.start..run.start + range.end)),
            None => item.tensor().copy_to(target, range)?,
        }
        if self.archive.is_some() {
            self.checksum.update(piece);
        }
        self.output.write(Readable::of(piece, DType::Byte))
    }

    /// Ends a section whose elements are written.
    fn complete_section(&mut self) -> Result<(), Error> {
        if let Some(archive) = &mut self.archive {
            match archive.complete(self.complete, self.checksum.clone().finalize()) {
                Completion::Replace(position, bytes) => self.output.replace(position, &bytes)?,
                Completion::Append(bytes) => self.output.put(&bytes)?,
            }
        }
        (self.complete, self.done) = (self.complete + 1, 0);
        Ok(())
    }
}

impl Section {
    /// The section of a tensor whose elements are written in an order, after these bytes.
    fn new(lead: Vec<u8>, (index, item): (usize, &Item), order: npy::Order) -> Result<Self, Error> {
        let span = item.layout.span_in(item.storage.size())?;
        let is_run = order == npy::Order::Fortran || item.layout.is_contiguous();
        Ok(Self { checked: lead.len(), lead, item: index, bytes: item.bytes()?, run: is_run.then_some(span) })
    }
}
