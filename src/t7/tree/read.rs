//! Reading a tree.

use std::collections::HashMap;

use super::{Id, Node, Shape, Tree, copy, list, push};
use crate::element::DType;
use crate::error::Error;
use crate::storage::Storage;
use crate::t7::{Head, Kind, Problem, Reader};

impl Tree {
    /// The next object, with all that is in it. What the reader has read before is not known here.
    ///
    /// # Errors
    /// [`Error::Malformed`], the system's, [`Error::OutOfMemory`].
    pub fn read(reader: &mut Reader) -> Result<Self, Error> {
        let mut reading = Reading { tree: Self::new()?, frames: Vec::new(), known: Known::default(), room: reader.most_pairs() };
        loop {
            let Some(whole) = reading.begin(reader)? else { continue };
            if let Some(root) = reading.deliver(whole, reader)? {
                reading.tree.root = root;
                return Ok(reading.tree);
            }
        }
    }
}

struct Reading {
    tree: Tree,
    frames: Vec<Frame>,
    known: Known,
    /// Pairs that tables may still be given room for in advance.
    room: usize,
}

/// A node that is not whole.
struct Frame {
    node: Id,
    /// Of a table: pairs that are missing.
    left: u32,
    /// Of a table: the key whose value comes next. Nil if a key comes next: it is none itself.
    key: Id,
}

/// Objects by index.
#[derive(Default)]
struct Known {
    /// Those from 1 on, as most files number them.
    dense: Vec<Id>,
    sparse: HashMap<i32, Id>,
}

impl Known {
    fn set(&mut self, index: i32, id: Id) -> Result<(), Error> {
        if usize::try_from(index) == Ok(self.dense.len() + 1) {
            return push(&mut self.dense, id);
        }
        let bytes = self.sparse.len().saturating_add(1).saturating_mul(size_of::<(i32, Id)>());
        self.sparse.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes })?;
        self.sparse.insert(index, id);
        Ok(())
    }

    fn get(&self, index: i32) -> Option<Id> {
        let place = usize::try_from(index).ok().and_then(|index| index.checked_sub(1));
        place.and_then(|place| self.dense.get(place)).or_else(|| self.sparse.get(&index)).copied()
    }
}

impl Reading {
    /// Reads the beginning of a value; the answer is the value if that is all of it.
    fn begin(&mut self, reader: &mut Reader) -> Result<Option<Id>, Error> {
        match reader.head()? {
            Head::Nil => Ok(Some(Id::NIL)),
            Head::Boolean(value) => Ok(Some(if value { Id::TRUE } else { Id::FALSE })),
            Head::Number(number) => self.tree.add(Node::Number(number)).map(Some),
            Head::String(bytes) => self.tree.add_string(bytes).map(Some),
            Head::Known(index) => match self.known.get(index) {
                Some(id) => Ok(Some(id)),
                None => Err(reader.malformed_object(Problem::Unfinished { index })),
            },
            Head::Table { index, count } => {
                // An honest file has room for all its pairs: what others announce is made when it comes.
                let now = count.min(self.room);
                self.room -= now;
                let id = self.add_known(reader, Some(index), Node::Table(list(now)?))?;
                if count == 0 { Ok(Some(id)) } else { self.enter(id, count) }
            }
            Head::Object { index, class, version } => {
                let kind = Kind::of(class);
                let class = self.tree.add_string(class)?;
                let version = version.map_or(Ok(Id::NIL), |version| self.tree.add_string(version))?;
                match kind {
                    Kind::Storage(dtype) | Kind::CudaStorage(dtype) => {
                        let elements = storage(reader, dtype)?;
                        self.add_known(reader, Some(index), Node::Storage { class, version, elements }).map(Some)
                    }
                    Kind::Tensor(_) => {
                        let shape = shape(reader)?;
                        let tensor = Node::Tensor { class, version, shape, storage: Id::NIL };
                        let id = self.add_known(reader, Some(index), tensor)?;
                        self.enter(id, 0)
                    }
                    Kind::Other => {
                        let id = self.add_known(reader, Some(index), Node::Object { class, version, value: Id::NIL })?;
                        self.enter(id, 0)
                    }
                }
            }
            Head::Function { tag, index, code } => {
                let code = copy(code)?.into();
                let id = self.add_known(reader, index, Node::Function { tag, code, upvalues: Id::NIL })?;
                self.enter(id, 0)
            }
        }
    }

