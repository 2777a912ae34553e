//! An object of a file with all values in it, as a tree.
//!
//! The tests and the fuzzer build trees from the events of the reader, from which Lua values are built too. They write and
//! compare the trees.

mod read;
mod same;
mod write;

use std::fmt;

use torch_storage::Error;
use torch_storage::storage::Storage;
use torch_storage::t7::{Kind, Malformed, Problem, tag};
use torch_storage::tensor::Layout;

/// The number of a node in its tree. An id that the tree does not have means nil.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(u32);

impl Id {
    /// Nil, in every tree.
    pub const NIL: Self = Self(0);
    /// False, in every tree.
    pub const FALSE: Self = Self(1);
    /// True, in every tree.
    pub const TRUE: Self = Self(2);

    fn index(self) -> usize {
        // The conversion succeeds: this crate is for 64-bit systems only.
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A value. If several nodes refer to the same table, object or function, the file has it only once, and the other way round.
/// There may be cycles. A class is a string, the name. A version is a string (`1`, without the `V`), or nil in old files, which
/// have no versions.
#[derive(Debug)]
pub enum Node {
    /// Nil.
    Nil,
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A string.
    String(Vec<u8>),
    /// A table: keys and values, in the order of the file. A key may occur twice.
    Table(Vec<(Id, Id)>),
    /// A storage, also one of CUDA.
    Storage {
        /// The name of its class.
        class: Id,
        /// Its version, or nil.
        version: Id,
        /// The storage itself.
        elements: Storage,
    },
    /// A tensor, also one of CUDA.
    Tensor {
        /// The name of its class.
        class: Id,
        /// Its version, or nil.
        version: Id,
        /// The sizes, the strides and the offset.
        layout: Box<Layout>,
        /// The storage, or nil if it has no elements.
        storage: Id,
    },
    /// An object of another class.
    Object {
        /// The name of its class.
        class: Id,
        /// Its version, or nil.
        version: Id,
        /// The value that follows in the file: usually the table of its fields.
        value: Id,
    },
    /// A Lua function.
    Function {
        /// Its tag: 6, 7 or 8. A function of tag 6 is written once for each reference to it.
        tag: i32,
        /// Its bytecode.
        code: Box<[u8]>,
        /// The table of its upvalues.
        upvalues: Id,
    },
}

impl Node {
    /// Whether the value has an index in a file, so that the file can refer to it again.
    fn has_index(&self) -> bool {
        match self {
            Self::Nil | Self::Boolean(_) | Self::Number(_) | Self::String(_) => false,
            Self::Function { tag, .. } => *tag != tag::FUNCTION,
            Self::Table(_) | Self::Storage { .. } | Self::Tensor { .. } | Self::Object { .. } => true,
        }
    }
}

/// An object and all values in it. Nothing here recurses, however deep the object is.
pub struct Tree {
    nodes: Vec<Node>,
    root: Id,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A tree may be large, and may have cycles.
        f.debug_struct("Tree").field("nodes", &self.nodes.len()).field("root", self.node(self.root)).finish()
    }
}

impl Tree {
    /// Makes a tree whose root is nil.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new() -> Result<Self, Error> {
        let mut nodes = list(4)?;
        nodes.extend([Node::Nil, Node::Boolean(false), Node::Boolean(true)]);
        Ok(Self { nodes, root: Id::NIL })
    }

    /// The node from which all others are reached.
    #[must_use]
    pub fn root(&self) -> Id {
        self.root
    }

    /// Makes `root` the node from which all others are reached. Any other node is not written.
    pub fn set_root(&mut self, root: Id) {
        self.root = root;
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: Id) -> &Node {
        self.nodes.get(id.index()).unwrap_or(&Node::Nil)
    }

