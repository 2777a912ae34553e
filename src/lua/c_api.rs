//! The functions for modules that are written in C, as `include/torch_storage.h` declares them. A table of their addresses is in
//! the registry of each Lua state.
//!
//! ```text
//! view      what a C module sees of a storage or a tensor, and why it does not fit
//! hold      references that C modules hold
//! order     functions that make Lua values: they run in a Lua function of ours
//! wait      waiting for elements
//! ```
//!
//! A C module calls the functions of the table from its own functions. So the upvalues of the running function are not ours:
//! nothing here uses a [`Context`](super::context::Context) but the function in `order`, which is ours. Panics stop in `caught`.
//!
//! # Safety
//! The C module vouches that it calls the functions as the header says: `[vouched]`.

mod hold;
mod order;
mod view;
mod wait;

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::args::Call;
use super::fault::{Fault, raise_in_module};
use super::state::{Frame, Name, Quiet, REGISTRY, Raising, lua_State};
use crate::system::library::keep_loaded;
use hold::Hold;
use order::{Given, Order, carry_out};
use view::{StorageView, TensorView, View, Wants};

/// Where the registry has the table. The name contains the major version.
const KEY: Name = c"torch_storage.1";
const MAJOR: u32 = 1;
const MINOR: u32 = 2;
const MAGIC: u64 = u64::from_le_bytes(*b"TORCHAPI");

/// `torch_storage_api` of the header.
#[repr(C)]
struct Table {
    magic: u64,
    major: u32,
    minor: u32,
    size: usize,
    library: &'static [u8; LIBRARY.len()],
    test: unsafe extern "C-unwind" fn(*mut lua_State, c_int, c_int, c_int, *mut StorageView) -> c_int,
    check: unsafe extern "C-unwind" fn(*mut lua_State, c_int, c_int, c_int, *mut StorageView),
    test_tensor: unsafe extern "C-unwind" fn(*mut lua_State, c_int, c_int, c_int, *mut TensorView) -> c_int,
    check_tensor: unsafe extern "C-unwind" fn(*mut lua_State, c_int, c_int, c_int, *mut TensorView),
    retain: unsafe extern "C-unwind" fn(*mut lua_State, c_int, c_int) -> *mut Hold,
    release: unsafe extern "C" fn(*mut Hold),
    held: unsafe extern "C" fn(*const Hold, *mut StorageView),
    push: unsafe extern "C-unwind" fn(*mut lua_State, *const Hold),
    create: unsafe extern "C-unwind" fn(*mut lua_State, c_int, usize, *mut StorageView),
    wrap: unsafe extern "C-unwind" fn(*mut lua_State, *mut c_void, usize, c_int, c_int, Option<Free>, *mut c_void),
    create_tensor: unsafe extern "C-unwind" fn(*mut lua_State, c_int, c_int, *const usize),
    wait: unsafe extern "C" fn(*const c_void, c_int, *const c_void, f64) -> c_int,
    notify: unsafe extern "C" fn(*const c_void, c_int, usize) -> usize,
    memory: unsafe extern "C-unwind" fn(*mut lua_State) -> usize,
    limit: unsafe extern "C-unwind" fn(*mut lua_State, usize) -> c_int,
    restricted: unsafe extern "C-unwind" fn(*mut lua_State) -> c_int,
}

/// A function that gives memory back.
type Free = unsafe extern "C" fn(*mut c_void);

/// The name and the version of the library, which end with a zero byte.
const LIBRARY: &str = concat!("torch-storage ", env!("CARGO_PKG_VERSION"), "\0");
const NAME: &[u8; LIBRARY.len()] = match LIBRARY.as_bytes().first_chunk() {
    Some(bytes) => bytes,
    None => &[0; LIBRARY.len()],
};

static TABLE: Table = Table {
    magic: MAGIC,
    major: MAJOR,
    minor: MINOR,
    size: size_of::<Table>(),
    library: NAME,
    test: test::<StorageView>,
    check: check::<StorageView>,
    test_tensor: test::<TensorView>,
    check_tensor: check::<TensorView>,
    retain,
    release,
    held,
    push,
    create,
    wrap,
    create_tensor,
    wait: wait::wait,
    notify: wait::notify,
    memory,
    limit,
    restricted,
};

/// `torch_storage_box` of the header.
#[repr(C)]
struct TableBox {
    magic: u64,
    table: &'static Table,
}

