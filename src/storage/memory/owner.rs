//! A Rust value that owns the memory of storages. It is dropped together with it, or given back.

use std::any::TypeId;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::budget::{AccountId, run_for};
use crate::fallible::{NoMemory, boxed};

/// A value in a box of its own. Dropping this drops the value.
///
/// This holds a raw pointer instead of the `Box`: the elements may be inside the value, and moving a `Box` claims that no other pointer
/// to its content is used.
pub struct Owner(NonNull<dyn Send>);

/// What is in the box. The type stands before the value, so that it can be read without a reference to the value.
#[repr(C)]
struct Typed<O> {
    kind: TypeId,
    value: O,
}

// SAFETY: [owned] this is the only way to the value, which is `Send`. The value is only dropped or moved, in whatever thread that is.
unsafe impl Send for Owner {}

impl Owner {
    /// Puts a value into a box. Also returns a pointer to it, which is valid until this is dropped.
    pub fn new<O: Send + 'static>(value: O) -> Result<(Self, NonNull<O>), NoMemory> {
        let typed = NonNull::from(Box::leak(boxed(Typed { kind: TypeId::of::<O>(), value })?));
        // SAFETY: [live] the box is there, and this only computes the address of a field.
        let value = unsafe { &raw mut (*typed.as_ptr()).value };
        // SAFETY: [live] a field of what is in a box is not at the address 0.
        Ok((Self(typed), unsafe { NonNull::new_unchecked(value) }))
    }

    /// Takes the value out of the box, if it is of type `O`.
    pub fn into_value<O: Send + 'static>(self) -> Result<O, Self> {
        // SAFETY: [layout] the box begins with the type, which nobody changes.
        if unsafe { self.0.cast::<TypeId>().read() } != TypeId::of::<O>() {
            return Err(self);
        }
        let typed = ManuallyDrop::new(self).0.cast::<Typed<O>>();
        // SAFETY: [owned] the value came from a `Box`, and nobody else gives it back. [layout] the value is of this type.
        let typed = unsafe { Box::from_raw(typed.as_ptr()) };
        Ok(typed.value)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // What the destructor of the program's value allocates belongs to the program, not to the Lua state that runs now.
        let _running = run_for(AccountId::NONE);
        // SAFETY: [owned] the value came from a `Box`, and nobody else gives it back.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner")
    }
}
