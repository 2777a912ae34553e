//! Scripts that are not trusted, as the page about Rust programs opens their states.

use mlua::Lua;
use torch_storage::host::{self, Restrictions};

use crate::{error_of, safe};

/// A restricted state with the global variable `torch`, and 8 MiB.
fn restricted() -> Lua {
    let lua = Lua::new();
    open(&lua).unwrap();
    lua
}

/// As on the page `docs/rust-hosts.md`.
fn open(lua: &Lua) -> Result<(), Box<dyn std::error::Error>> {
    let restrictions = Restrictions { memory: Some(8 << 20), publications: &["samples"], ..Restrictions::default() };
    lua.globals().set("torch", host::open_restricted(lua, &restrictions)?)?;
    Ok(())
}

#[test]
fn scripts_have_what_the_list_allows() {
    let lua = restricted();
    lua.load("s = torch.FloatStorage{3, 1, 2}:sort() assert(s[1] == 1 and torch.zeros(2, 2):sum() == 0)").exec().unwrap();
    for script in [
        "torch.load 'x'",
        "torch.FloatStorage 'x'",
        "torch.FloatStorage { shared = 'x', size = 1, create = true }",
        "torch.FloatStorage(1):retain()",
        "torch.FloatStorage(1):token()",
        "torch.publish('x', torch.FloatStorage(1))",
        "torch.setnumthreads(1)",
        "torch.memory()",
        "torch.npz.load 'x'",
        "torch.atomic.wait(torch.IntStorage(1), 1, 0, 0)",
        "s:data()",
        "torch.pointer(s)",
    ] {
        let message = error_of(&lua, script);
        assert!(message.contains("the host program restricts this Lua state"), "{script}: {message}");
    }
    assert!(error_of(&lua, "torch.FloatStorage(1, 4096)").contains("no raw addresses"));
    let module = "package.loaded['torch.storage'] = nil require 'torch.core'";
    assert!(lua.load(module).exec().is_err());
}

#[test]
fn scripts_look_up_what_is_listed() {
    let (lua, other) = (restricted(), safe());
    other
        .load("torch.publish('samples', torch.FloatStorage(2):fill(3)) torch.publish('others', torch.FloatStorage(2))")
        .exec()
        .unwrap();
    assert_eq!(lua.load("return torch.lookup('samples'):sum()").eval::<f64>().unwrap(), 6.0);
    assert!(error_of(&lua, "torch.lookup('others')").contains("(got 'others')"));
    other.load("torch.unpublish 'samples' torch.unpublish 'others'").exec().unwrap();
}

#[test]
fn a_state_is_opened_in_one_way() {
    let lua = restricted();
    assert!(open(&lua).is_ok());
    let message = host::open(&lua).unwrap_err().to_string();
    assert!(message.contains("open in this Lua state restricted, and cannot be opened without addresses"), "{message}");
    let message = host::open_restricted(&safe(), &Restrictions::default()).unwrap_err().to_string();
    assert!(message.contains("open in this Lua state without addresses, and cannot be opened restricted"), "{message}");
}
