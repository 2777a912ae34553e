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

/// Makes the global variables that the operations on safetensors, npy and npz files use, and the files that they load. The arguments
/// are a folder to write to, and that of the files of other programs.
const MAKE_FORMATS: &str = r#"
    local path, data = ...
    -- Calls `save` with the path of an old file. If that fails, the old file stays, and there is no new one beside it.
    function kept(path, save, ...)
      local name = path .. 'kept'
      local old = assert(io.open(name, 'wb'))
      old:write('the old file')
      old:close()
      local ok, message = pcall(save, name, ...)
      local file = assert(io.open(name, 'rb'))
      local bytes = file:read('*a')
      file:close()
      assert((bytes == 'the old file') == not ok, 'the old file')
      assert(not io.open(path .. '.kept.0.new'), 'a new file is left')
      if not ok then error(message, 0) end
    end

    tensors = {
      ['layer.1/вес.npy'] = torch.FloatTensor(3, 4):fill(1):t(),
      ['quote"d\\\n\1'] = torch.HalfTensor(3, 4):narrow(2, 2, 2),
      [('n'):rep(5000)] = torch.ShortTensor(1):expand(1000),
      [''] = torch.LongTensor(torch.LongStorage(1), 1, {}),
      empty = torch.IntTensor(0, 4),
      axes = torch.ByteTensor(2, 2, 2, 2, 2, 2, 2, 2):permute(2, 1, 4, 3, 6, 5, 8, 7),
      bytes = torch.UntypedStorage(3),
      bool = torch.BoolStorage{true},
      complex = torch.ComplexFloatTensor(2),
    }
    metadata = {format = 'pt', ['a "quote"\n'] = '', [''] = '\1\\'}
    torch.safetensors.save(path .. 'all.safetensors', tensors, metadata)
    torch.npz.save(path .. 'all.npz', tensors)
    torch.npy.save(path .. 'all.npy', tensors.axes)
    torch.npz.save(path .. 'others.npz', {a = torch.IntTensor(2), b = torch.IntTensor(2)})
    -- The first entry becomes one that is no array.
    local file = assert(io.open(path .. 'others.npz', 'rb'))
    local bytes = file:read('*a'):gsub('a%.npy', 'a.txt'):gsub('NUMPY', 'numpy', 1)
    file:close()
    file = assert(io.open(path .. 'others.npz', 'wb'))
    file:write(bytes)
    file:close()
    files = data .. '/'

    -- Loads a file of another program. The first option is its name.
    function load(load, options)
      local name = table.remove(options, 1)
      load(files .. name, options)
    end
"#;

/// The operations on these files.
const FORMATS: &[&str] = &[
    "kept(path, torch.safetensors.save, tensors, metadata, {progress = function() end})",
    "kept(path, torch.npz.save, tensors, {progress = function() end})",
    "for _, name in ipairs{'layer.1/вес.npy', 'axes', 'bytes'} do kept(path, torch.npy.save, tensors[name]) end",
    "torch.safetensors.save(path .. 'x', tensors, nil, {atomic = false})",
    "torch.npz.save('/dev/null', tensors)",
    "torch.npy.save(path .. 'x', tensors.axes, {atomic = false})",
    "local loaded, texts = torch.safetensors.load(path .. 'all.safetensors'); assert(texts.format == 'pt' and loaded.axes:dim() == 8)",
    "torch.safetensors.load(path .. 'all.safetensors', {mmap = false, progress = function() end})",
    "assert(torch.safetensors.load(path .. 'all.safetensors', {names = {'', 'axes'}}).axes:dim() == 8)",
    "assert(torch.npz.load(path .. 'all.npz').axes:dim() == 8)",
    "torch.npz.load(path .. 'all.npz', {mmap = false, progress = function() end})",
    "assert(torch.npz.load(path .. 'all.npz', {names = {'', 'axes'}}).axes:dim() == 8)",
    "local _, others = torch.npz.load(path .. 'others.npz'); assert(others[1] == 'a.txt')",
    "local file = torch.safetensors.open(path .. 'all.safetensors'); \
     for _, name in ipairs(file:keys()) do file:info(name); file:get(name) end; \
     file:metadata(); tostring(file); assert(#file == 9); file:close(); refused(file.keys, file); tostring(file)",
    "assert(#torch.safetensors.open(files .. 'net.safetensors.index.json'):keys() == 3)",
    "torch.safetensors.load(files .. 'net.safetensors.index.json')",
    "torch.safetensors.load(files .. 'net.safetensors.index.json', {mmap = false, names = {'layer.1.w'}})",
];

