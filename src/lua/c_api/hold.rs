//! References to storages that C modules hold.

use std::mem::{ManuallyDrop, MaybeUninit};

use super::view::{StorageView, flag};
use crate::fallible::boxed;
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::tensor;
use crate::storage::{StateId, Storage};

/// A reference to a storage, and which of its elements are meant. `torch_storage_hold` of the header.
pub struct Hold {
    storage: ManuallyDrop<Storage>,
    /// To whom the reference belongs: to [`StateId::PIN`] if it pins the elements, otherwise to the Lua state that made it. A Lua state
    /// cannot resize a storage that others have references to.
    holder: StateId,
    /// The elements of a tensor, which are a range of its storage; `None` for a whole storage.
    elements: Option<(usize, usize)>,
}

impl Hold {
    /// Makes a reference to the storage at argument 1, or to that of the contiguous tensor there.
    pub fn new(call: Call, pins: bool) -> Result<Box<Self>, Fault> {
        let state = call.state_id();
        let (storage, elements) = if tensor::class(call.state(), 1).is_some() {
            let this = call.tensor(1)?;
            let range = this.elements().contiguous_range()?;
            (this.storage, Some((range.start, range.len())))
        } else {
            (call.storage(1)?, None)
        };
        // Any thread may end the reference, but only its Lua state can let go of a value.
        if storage.anchor().is_some() {
            let why =
                "its memory belongs to a Lua value, which C code cannot keep alive: clone() returns a copy that can be held";
            return Err(Fault::argument(1, why));
        }
        let holder = if pins { StateId::PIN } else { state };
        // The block comes first: nothing fails when the reference has been made.
        let block = boxed(MaybeUninit::<Self>::uninit())?;
        let storage = ManuallyDrop::new(storage.share_with(state, holder)?);
        Ok(Box::write(block, Self { storage, holder, elements }))
    }

    /// Gives the reference back.
    ///
    /// # Safety
    /// `[owned]`: `hold` came from `Box::into_raw`, and nobody uses it any more.
    pub unsafe fn release(hold: *mut Self) {
        // SAFETY: [owned] the caller vouches for it.
        let hold = unsafe { Box::from_raw(hold) };
        // There is no anchor: `new` has refused such storages.
        let _ = ManuallyDrop::into_inner(hold.storage).release(hold.holder);
    }

    /// The storage, and the holder to whom the reference belongs.
    pub fn storage(&self) -> (&Storage, StateId) {
        (&self.storage, self.holder)
    }

    /// The elements as they are now. A storage that is not pinned may have become too small for those of a tensor. There are none
    /// then.
    pub fn view(&self) -> StorageView {
        match self.elements {
            None => StorageView::of(&self.storage),
            Some((first, size)) if first + size <= self.storage.size() => StorageView::of_range(&self.storage, first, size),
            Some(_) => StorageView::of_range(&self.storage, 0, 0),
        }
    }
}

/// Whether the options of `torch_storage_retain` ask for elements that stay where they are. Fails if there are other options.
pub fn pins(options: i32) -> Result<bool, Fault> {
    match options {
        0 => Ok(false),
        flag::PIN => Ok(true),
        _ => Err(Fault::new(format_args!("TORCH_PIN or 0 expected as options, got {options}"))),
    }
}
