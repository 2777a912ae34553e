//! Scripts that are not trusted: the attacks of `spec/support/attacks.lua` and `attacks_by_use.lua`.

use std::ffi::c_void;
use std::time::{Duration, Instant};

use mlua::{Error, HookTriggers, LightUserData, Lua, Table, VmState};
use torch_storage::Storage;
use torch_storage::host::{self, Restrictions};

const MEMORY: usize = 8 << 20;

/// What docs/restricted.md tells host programs to withhold. `require` and `package` are left, because attacks use them.
const WITHHOLD: &str = r"
    debug, io, os, dofile, loadfile, string.dump = nil
    for _, name in pairs { 'debug', 'io', 'os' } do package.loaded[name] = nil end
    for _, name in pairs { 'load', 'loadstring' } do
      local compile, type, find = _G[name], type, string.find
      _G[name] = compile and function(text, ...)
        if type(text) ~= 'string' or find(text, '^\27') then return nil, 'this is no text of a program' end
        return compile(text, ...)
      end
    end
";

/// Memory that a script gets the address of.
static LIGHT: [u64; 16] = [42; 16];

/// A restricted state with the table `host`, which spec/support/attacked.c describes.
fn state() -> Lua {
    let lua = Lua::new();
    let restrictions = Restrictions { memory: Some(MEMORY), publications: &["open"], ..Restrictions::default() };
    lua.globals().set("torch", host::open_restricted(&lua, &restrictions).unwrap()).unwrap();
    let table = lua.create_table().unwrap();
    table.set("light", LightUserData(LIGHT.as_ptr().cast_mut().cast::<c_void>())).unwrap();
    table.set("lent", Storage::from_vec(vec![0.0f32; 16])).unwrap();
    table.set("constant", Storage::from_owner([0.0f32; 16])).unwrap();
    table.set("token", "0123456789abcdef0123456789abcdef").unwrap();
    table.set("used", lua.create_function(|lua, ()| host::memory_in_use(lua)).unwrap()).unwrap();
    table.set("reopen", lua.create_function(|lua, _: bool| host::open(lua)).unwrap()).unwrap();
    table.set("deadline", lua.create_function(set_deadline).unwrap()).unwrap();
    // The error of a hook in Rust is an object, and a fault of the library is a text.
    table.set("late", "interrupted").unwrap();
    table.set("say", lua.create_function(|_, _: String| Ok(())).unwrap()).unwrap();
    lua.globals().set("host", table).unwrap();
    lua.load(WITHHOLD).exec().unwrap();
    lua
}

/// Sets a hook that counts instructions of Lua code, and raises an error when a number of seconds is over.
fn set_deadline(lua: &Lua, seconds: f64) -> mlua::Result<()> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    lua.set_hook(HookTriggers::new().every_nth_instruction(1000), move |_, _| {
        if Instant::now() > end { Err(Error::runtime("the time is over")) } else { Ok(VmState::Continue) }
    })
}

#[test]
fn every_attack_is_an_error() {
    let open = Storage::from_vec(vec![1.0f32, 2.0, 3.0]);
    open.publish(b"open").unwrap();
    Storage::from_vec(vec![4.0f32]).publish(b"secret").unwrap();
    let reader = Lua::new();
    let attacks: Table = reader.load(include_str!("../../spec/support/attacks.lua")).eval().unwrap();
    let prelude: String = attacks.get("prelude").unwrap();
    let first: Table = attacks.get("list").unwrap();
    let second: Table = reader.load(include_str!("../../spec/support/attacks_by_use.lua")).eval().unwrap();
    let mut made = 0;
    for attack in first.sequence_values::<Table>().chain(second.sequence_values()) {
        let attack = attack.unwrap();
        let (title, code): (String, String) = (attack.get(1).unwrap(), attack.get(2).unwrap());
        // A safe state of `mlua` loads no libraries in C.
        if attack.contains_key("in_c").unwrap() {
            continue;
        }
        let held = state().load(format!("{prelude}\n{code}\nreturn held()")).set_name("=attack").eval::<usize>();
        match held {
            Ok(count) => assert!(count > 0, "{title}: nothing was tried"),
            Err(error) => panic!("{title}: {error}"),
        }
        made += 1;
    }
    assert!(made >= 50, "{made} attacks");
}

#[test]
fn opening_again_does_not_change_the_restrictions() {
    let lua = state();
    let torch: Table = lua.globals().get("torch").unwrap();
    assert_eq!(host::open_restricted(&lua, &Restrictions::default()).unwrap(), torch);
    assert!(lua.load("torch.FloatStorage(1e9)").exec().is_err());
    let message = host::open(&lua).unwrap_err().to_string();
    assert!(message.contains("open in this Lua state restricted, and cannot be opened without addresses"), "{message}");
    let message = host::open_restricted(&crate::safe(), &Restrictions::default()).unwrap_err().to_string();
    assert!(message.contains("open in this Lua state without addresses, and cannot be opened restricted"), "{message}");
}

#[test]
fn the_program_has_what_scripts_have_not() {
    let lua = state();
    let lent: Storage = lua.load("host.lent[3] = 5 return host.lent").eval().unwrap();
    assert_eq!(lent.get(2), Some(5.0));
    assert!(host::set_memory_limit(&lua, Some(100)).unwrap());
    assert!(lua.load("torch.FloatStorage(26)").exec().is_err());
    lua.load("torch.FloatStorage(25)").exec().unwrap();
}
