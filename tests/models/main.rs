//! Models of threads that use storages: `make loom`. Loom runs them in every order of their steps that can make a difference, with
//! every value that a load may see. They run the code of `src/storage`; only its `sync.rs` takes the atomics, cells, locks and blocks of
//! `loom`.
//!
//! A model stops if two accesses to a cell have no order, if a block is freed while another thread may still use it, if a block is freed
//! twice or never, and if an assertion fails. It does not see the elements, which are plain bytes for it: [`Elements`] stands for them.

#![cfg(loom)]

mod exchange;
mod references;
mod views;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use loom::cell::UnsafeCell;
use loom::model::Builder;

use torch_storage::DType;
use torch_storage::storage::{StateId, Storage};

/// The Lua states of the models.
const ONE: StateId = StateId::new(NonZeroUsize::MIN);
const TWO: StateId = StateId::new(NonZeroUsize::MIN.saturating_add(1));
const THREE: StateId = StateId::new(NonZeroUsize::MIN.saturating_add(2));

/// Runs a model in every order of its steps, and prints how many orders there were.
fn explore(name: &str, model: impl Fn() + Sync + Send + 'static) {
    let orders = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&orders);
    let mut builder = Builder::new();
    builder.max_branches = 10_000;
    let begin = Instant::now();
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{name}: {} orders in {:.1} s", orders.load(Ordering::Relaxed), begin.elapsed().as_secs_f64());
}

/// Stands for the elements of a storage: a model stops if they are used in two threads without an order.
#[derive(Clone)]
struct Elements(Arc<UnsafeCell<()>>);

// SAFETY: [alias] loom stops the model where two threads use the cell without an order.
unsafe impl Send for Elements {}

impl Elements {
    fn new() -> Self {
        Self(Arc::new(UnsafeCell::new(())))
    }

    /// Writes them. Two holders do not write at the same time, unless they take turns by their own means.
    fn write(&self) {
        self.0.with_mut(|_| ());
    }

    fn read(&self) {
        self.0.with(|_| ());
    }
}

/// The owner of the memory of a storage. It uses its elements when it is dropped.
struct Owner(Elements);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &[1; 16]
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.write();
    }
}

/// A storage over memory that belongs to a Rust value, and its elements. The value is dropped with the memory.
fn owned() -> (Storage, Elements) {
    let elements = Elements::new();
    (Storage::from_owner(Owner(elements.clone())), elements)
}

/// A small storage, whose elements are in its block.
fn small() -> (Storage, Elements) {
    (Storage::from_bytes(DType::Byte, &[1; 16]).unwrap(), Elements::new())
}

/// Gives back a reference to a storage without an anchor.
fn end(storage: Storage, state: StateId) {
    assert_eq!(storage.release(state), None);
}