/// Puts the table into the registry. `push_upvalues` pushes the upvalues of a function of ours.
pub fn install(lua: Raising, push_upvalues: impl Fn(Raising)) {
    push_upvalues(lua);
    order::install(lua);
    let block = lua.push_userdata(size_of::<TableBox>()).cast::<TableBox>();
    // SAFETY: [layout] the block has the size and alignment of a box.
    unsafe { block.write(TableBox { magic: MAGIC, table: &TABLE }) };
    lua.set_field(REGISTRY, KEY);
}

/// Runs `body`. A panic in it becomes a fault.
fn caught<T>(body: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let outer = Quiet::begin();
    let done = catch_unwind(AssertUnwindSafe(body));
    outer.restore();
    done.unwrap_or_else(|payload| Err(Fault::panic(&*payload)))
}

unsafe extern "C-unwind" fn test<V: View>(
    state: *mut lua_State,
    index: c_int,
    dtype: c_int,
    wants: c_int,
    view: *mut V,
) -> c_int {
    // SAFETY: [vouched] the C module gives the Lua state that called it. [state] [live] this uses neither stack slots nor upvalues, and
    // runs no Lua code.
    let frame = unsafe { Frame::of_module(state) };
    let Some(found) = V::of_value(frame.quiet(), index, Wants { dtype, flags: wants }) else { return 0 };
    // SAFETY: [vouched] by the C module.
    unsafe { found.write_to(view) };
    1
}

unsafe extern "C-unwind" fn check<V: View>(state: *mut lua_State, index: c_int, dtype: c_int, wants: c_int, view: *mut V) {
    // SAFETY: [vouched] the C module gives the Lua state that called it, with 5 free slots. [state] [live] upvalues are used only in
    // functions of ours, and storages only until Lua code runs.
    let frame = unsafe { Frame::of_module(state) };
    // SAFETY: [no-drop] nothing with a destructor is alive here, and what is called below keeps the rule.
    let lua = unsafe { frame.raising() };
    let wants = Wants { dtype, flags: wants };
    match V::of_value(lua.state(), index, wants) {
        // SAFETY: [vouched] by the C module.
        Some(found) => unsafe { found.write_to(view) },
        None => refuse(lua, index, |call, index| V::why_not(call, index, wants)),
    }
}

/// Raises the error for a value that does not fit.
#[cold]
fn refuse(lua: Raising, index: c_int, why: impl Fn(Call, c_int) -> Fault) -> ! {
    let index = lua.absolute(index);
    let fault = caught(|| Ok(why(Call::new(lua), index))).unwrap_or_else(|fault| fault);
    raise_in_module(lua, fault)
}

unsafe extern "C-unwind" fn retain(state: *mut lua_State, index: c_int, options: c_int) -> *mut Hold {
    // SAFETY: [vouched] the C module gives the Lua state that called it, with 5 free slots. [state] [live] upvalues are used only in
    // functions of ours, and storages only until Lua code runs.
    let frame = unsafe { Frame::of_module(state) };
    // SAFETY: [no-drop] nothing with a destructor is alive here, and what is called below keeps the rule.
    let lua = unsafe { frame.raising() };
    let mut hold = std::ptr::null_mut();
    carry_out(lua, Order::Retain { index: lua.absolute(index), options, hold: &raw mut hold });
    hold
}

unsafe extern "C" fn release(hold: *mut Hold) {
    if !hold.is_null() {
        // A panic ends here. Nothing can be done about it, because this function does not fail.
        let _ = caught(|| {
            // SAFETY: [owned] [vouched] the C module gives back what `retain` gave, once.
            unsafe { Hold::release(hold) };
            Ok(())
        });
    }
}

unsafe extern "C" fn held(hold: *const Hold, view: *mut StorageView) {
    // SAFETY: [live] [vouched] the C module has not released it.
    let hold = unsafe { &*hold };
    // SAFETY: [vouched] by the C module.
    unsafe { hold.view().write_to(view) };
}

unsafe extern "C-unwind" fn push(state: *mut lua_State, hold: *const Hold) {
    // SAFETY: [vouched] the C module gives the Lua state that called it, with 5 free slots. [state] [live] upvalues are used only in
    // functions of ours, and storages only until Lua code runs.
    let frame = unsafe { Frame::of_module(state) };
    // SAFETY: [no-drop] nothing with a destructor is alive here, and what is called below keeps the rule.
    let lua = unsafe { frame.raising() };
    carry_out(lua, Order::Push { hold });
}