/// Files of other programs, and the options that they need.
const FILES: &[(&str, &str)] = &[
    ("safetensors", "'dtypes.safetensors'"),
    ("safetensors", "'shapes.safetensors'"),
    ("safetensors", "'unaligned.safetensors'"),
    ("npy", "'v1.npy'"),
    ("npy", "'v2.npy'"),
    ("npy", "'v3.npy'"),
    ("npy", "'fortran.npy'"),
    ("npy", "'scalar.npy'"),
    ("npy", "'empty.npy'"),
    ("npy", "'big_endian.npy'"),
    ("npy", "'bfloat16.npy', dtype = 'bfloat16'"),
    ("npz", "'stored.npz'"),
];

/// Calls that are refused.
const REFUSED: &[&str] = &[
    "kept, path, torch.safetensors.save, {x = 1}",
    "kept, path, torch.safetensors.save, {tensors.axes}",
    "kept, path, torch.safetensors.save, {['\\255'] = tensors.axes}",
    "kept, path, torch.safetensors.save, {x = torch.ComplexDoubleTensor(1)}",
    "kept, path, torch.safetensors.save, {__metadata__ = tensors.axes}",
    "kept, path, torch.safetensors.save, tensors, {a = 1}",
    "kept, path, torch.safetensors.save, tensors, {a = '\\255'}",
    "kept, path, torch.npz.save, {['a\\0b'] = tensors.axes}",
    "kept, path, torch.npz.save, {[('n'):rep(65532)] = tensors.axes}",
    "kept, path, torch.npz.save, tensors, {atomc = 1}",
    "kept, path, torch.npy.save, tensors",
    "kept, path, torch.npy.save, tensors.axes, {progress = 1}",
    "kept, path, torch.npy.save, tensors.axes, {progress = function() error('stop') end}",
    "torch.safetensors.save, path, tensors",
    "torch.npz.save, path .. 'no/file', tensors",
    "torch.npy.save, path .. ('n'):rep(5000), tensors.axes",
    "torch.npy.save, 'a\\0b', tensors.axes",
    "torch.safetensors.load, path .. 'none'",
    "torch.safetensors.open, path .. 'none'",
    "torch.npy.load, path",
    "torch.npz.load, path .. ('n'):rep(5000)",
    "torch.npz.load, 'a\\0b'",
    "torch.npy.load, 1, 2",
    "torch.safetensors.load, path .. 'all.safetensors', {names = {1}}",
    "torch.safetensors.load, path .. 'all.safetensors', {names = {'none'}}",
    "torch.npz.load, path .. 'all.npz', {names = {('n'):rep(6000)}}",
    "torch.npz.load, path .. 'all.npz', {mmp = 1}",
    "torch.npy.load, path .. 'all.npy', {progress = function() error('stop') end}",
    "torch.npy.load, files .. 'v1.npy', {dtype = 'bfloat16'}",
    "torch.npy.load, files .. 'bfloat16.npy'",
    "torch.npy.load, files .. 'refused_object.npy'",
    "torch.npy.load, files .. 'refused_shape.npy'",
    "torch.npz.load, files .. 'deflated.npz'",
    "torch.npz.load, files .. 'hostile/overlap.npz'",
    "torch.npz.load, files .. 'hostile/no_end.npz'",
    "torch.safetensors.load, files .. 'refused_cut.safetensors'",
    "torch.safetensors.load, files .. 'refused_twice.safetensors'",
    "torch.safetensors.open, files .. 'hostile/folder.safetensors.index.json'",
    "torch.safetensors.open(path .. 'all.safetensors').get, 1, 'none'",
    "function() torch.safetensors.open(path .. 'all.safetensors'):info('none') end",
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
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/formats");
        for path in [folder.path(), &deep] {
            lua.load(MAKE_FORMATS).call::<()>((format!("{}/", path.display()), data)).unwrap();
            for (name, operation) in OPERATIONS {
                check(lua, path, name, operation);
            }
            for operation in FORMATS {
                check(lua, path, operation, operation);
            }
            for (format, file) in FILES {
                for options in ["", ", mmap = false"] {
                    let operation = format!("load(torch.{format}.load, {{{file}{options}}})");
                    check(lua, path, &operation, &operation);
                }
            }
            for call in REFUSED {
                check(lua, path, call, &format!("refused({call})"));
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
