//! A second, simple writer of the format. It writes the files of machines with the other byte order.

use std::collections::HashMap;

use torch_storage::DType;
use torch_storage::storage::Storage;
use torch_storage::t7::tag;

use crate::tree::{Id, Node, Tree};

/// The file of a tree in the other byte order, with longs of `long` bytes. It recurses, so the tree must not be deep.
pub fn file(tree: &Tree, long: usize) -> Vec<u8> {
    let mut foreign = Foreign { tree, long, bytes: Vec::new(), indices: HashMap::new() };
    foreign.object(tree.root());
    foreign.bytes
}

struct Foreign<'t> {
    tree: &'t Tree,
    long: usize,
    bytes: Vec<u8>,
    indices: HashMap<Id, i32>,
}

impl Foreign<'_> {
    fn int(&mut self, value: i32) {
        self.bytes.extend(value.swap_bytes().to_ne_bytes());
    }

    fn long(&mut self, value: i64) {
        let bytes = value.swap_bytes().to_ne_bytes();
        // On a little-endian machine, the other order has the low bytes last.
        let low = if cfg!(target_endian = "little") { &bytes[8 - self.long..] } else { &bytes[..self.long] };
        self.bytes.extend(low);
    }

    fn string(&mut self, bytes: &[u8]) {
        self.int(i32::try_from(bytes.len()).unwrap_or(-1));
        self.bytes.extend(bytes);
    }

    fn string_of(&mut self, id: Id) {
        let tree = self.tree;
        self.string(tree.string(id).unwrap_or(b"?"));
    }

    /// Writes the tag and the index of an object. Returns whether it was written before.
    fn index(&mut self, tag: i32, id: Id) -> bool {
        self.int(tag);
        let next = i32::try_from(self.indices.len()).unwrap_or(-2) + 1;
        let index = *self.indices.entry(id).or_insert(next);
        self.int(index);
        index != next
    }

    fn class(&mut self, class: Id, version: Id) {
        if let Some(version) = self.tree.string(version) {
            self.string(&[b"V ", version].concat());
        }
        self.string_of(class);
    }

    fn elements(&mut self, storage: &Storage) {
        self.long(i64::try_from(storage.size()).unwrap_or(-1));
        for index in 0..storage.size() {
            if storage.dtype() == DType::Long {
                // SAFETY: [live] [in-bounds] the index is below the size of the storage, whose dtype is Long.
                self.long(unsafe { torch_storage::bulk::get_as::<i64>(storage.data(), index) });
                continue;
            }
            let width = storage.dtype().width();
            // SAFETY: [live] [in-bounds] the index is below the size of the storage, and `n` is below the width.
            let byte = |n: usize| unsafe { torch_storage::bulk::get_as::<u8>(storage.data(), index * width + n) };
            self.bytes.extend((0..width).rev().map(byte));
        }
    }

    fn object(&mut self, id: Id) {
        let tree = self.tree;
        match tree.node(id) {
            Node::Nil => self.int(tag::NIL),
            Node::Boolean(value) => {
                self.int(tag::BOOLEAN);
                self.int(i32::from(*value));
            }
            Node::Number(number) => {
                self.int(tag::NUMBER);
                self.bytes.extend(number.to_bits().swap_bytes().to_ne_bytes());
            }
            Node::String(bytes) => {
                self.int(tag::STRING);
                self.string(bytes);
            }
            Node::Table(pairs) => {
                if !self.index(tag::TABLE, id) {
                    self.int(i32::try_from(pairs.len()).unwrap_or(-1));
                    for &(key, value) in pairs {
                        self.object(key);
                        self.object(value);
                    }
                }
            }
            Node::Storage { class, version, elements } => {
                if !self.index(tag::OBJECT, id) {
                    self.class(*class, *version);
                    self.elements(elements);
                }
            }
            Node::Tensor { class, version, layout, storage } => {
                if !self.index(tag::OBJECT, id) {
                    self.class(*class, *version);
                    // One dimension of size 0 means that there is none.
                    let dimensions = if layout.sizes() == [0] { 0 } else { layout.dimensions() };
                    self.int(i32::try_from(dimensions).unwrap_or(-1));
                    layout.sizes()[..dimensions].iter().for_each(|&size| self.long(size.cast_signed() as i64));
                    layout.strides()[..dimensions].iter().for_each(|&stride| self.long(stride as i64));
                    self.long(i64::try_from(layout.offset() + 1).unwrap_or(-1));
                    self.object(*storage);
                }
            }
            Node::Object { class, version, value } => {
                if !self.index(tag::OBJECT, id) {
                    self.class(*class, *version);
                    self.object(*value);
                }
            }
            Node::Function { tag, code, upvalues } => {
                if *tag == tag::FUNCTION {
                    self.int(*tag);
                } else if self.index(*tag, id) {
                    return;
                }
                self.string(code);
                self.object(*upvalues);
            }
        }
    }
}