unsafe extern "C-unwind" fn create(state: *mut lua_State, dtype: c_int, size: usize, view: *mut StorageView) {
    // SAFETY: [vouched] the C module gives the Lua state that called it, with 5 free slots. [state] [live] upvalues are used only in
    // functions of ours, and storages only until Lua code runs.
    let frame = unsafe { Frame::of_module(state) };
    // SAFETY: [no-drop] nothing with a destructor is alive here, and what is called below keeps the rule.
    let lua = unsafe { frame.raising() };
    carry_out(lua, Order::Create { dtype, size });
    let made = StorageView::of_value(lua.state(), -1, Wants { dtype, flags: 0 });
    if let Some(made) = made {
        // SAFETY: [vouched] by the C module.
        unsafe { made.write_to(view) };
    }
}

unsafe extern "C-unwind" fn wrap(
    state: *mut lua_State,
    data: *mut c_void,
    size: usize,
    dtype: c_int,
    flags: c_int,
    free: Option<Free>,
    argument: *mut c_void,
) {
    // SAFETY: [vouched] the C module gives the Lua state that called it, with 5 free slots. [state] [live] upvalues are used only in
    // functions of ours, and storages only until Lua code runs.
    let frame = unsafe { Frame::of_module(state) };
    // SAFETY: [no-drop] nothing with a destructor is alive here, and what is called below keeps the rule.
    let lua = unsafe { frame.raising() };
    if let Some(free) = free {
        keep_loaded(free as *const c_void);
    }
    carry_out(
        lua,
        Order::Wrap { data: data.cast(), size, dtype, flags, owner: Given::new(free, argument).into(), stays: free.is_none() },
    );
}

unsafe extern "C-unwind" fn create_tensor(state: *mut lua_State, storage: c_int, dimensions: c_int, sizes: *const usize) {
    // SAFETY: [vouched] the C module gives the Lua state that called it, with 5 free slots. [state] [live] upvalues are used only in
    // functions of ours, and storages only until Lua code runs.
    let frame = unsafe { Frame::of_module(state) };
    // SAFETY: [no-drop] nothing with a destructor is alive here, and what is called below keeps the rule.
    let lua = unsafe { frame.raising() };
    carry_out(lua, Order::CreateTensor { storage: lua.absolute(storage), dimensions, sizes });
}

unsafe extern "C-unwind" fn memory(state: *mut lua_State) -> usize {
    // SAFETY: [vouched] the C module gives the Lua state that called it, with 5 free slots. [state] [live] upvalues are used only in
    // functions of ours, and storages only until Lua code runs.
    let frame = unsafe { Frame::of_module(state) };
    // SAFETY: [no-drop] nothing with a destructor is alive here, and what is called below keeps the rule.
    let lua = unsafe { frame.raising() };
    let bytes = Cell::new(0);
    carry_out(lua, Order::Memory { bytes: &raw const bytes });
    bytes.get()
}

unsafe extern "C-unwind" fn limit(state: *mut lua_State, bytes: usize) -> c_int {
    // SAFETY: [vouched] the C module gives the Lua state that called it, with 5 free slots. [state] [live] upvalues are used only in
    // functions of ours, and storages only until Lua code runs.
    let frame = unsafe { Frame::of_module(state) };
    // SAFETY: [no-drop] nothing with a destructor is alive here, and what is called below keeps the rule.
    let lua = unsafe { frame.raising() };
    let fits = Cell::new(false);
    carry_out(lua, Order::Limit { bytes, fits: &raw const fits });
    fits.get().into()
}

unsafe extern "C-unwind" fn restricted(state: *mut lua_State) -> c_int {
    // SAFETY: [vouched] the C module gives the Lua state that called it, with 5 free slots. [state] [live] upvalues are used only in
    // functions of ours, and storages only until Lua code runs.
    let frame = unsafe { Frame::of_module(state) };
    // SAFETY: [no-drop] nothing with a destructor is alive here, and what is called below keeps the rule.
    let lua = unsafe { frame.raising() };
    let is_restricted = Cell::new(false);
    carry_out(lua, Order::IsRestricted { answer: &raw const is_restricted });
    is_restricted.get().into()
}

// The header says so.
const _: () = {
    assert!(size_of::<Table>() == 24 + 17 * size_of::<usize>());
    assert!(size_of::<TableBox>() == 16 && size_of::<c_char>() == 1);
};
