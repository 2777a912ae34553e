//! Whether the program loads or saves the objects of a class of storages or tensors itself, by methods `read` and `write`.

use crate::element::DType;

/// Objects of a class that Torch7 defines.
#[derive(Clone, Copy)]
pub(super) enum Objects {
    Storages,
    Tensors,
}

impl Objects {
    pub(super) fn class_name(self, dtype: DType) -> &'static str {
        match self {
            Self::Storages => dtype.class_name(),
            Self::Tensors => dtype.tensor_class_name(),
        }
    }
}

/// The classes of storages and of tensors about which Lua was asked, because a file often has many objects of a class. Each number has
/// a bit for each dtype.
#[derive(Default)]
pub(super) struct Overridden {
    asked: [u32; 2],
    overridden: [u32; 2],
}

impl Overridden {
    pub(super) fn known(&self, objects: Objects, dtype: DType) -> Option<bool> {
        let (objects, bit) = (objects as usize, 1 << dtype.number());
        (self.asked[objects] & bit != 0).then_some(self.overridden[objects] & bit != 0)
    }

    pub(super) fn learn(&mut self, objects: Objects, dtype: DType, is_overridden: bool) {
        self.asked[objects as usize] |= 1 << dtype.number();
        self.overridden[objects as usize] |= u32::from(is_overridden) << dtype.number();
    }
}
