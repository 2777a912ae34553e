-- Makes random calls with tensors from a seed: `lua spec/support/random_tensors.lua SEED COUNT`. As a module it returns the
-- function. A call may raise a string. A crash, any other error, or a tensor whose elements are not those that its sizes, strides
-- and offset name is a failure.
local torch = require 'torch'
local generator = require 'spec.support.generator'
local TYPES = require('spec.support.types').ALL
local has_ffi, ffi = pcall(require, 'ffi')

local function classes_of(kind)
  local list = {}
  for _, name in ipairs(TYPES) do
    list[#list + 1] = torch[name .. kind]
  end
  return list
end

-- Compares all elements of a small tensor with those of its storage.
local function check(x)
  if x:dim() > 8 or x:nElement() > 2000 or x:nElement() == 0 or not x:storage() then
    return
  end
  local sizes, strides, s = x:size():totable(), x:stride():totable(), x:storage()
  local function walk(dimension, index, indices)
    if dimension > #sizes then
      local fits = index >= 1 and index <= #s
      local ok, a, b = pcall(x.get, x, unpack(indices))
      if ok then
        assert(fits, 'an element outside of its storage was read')
        local c, d = s:get(index)
        assert((a == c or a ~= a and c ~= c) and (b == d or b ~= b and d ~= d), 'another element was read')
      elseif type(a) == 'string' and not a:find 'of its storage, which has' then
        error(a)
      end
      return
    end
    for i = 1, sizes[dimension] do
      indices[dimension] = i
      walk(dimension + 1, index + (i - 1) * strides[dimension], indices)
    end
  end
  walk(1, x:storageOffset(), {})
end

local function run(seed, count)
  local random = generator(seed)
  local storages, tensors = classes_of 'Storage', classes_of 'Tensor'
  local pool, slots = {}, 24
  for i = 1, slots do
    pool[i] = torch.IntTensor(random(4), random(4))
  end

  local odd = {
    0 / 0,
    1 / 0,
    -1 / 0,
    0.5,
    2 ^ 31,
    2 ^ 53,
    2 ^ 63,
    -2 ^ 63,
    '',
    '1',
    'abc',
    true,
    {},
    print,
    io.stdout,
    newproxy(true),
    torch.IntTensor,
    torch.IntStorage,
    getmetatable(pool[1]),
    torch.LongStorage { 2, 2 },
    torch.LongStorage(70):fill(1),
    { 1, 2, 3 },
    { 'x' },
    { 1, {} },
    { {}, 1 },
    { { 1, 2 }, 1 },
    { { -2, -1 }, {} },
    { { 1, 2 }, { 3, 4 } },
    { { 1 }, { 2, 3 } },
    { re = 1, im = 2 },
    'torch.FloatTensor',
    'float64',
    'torch.NoTensor',
  }
  if has_ffi then
    for _, value in ipairs {
      ffi.new('int64_t', 2),
      ffi.new('uint64_t', 3),
      ffi.new('int64_t', -1),
      ffi.new 'int[16]',
      ffi.cast('uint64_t', -1),
      ffi.new('complex', 1, -2),
      ffi.typeof 'complex',
    } do
      odd[#odd + 1] = value
    end
  end

  local function tensor()
    return pool[random(slots)]
  end
  local function number()
    local which = random(12)
    if which <= 10 then
      return random(5)
    elseif which == 11 then
      return random(12) - 6
    end
    return odd[random(8)]
  end
  local function value()
    local which = random(10)
    if which <= 6 then
      return number()
    elseif which == 7 then
      return tensor()
    elseif which == 8 then
      return tensor():storage()
    elseif which == 9 then
      return odd[random(#odd)]
    end
    return nil
  end

  local methods = {}
  for name, method in pairs(getmetatable(pool[1])) do
    -- A token that nobody takes keeps its storage for ever.
    if type(method) == 'function' and name ~= 'token' then
      methods[#methods + 1] = name
    end
  end
  table.sort(methods)

  -- The key of an element or a part, in one of its forms.
  local function key()
    local which = random(4)
    if which == 1 then
      return number()
    elseif which == 2 then
      return { number(), number() }
    elseif which == 3 then
      return { { number(), number() }, random(2) == 1 and number() or {}, {} }
    end
    return value()
  end

  local actions = {
    function()
      return tensors[random(#tensors)](random(4), random(4), random(3))
    end,
    function()
      return tensors[random(#tensors)](value(), value(), value(), value())
    end,
    function()
      local s = storages[random(#storages)](random(40))
      for i = 1, #s do
        s:set(i, i)
      end
      return s:view(-1)
    end,
    function()
      local class = random(#tensors)
      local s = storages[class](60)
      local sizes, strides = {}, {}
      for d = 1, random(4) do
        sizes[d], strides[d] = random(4) - (random(9) == 1 and 1 or 0), random(9) - 3
      end
      return tensors[class](s, random(40), sizes, strides)
    end,
    function()
      local x = tensor()
      return x[methods[random(#methods)]](x, value(), value(), value())
    end,
    function()
      local x = tensor()
      return x[methods[random(#methods)]](x, number(), number(), number())
    end,
    function()
      return tensor()[methods[random(#methods)]](value(), value(), value())
    end,
    function()
      local x = tensor()
      return x:narrow(random(x:dim()), random(2), random(2))
    end,
    function()
      local x = tensor()
      return x:transpose(random(x:dim()), -random(x:dim()))
    end,
    function()
      return tensor():view(number(), -1)
    end,
    function()
      return tensor()[key()]
    end,
    function()
      tensor()[key()] = value()
    end,
    function()
      local x = tensor()
      x:set(number(), number(), number())
      return x:get(number(), number())
    end,
    function()
      return tensor():copy(tensor())
    end,
    function()
      local x = tensor()
      return tensors[random(#tensors)](x:size()):copy(x)
    end,
    function()
      tensor():storage():resize(random(60) - 1)
    end,
    function()
      tensor():storage():free()
    end,
    function()
      return torch.fromToken(tensor():token())
    end,
    function()
      return torch.frombuffer(tensor(), { dtype = 'uint8' }):view(-1)
    end,
    function()
      return torch.deserialize(torch.serialize(tensor()))
    end,
    function()
      return tostring(tensor())
    end,
  }

  for call = 1, count do
    local action = random(#actions)
    local ok, result = pcall(actions[action])
    if not ok and type(result) ~= 'string' then
      error(('seed %d, call %d: the error is a %s'):format(seed, call, type(result)))
    end
    if ok and type(result) == 'table' and torch.isTensor(result[1]) then
      result = result[random(#result)]
    end
    if ok and torch.isTensor(result) then
      local alive, elements = pcall(result.nElement, result)
      if alive and elements <= 1e5 then
        check(result)
        pool[random(slots)] = result
      end
    end
    if call % 64 == 0 then
      local alive = pcall(tensor().dim, tensor())
      if not alive or random(20) == 1 then
        pool[random(slots)] = torch.IntTensor(random(4), random(4))
      end
    end
  end
  return count
end

if arg and arg[0] and arg[0]:find 'random_tensors%.lua$' then
  print('done', run(tonumber(arg[1]), tonumber(arg[2])))
end
return run
