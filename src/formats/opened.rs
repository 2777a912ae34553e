//! Files that are open for loading. Their tensors become views of a map of their file, or copies.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::npy;
use super::npz::{self, Checksum, NpyFile};
use super::safetensors::{self, FileDType, Header, Index, Tensor};
use super::source::{self, Place, Source};
use crate::element::DType;
use crate::error::{Error, Flaw};
use crate::fallible;
use crate::storage::{MapOptions, Storage};
use crate::system::{self, Code, failure, files, read_exactly};
use crate::tensor::Layout;

/// The number of bytes that one call of [`Opened::copy_piece`] reads.
const PIECE: usize = 16 << 20;

/// The number of bytes that are read before they are added to a checksum, so that they are in a cache then. A GiB in pieces of 256 KiB
/// takes 3 to 11 ms longer, because of the calls of the system.
const CHECKED: usize = 1 << 20;

/// The end of the path of an index.
const INDEX: &[u8] = b".safetensors.index.json";

/// The tensors of one or more files. What is written to the files later does not change what the headers have said.
#[derive(Debug)]
pub struct Opened {
    path: PathBuf,
    files: Vec<OpenFile>,
    /// In the order of the bytes of their names.
    members: Vec<Member>,
    metadata: Vec<(String, String)>,
    others: Vec<Vec<u8>>,
    copying: Option<Copying>,
}

/// A file: at least one of `file` and `map` is there.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    /// The descriptor, if elements are going to be copied.
    file: Option<File>,
    /// A private map of the whole file, of bytes.
    map: Option<Storage>,
}

/// A tensor of a file.
#[derive(Debug)]
pub struct Member {
    /// The name. It is empty in an npy file.
    pub name: Vec<u8>,
    /// The dtype in memory.
    pub dtype: DType,
    /// The layout in memory, from the first element on. The elements have no gaps.
    pub layout: Layout,
    /// The number of the file that has it, from 0.
    file: usize,
    /// The bytes of the elements, from the beginning of that file.
    data: Range<u64>,
    /// The number of bytes whose order must be reversed. It is 1 if none must be.
    swap: usize,
    details: Details,
}

/// What a format says about a tensor in addition.
#[derive(Debug)]
enum Details {
    /// In a safetensors file: the dtype and the sizes that the file says.
    Safetensors(FileDType, Box<[usize]>),
    Npy,
    Npz(NpyFile),
}

/// A copy of a tensor that is not complete. Nobody else has its storage yet.
#[derive(Debug)]
struct Copying {
    member: usize,
    storage: Storage,
    /// The number of bytes that are copied.
    done: usize,
    checksum: Option<Checksum>,
}

impl Member {
    /// The dtype and the sizes that a safetensors file says; `None` in other files. They differ from those in memory for elements
    /// for which this library has no dtype.
    pub fn in_file(&self) -> Option<(FileDType, &[usize])> {
        match &self.details {
            Details::Safetensors(dtype, sizes) => Some((*dtype, sizes)),
            Details::Npy | Details::Npz(_) => None,
        }
    }

    /// The number of bytes of the elements.
    pub fn bytes(&self) -> u64 {
        self.data.end - self.data.start
    }

    /// The part of the file, for an error.
    fn place(&self) -> Option<Place<'_>> {
        match &self.details {
            Details::Safetensors(..) => Some(Place::Tensor(&self.name)),
            Details::Npy => None,
            Details::Npz(file) => Some(file.place(&self.name)),
        }
    }

    fn of_array(name: Vec<u8>, array: npy::Array, details: Details) -> Self {
        let npy::Array { dtype, layout, data, swap } = array;
        Self { name, dtype, layout, file: 0, data, swap, details }
    }
}

/// A copy of the path of a file that is opened.
fn owned(path: &Path) -> Result<PathBuf, Error> {
    system::check_name(path)?;
    files::owned(path).map_err(failure("open", path))
}

impl OpenFile {
    /// Maps an open file, if `maps`, and keeps its descriptor, if `copies`.
    fn new(path: &Path, file: File, maps: bool, copies: bool) -> Result<Self, Error> {
        let map = if maps { Some(Storage::map_open(DType::Byte, &file, path, &MapOptions::default())?) } else { None };
        Ok(Self { path: owned(path)?, file: copies.then_some(file), map })
    }

    /// The file and what is known about it, for reading.
    fn source(&self) -> Result<(&File, Source<'_>), Error> {
        let closed = || failure("read", &self.path)(Code::NotOpen.error());
        let file = self.file.as_ref().ok_or_else(closed)?;
        Ok((file, Source::of_file(&self.path, file)?))
    }
}

