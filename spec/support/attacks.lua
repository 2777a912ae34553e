-- Attacks on a restricted Lua state: spec/hosts/attacks_spec.lua makes them in a program in C, and tests/host/attacks.rs in one
-- in Rust. Each is { what is tried, how }.
--
-- The code calls `refused(text, f, ...)`, where `f(...)` has to raise an error that contains the text, and `check(condition,
-- what)`. They keep working if the code replaces functions of Lua. `host` is described in spec/support/attacked.c. The
-- program runs the prelude first.
-- More attacks are in attacks_by_use.lua.
local attacks = {}

attacks.prelude = [==[
local pcall, error, tostring, find, type = pcall, error, tostring, string.find, type
local count = 0
function refused(text, f, ...)
  local ok, message = pcall(f, ...)
  if ok then
    error('no error, but a result: ' .. tostring(message), 2)
  elseif not find(tostring(message), text, 1, true) then
    error(('expected: %s; got: %s'):format(text, tostring(message)), 2)
  end
  count = count + 1
end
function check(condition, what)
  if not condition then
    error(tostring(what), 2)
  end
  count = count + 1
end
function held()
  return count
end
NOT = 'is not available: the host program restricts this Lua state'
HIDDEN = 'the host program gives its scripts no raw addresses'
MEMORY = 'not enough memory'
-- All classes of storages and of tensors, and their names.
classes, tensors = {}, {}
for name, class in pairs(torch) do
  if name:find 'Storage$' and type(class) == 'table' then
    classes[name] = class
  elseif name:find 'Tensor$' and type(class) == 'table' then
    tensors[name] = class
  end
end
]==]

