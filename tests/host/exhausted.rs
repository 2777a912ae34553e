//! Memory that runs out in a script, at each allocation of the library in turn: the script gets an error, and nothing is left behind.

use std::ffi::c_int;
use std::path::Path;

use mlua::{Lua, ffi};
use torch_storage::host;

use crate::counting::{fail_at, live, succeed};

/// `fail(number, lasting)`: from now on that allocation of the library fails. Returns nothing.
unsafe extern "C-unwind" fn fail(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: [state] Lua calls this function with its state.
    let number = unsafe { ffi::lua_tonumber(state, 1) };
    // SAFETY: [state] Lua calls this function with its state.
    let lasting = unsafe { ffi::lua_toboolean(state, 2) } != 0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is a small count")]
    fail_at(number as usize, lasting);
    0
}

/// `restore()`: from now on no allocation fails. Returns how many have failed.
unsafe extern "C-unwind" fn restore(state: *mut ffi::lua_State) -> c_int {
    let failed = succeed();
    #[expect(clippy::cast_precision_loss, reason = "the number is a small count")]
    // SAFETY: [state] Lua calls this function with its state.
    unsafe {
        ffi::lua_pushnumber(state, failed as f64);
    }
    1
}

/// What Lua runs for an operation: it has to be an error or to succeed, whichever allocation fails.
const AT_EACH: &str = r"
    local function at_each(name, act)
      for _ = 1, 3 do act() end
      local most = 0
      for _, lasting in ipairs { false, true } do
        for number = 0, 10000 do
          fail(number, lasting)
          local ok, message = pcall(act)
          local failed = restore()
          -- A token that was made and not taken keeps its storage.
          if token then pcall(torch.dropToken, token) end
          token = nil
          assert(ok or type(message) == 'string', name)
          if failed == 0 then
            assert(ok, message)
            most = math.max(most, number)
            break
          end
        end
      end
      return most
    end
    return at_each
";

/// The operations, each a function of `torch`, `path` and `refused`, which checks that a call fails.
const OPERATIONS: &[(&str, &str)] = &[
    ("make", "torch.FloatStorage(3); torch.ByteStorage(1e6); torch.LongStorage{1, 2, 3}; torch.IntStorage(('x'):rep(4) and 10)"),
    ("resize", "local s = torch.FloatStorage(3); s:resize(1000); s:resize(1e6); s:reserve(2e6); s:resize(1)"),
    (
        "view",
        "local s = torch.FloatStorage(30); local v = torch.FloatStorage(s, 2, 3); s:view('int32'); s:untyped(); s:clone(); s:double()",
    ),
    ("strings", "local s = torch.ByteStorage.fromstring('some bytes'); s:string(); s:totable(); s:unpack(); tostring(s)"),
    (
        "token",
        "local s = torch.FloatStorage(3); token = s:token(); torch.fromToken(token); token = s:token(); torch.dropToken(token); token = nil",
    ),
    ("publish", "local s = torch.FloatStorage(3); torch.publish('a name', s); torch.lookup('a name'); torch.unpublish('a name')"),
    ("retain", "local s = torch.FloatStorage(3); s:retain(); s:free()"),
    (
        "map",
        "torch.IntStorage(path .. 'map', true, 5):flush(); local s = torch.IntStorage{filename = path .. 'map', offset = 4}; s:check(); s:filename()",
    ),
    ("shared", "local s = torch.IntStorage(4):shareMemory(); torch.sharedMemory()"),
    ("buffer", "torch.frombuffer('0123456789', {dtype = 'int16', count = 2})"),
    (
        "t7",
        "torch.save(path .. 'a.t7', {x = torch.FloatStorage{1, 2}, y = torch.FloatTensor(2, 3), z = {1, 2, 'text'}}); torch.load(path .. 'a.t7')",
    ),
    (
        "t7 in memory",
        "torch.deserialize(torch.serialize({1, {2, 'x'}, torch.IntTensor{3}}, 'ascii'), 'ascii'); torch.deserializeFromStorage(torch.serializeToStorage{1})",
    ),
    (
        "tensors",
        "local x = torch.FloatTensor(2, 3):fill(1); x:t():contiguous(); x:view(-1); x:narrow(2, 1, 2):clone(); x[{{}, 2}] = 7; x:split(1); x:chunk(2, 2); x:totable(); torch.FloatTensor{{1, 2}, {3, 4}}",
    ),
    (
        "many dimensions",
        "local x = torch.FloatTensor(2, 1, 1, 1, 1, 1, 1, 3); x:transpose(1, 8):clone(); x:squeeze(); x:permute(8, 7, 6, 5, 4, 3, 2, 1); x:size(); x:stride(); x:expand(2, 1, 4, 1, 1, 1, 1, 3); token = x:token(); torch.fromToken(token); torch.deserialize(torch.serialize(x))",
    ),
    (
        "errors of storages",
        "refused(torch.FloatStorage, {1, 'x'}); refused(torch.FloatStorage, {filenam = 'x'}); refused(torch.FloatStorage, path .. 'none'); refused(function() return torch.FloatStorage(3)[4] end); refused(function() torch.FloatStorage(3).x = 1 end); local s = torch.FloatStorage(3); refused(s.resize, s, -1); refused(s.copy, s, torch.FloatStorage(4)); refused(s.type, s, 'torch.FlaotStorage'); refused(s.advise, s, 'never'); refused(s.to, s, 'cuda'); refused(torch.fromToken, 'x'); refused(torch.frombuffer, 'abc', {dtype = 'int16'})",
    ),
    (
        "errors of tensors",
        "local x = torch.FloatTensor(2, 3); refused(x.view, x, 4, 4); refused(x.narrow, x, 1, 5, 1); refused(x.permute, x, 1, 1); refused(x.expand, x, 4, 3); refused(function() return x[7] end); refused(function() x.y = 1 end); refused(function() x[{{}, 'a'}] = 1 end); refused(torch.FloatTensor, {{1, 2}, {3}}); refused(torch.FloatTensor, {{1, 2}, {3, 'x'}})",
    ),
    (
        "errors of files",
        "refused(torch.load, path .. 'none'); refused(torch.load, path); refused(torch.save, path .. 'no/file', 1); refused(torch.save, path .. 'b', {f = {coroutine.create(print)}}); refused(torch.deserialize, 'xxxxxxxxxxxx'); refused(torch.save, path .. 'c', 1, {mod = 1}); refused(torch.save, path .. 'c', 1, 'no mode')",
    ),
];

