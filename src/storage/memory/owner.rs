//! A Rust value that owns the memory of storages, and is dropped together with it.

use crate::fallible::{NoMemory, boxed};
use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// A value in a box of its own. Dropping this drops the value.
///
/// This holds a raw pointer instead of the `Box`: the elements may be inside the value, and moving a `Box` claims that no other pointer
/// to its content is used.
pub struct Owner(NonNull<dyn Any + Send>);

// SAFETY: [owned] this is the only way to the value, which is `Send`. The value is only dropped, in whatever thread that is.
unsafe impl Send for Owner {}

impl Owner {
    /// Puts a value into a box. Also returns a pointer to it, which is valid until this is dropped.
    pub fn new<O: Send + 'static>(value: O) -> Result<(Self, NonNull<O>), NoMemory> {
        let value = NonNull::from(Box::leak(boxed(value)?));
        Ok((Self(value), value))
    }

    /// Whether the value is of type `O`.
    pub fn is<O: 'static>(&self) -> bool {
        // SAFETY: [owned] the value came from a `Box`, and nobody has given it back. [alias] only its type is looked at.
        unsafe { self.0.as_ref() }.is::<O>()
    }

    /// The value, in its box. Nobody accesses its elements through storages any more.
    pub fn into_box(self) -> Box<dyn Any + Send> {
        let this = ManuallyDrop::new(self);
        // SAFETY: [owned] the value came from a `Box`, and `this` does not drop it.
        unsafe { Box::from_raw(this.0.as_ptr()) }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: [owned] the value came from a `Box`, and nobody else gives it back.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner")
    }
}
