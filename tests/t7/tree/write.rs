//! Writes a tree.

use torch_storage::Error;
use torch_storage::t7::{Kind, Problem, Writer, tag, version_in};

use super::{Id, Node, Tree, list, malformed, push, shown};

impl Tree {
    /// Writes the root with all values in it. As in Torch7, the indices are 1, 2, 3 and so on, in the order of the file.
    ///
    /// # Errors [`Error::Malformed`], with the offset in the file, for a tree that no file can have: a class without a name, a
    /// tensor outside its storage, nil as a key, more than 2^31 - 1 objects and so on; [`Error::StringTooLong`]; [`Error::File`];
    /// [`Error::OutOfMemory`].
    pub fn write(&self, writer: &mut Writer) -> Result<(), Error> {
        let mut indices = list(self.nodes.len())?;
        indices.resize(self.nodes.len(), 0);
        let mut writing = Writing { tree: self, writer, indices, last_index: 0, frames: Vec::new(), chain: 0 };
        writing.begin(self.root)?;
        while let Some(next) = writing.next()? {
            writing.begin(next)?;
        }
        Ok(())
    }
}

struct Writing<'t> {
    tree: &'t Tree,
    writer: &'t mut Writer,
    /// The index of each node, or 0 if it is not written yet.
    indices: Vec<i32>,
    last_index: i32,
    /// The nodes that are not complete, each with the number of its values that were begun.
    frames: Vec<(Id, usize)>,
    /// The number of functions without an index that are the upvalues of each other, up to the current one.
    chain: usize,
}

