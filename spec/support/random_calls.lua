-- Makes random calls of the whole API from a seed: `lua spec/support/random_calls.lua SEED COUNT`. As a module it returns the
-- function. A call may raise a string. A crash, any other error, or a storage that contradicts itself is a failure.
local torch = require 'torch'
local TYPES = require('spec.support.types').ALL
local generator = require 'spec.support.generator'
local has_ffi, ffi = pcall(require, 'ffi')

local function run(seed, count)
  local random = generator(seed)
  local directory = os.tmpname()
  os.remove(directory)
  local files = { directory .. '.a', directory .. '.b' }
  local file = assert(io.open(files[1], 'wb'))
  file:write(('0123456789abcdef'):rep(64))
  file:close()

  -- The storages by index; nil where there is none. Freed ones stay until they are replaced.
  local pool, slots = {}, 24
  for i = 1, slots do
    pool[i] = torch.IntStorage(i)
  end

  local odd = {
    0 / 0,
    1 / 0,
    -1 / 0,
    0 / -1,
    -1,
    0.5,
    2 ^ 50,
    2 ^ 53,
    2 ^ 61 + 512,
    2 ^ 62,
    2 ^ 63,
    -2 ^ 63,
    1e300,
    '',
    '1',
    '0x10',
    'abc',
    ' 7 ',
    true,
    false,
    {},
    print,
    io.stdout,
    newproxy(true),
    coroutine.create(function() end),
    torch.IntStorage,
    getmetatable(pool[1]),
    { 1, 2, 3 },
    { 'x' },
    { 1, {} },
    { 3, -4 },
    { re = 1, im = 0 / 0 },
    { { 1, 2 }, { re = 0, im = 1 }, 5 },
    files[1],
    files[2],
    '/nowhere/%s%n',
    'a\0b',
    'torch.FloatStorage',
    'torch.NoStorage',
  }
  if has_ffi then
    for _, value in ipairs {
      ffi.new('int64_t', 2),
      ffi.new('uint64_t', 3),
      ffi.new('int64_t', -1),
      ffi.new 'int[16]',
      ffi.new 'struct { int x; }',
      ffi.cast('int *', ffi.new 'int[1]' + 0) and ffi.cast('int *', nil),
      ffi.cast('uint64_t', -1),
      ffi.new('complex', 1, -2),
      ffi.new('complex float', 3, 4),
      ffi.typeof 'complex',
    } do
      odd[#odd + 1] = value
    end
  end

  -- Numbers between those that fit and those that are refused are left out: they would only fill the memory of the machine.
  local function number()
    local which = random(8)
    if which <= 5 then
      return random(40) - 4
    elseif which == 6 then
      return random(4096)
    end
    return odd[random(13)]
  end

  local function storage()
    return pool[random(slots)]
  end

  local function value()
    local which = random(6)
    if which <= 3 then
      return number()
    elseif which == 4 then
      return storage()
    elseif which == 5 then
      return odd[random(#odd)]
    end
    return nil
  end

  local methods = {}
  for name, method in pairs(getmetatable(torch.ByteStorage())) do
    -- Excluded: a token that nobody takes keeps its storage for ever.
    if type(method) == 'function' and name ~= 'new' and name ~= 'fromfile' and name ~= 'token' then
      methods[#methods + 1] = name
    end
  end
  table.sort(methods)
  -- Functions that take addresses are excluded: random addresses break their contract.
  local functions =
    { 'isStorage', 'isTensor', 'isTypeOf', 'isequal', 'typename', 'type', 'pointer', 'version', 'totable', 'factory' }
  local classes = {}
  for i, name in ipairs(TYPES) do
    classes[i] = torch[name .. 'Storage']
  end

  local shared = directory:match '[^/]+$'
  local tokens, names = {}, { 'a' .. directory, 'b' .. directory }
  local function flag()
    return random(2) == 1 or nil
  end

  local actions = {
    function()
      -- A number as second argument would be an address, and so would an int64: both break the contract.
      local second = value()
      if (tonumber(second) or 0) >= 65536 or type(second) == 'cdata' then
        second = nil
      end
      -- A shared map creates its file, so only names in the directory that this test removes are used.
      local first = value()
      if type(first) == 'string' and not first:find '^/' then
        second = nil
      end
      return classes[random(#classes)](first, second, value())
    end,
    function()
      return classes[random(#classes)](random(64))
    end,
    function()
      local s = storage()
      return classes[random(#classes)].new(s, random(20), random(20))
    end,
    function()
      local s = storage()
      return s:new(random(20), random(20))
    end,
    function()
      return classes[random(#classes)](files[random(2)], random(2) == 1, random(300))
    end,
    function()
      local s = storage()
      return s[methods[random(#methods)]](s, value(), value())
    end,
    function()
      return storage()[methods[random(#methods)]](value(), value(), value())
    end,
    function()
      return torch[functions[random(#functions)]](value(), value())
    end,
    function()
      storage()[value()] = value()
    end,
    function()
      return storage()[value()]
    end,
    function()
      local s = storage()
      s[random(#s)] = number()
      return s[random(#s)]
    end,
    function()
      return storage():copy(storage())
    end,
    function()
      local s = storage()
      return classes[random(#classes)](#s):copy(s)
    end,
    function()
      local s = storage()
      s:retain()
      return torch.pushudata(torch.pointer(s), s:type())
    end,
    function()
      return storage():resize(random(100))
    end,
    function()
      return storage() == storage()
    end,
    function()
      return classes[random(#classes)](shared .. random(3), true, random(300) - 1, true)
    end,
    function()
      return classes[random(#classes)] {
        filename = files[random(2)],
        offset = random(2) == 1 and number() or nil,
        size = random(2) == 1 and random(100) or nil,
        shared = flag(),
        readonly = flag(),
        advise = flag() and 'random',
      }
    end,
    function()
      return storage():shareMemory()
    end,
    function()
      local slot = random(4)
      pcall(torch.dropToken, tokens[slot])
      tokens[slot] = storage():token()
    end,
    function()
      return torch.fromToken(tokens[random(4)] or value())
    end,
    function()
      return torch.publish(names[random(2)], storage())
    end,
    function()
      return torch.lookup(names[random(2)])
    end,
    function()
      return torch.unpublish(names[random(2)])
    end,
  }
  if has_ffi then
    actions[#actions + 1] = function()
      return torch.IntStorage(random(16), ffi.new('int[16]'))
    end
  end

  for call = 1, count do
    local ok, result = pcall(actions[random(#actions)])
    if not ok and type(result) ~= 'string' then
      error(('seed %d, call %d: the error is a %s'):format(seed, call, type(result)))
    end
    if ok and torch.isStorage(result) then
      pool[random(slots)] = result
    end
    if call % 64 == 0 then
      local s = storage()
      local alive, size = pcall(s.size, s)
      if alive and size <= 4096 then
        assert(s:nbytes() == size * s:elementSize())
        assert(#s:totable() == size)
        assert(s:clone():nbytes() == s:nbytes())
      end
      if torch.memory().heap > 2 ^ 28 then
        pool[random(slots)] = torch.IntStorage(1)
      end
    end
  end
  for _, name in ipairs(names) do
    torch.unpublish(name)
  end
  for _, token in pairs(tokens) do
    pcall(torch.dropToken, token)
  end
  os.remove(files[1])
  os.remove(files[2])
  return count
end

if arg and arg[0] and arg[0]:find 'random_calls%.lua$' then
  print('done', run(tonumber(arg[1]), tonumber(arg[2])))
end
return run
