//! Opening the library in a Lua state.

use mlua::{Lua, Table};
use torch_storage::host;

use crate::{safe, with_addresses};

#[test]
fn opening_again_gives_the_same_table() {
    let lua = safe();
    let (one, two): (Table, Table) = (host::open(&lua).unwrap(), lua.globals().get("torch").unwrap());
    assert_eq!(one, two);
    assert!(lua.load("return require 'torch' == torch and require 'torch.storage' == torch").eval::<bool>().unwrap());
    // SAFETY: [vouched] the call fails, and no script runs after it.
    let message = unsafe { host::open_with_addresses(&lua) }.unwrap_err().to_string();
    assert!(message.contains("open in this Lua state without addresses, and cannot be opened with"), "{message}");
    let message = host::open(&with_addresses()).unwrap_err().to_string();
    assert!(message.contains("open in this Lua state with addresses, and cannot be opened without"), "{message}");
}

#[test]
fn require_sets_the_global_variable() {
    let lua = Lua::new();
    host::open(&lua).unwrap();
    assert!(lua.load("return torch == nil and require 'torch' == torch").eval::<bool>().unwrap());
}

#[test]
fn a_state_needs_few_libraries() {
    use mlua::{LuaOptions, StdLib};
    let with = |libraries| {
        let lua = Lua::new_with(libraries, LuaOptions::default()).unwrap();
        host::open(&lua).map(|torch| {
            lua.globals().set("torch", torch).unwrap();
            lua.load(
                "local s = torch.FloatStorage(3):fill(2) s[2] = 5 torch.class('torch.Own') return s[1] + s[2] + #tostring(s)",
            )
            .eval::<f64>()
            .unwrap()
        })
    };
    let least = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
    assert_eq!(with(least).unwrap(), with(StdLib::ALL_SAFE).unwrap());
    for (name, missing) in [("string", StdLib::TABLE | StdLib::MATH), ("table", StdLib::STRING | StdLib::MATH)] {
        let message = with(missing).unwrap_err().to_string();
        assert!(message.contains(&format!("torch needs the library '{name}'")), "{message}");
    }
}