    /// Adds the node that has this index from now on, where indices matter.
    fn add_known(&mut self, reader: &Reader, index: Option<i32>, node: Node) -> Result<Id, Error> {
        let id = self.tree.add(node)?;
        if let Some(index) = index.filter(|_| reader.is_referenced()) {
            self.known.set(index, id)?;
        }
        Ok(id)
    }

    fn enter(&mut self, node: Id, pairs: usize) -> Result<Option<Id>, Error> {
        // Fits: it was an int.
        let left = u32::try_from(pairs).unwrap_or(u32::MAX);
        push(&mut self.frames, Frame { node, left, key: Id::NIL })?;
        Ok(None)
    }

    /// Gives a value, which was read last, to the node that waits for it, and what becomes whole by that to the next, and so on. The
    /// answer is the whole tree's root.
    fn deliver(&mut self, mut value: Id, reader: &Reader) -> Result<Option<Id>, Error> {
        while let Some(frame) = self.frames.last_mut() {
            match self.tree.node(frame.node) {
                Node::Table(_) if frame.key == Id::NIL => {
                    if let Some(what) = self.tree.no_key(value) {
                        return Err(reader.malformed_object(Problem::Key { what }));
                    }
                    frame.key = value;
                    return Ok(None);
                }
                Node::Tensor { class, shape, .. } => {
                    let checked = self.tree.check_tensor(*class, shape, value);
                    checked.map_err(|why| reader.malformed_object(Problem::Refused { why }))?;
                }
                _ => {}
            }
            match self.tree.nodes.get_mut(frame.node.place()) {
                Some(Node::Table(pairs)) => {
                    push(pairs, (frame.key, value))?;
                    frame.key = Id::NIL;
                    frame.left -= 1;
                    if frame.left > 0 {
                        return Ok(None);
                    }
                }
                Some(
                    Node::Tensor { storage: place, .. }
                    | Node::Object { value: place, .. }
                    | Node::Function { upvalues: place, .. },
                ) => *place = value,
                _ => {}
            }
            value = frame.node;
            self.frames.pop();
        }
        Ok(Some(value))
    }
}

fn storage(reader: &mut Reader, dtype: DType) -> Result<Storage, Error> {
    let count = reader.long()?;
    let count = reader.expect_elements(dtype, count)?;
    if let Some(part) = reader.mapped(dtype, count)? {
        return Ok(part);
    }
    let storage = Storage::zeroed(dtype, count)?;
    // SAFETY: the storage has so many elements, nobody else knows it, and they were expected.
    unsafe { reader.elements(dtype, storage.data(), count) }?;
    reader.end_of_elements(count)?;
    Ok(storage)
}

fn shape(reader: &mut Reader) -> Result<Shape, Error> {
    let announced = i64::from(reader.int()?);
    let dimensions = reader.expect_elements(DType::Long, announced)?;
    let mut numbers = list(1 + 2 * dimensions)?;
    numbers.resize(1 + 2 * dimensions, 0_i64);
    let (sizes, strides) = numbers[1..].split_at_mut(dimensions);
    for target in [sizes, strides] {
        reader.expect_elements(DType::Long, announced)?;
        // SAFETY: either half is as long as there are dimensions.
        unsafe { reader.elements(DType::Long, target.as_mut_ptr().cast(), dimensions) }?;
        reader.end_of_elements(dimensions)?;
    }
    numbers[0] = reader.long()?;
    Ok(Shape { numbers: numbers.into() })
}
