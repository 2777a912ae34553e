//! No steps: there are no special instructions here.

use super::super::access::{Bytes, BytesMut};
use super::super::level::Level;
use crate::element::Element;

/// Converts no elements, and returns that number.
#[inline(always)]
pub(in crate::bulk) fn convert<S: Element, D: Element>(_: Level, _: BytesMut, _: Bytes) -> usize {
    0
}
