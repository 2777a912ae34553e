//! Reads a tree.

use std::collections::HashMap;

use torch_storage::storage::Storage;
use torch_storage::t7::{Delivery, Event, Kind, Problem, Reader};
use torch_storage::{DType, Error};

use super::{Id, Node, Tree, copy, list, push};

impl Tree {
    /// Reads the next object with all values in it. It cannot refer to objects that the reader has read before.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::File`], [`Error::OutOfMemory`].
    pub fn read(reader: &mut Reader) -> Result<Self, Error> {
        let mut reading = Reading { tree: Self::new()?, frames: Vec::new(), known: Known::default() };
        loop {
            let Some(value) = reading.begin(reader)? else { continue };
            if let Some(root) = reading.deliver(value, reader)? {
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
}

/// A node that is not complete. The reader has a level for each.
struct Frame {
    node: Id,
    /// The key of a table that was delivered last.
    key: Id,
}

/// The objects by index.
#[derive(Default)]
struct Known {
    /// The objects with the indices 1, 2, 3 and so on. Most files have only these.
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
        let position = usize::try_from(index).ok().and_then(|index| index.checked_sub(1));
        position.and_then(|position| self.dense.get(position)).or_else(|| self.sparse.get(&index)).copied()
    }
}

impl Reading {
    /// Reads the beginning of a value. Returns the value if it is complete.
    fn begin(&mut self, reader: &mut Reader) -> Result<Option<Id>, Error> {
        match reader.next()? {
            Event::Nil => Ok(Some(Id::NIL)),
            Event::Boolean(value) => Ok(Some(if value { Id::TRUE } else { Id::FALSE })),
            Event::Number(number) => self.number(number).map(Some),
            Event::String(bytes) => self.tree.add_string(bytes).map(Some),
            Event::Known(index) => match self.known.get(index) {
                Some(id) => Ok(Some(id)),
                None => Err(reader.malformed_object(Problem::Unfinished { index })),
            },
            Event::Table { index, count, room, .. } => {
                let id = self.add_known(reader, Some(index), Node::Table(list(room)?))?;
                if count == 0 { Ok(Some(id)) } else { self.enter(id) }
            }
            Event::Pairs(pairs) => {
                let frame = self.frames.last().map_or(Id::NIL, |frame| frame.node);
                for &(key, value) in pairs {
                    let (key, value) = (self.number(f64::from(key))?, self.number(value)?);
                    self.add_pair(frame, key, value)?;
                }
                Ok(None)
            }
            Event::Object { index, class, kind, version } => {
                let class = self.tree.add_string(class)?;
                let version = version.map_or(Ok(Id::NIL), |version| self.tree.add_string(version))?;
                match kind {
                    Kind::Storage(dtype) | Kind::CudaStorage(dtype) => {
                        let elements = storage(reader, dtype)?;
                        self.add_known(reader, Some(index), Node::Storage { class, version, elements }).map(Some)
                    }
                    Kind::Tensor(_) | Kind::CudaTensor(_) => {
                        let layout = reader.layout()?.into();
                        let tensor = Node::Tensor { class, version, layout, storage: Id::NIL };
                        let id = self.add_known(reader, Some(index), tensor)?;
                        reader.expect_value()?;
                        self.enter(id)
                    }
                    Kind::Other => {
                        let id = self.add_known(reader, Some(index), Node::Object { class, version, value: Id::NIL })?;
                        reader.expect_value()?;
                        self.enter(id)
                    }
                }
            }
            Event::Function { tag, index, code } => {
                let code = copy(code)?.into();
                let id = self.add_known(reader, index, Node::Function { tag, code, upvalues: Id::NIL })?;
                reader.expect_value()?;
                self.enter(id)
            }
        }
    }

    /// Adds a node. The index means this node from now on, unless the reader has references turned off.
    fn add_known(&mut self, reader: &Reader, index: Option<i32>, node: Node) -> Result<Id, Error> {
        let id = self.tree.add(node)?;
        if let Some(index) = index.filter(|_| reader.is_referenced()) {
            self.known.set(index, id)?;
        }
        Ok(id)
    }

    fn enter(&mut self, node: Id) -> Result<Option<Id>, Error> {
        push(&mut self.frames, Frame { node, key: Id::NIL })?;
        Ok(None)
    }

    fn number(&mut self, number: f64) -> Result<Id, Error> {
        self.tree.add(Node::Number(number))
    }

    fn add_pair(&mut self, table: Id, key: Id, value: Id) -> Result<(), Error> {
        match self.tree.nodes.get_mut(table.index()) {
            Some(Node::Table(pairs)) => push(pairs, (key, value)),
            _ => Ok(()),
        }
    }

    /// Gives the last value to the current node. If that is complete now, it is given to the node around it, and so on. Returns
    /// the root when the tree is complete.
    fn deliver(&mut self, mut value: Id, reader: &mut Reader) -> Result<Option<Id>, Error> {
        loop {
            let delivery = reader.deliver();
            let Some(&Frame { node, key }) = self.frames.last() else { return Ok(Some(value)) };
            match delivery {
                Delivery::Root => return Ok(Some(value)),
                Delivery::Key { .. } => {
                    if let Some(frame) = self.frames.last_mut() {
                        frame.key = value;
                    }
                    return Ok(None);
                }
                Delivery::Value { key: whole, last } => {
                    let key = whole.map_or(Ok(key), |whole| self.number(f64::from(whole)))?;
                    self.add_pair(node, key, value)?;
                    if !last {
                        return Ok(None);
                    }
                }
                Delivery::Rest => self.finish(node, value, reader)?,
            }
            value = node;
            self.frames.pop();
            reader.leave_to(self.frames.len());
        }
    }

    /// Gives a node other than a table the value that follows it.
    fn finish(&mut self, node: Id, value: Id, reader: &Reader) -> Result<(), Error> {
        if let Node::Tensor { class, layout, .. } = self.tree.node(node) {
            let checked = self.tree.check_tensor(*class, layout, value);
            checked.map_err(|why| reader.malformed_object(Problem::Refused { why: why.as_str().into() }))?;
        }
        if let Some(
            Node::Tensor { storage: target, .. } | Node::Object { value: target, .. } | Node::Function { upvalues: target, .. },
        ) = self.tree.nodes.get_mut(node.index())
        {
            *target = value;
        }
        Ok(())
    }
}

fn storage(reader: &mut Reader, dtype: DType) -> Result<Storage, Error> {
    let count = reader.size(dtype)?;
    if let Some(part) = reader.mapped(dtype, count)? {
        return Ok(part);
    }
    let storage = Storage::zeroed(dtype, count)?;
    // SAFETY: [live] [in-bounds] the storage has `count` elements, and nobody else has it.
    unsafe { reader.elements(dtype, storage.data(), count) }?;
    reader.end_of_elements(count)?;
    Ok(storage)
}
