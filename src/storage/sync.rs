//! What the threads that use a storage share: atomics, cells, locks and blocks. They are those of `std`, or in a model those of `loom`,
//! which runs the model (`tests/models`) in every order that its threads can take, and stops where two accesses have no order.

#[cfg(loom)]
pub use in_models::*;
#[cfg(not(loom))]
pub use in_programs::*;

#[cfg(not(loom))]
mod in_programs {
    pub use std::alloc::{alloc, dealloc};
    pub use std::cell::Cell;
    pub use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32};
    pub use std::sync::{Mutex, MutexGuard};

    /// A cell whose users say whether they read or change it.
    #[repr(transparent)]
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline]
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// The value, to read it.
        #[inline]
        pub const fn read(&self) -> *const T {
            self.0.get()
        }

        /// The value, to change it.
        #[inline]
        pub const fn write(&self) -> *mut T {
            self.0.get()
        }
    }

    /// Defines the locks of the process.
    macro_rules! locks {
        ($(static $name:ident: $type:ty = $value:expr;)*) => { $(static $name: $type = $value;)* };
    }
    pub(in crate::storage) use locks;
}

#[cfg(loom)]
mod in_models {
    use std::ops::Deref;
    use std::sync::atomic::Ordering;

    pub use loom::alloc::{alloc, dealloc};
    pub use loom::sync::{Mutex, MutexGuard};

    /// Defines an atomic that stops the model if it is freed while another thread may still use it.
    macro_rules! atomic {
        ($($name:ident: $value:ty;)*) => {
            $(
                #[derive(Debug)]
                pub struct $name(loom::sync::atomic::$name);

                impl $name {
                    pub fn new(value: $value) -> Self {
                        Self(loom::sync::atomic::$name::new(value))
                    }
                }

                impl Deref for $name {
                    type Target = loom::sync::atomic::$name;

                    fn deref(&self) -> &Self::Target {
                        &self.0
                    }
                }

                impl Drop for $name {
                    fn drop(&mut self) {
                        if !std::thread::panicking() {
                            self.0.with_mut(|_| ());
                        }
                    }
                }
            )*
        };
    }

    atomic! {
        AtomicI32: i32;
        AtomicU8: u8;
        AtomicU32: u32;
    }

    /// That of `loom` cannot tell whether another thread may still use it.
    pub struct AtomicBool(AtomicU8);

    impl AtomicBool {
        pub fn new(value: bool) -> Self {
            Self(AtomicU8::new(value.into()))
        }

        pub fn swap(&self, value: bool, order: Ordering) -> bool {
            self.0.swap(value.into(), order) != 0
        }
    }

    /// A cell that stops the model if it is freed while another thread may still use it.
    #[derive(Debug)]
    pub struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub fn new(value: T) -> Self {
            Self(loom::cell::UnsafeCell::new(value))
        }

        pub fn read(&self) -> *const T {
            self.0.with(|value| value)
        }

        pub fn write(&self) -> *mut T {
            self.0.with_mut(|value| value)
        }
    }

    impl<T> Drop for UnsafeCell<T> {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                self.write();
            }
        }
    }

    #[derive(Debug)]
    pub struct Cell<T>(UnsafeCell<T>);

    impl<T: Copy> Cell<T> {
        pub fn new(value: T) -> Self {
            Self(UnsafeCell::new(value))
        }

        pub fn get(&self) -> T {
            // SAFETY: [alias] a cell is read and changed by value, and loom has found no other access.
            unsafe { *self.0.read() }
        }

        pub fn set(&self, value: T) {
            self.replace(value);
        }

        pub fn replace(&self, value: T) -> T {
            // SAFETY: [alias] as in `get`.
            unsafe { self.0.write().replace(value) }
        }
    }

    macro_rules! locks {
        ($(static $name:ident: $type:ty = $value:expr;)*) => { loom::lazy_static! { $(static ref $name: $type = $value;)* } };
    }
    pub(in crate::storage) use locks;
}
