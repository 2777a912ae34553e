//! Files that are open in Lua: what `.t7` files and those of `formats` have in common. A file is a userdata. The functions that work on it
//! run in protected calls, so that it is left as it was, or closed, on every way out.
//!
//! ```text
//! work        a function that works on a file: its protected call, its steps and errors, the Lua functions that it calls
//! block       the block of a file's userdata, and the table of its Lua values
//! progress    when the host and the program hear of a file again
//! ```
//!
//! A module uses only the modules below it.

mod block;
mod progress;
mod work;

pub use block::{Block, File, Mark, values};
pub use progress::Progress;
pub use work::{End, Work, protect, raise_again};
