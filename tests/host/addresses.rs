//! What scripts can reach: neither addresses nor other libraries, unless the program lets them.

use torch_storage::{Storage, convert};

use crate::{error_of, safe, with_addresses};

#[test]
fn scripts_of_a_safe_state_see_neither_ffi_nor_debug() {
    let lua = safe();
    lua.load(
        "local seen = {} \
         local function look(value, path) \
           if value == nil or seen[value] or type(value) ~= 'table' and type(value) ~= 'function' then return end \
           seen[value] = path \
           if type(value) == 'table' then for k, v in pairs(value) do look(v, path .. '.' .. tostring(k)) look(k, path) end end \
           look(getmetatable(value), path .. ':metatable') \
           if getfenv and type(value) == 'function' then look(getfenv(value), path .. ':env') end \
         end \
         look(_G, '_G') look(getmetatable(torch.FloatStorage(1)), 'storage') look(getmetatable(torch.FloatTensor(1)), 'tensor') \
         for value, path in pairs(seen) do \
           if type(value) == 'table' then \
             assert(rawget(value, 'cdef') == nil and rawget(value, 'cast') == nil, path .. ' is the FFI library') \
             assert(rawget(value, 'getinfo') == nil and rawget(value, 'sethook') == nil, path .. ' is the debug library') \
             assert(rawget(value, 'settablereader') == nil, path .. ' is torch.core') \
           end \
         end \
         assert(debug == nil and not pcall(require, 'ffi') and not pcall(require, 'debug') and not pcall(require, 'torch.core'))",
    )
    .exec()
    .unwrap();
}

#[test]
fn a_safe_state_has_no_way_from_or_to_an_address() {
    let lua = safe();
    let address = f64::from(0x1234_5678) * 4096.0;
    lua.globals().set("address", address).unwrap();
    lua.globals().set("light", mlua::LightUserData(std::ptr::without_provenance_mut(0x1234_5678_9000))).unwrap();
    lua.load(
        "s = torch.FloatStorage(4) x = torch.FloatTensor(2, 2) mt, xt = getmetatable(s), getmetatable(x) \
         offering = setmetatable({}, {__buffer = function() return light or address, 16 end})",
    )
    .exec()
    .unwrap();
    let mut scripts: Vec<&str> = vec![
        // To an address.
        "torch.FloatStorage(4, address)",
        "torch.FloatStorage(4, light)",
        "torch.FloatStorage.new(4, light)",
        "torch.FloatStorage(0, 0)",
        "torch.UntypedStorage(4, address)",
        "torch.pushudata(address, 'torch.FloatStorage')",
        "torch.pushudata(0, 'torch.FloatStorage')",
        "torch.frombuffer(light, {size = 4})",
        "torch.frombuffer(offering)",
        "torch.FloatStorage.frombuffer(light, {size = 4})",
        "torch.FloatStorage.frombuffer(offering)",
        // From an address.
        "s:data()",
        "s:data(true)",
        "s:dataptr()",
        "x:data()",
        "x:data(true)",
        "x:dataptr()",
        "torch.data(s)",
        "torch.data(x)",
        "torch.buffer(s)",
        "torch.buffer(x)",
        "mt.__buffer(s)",
        "mt.data(s)",
        "xt.data(x)",
        "torch.pointer(s)",
        "torch.pointer(x)",
        "torch.pointer({})",
        "torch.pointer('text')",
        "torch.pointer(print)",
    ];
    if cfg!(feature = "luajit") {
        scripts.extend([
            "s:cdata()",
            "torch.cdata(s)",
            "x:storage():cdata()",
            "torch.FloatStorage(4, 0x123456789000LL)",
            "torch.FloatStorage(4, 0x123456789000ULL)",
            "torch.frombuffer(0x123456789000LL, {size = 4})",
            "torch.pushudata(0x123456789000LL, 'torch.FloatStorage')",
            "torch.pointer(1LL)",
        ]);
    }
    for script in scripts {
        let message = error_of(&lua, script);
        assert!(message.contains("the host program gives its scripts no raw addresses"), "{script}: {message}");
        assert!(message.contains("script:1: "), "{script}: {message}");
    }
    let message = error_of(&lua, "torch.FloatStorage(4, 7)");
    assert!(message.contains("for a storage of elements write torch.FloatStorage{4, 7}"), "{message}");
    // What needs no address works.
    lua.load("assert(torch.frombuffer('abcd')[1] == 97 and torch.frombuffer(s, {dtype = 'int8'}):size() == 16)").exec().unwrap();
}

#[test]
fn with_addresses_scripts_have_them() {
    let lua = with_addresses();
    let storage = Storage::from_vec(vec![1.0f64, 2.0]);
    lua.globals().set("s", &storage).unwrap();
    let address: f64 = lua.load("return s:dataptr()").eval().unwrap();
    assert_eq!(convert::count_to_f64(storage.data().addr()), address);
    assert_eq!(lua.load("return torch.DoubleStorage(2, s:dataptr())[2]").eval::<f64>().unwrap(), 2.0);
}

/// Whether element access is compiled shows in its speed, which is not tested here, and in its mode.
#[cfg(feature = "luajit")]
#[test]
fn access_is_compiled_in_a_safe_state_too() {
    use mlua::Lua;
    use torch_storage::host;

    let lua = safe();
    assert_eq!(lua.load("return torch.accessors()").eval::<String>().unwrap(), "ffi");
    // With the JIT off it can be switched on later, and the functions of the string library cannot put anything into its source.
    let lua = Lua::new();
    lua.load("jit.off()").exec().unwrap();
    lua.globals().set("torch", host::open(&lua).unwrap()).unwrap();
    lua.load(
        "local function evil() error 'called' end \
         string.gsub, string.format, string.rep, string.match, string.find = evil, evil, evil, evil, evil \
         assert(torch.accessors() == 'c' and torch.accessors 'ffi' == 'ffi') \
         local s = torch.HalfStorage(10) for i = 1, 10 do s[i] = i end assert(s[7] == 7)",
    )
    .exec()
    .unwrap();
}

#[test]
fn the_texts_of_storages_and_tensors_need_no_address() {
    let text = "local s, x = torch.FloatStorage{1, 2}, torch.FloatTensor{{1, 2}, {3, 4}} \
                local z, small = torch.ComplexDoubleTensor(2):zero(), torch.LongTensor(3) small:storage():resize(2) \
                return tostring(s) .. tostring(x) .. tostring(x:t():select(1, 2)) .. #tostring(z), pcall(tostring, small)";
    let [shown, other] = [safe(), with_addresses()].map(|lua| lua.load(text).eval::<(String, bool, String)>().unwrap());
    assert_eq!(shown.0, other.0);
    assert!(shown.0.contains(" 1  2\n 3  4\n[torch.FloatTensor of size 2x2]\n"), "{}", shown.0);
    assert!(!shown.1 && shown.2.contains("uses elements 1 to 3 of its storage, which has 2"), "{}", shown.2);
}