    /// The number of nodes. It is at least three: nil, false and true.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a node.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], also for more than 2^32 - 1 nodes.
    pub fn add(&mut self, node: Node) -> Result<Id, Error> {
        let full = || Error::OutOfMemory { bytes: self.nodes.len().saturating_add(1).saturating_mul(size_of::<Node>()) };
        let id = Id(u32::try_from(self.nodes.len()).map_err(|_| full())?);
        push(&mut self.nodes, node)?;
        Ok(id)
    }

    /// Adds a string.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_string(&mut self, bytes: &[u8]) -> Result<Id, Error> {
        self.add(Node::String(copy(bytes)?))
    }

    /// Replaces a node that was added, for example to make a cycle. Nil, false and true are not replaced.
    pub fn replace(&mut self, id: Id, node: Node) {
        if let Some(old) = self.nodes.get_mut(id.index()).filter(|_| id.0 > Id::TRUE.0) {
            *old = node;
        }
    }

    /// The bytes of a string. `None` for any other value.
    #[must_use]
    pub fn string(&self, id: Id) -> Option<&[u8]> {
        if let Node::String(bytes) = self.node(id) { Some(bytes) } else { None }
    }

    /// The description of a value that cannot be the key of a table. `None` if it can be a key.
    fn no_key(&self, id: Id) -> Option<&'static str> {
        match self.node(id) {
            Node::Nil => Some("nil"),
            Node::Number(number) if number.is_nan() => Some("NaN"),
            _ => None,
        }
    }

    /// Checks that a tensor has the class of its storage and is inside it. Otherwise returns a message.
    fn check_tensor(&self, class: Id, layout: &Layout, storage: Id) -> Result<(), String> {
        let class = self.string(class).unwrap_or_default();
        let (Kind::Tensor(dtype) | Kind::CudaTensor(dtype)) = Kind::of(class) else {
            return Err(format!("'{}' is not a class of tensors", shown(class)));
        };
        let available = match self.node(storage) {
            Node::Nil if layout.elements() == 0 => 0,
            Node::Storage { elements, .. } if elements.dtype() == dtype => elements.size(),
            _ => {
                let (class, expected, got) = (shown(class), dtype.class_name(), self.type_of(storage));
                return Err(format!("the storage of a {class} must be a {expected}, got {got}"));
            }
        };
        layout.span_in(available).map(|_| ()).map_err(|error| error.to_string())
    }

    /// The type of a value, for messages.
    fn type_of(&self, id: Id) -> String {
        let name = match self.node(id) {
            Node::Nil => "nil",
            Node::Boolean(_) => "boolean",
            Node::Number(_) => "number",
            Node::String(_) => "string",
            Node::Table(_) => "table",
            Node::Function { .. } => "function",
            Node::Storage { class, .. } | Node::Tensor { class, .. } | Node::Object { class, .. } => {
                return shown(self.string(*class).unwrap_or_default());
            }
        };
        name.to_owned()
    }
}

// A node takes little memory, because a file can have many.
const _: () = assert!(size_of::<Node>() == 32);

/// An error at an offset of the file.
fn malformed(offset: u64, problem: Problem) -> Error {
    Error::Malformed(Box::new(Malformed { offset, problem }))
}

/// A name as it is shown in a message. A long one is cut.
fn shown(name: &[u8]) -> String {
    const SHOWN: usize = 80;
    name[..name.len().min(SHOWN)].escape_ascii().to_string()
}

/// An empty list with room for `count` elements.
fn list<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()) })?;
    Ok(list)
}

fn copy(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut copy = list(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Adds an element. A full list grows only by a half, because the old list and the new one exist together while it moves.
fn push<T>(list: &mut Vec<T>, element: T) -> Result<(), Error> {
    if list.len() == list.capacity() {
        let more = (list.len() / 2).max(4);
        let bytes = list.len().saturating_add(more).saturating_mul(size_of::<T>());
        list.try_reserve_exact(more).map_err(|_| Error::OutOfMemory { bytes })?;
    }
    list.push(element);
    Ok(())
}