impl Writing<'_> {
    /// Writes the beginning of a value. That is all if there are no other values in it.
    fn begin(&mut self, id: Id) -> Result<(), Error> {
        let tree = self.tree;
        self.chain = if matches!(tree.node(id), Node::Function { tag: tag::FUNCTION, .. }) { self.chain + 1 } else { 0 };
        match tree.node(id) {
            Node::Nil => self.writer.nil_object(),
            Node::Boolean(value) => self.writer.boolean_object(*value),
            Node::Number(number) => self.writer.number_object(*number),
            Node::String(bytes) => self.writer.string_object(bytes),
            Node::Table(pairs) => {
                if self.is_known(id, tag::TABLE)? {
                    return Ok(());
                }
                let count = i32::try_from(pairs.len());
                let count =
                    count.map_err(|_| self.refused(format!("a table must have at most 2^31-1 pairs, got {}", pairs.len())))?;
                self.writer.int(count)?;
                push(&mut self.frames, (id, 0))
            }
            Node::Storage { class, version, elements } => {
                if self.is_known(id, tag::OBJECT)? {
                    return Ok(());
                }
                let (dtype, count) = (elements.dtype(), elements.size());
                let is_one = |kind| matches!(kind, Kind::Storage(of) | Kind::CudaStorage(of) if of == dtype);
                self.class_and_version(*class, *version, dtype.class_name(), is_one)?;
                // The conversion succeeds: no storage has more than 2^63-1 bytes.
                self.writer.long(i64::try_from(count).unwrap_or(i64::MAX))?;
                // SAFETY: [live] [in-bounds] the tree holds the storage, which has `count` elements.
                unsafe { self.writer.elements(dtype, elements.data(), count) }?;
                self.writer.end_of_elements()
            }
            Node::Tensor { class, version, layout, storage } => {
                if self.is_known(id, tag::OBJECT)? {
                    return Ok(());
                }
                tree.check_tensor(*class, layout, *storage).map_err(|why| self.refused(why))?;
                let is_one = |kind| matches!(kind, Kind::Tensor(_) | Kind::CudaTensor(_));
                self.class_and_version(*class, *version, "of tensors", is_one)?;
                self.writer.layout(layout)?;
                push(&mut self.frames, (id, 0))
            }
            Node::Object { class, version, .. } => {
                if self.is_known(id, tag::OBJECT)? {
                    return Ok(());
                }
                let expected = "neither of storages nor of tensors";
                self.class_and_version(*class, *version, expected, |kind| kind == Kind::Other)?;
                push(&mut self.frames, (id, 0))
            }
            Node::Function { tag, code, .. } => self.begin_function(id, *tag, code),
        }
    }

    fn begin_function(&mut self, id: Id, tag: i32, code: &[u8]) -> Result<(), Error> {
        match tag {
            // Writing it would not end.
            tag::FUNCTION if self.chain > self.tree.len() => {
                return Err(self.refused("a function of tag 6 cannot be its own table of upvalues".to_owned()));
            }
            tag::FUNCTION => self.writer.int(tag)?,
            tag::INDEXED_FUNCTION | tag::NAMED_FUNCTION => {
                if self.is_known(id, tag)? {
                    return Ok(());
                }
            }
            _ => return Err(self.refused(format!("the tag of a function must be 6, 7 or 8, got {tag}"))),
        }
        self.writer.string(code)?;
        push(&mut self.frames, (id, 0))
    }

    /// The next value to write. `None` if everything is written.
    fn next(&mut self) -> Result<Option<Id>, Error> {
        while let Some((id, begun)) = self.frames.last_mut() {
            let next = match self.tree.node(*id) {
                Node::Table(pairs) => {
                    let pair = pairs.get(*begun / 2);
                    pair.map(|&(key, value)| if begun.is_multiple_of(2) { (key, self.tree.no_key(key)) } else { (value, None) })
                }
                Node::Tensor { storage: value, .. } | Node::Object { value, .. } | Node::Function { upvalues: value, .. } => {
                    (*begun == 0).then_some((*value, None))
                }
                _ => None,
            };
            *begun += 1;
            match next {
                Some((_, Some(what))) => return Err(malformed(self.writer.position(), Problem::Key { what })),
                Some((value, None)) => return Ok(Some(value)),
                None => _ = self.frames.pop(),
            }
        }
        Ok(None)
    }

    /// Writes the tag and the index of an object. Returns true if that is all, because the object was written before.
    fn is_known(&mut self, id: Id, tag: i32) -> Result<bool, Error> {
        self.writer.int(tag)?;
        let known = self.indices.get(id.index()).copied().filter(|&index| index != 0);
        if let Some(index) = known {
            self.writer.int(index)?;
            return Ok(true);
        }
        let next = self.last_index.checked_add(1);
        self.last_index = next.ok_or_else(|| self.refused("a file can have at most 2^31-1 objects".to_owned()))?;
        if let Some(index) = self.indices.get_mut(id.index()) {
            *index = self.last_index;
        }
        self.writer.int(self.last_index)?;
        Ok(false)
    }

    fn class_and_version(
        &mut self,
        class: Id,
        version: Id,
        expected: &str,
        is_one: impl FnOnce(Kind) -> bool,
    ) -> Result<(), Error> {
        let Some(name) = self.tree.string(class).filter(|name| is_one(Kind::of(name))) else {
            let got = match self.tree.string(class) {
                Some(name) => format!("'{}'", shown(name)),
                None => self.tree.type_of(class),
            };
            return Err(self.refused(format!("the class must be {expected}, got {got}")));
        };
        match self.tree.node(version) {
            Node::Nil if version_in(name).is_none() => {}
            Node::String(number) => {
                let mut text = list(2 + number.len())?;
                text.extend_from_slice(b"V ");
                text.extend_from_slice(number);
                if version_in(&text).is_none() {
                    return Err(self.refused(format!("a version must be a number, got '{}'", shown(number))));
                }
                self.writer.string(&text)?;
            }
            Node::Nil => return Err(self.refused(format!("a class with the name '{}' must have a version", shown(name)))),
            _ => return Err(self.refused(format!("a version must be a string or nil, got {}", self.tree.type_of(version)))),
        }
        self.writer.string(name)
    }

    fn refused(&self, why: String) -> Error {
        malformed(self.writer.position(), Problem::Refused { why: why.as_str().into() })
    }
}
