-- More attacks on a restricted Lua state, in the form of attacks.lua: by using what is allowed, in amounts and ways that
-- nobody expects.
local list = {
  -- Memory of the host -----------------------------------------------------------------------------------------------------
  {
    'memory that the host lends',
    [[
    refused('resizable', host.lent.resize, host.lent, 1000)
    refused('resizable', host.lent.reserve, host.lent, 1000)
    refused('out of range', function() host.lent[17] = 1 end)
    refused('out of range', host.lent.get, host.lent, 0)
    refused('', torch.FloatStorage, host.lent, 1, 17)
    refused('', torch.FloatStorage, host.lent, 18)
    refused('', host.lent.view, host.lent, 'torch.DoubleStorage', 9)]],
  },
  {
    'memory that the host lends read-only',
    [[
    local views = { host.constant, host.constant:sub(1, 4), host.constant:view 'uint8', torch.frombuffer(host.constant) }
    for _, s in ipairs(views) do
      refused('read-only', s.fill, s, 1)
      refused('read-only', s.byteswap, s)
      refused('read-only', function() s[1] = 1 end)
    end
    local x = host.constant:view(4, 4)
    refused('read-only', x.fill, x, 1)
    refused('read-only', x:t().copy, x:t(), torch.FloatTensor(4, 4):zero())
    refused('read-only', host.constant.sort, host.constant)
    refused('read-only', torch.atomic.add, host.constant:view 'int32', 1, 1)
    check(host.constant[2] == 0, 'it was written')]],
  },
  {
    'tensors that reach beyond their storage',
    [[
    local s = torch.FloatStorage(6)
    local x = s:view(2, 3)
    refused('', s.view, s, 2, 4)
    refused('', torch.FloatTensor, s, 1, torch.LongStorage { 7 }, torch.LongStorage { 1 })
    refused('', torch.FloatTensor, s, 1, torch.LongStorage { 2, 2 }, torch.LongStorage { 1e18, 1e18 })
    refused('', torch.FloatTensor, s, 1, torch.LongStorage { 2 }, torch.LongStorage { -1 })
    refused('', x.narrow, x, 1, 2, 2)
    refused('', x.select, x, 1, 3)
    refused('', x.expand, x, 2, 7)
    refused('', x.unfold, x, 2, 4, 1)
    refused('', x.get, x, 3, 1)
    s:resize(2)
    refused('', function() return x[2][3] + 0 end)
    refused('', x.fill, x, 1)]],
  },
  -- Amounts ----------------------------------------------------------------------------------------------------------------
  {
    'operations that never end',
    [[
    local endless = torch.DoubleTensor(1):zero():expand(2 ^ 44)
    for _, name in ipairs { 'sum', 'mean', 'var', 'std', 'norm', 'min', 'max', 'argmin', 'argmax', 'any', 'nonzero' } do
      host.deadline(0.05)
      refused(host.late, endless[name], endless)
    end
    host.deadline(0.05)
    refused(host.late, endless.count, endless, 1)
    for _, name in ipairs { 'split', 'chunk' } do
      host.deadline(0.05)
      refused(host.late, endless[name], endless, 2 ^ 22)
    end
    host.deadline(60)]],
  },
  {
    'huge sizes',
    [[
    for name, class in pairs(classes) do
      for _, size in ipairs { 1e8, 2 ^ 40, 2 ^ 53, 1e18, 2 ^ 63, 2 ^ 64, 1e300, math.huge, -1, 0 / 0 } do refused('', class, size) end
    end
    refused('', torch.zeros, 1e9, 1e9, 1e9)
    refused(MEMORY, torch.zeros, 3000, 3000)
    refused(MEMORY, torch.range, 1, 1e9)
    refused(MEMORY, torch.linspace, 0, 1, 1e9)
    check(host.used() < 1e4, host.used())]],
  },
  {
    'growing until nothing is left',
    [[
    local s, all = torch.ByteStorage(1), {}
    refused(MEMORY, function() while true do s:resize(#s * 2) end end)
    refused(MEMORY, function() while true do s:reserve(2 * #s + 1e6) s:resize(#s + 1e6) end end)
    refused(MEMORY, function() while true do all[#all + 1] = torch.DoubleStorage(1000) end end)
    check(host.used() <= 8388608, host.used())
    s, all = nil, nil
    collectgarbage() collectgarbage()
    check(host.used() < 1e4, host.used())
    check(#torch.ByteStorage(8e6) == 8e6, 'memory does not come back')]],
  },
  {
    'copies of an expansion',
    [[
    local x = torch.ByteTensor(1, 1):fill(1):expand(3000, 3000)
    refused(MEMORY, x.clone, x)
    refused(MEMORY, x.contiguous, x)
    refused(MEMORY, x.double, x)
    refused(MEMORY, x.nonzero, x)
    refused(MEMORY, x.maskedSelect, x, x)
    refused(MEMORY, x.cat, x, x, 1)
    refused(MEMORY, torch.cat, { x, x })
    refused(MEMORY, x.sort, x)
    refused(MEMORY, x.index, x, 1, torch.LongStorage(3000):fill(1))
    check(host.used() < 5e4, host.used())]],
  },
  {
    'a text of many views of one storage',
    [[
    local s, list = torch.ByteStorage(1e6), {}
    for i = 1, 1000 do list[i] = s:sub(1, -1) end
    refused(MEMORY, torch.serialize, list)
    refused(MEMORY, torch.serializeToStorage, list)
    check(host.used() < 1.1e6, host.used())]],
  },
  {
    'garbage of operations that fail',
    [[
    for i = 1, 200 do
      pcall(torch.FloatStorage, { 1, 2, {} })
      pcall(torch.cat, { torch.zeros(1000), torch.zeros(10, 10) })
      pcall(torch.deserialize, torch.serialize(torch.zeros(1000)):sub(1, -2))
    end
    collectgarbage() collectgarbage()
    refused(MEMORY, torch.ByteStorage, 9e6)
    check(host.used() < 1e4, host.used())]],
  },
  {
    'a text that announces more than it has',
    [[
    local text = torch.serialize(torch.ByteStorage(16))
    refused('', torch.deserialize, '')
    refused('', torch.deserialize, ('\255'):rep(100))
    for i = 1, #text do pcall(torch.deserialize, text:sub(1, i - 1) .. '\255\127\255\127' .. text:sub(i)) end
    refused('', torch.deserialize, text:sub(1, -2))
    refused('', torch.deserialize, text, 'ascii')
    check(host.used() < 1e6, host.used())]],
  },
  {
    'a text in which tables are nested',
    [[
    local object = {}
    for i = 1, 1e5 do object = { object } end
    local ok, text = pcall(torch.serialize, object)
    if ok then pcall(torch.deserialize, text) end
    local parts = {}
    for i = 1, 1e5 do
      parts[i] = ('\3\0\0\0%s\1\0\0\0'):format(string.char(i % 256, math.floor(i / 256) % 256, math.floor(i / 65536), 0))
    end
    refused('', torch.deserialize, table.concat(parts))
    refused(MEMORY, torch.FloatStorage, 1e9)]],
  },
  {
    'byte code in a text',
    [[
    local record = torch.record { class = 'function', tag = 8, code = '\27Lua restricted' }
    local back = torch.deserialize(torch.serialize(record))
    check(type(back) == 'table' and torch.isRecord(back), type(back))
    refused('attempt to call', back)]],
  },
  {
    'objects of files in a text',
    [[
    for _, name in ipairs { 'torch.DiskFile', 'torch.MemoryFile', 'torch.PipeFile', 'tds.Hash', 'torch.load', 'os.execute' } do
      local back = torch.deserialize(torch.serialize(torch.record { class = name, fields = { filename = '/etc/passwd' } }))
      check(torch.isRecord(back) and back.class == name, name)
    end
    local fields = { filename = '/etc/passwd' }
    refused('cannot be a record', torch.record, { class = 'torch.FloatStorage', fields = fields })]],
  },
  {
    'the file that methods of a class get',
    [[
    local class, kept = torch.class 'Attack', nil
    function class:write(file) kept = file file:writeInt(1) end
    function class:read(file)
      kept = file
      refused('', file.readByte, file, 1e15)
      refused('', file.readDouble, file, -1)
      refused('', file.readString, file, 2 ^ 53)
      refused('', file.readByte, {}, 1)
      check(file.filename == nil and file.close == nil, 'other fields')
      refused(NOT, torch.load, '/etc/passwd')
      refused(MEMORY, torch.FloatStorage, 1e9)
      check(getmetatable(file) == false, 'the metatable of files')
      file:readInt()
    end
    torch.deserialize(torch.serialize(Attack()))
    refused('', kept.readInt, kept)
    refused('', kept.writeInt, kept, 1)]],
  },
  {
    'the process: waiting, threads, counts',
    [[
    refused(NOT, torch.atomic.wait, torch.IntStorage(1), 1, 0)
    refused(NOT, torch.atomic.exact.wait, torch.LongStorage(1), 1, 0)
    refused(NOT, torch.setnumthreads, 64)
    refused(NOT, torch.memory)
    refused(NOT, torch.FloatStorage(1).pin, torch.FloatStorage(1))]],
  },
  {
    'atomic access outside of a storage',
    [[
    local s = torch.IntStorage(4)
    for name, f in pairs(torch.atomic) do
      if type(f) == 'function' and name ~= 'isLockFree' then
        for _, i in ipairs { 0, 5, -1, 2 ^ 53, 0 / 0 } do refused('', f, s, i, 1, 1) end
        refused('', f, {}, 1, 1, 1)
      end
    end
    refused('', torch.atomic.add, torch.IntStorage(0), 1, 1)]],
  },
  {
    'accessors',
    [[
    refused("'accessors'", torch.accessors, 'raw')
    refused("'accessors'", torch.accessors, {})
    for _, mode in ipairs(jit and torch.accessors() == 'ffi' and { 'c', 'ffi' } or { 'c' }) do
      torch.accessors(mode)
      for _, class in ipairs { torch.FloatStorage, torch.LongStorage, torch.ByteStorage } do
        local s = class(4)
        for k = 1, 200 do s[k % 4 + 1] = k end
        refused('out of range', function() for k = 1, 200 do s[k] = 7 end end)
        refused('out of range', function() local sum = 0 for k = 1, 200 do sum = sum + s[k] end end)
      end
    end]],
  },
  {
    'callbacks that free what is in use',
    [[
    local s = torch.FloatStorage(1000)
    local hostile = setmetatable({}, { __index = function() s:free() return 1 end, __len = function() s:free() return 3 end })
    pcall(torch.FloatStorage, hostile)
    pcall(s.copy, s, hostile)
    pcall(s.index, s, hostile)
    pcall(s.sort, s, hostile)
    pcall(s.sort, s, function() s:free() end)
    s:free()
    refused('', s.fill, s, 1)
    refused('', s.get, s, 1)]],
  },
}

-- Functions of Lua that a script replaces ------------------------------------------------------------------------------------

-- Makes a script that replaces functions of Lua's libraries, and uses much of the library. The functions remember what they get.
local SPY = [[
local type, pcall, pairs, ipairs, rawget, tostring, select = type, pcall, pairs, ipairs, rawget, tostring, select
local seen, on = {}, true
local function remember(value)
  if type(value) ~= 'string' and type(value) ~= 'number' and value ~= nil then seen[value] = true end
end
local function spy(old)
  return function(...)
    if on then on = false for n = 1, select('#', ...) do remember((select(n, ...))) end on = true end
    return old(...)
  end
end
local globals = {}
for name, value in pairs(_G) do
  if type(value) == 'function' and name ~= 'refused' and name ~= 'check' and name ~= 'held' then globals[name] = spy(value) end
end
for name, f in pairs(globals) do _G[name] = f end
for _, library in ipairs { string, table, math, coroutine, rawget(_G, 'bit') or {}, rawget(_G, 'utf8') or {} } do
  for name, value in pairs(library) do if type(value) == 'function' then library[name] = spy(value) end end
end
local function use()
  for name, class in pairs(classes) do
    local s = class(4)
    if name ~= 'UntypedStorage' then s[1] = 1 end
    local text = tostring(s) .. tostring(class)
    pcall(function() return s[9] end)
    pcall(class, { 1, {}, 3 })
    pcall(class, '/etc/passwd')
    pcall(function() return torch.deserialize(torch.serialize(s)) end)
    for i, v in s:iter() do end
    pcall(s.exact, s, 1)
  end
  for name, class in pairs(tensors) do
    local x = class(2, 2)
    pcall(x.zero, x)
    local text = tostring(x)
    for i, j, v in x:iter() do end
    pcall(x.get, x, 5, 5)
    pcall(function() return torch.deserialize(torch.serialize(x)) end)
  end
  local class, parent = torch.class 'Spied', torch.class('Child', 'Spied')
  function class:__index__(key) return nil, false end
  local object = Spied()
  pcall(function() return object + object, object.x, object < object, object .. 'x', object() end)
  pcall(function() return torch.deserialize(torch.serialize { object, torch.FloatStorage(1), true, 'x' }) end)
  local cuda = { class = 'torch.CudaTensor', size = { 2 }, stride = { 1 }, offset = 1, storage = torch.FloatStorage(2) }
  pcall(function() return torch.contiguous(torch.record(cuda)) end)
  pcall(function() return torch.deserialize(torch.serialize(torch.record(cuda))) end)
  for name, f in pairs(torch) do
    if type(f) == 'function' then pcall(f) pcall(f, {}) pcall(f, 'x') pcall(f, object, 'Spied') pcall(f, torch.FloatStorage(2), 1) end
  end
  local integer = jit and loadstring 'return 12LL, 1i'
  if integer then
    local i, c = integer()
    pcall(torch.type, i) pcall(torch.FloatStorage, i) pcall(torch.ComplexFloatStorage, { c, c }) pcall(torch.frombuffer, c)
  end
end
use()
on = false
]]

for _, attack in ipairs {
  {
    'functions of Lua that remember what the library passes to them',
    SPY
      .. [[
    for value in pairs(seen) do
      local of = type(value)
      check(of ~= 'table' or rawget(value, 'setclassifier') == nil and rawget(value, 'metatable') == nil, 'a table of the library')
      check(of ~= 'userdata' or torch.isStorage(value) or torch.isTensor(value) or value == host.light or getmetatable(value) == false,
        'a userdata ' .. tostring(value))
      check(of ~= 'cdata' or not tostring(value):find '^cdata<' and not tostring(value):find '^ctype<' or tostring(value):find 'int64_t'
        or tostring(value):find 'complex', tostring(value))
    end]],
  },
  {
    'functions of the library that it passes to them',
    SPY
      .. [[
    local s, tried = torch.FloatStorage { 1, 2, 3 }, 0
    local longs = torch.LongStorage
    for f in pairs(seen) do
      if type(f) == 'function' then
        tried = tried + 1
        for _, sizes in ipairs { { 7 }, { 1e6 }, { 2, 2 }, { -1 } } do
          for _, strides in ipairs { { 1 }, { 1e6 }, { -5 }, { 2 ^ 40, 1 } } do
            local ok, result = pcall(f, s, longs(sizes), longs(strides), 1)
            check(not (ok and torch.isStorage(result) and #result > 3 and result ~= s), 'elements that the storage does not have')
          end
        end
        local ok, result = pcall(f, '/etc/passwd')
        check(not ok or type(result) ~= 'string' or not result:find 'root:', 'a file')
      end
    end
    check(tried > 0, 'nothing was passed')
    refused(NOT, torch.load, '/etc/passwd')]],
  },
  {
    'functions of Lua that return other texts, before a class is used first',
    [[
    local evil = 'CAUGHT = { ... } return {}'
    local pairs, type, ipairs, rawget = pairs, type, ipairs, rawget
    for _, library in ipairs { string, table } do
      for name, f in pairs(library) do
        if type(f) == 'function' then library[name] = function() return evil, 1 end end
      end
    end
    for name in pairs { type = 1, setmetatable = 1, getmetatable = 1, pcall = 1, select = 1, rawget = 1, tostring = 1, tonumber = 1,
      loadstring = 1, load = 1, assert = 1, ipairs = 1, pairs = 1, next = 1, rawequal = 1, error = 1 } do
      if _G[name] then _G[name] = function() return evil, evil, evil end end
    end
    for k = 1, 3 do
      for _, list in pairs { classes, tensors } do
        for name, class in pairs(list) do
          local s = class(2)
          local v = s[1]
        end
      end
    end
    check(rawget(_G, 'CAUGHT') == nil, 'the library ran it')
    refused(NOT, torch.load, '/etc/passwd')
    refused(MEMORY, torch.FloatStorage, 1e9)]],
  },
  {
    'other environments of the functions of the library',
    [[
    if setfenv then
      for name, f in pairs(torch) do
        if type(f) == 'function' then
          local ok, environment = pcall(getfenv, f)
          check(not ok or environment == _G, name)
          pcall(setfenv, f, setmetatable({}, { __index = function() return function(...) LEAK = { ... } return ... end end }))
          pcall(f, '/etc/passwd') pcall(f, {}) pcall(f)
        end
      end
      check(type(rawget(_G, 'LEAK') or {}) == 'table', 'LEAK')
      for _, value in pairs(rawget(_G, 'LEAK') or {}) do check(type(value) ~= 'table' or not value.setclassifier, 'core') end
    end
    refused(NOT, torch.memory)
    refused(MEMORY, torch.FloatStorage, 1e9)]],
  },
  {
    'finalizers that make objects while the state is closed',
    [[
    local make, lent, zeros, serialize, type, setmetatable, getmetatable = torch.FloatStorage, host.lent, torch.zeros, torch.serializeToStorage, type, setmetatable, getmetatable
    local newproxy, pcall = newproxy, pcall
    local big = make(4e5)
    KEPT = {}
    local function when_closed(f)
      if newproxy then
        local object = newproxy(true)
        getmetatable(object).__gc = f
        KEPT[#KEPT + 1] = object
      else
        KEPT[#KEPT + 1] = setmetatable({}, { __gc = f })
      end
    end
    local function last(n)
      return function()
        for k = 1, 10 do
          for _, f in pairs {
            function() return make(1e4) end,
            function() return lent:sub(1, 1) end,
            function() return lent:view(4, 4) end,
            function() return big:sub(1, 2), big:view 'uint8' end,
            function() return zeros(10, 100) end,
            function() return serialize { make(10) } end,
          } do
            KEPT[#KEPT + 1] = select(2, pcall(f))
          end
        end
        if n > 0 then when_closed(last(n - 1)) end
      end
    end
    for n = 0, 5 do when_closed(last(n)) end
    check(host.used() == 1600000, 'the storage')]],
  },
  {
    'finalizers that run while the state is closed',
    [[
    local say, make = host.say, torch.FloatStorage
    local load, tostring, pcall = torch.load, tostring, pcall
    local function last()
      say('finalizer: ' .. tostring(select(2, pcall(make, 1e9))))
      say('finalizer: ' .. tostring(select(2, pcall(load, '/etc/passwd'))))
    end
    if newproxy then
      OBJECT = newproxy(true)
      getmetatable(OBJECT).__gc = last
    else
      OBJECT = setmetatable({}, { __gc = last })
    end
    KEPT = make(10)
    refused(NOT, load, '/etc/passwd')]],
    is_last = true,
  },
} do
  table.insert(list, attack)
end

return list
