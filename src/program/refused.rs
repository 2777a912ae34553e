//! Programs that must not compile, because they could do something undefined. `cargo test --doc` tries them.
//!
//! Those that show what is not public compile with the feature `internals`, so this file is left out then.
//!
//! Two threads have the same block to write:
//!
//! ```compile_fail,E0603
//! use torch_storage::bulk::{self, Writable};
//! use torch_storage::{DType, convert::Scalar};
//!
//! let mut bytes = vec![0u8; 100];
//! let block = Writable::of(&mut bytes, DType::Byte);
//! std::thread::scope(|scope| {
//!     scope.spawn(move || bulk::fill(block, Scalar::Signed(1)));
//!     scope.spawn(move || bulk::fill(block, Scalar::Signed(2)));
//! });
//! ```
//!
//! A thread says that it is another holder, or the same:
//!
//! ```compile_fail,E0603
//! use torch_storage::storage::StateId;
//!
//! torch_storage::Storage::from_vec(vec![0u8]).resize(5, StateId::of_this_thread());
//! ```
//!
//! The engine's storage, its files and its tensors:
//!
//! ```compile_fail,E0603
//! let storage = torch_storage::storage::Storage::zeroed(torch_storage::DType::Byte, 1);
//! ```
//!
//! ```compile_fail,E0603
//! let encoding = torch_storage::t7::Encoding::Binary;
//! ```
//!
//! ```compile_fail,E0603
//! let layout = torch_storage::tensor::Layout::contiguous(&[1]);
//! ```
//!
//! ```compile_fail,E0603
//! let output = torch_storage::output::Output::memory();
//! ```
//!
//! A handle in another thread, sent or lent:
//!
//! ```compile_fail,E0277
//! let storage = torch_storage::Storage::from_vec(vec![1.0f32]);
//! std::thread::spawn(move || storage.get(0));
//! ```
//!
//! ```compile_fail,E0277
//! let storage = torch_storage::Storage::from_vec(vec![1.0f32]);
//! std::thread::scope(|scope| {
//!     scope.spawn(|| storage.get(0));
//! });
//! ```
//!
//! A handle of the program in an owner, which ends in any thread:
//!
//! ```compile_fail,E0277
//! struct Owner(torch_storage::Storage, Vec<u8>);
//! impl AsRef<[u8]> for Owner {
//!     fn as_ref(&self) -> &[u8] {
//!         &self.1
//!     }
//! }
//! let storage = torch_storage::Storage::from_vec(vec![1u8]);
//! let outer = torch_storage::Storage::from_owner(Owner(storage, vec![1]));
//! ```
//!
//! An owner whose memory is borrowed:
//!
//! ```compile_fail,E0597
//! let storage = {
//!     let numbers = vec![1u8, 2];
//!     torch_storage::Storage::from_owner(numbers.as_slice())
//! };
//! ```
//!
//! Elements of a type of one's own, or of one with bits that are not a value:
//!
//! ```compile_fail,E0277
//! let storage = torch_storage::Storage::from_vec(vec![true]);
//! ```
//!
//! ```compile_fail,E0277
//! #[derive(Clone, Copy, PartialEq)]
//! struct Mine(u8);
//! impl torch_storage::Element for Mine {
//!     const DTYPE: torch_storage::DType = torch_storage::DType::Double;
//! }
//! ```
//!
//! Memory that nobody vouches for:
//!
//! ```compile_fail,E0133
//! let storage = torch_storage::Storage::from_raw_parts((), torch_storage::DType::Byte, std::ptr::null_mut(), 1, false);
//! ```
//!
//! A slice next to another access:
//!
//! ```compile_fail,E0502
//! let mut samples = torch_storage::Storage::from_vec(vec![3.0f32, 1.0, 2.0]);
//! let slice = samples.as_mut_slice::<f32>();
//! let token = samples.token();
//! drop(slice);
//! ```
//!
//! ```compile_fail,E0505
//! let mut samples = torch_storage::Storage::from_vec(vec![3.0f32, 1.0, 2.0]);
//! let slice = samples.as_mut_slice::<f32>();
//! drop(samples);
//! drop(slice);
//! ```
