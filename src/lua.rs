//! The Lua face: `require 'torch.core'`.
//!
//! ```text
//! class  fields      metatables and the module's table; what Lua knows of a dtype
//! methods/*          one file a subject: read arguments, act, push
//! entry              the trampoline: into a function and out of it
//! args  options      arguments; tables of options
//! pressure           the collector
//! t7                 open .t7 files: loading and saving Lua values
//! steps              long operations that the host can interrupt
//! fault              what goes wrong; the only place that raises
//! userdata  context  a storage as a Lua value; what a C function is made with
//! objects            what is no storage, but of a class that Lua code has registered
//! direct             what LuaJIT's FFI calls without the C API
//! state              the C API, divided by what may raise
//! ```

mod args;
mod class;
mod complex;
mod context;
mod direct;
mod entry;
mod fault;
mod fields;
mod methods;
mod objects;
mod options;
mod pressure;
mod state;
mod steps;
mod t7;
mod userdata;

use crate::storage::protect_across_fork;
use entry::functions;

functions! {
    /// The entry point of `require 'torch.core'`: returns the module's table.
    ///
    /// # Safety
    /// `[state]`: Lua's package loader calls this with its state.
    #[unsafe(no_mangle)]
    pub raising fn luaopen_torch_core(lua) {
        protect_across_fork();
        class::push_module_once(lua);
        1
    }
}