#[test]
fn every_allocation_of_the_library_may_fail() {
    let folder = tempfile::tempdir().unwrap();
    // Long names are copied to the heap by the standard library.
    let deep = folder.path().join("a".repeat(200)).join("b".repeat(200));
    std::fs::create_dir_all(&deep).unwrap();
    // SAFETY: [state] the state is closed at the end, after everything that uses it.
    let state = unsafe { ffi::luaL_newstate() };
    // SAFETY: [state] the state is new.
    unsafe { ffi::luaL_openlibs(state) };
    {
        // Its memory comes from the allocator of C, so only allocations of the library fail.
        // SAFETY: [state] the state is valid until it is closed, and not used by another thread.
        let lua: &Lua = unsafe { Lua::get_or_init_from_ptr(state) };
        lua.globals().set("torch", host::open(lua).unwrap()).unwrap();
        for (name, function) in [("fail", fail as ffi::lua_CFunction), ("restore", restore)] {
            // SAFETY: [state] the functions keep to Lua's protocol, and nothing in them has a destructor.
            lua.globals().set(name, unsafe { lua.create_c_function(function) }.unwrap()).unwrap();
        }
        lua.globals().set("at_each", lua.load(AT_EACH).eval::<mlua::Function>().unwrap()).unwrap();
        for path in [folder.path(), &deep] {
            for (name, operation) in OPERATIONS {
                check(lua, path, name, operation);
            }
        }
    }
    // SAFETY: [state] nothing uses the state any more.
    unsafe { ffi::lua_close(state) };
}

fn check(lua: &Lua, folder: &Path, name: &str, operation: &str) {
    let source = format!(
        "local path = {:?} .. '/'\n\
         local function refused(f, ...) local ok, message = pcall(f, ...) assert(not ok, 'it is not refused') assert(type(message) == 'string') end\n\
         local most = at_each({name:?}, function() {operation} end)\n\
         collectgarbage() collectgarbage()\n\
         return most",
        folder.to_str().unwrap()
    );
    let run = lua.load(source).into_function().unwrap();
    let before = || {
        run.call::<f64>(()).unwrap();
        live()
    };
    let first = before();
    let second = before();
    assert!(second <= first, "{name}: {} bytes are left", second - first);
}
