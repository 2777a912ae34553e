//! Programs without `unsafe` that try to break the library: several threads with one storage, and handles, views and owners that end in
//! any order. They give the results that they say, and Miri finds nothing undefined in them, with any seed and in both of its models of
//! aliasing:
//!
//! ```sh
//! MIRIFLAGS='-Zmiri-many-seeds=0..8' cargo +nightly miri test --no-default-features --test sound
//! ```
//!
//! Programs that must not compile are in `src/program/refused.rs`.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod atomic;
mod elements;
mod holders;
mod owners;

use std::sync::Barrier;
use std::thread;

use torch_storage::{Storage, Token};

/// How often a thread does what it does. Miri is slow, and finds a race whenever nothing orders two accesses.
const ROUNDS: usize = if cfg!(miri) { 2 } else { 1000 };

/// Runs `act` in two threads at once, each with a handle of its own to the same storage and with its number.
fn in_two_threads(storage: &Storage, act: impl Fn(&Storage, usize) + Sync) {
    let start = Barrier::new(2);
    let tokens: [Token; 2] = [storage.token().unwrap(), storage.token().unwrap()];
    thread::scope(|scope| {
        for (number, token) in tokens.into_iter().enumerate() {
            let (start, act) = (&start, &act);
            scope.spawn(move || {
                let storage = Storage::from_token(token).unwrap();
                start.wait();
                act(&storage, number);
            });
        }
    });
}
