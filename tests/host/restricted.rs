//! Scripts that are not trusted, and limits for the memory of storages.

use mlua::Lua;
use torch_storage::host::{self, Restrictions};
use torch_storage::{DType, Storage};

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

#[test]
fn a_limit_holds_in_any_state() {
    let lua = safe();
    assert_eq!(host::memory_in_use(&lua).unwrap(), 0);
    assert!(host::set_memory_limit(&lua, Some(8 << 20)).unwrap());
    let message = error_of(&lua, "torch.FloatStorage(1e9)");
    let expected =
        "not enough memory: 4000000000 bytes were requested, and the host program allows 8388608, of which 0 are in use";
    assert!(message.ends_with(expected), "{message}");
    lua.load("s = torch.ByteStorage(5000000)").exec().unwrap();
    assert_eq!(host::memory_in_use(&lua).unwrap(), 5_000_000);
    assert!(!host::set_memory_limit(&lua, Some(1 << 20)).unwrap());
    assert!(error_of(&lua, "torch.ByteStorage(1)").contains("the host program allows 1048576"));
    lua.load("s:resize(1000) t = torch.ByteStorage(1)").exec().unwrap();
    assert_eq!(host::memory_in_use(&lua).unwrap(), 1001);
    assert!(host::set_memory_limit(&lua, None).unwrap());
    lua.load("t = torch.ByteStorage(5e7)").exec().unwrap();
}

#[test]
fn garbage_is_collected_before_an_error() {
    let lua = restricted();
    lua.load("for i = 1, 2000 do local s = torch.FloatStorage(250000) s[1] = i end").exec().unwrap();
    lua.load("for i = 1, 200 do local x = torch.zeros(100, 1000):add(i):clone() end").exec().unwrap();
    lua.load("local t = torch.serialize(torch.ByteStorage(1e6)) for i = 1, 100 do torch.deserialize(t) end").exec().unwrap();
    lua.gc_collect().unwrap();
    lua.gc_collect().unwrap();
    assert_eq!(host::memory_in_use(&lua).unwrap(), 0);
}

#[test]
fn memory_of_the_program_counts_when_a_script_grows_it() {
    let lua = restricted();
    let before = Storage::zeroed(DType::Byte, 20 << 20).unwrap();
    lua.globals().set("s", before).unwrap();
    assert_eq!(host::memory_in_use(&lua).unwrap(), 0);
    assert!(error_of(&lua, "s:resize(30000000)").contains("30000000 bytes were requested"));
    lua.load("s:resize(10) s:resize(1000)").exec().unwrap();
    assert_eq!(host::memory_in_use(&lua).unwrap(), 1000);
}

#[test]
fn memory_counts_until_it_is_freed_whoever_holds_it() {
    let lua = restricted();
    let held: Storage = lua.load("return torch.ByteStorage(1000)").eval().unwrap();
    lua.gc_collect().unwrap();
    lua.gc_collect().unwrap();
    assert_eq!(host::memory_in_use(&lua).unwrap(), 1000);
    let view = held.view(10, 10).unwrap();
    drop(held);
    assert_eq!(host::memory_in_use(&lua).unwrap(), 1000);
    let token = view.token().unwrap();
    drop(view);
    std::thread::spawn(move || drop(Storage::from_token(token).unwrap())).join().unwrap();
    assert_eq!(host::memory_in_use(&lua).unwrap(), 0);
}

/// Coroutines share the budget of their state, and states in other threads have budgets of their own.
#[test]
fn threads_and_coroutines_keep_to_their_budgets() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                let lua = restricted();
                let script = "local kept, n = {}, 0
                    for i = 1, 100 do
                        coroutine.wrap(function()
                            if pcall(function() kept[i] = torch.ByteStorage(1000000) end) then n = n + 1 end
                        end)()
                    end
                    return n";
                (lua.load(script).eval::<usize>().unwrap(), host::memory_in_use(&lua).unwrap())
            })
        })
        .collect();
    for thread in threads {
        let (made, bytes) = thread.join().unwrap();
        assert_eq!(made, 8);
        assert!(bytes <= 8 << 20);
    }
}

/// A finalizer that runs while the state is closed cannot leave the budget.
#[test]
fn nothing_is_allocated_while_the_state_is_closed() {
    let lua = restricted();
    let sizes = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&sizes);
    lua.globals().set("note", lua.create_function(move |_, n: usize| Ok(seen.lock().unwrap().push(n))).unwrap()).unwrap();
    let script = "
        local class = torch.class('Late')
        local make, note, pcall = torch.ByteStorage, note, pcall
        late = newproxy and newproxy(true) or setmetatable({}, {})
        if newproxy then
            getmetatable(late).__gc = function() local ok, s = pcall(make, 100000000) note(ok and #s or 0) end
        else
            setmetatable(late, { __gc = function() local ok, s = pcall(make, 100000000) note(ok and #s or 0) end })
        end";
    lua.load(script).exec().unwrap();
    drop(lua);
    assert_eq!(*sizes.lock().unwrap(), [0]);
}

#[test]
fn a_vector_comes_back_when_scripts_have_let_go_of_it() {
    let lua = safe();
    let storage = Storage::from_vec(vec![1.0f32, 2.0, 3.0]);
    let address = storage.data();
    lua.globals().set("s", &storage).unwrap();
    lua.load("s[1] = 10").exec().unwrap();
    let storage = storage.try_into_vec::<f32>().unwrap_err();
    lua.load("s:free()").exec().unwrap();
    let storage = storage.try_into_vec::<f64>().unwrap_err();
    let vector = storage.try_into_vec::<f32>().unwrap();
    assert_eq!((vector.as_slice(), vector.as_ptr().cast::<u8>()), (&[10.0, 2.0, 3.0][..], address.cast_const()));
    assert!(Storage::zeroed(DType::Float, 3).unwrap().try_into_vec::<f32>().is_err());
}