attacks.list = {
  -- Files, shared memory, other states -------------------------------------------------------------------------------------
  {
    'the constructors of all classes with the name of a file',
    [[
    for name, class in pairs(classes) do
      for _, make in ipairs { class, class.new, class().new } do
        refused(NOT, make, '/etc/passwd', false)
        refused(NOT, make, '/etc/passwd', true)
        refused(NOT, make, '/etc/passwd', nil, 4)
      end
    end
    for name, class in pairs(tensors) do
      refused('got string', class, '/etc/passwd')
    end]],
  },
  {
    'a string alone, which is bytes for one class only',
    [[
    check(torch.UntypedStorage('/etc/passwd'):string() == '/etc/passwd', 'it has other bytes')
    for name, class in pairs(classes) do
      if name ~= 'UntypedStorage' then refused(NOT, class, '/etc/passwd') end
    end]],
  },
  {
    'options with the name of a file',
    [[
    for name, class in pairs(classes) do
      refused(NOT, class, { filename = '/etc/passwd' })
      refused(NOT, class, { filename = '/etc/passwd', shared = true, size = 4, offset = 0 })
      refused(NOT, class.new, { filename = '/etc/passwd', readonly = true })
    end]],
  },
  {
    'options with the name of shared memory',
    [[
    for name, class in pairs(classes) do
      refused(NOT, class, { shared = 'restricted-attack' })
      refused(NOT, class, { shared = 'restricted-attack', size = 4, create = true })
    end]],
  },
  { "Torch7's arguments for shared memory", [[refused(NOT, torch.FloatStorage, 'restricted-attack', true, 4, true)]] },
  {
    'options that a metatable hides',
    [[
    local read = {}
    local options = setmetatable({}, { __index = function(_, key) read[key] = true return key == 'filename' and '/etc/passwd' or nil end })
    for name, class in pairs(classes) do
      local ok, s = pcall(class, options)
      check(not ok or #s == 0, name .. ' has elements')
    end]],
  },
  {
    'options that change while they are read',
    [[
    local options = {}
    setmetatable(options, { __len = function() options.filename = '/etc/passwd' return 1 end })
    local ok, s = pcall(torch.ByteStorage, options)
    check(not ok or #s <= 1, 'it has elements of the file')]],
  },
  {
    'functions that load and save',
    [[
    for _, name in ipairs { 'load', 'save', 'loadobj', 'saveobj' } do refused(NOT, torch[name], '/tmp/restricted-attack', {}) end
    for _, format in ipairs { 'npy', 'npz', 'safetensors' } do
      for name, f in pairs(torch[format]) do refused(NOT, f, '/tmp/restricted-attack', {}) end
    end]],
  },
  {
    'publications that are not listed',
    [[
    for _, name in ipairs { 'secret', '', 'open\0', 'open ', 'OPEN', ('x'):rep(1000) } do refused(NOT, torch.lookup, name) end
    refused('string expected', torch.lookup, setmetatable({}, { __tostring = function() return 'open' end }))
    check(torch.lookup 'open'[3] == 3, 'a listed one is not there')]],
  },
  {
    'publishing, which would also reach the thread of the host',
    [[
    refused(NOT, torch.publish, 'open', torch.FloatStorage(1))
    refused(NOT, torch.publish, 'mine', torch.lookup 'open')
    refused(NOT, torch.unpublish, 'open')]],
  },
  {
    'tokens of another state',
    [[
    check(#host.token > 10, 'there is no token')
    refused(NOT, torch.fromToken, host.token)
    refused(NOT, torch.dropToken, host.token)
    refused(NOT, torch.FloatStorage(1).token, host.lent)
    refused(NOT, torch.zeros(1).token, torch.zeros(1))]],
  },
  {
    'shared memory of other processes',
    [[
    refused(NOT, torch.sharedMemory)
    refused(NOT, torch.unlinkSharedMemory, 'x')
    refused(NOT, torch.FloatStorage(1).shareMemory, torch.FloatStorage(1), 'restricted-attack')]],
  },
  -- Addresses --------------------------------------------------------------------------------------------------------------
  {
    'a storage at an address',
    [[
    for name, class in pairs(classes) do
      refused(HIDDEN, class, 4, host.light)
      refused(HIDDEN, class, 4, 65536 * 16)
      refused(HIDDEN, class.new, 4, host.lent)
      refused(HIDDEN, class, 0, 1)
    end
    local integer = jit and loadstring 'return 0x10000000LL'()
    if integer then refused(HIDDEN, torch.FloatStorage, 4, integer) end]],
  },
  {
    'the address of a storage',
    [[
    local s, x = torch.FloatStorage(4), torch.zeros(4)
    for _, name in ipairs { 'data', 'cdata', 'dataptr' } do
      if s[name] then refused(NOT, s[name], s) end
      if x[name] then refused(NOT, x[name], x) end
      if torch[name] then refused(NOT, torch[name], s) end
    end
    refused(NOT, torch.pointer, s)
    refused(NOT, torch.pointer, {})
    refused(NOT, torch.buffer, s)
    refused(NOT, torch.pushudata, 65536 * 16, 'torch.FloatStorage')]],
  },
  {
    'the metamethod that gives an address',
    [[
    for name, class in pairs(classes) do refused(HIDDEN, getmetatable(class).__buffer, class(1)) end]],
  },
  {
    'memory of light userdata',
    [[
    refused(HIDDEN, torch.frombuffer, host.light, { size = 64 })
    refused(HIDDEN, torch.FloatStorage.frombuffer, host.light, { count = 16 })]],
  },
  {
    'memory of objects that offer an address',
    [[
    local object = setmetatable({}, { __buffer = function() return host.light, 64 end })
    refused(HIDDEN, torch.frombuffer, object)
    refused(HIDDEN, torch.frombuffer, setmetatable({}, { __buffer = function() return 65536 * 16, 64 end }))]],
  },
  {
    'writing to a string',
    [[
    local text = ('restricted'):rep(3)
    local s = torch.frombuffer(text, { dtype = 'uint8' })
    refused('read-only', function() s[1] = 65 end)
    refused('read-only', s.fill, s, 65)
    refused('read-only', s.copy, s, torch.ByteStorage(30))
    refused('read-only', s.rawcopy, s, torch.ByteStorage(30))
    refused('read-only', s.sub(s, 1, 4).fill, s, 0)
    check(text == 'restrictedrestrictedrestricted', text)]],
  },
  {
    'addresses in texts',
    [[
    local s = torch.FloatStorage(2)
    for _, value in ipairs { s, torch.zeros(2), torch, torch.FloatStorage, torch.atomic, getmetatable(torch.FloatStorage).__typename } do
      check(not tostring(value):find '0x%x%x%x%x', tostring(value))
    end]],
  },
  -- What is behind the refused functions -----------------------------------------------------------------------------------
  {
    'functions of the metatables of classes and instances',
    [[
    local names = 'fromfile filename flush advise check shareMemory retain token data cdata dataptr pin'
    for name, class in pairs(classes) do
      for _, metatable in ipairs { getmetatable(class), getmetatable(class()), torch.getmetatable('torch.' .. name) } do
        for word in names:gmatch '%a+' do
          if rawget(metatable, word) then refused(NOT, metatable[word], class(1), '/etc/passwd') end
        end
      end
    end]],
  },
  {
    'a reference that nobody gives back',
    [[
    refused(NOT, torch.FloatStorage(1).retain, host.lent)
    check(torch.zeros(1).retain == nil, 'tensors have it')]],
  },
  {
    'internal modules in package.loaded and by require',
    [[
    for name in pairs(package.loaded) do
      check(not tostring(name):find '^torch%.' or name == 'torch.storage', name)
    end
    for name in ('core class define objects records serialization pointers complex atomic accessors restricted'):gmatch '%a+' do
      check(not pcall(require, 'torch.' .. name), name)
    end]],
  },
  {
    'opening the library once more',
    [[
    for _, name in ipairs { 'torch', 'torch.storage', 'torch.core' } do package.loaded[name] = nil end
    local found, again = pcall(require, 'torch.storage')
    refused(NOT, function() return found and again.load '/etc/passwd' or error(again, 0) end)]],
  },
  {
    'opening the library in the C way',
    [[
    local tried = 0
    for pattern in package.cpath:gmatch '[^;]+' do
      local open = package.loadlib(pattern:gsub('%?', 'torch/core'), 'luaopen_torch_core')
      if open then refused(NOT, open) tried = tried + 1 end
    end
    check(tried > 0, 'the library was not found')]],
    in_c = true,
  },
  {
    'a host that opens it again without restrictions',
    [[
    refused('open in this Lua state', host.reopen, false)
    refused(NOT, torch.load, '/etc/passwd')]],
  },
  {
    'functions of LuaJIT that read memory',
    [[
    for _, name in ipairs { 'ffi', 'string.buffer', 'jit.util', 'jit.profile' } do
      refused('not found', require, name)
      check(package.loaded[name] == nil and package.preload[name] == nil, name)
    end
    check(not jit or jit.attach == nil and jit.util == nil, 'functions of jit')]],
  },
  {
    'missing functions of torch',
    [[
    rawset(torch, 'load', nil)
    refused('nil value', function() return torch.load '/etc/passwd' end)
    check(getmetatable(torch).__index(torch, 'load') == nil, 'it came back')]],
  },
  {
    'coroutines',
    [[
    local run = coroutine.wrap(function()
      refused(NOT, torch.load, '/etc/passwd')
      refused(NOT, torch.FloatStorage, '/etc/passwd')
      refused(MEMORY, torch.FloatStorage, 1e9)
      coroutine.yield()
      refused(HIDDEN, torch.FloatStorage, 4, host.light)
    end)
    run() run()
    refused(NOT, coroutine.wrap(torch.load), '/etc/passwd')]],
  },
  {
    'classes of metatables',
    [[
    refused(NOT, torch.setmetatable, {}, 'torch.FloatStorage')
    refused(NOT, torch.metatype, 'x', getmetatable(''))
    refused(NOT, torch.newmetatable, 'x')
    refused('defined already', torch.class, 'torch.FloatStorage')
    refused('defined already', torch.class, 'torch.FloatTensor', {})]],
  },
  {
    'objects of torch.factory',
    [[
    for name in pairs(classes) do
      local make = torch.factory('torch.' .. name)
      local s = make and make('/etc/passwd', true) or {}
      check(#s == 0, name)
      refused(NOT, s.fromfile or torch.load, '/etc/passwd')
    end]],
  },
  -- Values that pretend ----------------------------------------------------------------------------------------------------
  {
    'tables with the metatable of a class',
    [[
    local s = setmetatable({}, { __index = torch.FloatStorage(1) })
    for name, class in pairs(classes) do
      local metatable = getmetatable(class)
      refused('expected', metatable.get, {}, 1)
      refused('expected', metatable.set, 5, 1, 1)
      refused('expected', metatable.fill, s, 1)
      refused('', metatable.__index, newproxy and newproxy(true) or {}, 1)
      pcall(metatable.__gc, {})
      local ok, fake = pcall(setmetatable, {}, metatable)
      if ok then refused('', function() return fake[1] + 1 end) end
    end]],
  },
  {
    'userdata that show the metatable of a class',
    [[
    local proxy = newproxy and newproxy(true)
    if proxy then
      for name, class in pairs(classes) do
        local metatable = getmetatable(class)
        if pcall(function() getmetatable(proxy).__metatable = metatable end) then
          for i = 1, 100 do refused('', metatable.get, proxy, 1) refused('', metatable.set, proxy, 1, 1) end
        end
        break
      end
    end
    refused('expected', torch.FloatStorage(1).get, proxy or host.light, 1)]],
  },
  {
    'finalizers that are called by hand',
    [[
    local s, x = torch.FloatStorage(4), torch.zeros(4)
    getmetatable(s).__gc(s) getmetatable(s).__gc(s)
    refused('', function() return s[1] + 1 end)
    refused('', s.resize, s, 8)
    getmetatable(x).__gc(x)
    refused('', function() return x[1] + 1 end)
    getmetatable(host.lent).__gc(host.lent)
    refused('', function() host.lent[1] = 1 end)]],
  },
  {
    'metatables without their metamethods',
    [[
    local metatable = getmetatable(torch.FloatStorage)
    for key in pairs(metatable) do rawset(metatable, key, nil) end
    check(torch.FloatStorage(4)[1] == 0 and #torch.FloatStorage(4) == 4, 'an element')
    refused(NOT, torch.FloatStorage, '/etc/passwd')
    refused(MEMORY, torch.FloatStorage, 1e9)]],
  },
  {
    'classes whose finalizer is taken away',
    [[
    local lists = { { classes, function(class) return class { 1, 0, 1 } end }, { tensors, function(class) return class(3) end } }
    local rawset, getmetatable, setmetatable = rawset, getmetatable, setmetatable
    local function attack(t, key)
      pcall(function() t[key] = nil end)
      pcall(function() t[key] = function() KEPT = true end end)
      pcall(rawset, t, key, nil)
    end
    for n, list in ipairs(lists) do
      for name, class in pairs(list[1]) do
        local object = list[2](class)
        local shown = getmetatable(object)
        for _, t in ipairs { class, getmetatable(class), shown, torch.getmetatable('torch.' .. name), torch.getconstructortable('torch.' .. name) } do
          for _, key in ipairs { '__gc', '__close', '__metatable' } do attack(t, key) end
        end
        pcall(torch.newmetatable, 'torch.' .. name, nil, nil, function() KEPT = true end)
        pcall(setmetatable, object, {})
        torch.accessors('c')
        check(rawequal(getmetatable(list[2](class)), shown), 'another metatable')
      end
    end
    local before = host.used()
    local s = torch.FloatStorage(1e5)
    local views = { s:sub(1, 2), s:view(10, 10, 1000), s:view 'uint8', torch.frombuffer(s) }
    s:free()
    s = nil
    check(host.used() >= before + 4e5, 'the views do not keep the memory')
    views = nil
    collectgarbage() collectgarbage()
    check(host.used() <= before, 'views are never freed: ' .. host.used() - before .. ' bytes')
    for n = 1, 100 do local t, u = torch.FloatStorage(1e5), torch.zeros(1e5) end
    collectgarbage() collectgarbage()
    check(host.used() <= before and not KEPT, 'storages are never freed')]],
  },
  {
    'functions that a script puts into the metatable that it sees',
    [[
    local s, x, caught = torch.FloatStorage { 1, 2, 3 }, torch.FloatTensor { 4 }
    local function catch(...) caught = { ... } end
    for _, object in ipairs { s, x } do
      for _, name in ipairs { '__gc', '__close', '__index', '__newindex', '__len', '__eq', '__tostring', '__add', '__call' } do
        getmetatable(object)[name] = catch
      end
    end
    check(s[1] == 1 and #s == 3 and x[1] == 4, 'an element')
    s, x = nil, nil
    collectgarbage() collectgarbage()
    check(caught == nil, 'an object that was collected')
    torch.FloatStorage.twice = function(s) return s[2] * 2 end
    check(torch.FloatStorage({ 1, 2 }):twice() == 4, 'a method of the script')]],
  },
}

return attacks
