//! Compares two trees.

use torch_storage::Error;
use torch_storage::storage::Storage;
use torch_storage::t7::tag;

use super::{Id, Node, Tree, list, push};

impl Tree {
    /// Whether the files of two trees would have the same contents: equal values in the same order. Values that are one object in
    /// one tree must be one object in the other. All NaNs are the same, and -0 differs from 0. The ids of nodes do not matter.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn is_same(&self, other: &Self) -> Result<bool, Error> {
        let mut partners = [numbers(self.len())?, numbers(other.len())?];
        let mut pairs = list(1)?;
        pairs.push((self.root, other.root));
        let mut chain = 0;
        while let Some((left, right)) = pairs.pop() {
            let (one, two) = (self.node(left), other.node(right));
            // Each node with an index has one partner in the other tree.
            if one.has_index() {
                let [left_partner, right_partner] = &mut partners;
                match (left_partner.get_mut(left.index()), right_partner.get_mut(right.index())) {
                    (Some(of_left), Some(of_right)) if (*of_left, *of_right) == (0, 0) => {
                        (*of_left, *of_right) = (right.0, left.0)
                    }
                    (Some(of_left), Some(of_right)) if (*of_left, *of_right) == (right.0, left.0) => continue,
                    _ => return Ok(false),
                }
            }
            let is_same = match (one, two) {
                (Node::Nil, Node::Nil) => true,
                (Node::Boolean(one), Node::Boolean(two)) => one == two,
                (Node::Number(one), Node::Number(two)) => is_same_number(*one, *two),
                (Node::String(one), Node::String(two)) => one == two,
                (Node::Table(one), Node::Table(two)) if one.len() == two.len() => {
                    for (&(key, value), &(other_key, other_value)) in one.iter().zip(two) {
                        push(&mut pairs, (key, other_key))?;
                        push(&mut pairs, (value, other_value))?;
                    }
                    true
                }
                (
                    Node::Storage { class, version, elements },
                    Node::Storage { class: other_class, version: other_version, elements: other_elements },
                ) => {
                    push(&mut pairs, (*class, *other_class))?;
                    push(&mut pairs, (*version, *other_version))?;
                    has_same_elements(elements, other_elements)
                }
                (
                    Node::Tensor { class, version, layout, storage },
                    Node::Tensor { class: other_class, version: other_version, layout: other_layout, storage: other_storage },
                ) => {
                    push(&mut pairs, (*class, *other_class))?;
                    push(&mut pairs, (*version, *other_version))?;
                    push(&mut pairs, (*storage, *other_storage))?;
                    layout == other_layout
                }
                (
                    Node::Object { class, version, value },
                    Node::Object { class: other_class, version: other_version, value: other_value },
                ) => {
                    push(&mut pairs, (*class, *other_class))?;
                    push(&mut pairs, (*version, *other_version))?;
                    push(&mut pairs, (*value, *other_value))?;
                    true
                }
                (
                    Node::Function { tag, code, upvalues },
                    Node::Function { tag: other_tag, code: other_code, upvalues: other_upvalues },
                ) => {
                    chain = if *tag == tag::FUNCTION { chain + 1 } else { 0 };
                    // Two rings that consist only of such functions repeat after this many steps.
                    if chain <= self.len().saturating_add(other.len()) {
                        push(&mut pairs, (*upvalues, *other_upvalues))?;
                    }
                    tag == other_tag && code == other_code
                }
                _ => false,
            };
            if !is_same {
                return Ok(false);
            }
            if !matches!(one, Node::Function { .. }) {
                chain = 0;
            }
        }
        Ok(true)
    }
}

/// A list of `count` zeros. 0 is nil, which has no index, so it means that a node has no partner yet.
fn numbers(count: usize) -> Result<Vec<u32>, Error> {
    let mut numbers = list(count)?;
    numbers.resize(count, Id::NIL.0);
    Ok(numbers)
}

fn is_same_number(one: f64, two: f64) -> bool {
    one.to_bits() == two.to_bits() || one.is_nan() && two.is_nan()
}

fn has_same_elements(one: &Storage, two: &Storage) -> bool {
    let dtype = one.dtype();
    if dtype != two.dtype() || one.size() != two.size() {
        return false;
    }
    if dtype.is_integer() {
        return one.equals(two);
    }
    (0..one.size()).all(|index| matches!((one.get(index), two.get(index)), (Some(one), Some(two)) if is_same_number(one, two)))
}
