//! What scripts do with storages: errors, environments, coroutines, hooks.

use mlua::{Lua, Value};
use torch_storage::Storage;
use torch_storage::host;

use crate::{error_of, safe};

/// The program on the page `docs/rust-hosts.md`, word by word.
#[test]
fn the_program_on_the_page_of_the_documentation() -> Result<(), Box<dyn std::error::Error>> {
    use mlua::Lua;
    use torch_storage::{Storage, host};

    let lua = Lua::new();
    lua.globals().set("torch", host::open(&lua)?)?; // `open` itself sets no global variable
    let samples = Storage::from_vec(vec![0.0f32; 1 << 20]); // the vector's own memory
    lua.globals().set("samples", &samples)?;
    lua.load("for i = 1, #samples do samples[i] = i end").exec()?;
    let mut out = vec![0.0f32; 1 << 20];
    let back: Storage = lua.globals().get("samples")?; // an error if it is not a storage
    back.copy_to_slice(&mut out)?;

    assert_eq!(out.last(), Some(&1_048_576.0));
    Ok(())
}

/// The frames on the page `docs/rust-hosts.md`, word by word.
#[test]
fn a_script_gets_new_data_in_each_frame() -> Result<(), Box<dyn std::error::Error>> {
    use mlua::Function;
    use torch_storage::{DType, Storage};

    let lua = safe();
    let positions = Storage::zeroed(DType::Float, 10_000)?;
    lua.globals().set("positions", &positions)?;
    let frame: Function = lua.load("return function(dt) positions:add(dt) end").eval()?;
    let mut here = vec![0.0f32; 10_000];
    for _ in 0..60 {
        here.fill(1.0); // the program's own work
        positions.copy_from_slice(&here)?;
        frame.call::<()>(0.5)?;
        positions.copy_to_slice(&mut here)?;
    }

    assert_eq!((here[0], here[9999]), (1.5, 1.5));
    Ok(())
}

#[test]
fn errors_of_the_library_are_errors_of_the_script() {
    let lua = safe();
    let message = error_of(&lua, "\n\nlocal s = torch.FloatStorage(3)\ns[4] = 1");
    assert_eq!(message, "runtime error: script:4: index 4 is out of range: the storage has 3 elements, 1 to 3");
    let (ok, caught): (bool, String) = lua.load("return pcall(torch.FloatStorage, {1, 'x'})").eval().unwrap();
    assert!(!ok && caught.contains("FloatStorage") || caught.contains("number"), "{caught}");
    // An error or a panic of a Rust function that the library calls comes out as it is.
    lua.globals()
        .set("fails", lua.create_function(|_, ()| Err::<(), _>(mlua::Error::external(std::io::Error::other("no disk")))).unwrap())
        .unwrap();
    let error = lua
        .load("torch.class('Failing'); function Failing:write() fails() end; torch.serialize(Failing())")
        .exec()
        .unwrap_err()
        .to_string();
    assert!(error.contains("no disk"), "{error}");
    lua.globals()
        .set("panics", lua.create_function(|_, ()| -> mlua::Result<()> { panic!("a panic of the host") }).unwrap())
        .unwrap();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        lua.load("torch.class('Panicking'); function Panicking:write() panics() end; torch.serialize(Panicking())").exec()
    }));
    match panic {
        Err(payload) => assert_eq!(payload.downcast_ref::<&str>(), Some(&"a panic of the host")),
        Ok(result) => assert!(result.unwrap_err().to_string().contains("a panic of the host")),
    }
    assert_eq!(lua.load("return torch.FloatStorage{7}[1]").eval::<f64>().unwrap(), 7.0);
}

#[test]
fn a_script_in_an_environment_of_its_own_uses_storages() {
    let lua = Lua::new();
    let torch = host::open(&lua).unwrap();
    let sandbox = lua.create_table().unwrap();
    sandbox.set("make", torch.get::<Value>("FloatStorage").unwrap()).unwrap();
    let sum: f64 =
        lua.load("local s = make{1, 2, 3} s[2] = 10 return s[1] + s[2] + s[3] + #s").set_environment(sandbox).eval().unwrap();
    assert_eq!(sum, 17.0);
}

#[test]
fn coroutines_and_hooks_work() {
    let lua = safe();
    let thread = lua
        .create_thread(lua.load("return function(s) for i = 1, 3 do coroutine.yield(s[i]) end error(s[4]) end").eval().unwrap())
        .unwrap();
    let storage = Storage::from_vec(vec![1i64, 2, 3]);
    assert_eq!(thread.resume::<i64>(&storage).unwrap(), 1);
    assert_eq!(thread.resume::<i64>(()).unwrap(), 2);
    assert_eq!(thread.resume::<i64>(()).unwrap(), 3);
    assert!(thread.resume::<Value>(()).unwrap_err().to_string().contains("index 4 is out of range"));

    // A hook that hands a storage to Lua while another is on its way.
    lua.set_hook(mlua::HookTriggers::EVERY_LINE, |lua, _| {
        lua.globals().set("hooked", Storage::from_vec(vec![3u8]))?;
        Ok(mlua::VmState::Continue)
    })
    .unwrap();
    lua.load("s = torch.ByteStorage(1)\ns[1] = hooked[1]\n").exec().unwrap();
    lua.remove_hook();
    assert_eq!(lua.load("return s[1]").eval::<u8>().unwrap(), 3);
}
