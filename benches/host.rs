//! How fast a script of a Rust program writes a vector of that program, next to an FFI array of LuaJIT in the same program.
//!
//! ```sh
//! cargo bench --features host,luajit,vendored --bench host
//! ```

use std::error::Error;
use std::time::Instant;

use mlua::{Function, Lua};
use torch_storage::{Storage, host};

/// How many elements there are. LuaJIT's FFI arrays and vectors of this size are no problem for a machine with 2 GB.
const ELEMENTS: usize = 100_000_000;
const ROUNDS: usize = 5;

const WRITE: &str = "return function(s, n) for i = 1, n do s[i] = i end end";
const WRITE_ARRAY: &str = "local ffi = require 'ffi'
local a = ffi.new('float[?]', ...)
local function write(n) for i = 0, n - 1 do a[i] = i + 1 end end
return write";

fn main() -> Result<(), Box<dyn Error>> {
    let lua = Lua::new();
    host::open(&lua)?;
    let write: Function = lua.load(WRITE).eval()?;
    let vector = vec![0.0f32; ELEMENTS];
    let address = vector.as_ptr();
    let storage = Storage::from_vec(vector);
    assert_eq!(storage.data().cast_const().cast(), address, "the vector is not copied");

    // SAFETY: [vouched] the script writes only the elements of its array.
    let with_ffi = unsafe { Lua::unsafe_new() };
    let write_array: Function = with_ffi.load(WRITE_ARRAY).call(ELEMENTS)?;

    for _ in 0..ROUNDS {
        let start = Instant::now();
        write.call::<()>((&storage, ELEMENTS))?;
        let ours = start.elapsed();
        let start = Instant::now();
        write_array.call::<()>(ELEMENTS)?;
        let array = start.elapsed();
        println!("{ELEMENTS} elements: a vector of the program {ours:.1?}, an FFI array {array:.1?}");
    }
    assert_eq!(storage.get(ELEMENTS - 1), Some(1e8));
    Ok(())
}
