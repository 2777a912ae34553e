//! An object of a file with all that is in it, as a tree of values.
//!
//! The tests and the fuzzer build trees from the same events that Lua values are built from, write them, and compare them.

mod read;
mod same;
mod write;

use std::fmt;

use torch_storage::t7::{Kind, Malformed, Problem, check_tensor, tag};
use torch_storage::{Error, Storage};

/// The place of a node in its tree. In another tree it is another node; where there is none, nil.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(u32);

impl Id {
    /// Nil, in every tree.
    pub const NIL: Self = Self(0);
    /// False, in every tree.
    pub const FALSE: Self = Self(1);
    /// True, in every tree.
    pub const TRUE: Self = Self(2);

    fn place(self) -> usize {
        // Fits: this crate is for 64-bit systems only.
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A value. Tables, objects of classes and functions that several nodes lead to are one in the file too, and the other way round; it
/// may have cycles. What has a class has its name, a string, and its version, a string (`1`, without the `V`) or nil in files that
/// are older than versions.
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
    /// A table: keys and values, in the order of the file. A key that is there twice is not looked for.
    Table(Vec<(Id, Id)>),
    /// A storage, one of CUDA too.
    Storage {
        /// The name of its class.
        class: Id,
        /// Its version, or nil.
        version: Id,
        /// It.
        elements: Storage,
    },
    /// A tensor, one of CUDA too.
    Tensor {
        /// The name of its class.
        class: Id,
        /// Its version, or nil.
        version: Id,
        /// Where its elements are.
        shape: Shape,
        /// The storage, or nil if it has no elements.
        storage: Id,
    },
    /// An object of another class.
    Object {
        /// The name of its class.
        class: Id,
        /// Its version, or nil.
        version: Id,
        /// What it writes: a table of its fields, as a rule.
        value: Id,
    },
    /// A Lua function.
    Function {
        /// Its tag, 6, 7 or 8. Those of tag 6 are written as often as nodes lead to them.
        tag: i32,
        /// Its bytecode.
        code: Box<[u8]>,
        /// The table of its upvalues.
        upvalues: Id,
    },
}

impl Node {
    /// Whether it has an index in a file, by which it is known again.
    fn has_index(&self) -> bool {
        match self {
            Self::Nil | Self::Boolean(_) | Self::Number(_) | Self::String(_) => false,
            Self::Function { tag, .. } => *tag != tag::FUNCTION,
            Self::Table(_) | Self::Storage { .. } | Self::Tensor { .. } | Self::Object { .. } => true,
        }
    }
}

/// Sizes and strides of a tensor, in elements, and the place of its first element in its storage, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The offset, the sizes, the strides: one allocation.
    numbers: Box<[i64]>,
}

impl Shape {
    /// A shape of as many dimensions as there are sizes and strides; of the longer of the two, the rest is left out.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(sizes: &[i64], strides: &[i64], offset: i64) -> Result<Self, Error> {
        let dimensions = sizes.len().min(strides.len());
        let mut numbers = list(1 + 2 * dimensions)?;
        numbers.push(offset);
        numbers.extend_from_slice(&sizes[..dimensions]);
        numbers.extend_from_slice(&strides[..dimensions]);
        Ok(Self { numbers: numbers.into() })
    }

    /// Elements along each dimension.
    #[must_use]
    pub fn sizes(&self) -> &[i64] {
        &self.numbers[1..=self.numbers.len() / 2]
    }

    /// For each dimension, how much further the next element along it is.
    #[must_use]
    pub fn strides(&self) -> &[i64] {
        &self.numbers[1 + self.numbers.len() / 2..]
    }

    /// The place of the first element, from 1.
    #[must_use]
    pub fn offset(&self) -> i64 {
        self.numbers[0]
    }
}

/// An object and all that it leads to. Nothing is done about it recursively, however deep it is.
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
    /// Nil.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new() -> Result<Self, Error> {
        let mut nodes = list(4)?;
        nodes.extend([Node::Nil, Node::Boolean(false), Node::Boolean(true)]);
        Ok(Self { nodes, root: Id::NIL })
    }

    /// The node that leads to all others.
    #[must_use]
    pub fn root(&self) -> Id {
        self.root
    }

    /// Makes `root` the node that leads to all others. What it does not lead to is not written.
    pub fn set_root(&mut self, root: Id) {
        self.root = root;
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: Id) -> &Node {
        self.nodes.get(id.place()).unwrap_or(&Node::Nil)
    }

    /// How many nodes there are, three at least: nil, false and true.
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

    /// Puts another node in the place of one that was added; this is how cycles are made. Nil, false and true stay.
    pub fn replace(&mut self, id: Id, node: Node) {
        if let Some(place) = self.nodes.get_mut(id.place()).filter(|_| id.0 > Id::TRUE.0) {
            *place = node;
        }
    }

    /// The bytes of a string; `None` if it is none.
    #[must_use]
    pub fn string(&self, id: Id) -> Option<&[u8]> {
        if let Node::String(bytes) = self.node(id) { Some(bytes) } else { None }
    }

    /// Why a table cannot have a node as a key: what it is.
    fn no_key(&self, id: Id) -> Option<&'static str> {
        match self.node(id) {
            Node::Nil => Some("nil"),
            Node::Number(number) if number.is_nan() => Some("NaN"),
            _ => None,
        }
    }

    /// Whether a tensor is of its class, and inside its storage; the answer is why not.
    fn check_tensor(&self, class: Id, shape: &Shape, storage: Id) -> Result<(), String> {
        let class = self.string(class).unwrap_or_default();
        let Kind::Tensor(dtype) = Kind::of(class) else {
            return Err(format!("'{}' is no class of tensors", shown(class)));
        };
        let available = match self.node(storage) {
            Node::Nil => None,
            Node::Storage { elements, .. } if elements.dtype() == dtype => Some(elements.size()),
            _ => {
                let (class, expected, got) = (shown(class), dtype.class_name(), self.what_is(storage));
                return Err(format!("the storage of a {class} expected, a {expected}, got {got}"));
            }
        };
        check_tensor(shape.sizes(), shape.strides(), shape.offset(), available)
    }

    /// What a node is, for messages.
    fn what_is(&self, id: Id) -> String {
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

// What files are made of takes little room.
const _: () = assert!(size_of::<Node>() == 32);

/// What is wrong at a byte of the file.
fn malformed(offset: u64, problem: Problem) -> Error {
    Error::Malformed(Box::new(Malformed { offset, problem }))
}

/// A name for a message: it may be of any length.
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

/// Adds an element. A list that is full grows by a half: while it moves, the old one and the new one are there.
fn push<T>(list: &mut Vec<T>, element: T) -> Result<(), Error> {
    if list.len() == list.capacity() {
        let more = (list.len() / 2).max(4);
        let bytes = list.len().saturating_add(more).saturating_mul(size_of::<T>());
        list.try_reserve_exact(more).map_err(|_| Error::OutOfMemory { bytes })?;
    }
    list.push(element);
    Ok(())
}