impl Opened {
    fn new(path: &Path) -> Result<Self, Error> {
        let (files, members, metadata, others) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { path: owned(path)?, files, members, metadata, others, copying: None })
    }

    /// Opens a safetensors file, or the index of several, if the path ends in `.safetensors.index.json`. The metadata of several
    /// files is that of all of them; of different texts with the same name, that of the first file counts.
    ///
    /// With `maps`, the files are mapped, and no descriptor is kept.
    ///
    /// # Errors
    /// [`Error::NotAFile`], [`Error::NulInName`]; as [`safetensors::read`] and [`Storage::map_open`].
    pub fn safetensors(path: &Path, maps: bool) -> Result<Self, Error> {
        let mut opened = Self::new(path)?;
        if !path.as_os_str().as_encoded_bytes().ends_with(INDEX) {
            let Header { tensors, metadata } = opened.add_file(path, maps)?;
            opened.add_tensors(tensors)?;
            opened.metadata = metadata;
            return Ok(opened);
        }
        let index = Index::open(path)?;
        for (number, shard) in index.shards().enumerate() {
            let Header { tensors, mut metadata } = opened.add_file(&shard?, maps)?;
            opened.add_tensors(index.tensors(number, tensors)?)?;
            metadata.retain(|(name, _)| opened.metadata.binary_search_by(|known| known.0.cmp(name)).is_err());
            if !metadata.is_empty() {
                for entry in metadata {
                    fallible::push(&mut opened.metadata, entry)?;
                }
                opened.metadata.sort_unstable();
            }
        }
        opened.members.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(opened)
    }

    /// Opens one more safetensors file, and reads its header.
    fn add_file(&mut self, path: &Path, maps: bool) -> Result<Header, Error> {
        let file = source::open(path)?;
        let header = safetensors::read(&Source::of_file(path, &file)?)?;
        fallible::push(&mut self.files, OpenFile::new(path, file, maps, !maps)?)?;
        Ok(header)
    }

    /// Adds tensors of the file that was opened last.
    fn add_tensors(&mut self, tensors: Vec<Tensor>) -> Result<(), Error> {
        for tensor in tensors {
            fallible::push(&mut self.members, member(tensor, self.files.len() - 1)?)?;
        }
        Ok(())
    }

    /// Opens an npy file, which has one tensor. `dtype` is that of [`npy::read`].
    ///
    /// # Errors
    /// [`Error::NotAFile`], [`Error::NulInName`]; as [`npy::read`] and [`Storage::map_open`].
    pub fn npy(path: &Path, dtype: Option<DType>, maps: bool) -> Result<Self, Error> {
        let file = source::open(path)?;
        let array = npy::read(&Source::of_file(path, &file)?, dtype)?;
        let member = Member::of_array(Vec::new(), array, Details::Npy);
        Self::of_arrays(path, file, fallible::list_of([member].into_iter())?, maps)
    }

    /// Opens an npz file. `dtype` is that of [`npz::read`].
    ///
    /// # Errors
    /// [`Error::NotAFile`], [`Error::NulInName`]; as [`npz::read`] and [`Storage::map_open`].
    pub fn npz(path: &Path, dtype: Option<DType>, maps: bool) -> Result<Self, Error> {
        let file = source::open(path)?;
        let npz::Contents { arrays, others } = npz::read(&Source::of_file(path, &file)?, dtype)?;
        let member = |entry: npz::Entry| Member::of_array(entry.name, entry.array, Details::Npz(entry.file));
        Ok(Self { others, ..Self::of_arrays(path, file, fallible::list_of(arrays.into_iter().map(member))?, maps)? })
    }

    fn of_arrays(path: &Path, file: File, members: Vec<Member>, maps: bool) -> Result<Self, Error> {
        let copies = !maps || members.iter().any(|member| member.swap > 1);
        let maps = maps && members.iter().any(|member| member.swap == 1);
        let mut opened = Self::new(path)?;
        fallible::push(&mut opened.files, OpenFile::new(path, file, maps, copies)?)?;
        opened.members = members;
        Ok(opened)
    }

    /// The tensors, in the order of the bytes of their names.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The metadata of a safetensors file: names and texts, in the order of the bytes of the names.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// The names of the entries of an npz file that are not arrays, in the order of their bytes.
    pub fn others(&self) -> &[Vec<u8>] {
        &self.others
    }

    /// The number of the tensor with this name, from 0.
    pub fn find(&self, name: &[u8]) -> Result<usize, Error> {
        /// The number of names that the error shows.
        const SHOWN: usize = 5;
        self.members.binary_search_by(|member| member.name.as_slice().cmp(name)).map_err(|_| {
            let first = self.members.iter().take(SHOWN).map(|member| Ok(member.name.as_slice().into()));
            match fallible::collected::<_, Error>(first) {
                Ok(first) => {
                    Error::NoTensor { path: self.path.as_path().into(), name: name.into(), first, count: self.members.len() }
                }
                Err(error) => error,
            }
        })
    }

    /// The elements of a tensor as a view of the map of its file. `None` if there is no map, or if the order of bytes in the file
    /// is another one. Then they must be copied.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::OutOfRange`] if the file got shorter before it was mapped.
    pub fn view(&self, member: usize) -> Result<Option<Storage>, Error> {
        let member = &self.members[member];
        let Some(map) = self.files[member.file].map.as_ref().filter(|_| member.swap == 1) else { return Ok(None) };
        let start = usize::try_from(member.data.start).unwrap_or(usize::MAX);
        // The headers are accepted only if no two tensors of a file share bytes, so the bytes have no other dtype.
        map.part(member.dtype, start, member.layout.elements()).map(Some)
    }

    /// Begins to copy the elements of a tensor. [`copy_piece`](Self::copy_piece) copies them.
    pub fn begin_copy(&mut self, member: usize) -> Result<(), Error> {
        let Member { name, dtype, layout, file, data, details, .. } = &self.members[member];
        let mut checksum = None;
        if let Details::Npz(entry) = details {
            let mut sum = Checksum::new(entry);
            sum.skip_to(&self.files[*file].source()?.1, entry.place(name), data.start)?;
            checksum = Some(sum);
        }
        let storage = Storage::unset(*dtype, layout.elements())?;
        self.copying = Some(Copying { member, storage, done: 0, checksum });
        Ok(())
    }

    /// Copies the next bytes of the tensor, and returns their number. After the last ones it checks the checksum and returns
    /// `None`.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Format`] if the file has become shorter or the checksum is wrong.
    pub fn copy_piece(&mut self) -> Result<Option<usize>, Error> {
        let Some(Copying { member, storage, done, checksum }) = &mut self.copying else { return Ok(None) };
        let member = &self.members[*member];
        let (file, source) = self.files[member.file].source()?;
        let end = storage.nbytes().min(done.saturating_add(PIECE));
        if *done == end {
            if let (Some(sum), Some(place)) = (checksum, member.place()) {
                if sum.skip_piece(&source, place)? {
                    return Ok(Some(0));
                }
                sum.compare(&source, place)?;
            }
            return Ok(None);
        }
        let start = *done;
        while *done < end {
            let bytes = if checksum.is_some() { CHECKED.min(end - *done) } else { end - *done };
            let (target, offset) = (storage.data().wrapping_add(*done), member.data.start + *done as u64);
            // SAFETY: [live] [in-bounds] the storage has `bytes` bytes from `done` on.
            let read = unsafe { read_exactly(file, target, bytes, bytes, offset) };
            read.map_err(|reason| match reason.kind() {
                io::ErrorKind::UnexpectedEof => {
                    let left = source.length().saturating_sub(offset);
                    source.error(offset, member.place(), Flaw::Short { what: "the elements", needed: bytes as u64, left })
                }
                _ => failure("read", source.path())(reason),
            })?;
            if let Some(sum) = checksum {
                // SAFETY: [live] [in-bounds] these bytes were just read into the storage. [alias] nobody else has the storage.
                sum.add(unsafe { std::slice::from_raw_parts(target, bytes) });
            }
            *done += bytes;
        }
        if member.swap > 1 {
            storage.byteswap_range(Some(member.swap), start, end - start)?;
        }
        Ok(Some(end - start))
    }

    /// The complete copy.
    pub fn take_copy(&mut self) -> Option<Storage> {
        self.copying.take().map(|copying| copying.storage)
    }
}

/// A tensor of safetensors file number `file`.
fn member(tensor: Tensor, file: usize) -> Result<Member, Error> {
    let (dtype, layout) = (tensor.dtype(), tensor.layout()?);
    let Tensor { name, file_dtype, file_sizes, data } = tensor;
    let swap = if cfg!(target_endian = "little") { 1 } else { dtype.part().width() };
    let details = Details::Safetensors(file_dtype, file_sizes);
    Ok(Member { name: name.into_bytes(), dtype, layout, file, data, swap, details })
}
