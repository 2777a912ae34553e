-- Access to elements of tensors through C and in compiled code: the same results, bytes and errors for every index and value.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

-- PUC Lua has only one of the two.
if not support.luajit then
  describe('access to elements of tensors on PUC Lua', function()
    it('works through C', function()
      local x = torch.IntTensor(2, 3)
      assert.equal('c', torch.accessors())
      assert.equal(7, x:set(2, 3, 7)[{ 2, 3 }])
      assert.matches('out of range', support.failure(x.get, x, 3, 1), 1, true)
    end)
  end)
  return
end

local ffi, jit = require 'ffi', rawget(_G, 'jit')
local compiles = jit.status()
local before = torch.accessors()

-- The ways to call: who accesses the element, and whether LuaJIT compiles the code.
local WAYS = { { 'c', false }, { 'ffi', false } }
if compiles then
  WAYS[3] = { 'ffi', true }
end

local compiled = 0
local function count(event)
  compiled = compiled + (event == 'stop' and 1 or 0)
end

local function way(accessors, jitted)
  torch.accessors(accessors)
  jit.flush()
  jit[jitted and 'on' or 'off']()
end

local EVERY = { unpack(types.NUMBERS) }
for _, T in ipairs(types.COMPLEX) do
  EVERY[#EVERY + 1] = T
end

-- Tensors of each form. The storage has more elements than the tensor, and every element differs from its neighbours.
local function storage_of(T)
  local s = torch[T .. 'Storage'](60)
  for i = 1, #s do
    s[i] = i
  end
  return s
end
local FORMS = {
  ['one dimension'] = function(class, s)
    return class(s, 3, { 5 })
  end,
  ['two dimensions'] = function(class, s)
    return class(s, 3, { 5, 4 })
  end,
  ['three dimensions'] = function(class, s)
    return class(s, 3, { 5, 4, 2 })
  end,
  ['four dimensions'] = function(class, s)
    return class(s, 3, { 5, 2, 1, 4 })
  end,
  ['five dimensions'] = function(class, s)
    return class(s, 3, { 5, 2, 1, 1, 2 })
  end,
  ['a transposed one'] = function(class, s)
    return class(s, 1, { 4, 5 }):t()
  end,
  ['negative strides'] = function(class, s)
    return class(s, 40, { 5, 3 }, { -7, -2 })
  end,
  ['stride 0'] = function(class, s)
    return class(s, 7, { 5, 4 }, { 0, 3 })
  end,
  ['no elements'] = function(class, s)
    return class(s, 2, { 5, 0 })
  end,
  ['no dimension'] = function(class, s)
    return class(s, 2, { 1 }):view(torch.LongStorage())
  end,
  ['a storage that shrank'] = function(class, s)
    local x = class(s, 3, { 5, 4 })
    s:resize(12)
    return x
  end,
  ['a storage that lacks the last element'] = function(class, s)
    local x = class(s, 3, { 5 })
    s:resize(6)
    return x
  end,
  ['a storage without elements'] = function(class, s)
    local x = class(s, 3, { 5 })
    s:resize(0)
    return x
  end,
  ['a storage that moved'] = function(class, s)
    local x = class(s, 3, { 5, 4 })
    s:resize(100000)
    return x
  end,
  ['a read-only storage'] = function(class, s)
    local name = os.tmpname()
    support.spit(name, s:string())
    local x = class(torch.getmetatable(torch.typename(s)).new { filename = name }, 3, { 5, 4 })
    os.remove(name)
    return x
  end,
  ['a collected one'] = function(class, s)
    local x = class(s, 3, { 5, 4 })
    getmetatable(x).__gc(x)
    return x
  end,
}

-- The indices that are tried instead of a right one.
local INDICES = {
  1,
  2,
  5,
  0,
  -1,
  -5,
  -6,
  6,
  1.5,
  0.5,
  5.999,
  2 ^ 31,
  -2 ^ 31,
  2 ^ 32 + 1,
  2 ^ 53,
  1e300,
  0 / 0,
  1 / 0,
  -1 / 0,
  '1',
  'x',
  'size',
  'nothing',
  true,
  {},
  { 1 },
  { 2, 3 },
  { 1, 1, 1 },
  print,
  io.stdout,
}
for _, value in ipairs { ffi.cast('int64_t', 1), ffi.cast('uint64_t', 2), ffi.new 'int[1]', ffi.cast('void *', 0) } do
  INDICES[#INDICES + 1] = value
end
INDICES.n = #INDICES + 1 -- the last one is nil
local VALUES = { 1, 0, -1.5, 200.7, 1e10, -1e300, 0 / 0, 1 / 0, '5', true, {}, { 1, 2 }, { re = 1, im = 2 } }
VALUES.n = #VALUES + 1

local PROGRAMS = {
  { 'get 1', 'return x:get(i)' },
  { 'get 2', 'return x:get(i, 2)' },
  { 'get 2, swapped', 'return x:get(2, i)' },
  { 'get 2 and nil', 'return x:get(1, 2, nil)' },
  { 'get 3', 'return x:get(1, i, 2)' },
  { 'get 4', 'return x:get(1, 2, i, 4)' },
  { 'get 5', 'return x:get(1, 2, 1, i, 1)' },
  { 'get nothing', 'return x:get()' },
  { 'index', 'return x[i]' },
  { 'list 2', 'return x[{ i, 2 }]' },
  { 'list 3', 'return x[{ 1, i, 2 }]' },
  { 'list 4', 'return x[{ 1, 2, 1, i }]' },
  { 'list 5', 'return x[{ 1, 2, 1, 1, i }]' },
  { 'shape', 'return x:dim(), x:nElement(), x:size(i)' },
}
local STORES = {
  { 'set 1', 'return x:set(i, v)' },
  { 'set 2', 'return x:set(i, 2, v)' },
  { 'set 2, parts', 'return x:set(i, 2, v, 3)' },
  { 'set 3', 'return x:set(1, i, 2, v)' },
  { 'set 4', 'return x:set(1, 2, i, 4, v)' },
  { 'set 5', 'return x:set(1, 2, 1, i, 1, v)' },
  { 'newindex', 'x[i] = v' },
  { 'list 2 =', 'x[{ i, 2 }] = v' },
  { 'list 3 =', 'x[{ 1, i, 2 }] = v' },
  { 'list 4 =', 'x[{ 1, 2, 1, i }] = v' },
}

-- The results as text: numbers with their sign, views with their contents.
local function show(x, ok, ...)
  local texts = { ok and 'returns' or 'fails' }
  for n = 1, select('#', ...) do
    local r = select(n, ...)
    if rawequal(r, x) then
      r = 'self'
    elseif type(r) == 'number' then
      r = r ~= r and 'nan' or ('%.17g %s'):format(r, 1 / r < 0 and '-' or '+')
    elseif torch.isTensor(r) then
      local good, sizes = pcall(function()
        return table.concat(r:size():totable(), 'x') .. ' at ' .. r:storageOffset()
      end)
      r = 'view ' .. tostring(good and sizes)
    elseif type(r) == 'cdata' and tostring(r):find '^%d' then
      r = tostring(r)
    elseif type(r) == 'table' and r.re then
      r = r.re .. '+' .. r.im
    elseif type(r) == 'string' then
      r = r:gsub('0x%x+', 'ADDRESS')
    else
      r = type(r)
    end
    texts[#texts + 1] = r
  end
  return table.concat(texts, ' ')
end

-- Runs a program in a loop, in which the index and the value are right until the last passes.
local LOOP = [[
  local x, index, value, good = ...
  local pcall = pcall
  local function f(x, i, v) %s end
  for n = 1, 9 do
    local i, v = good, 1
    if n > 6 then i, v = index, value end
    if n == 9 then return pcall(f, x, i, v) end
    pcall(f, x, i, v)
  end
]]

describe('access to elements of tensors #slow', function()
  local start

  setup(function()
    jit.attach(count, 'trace')
    jit.opt.start('hotloop=2', 'hotexit=2')
  end)
  teardown(function()
    jit.attach(count)
    jit.opt.start('hotloop=56', 'hotexit=10')
    way(before, compiles)
  end)
  before_each(function()
    start = compiled
  end)

  local function check(T, name, form, program, values)
    for n = 1, INDICES.n do
      for m = 1, values.n do
        local first, bytes
        for _, chosen in ipairs(WAYS) do
          torch.accessors 'c'
          local s = storage_of(T)
          local x = form(torch[T .. 'Tensor'], s)
          way(unpack(chosen))
          local text = show(x, assert(loadstring(LOOP:format(program[2])))(x, INDICES[n], values[m], 2))
          way('c', false)
          first, bytes = first or text, bytes or s:string()
          local what = ('%s of %s of %s, index %s, value %s'):format(
            program[1],
            T,
            name,
            tostring(INDICES[n]),
            tostring(values[m])
          )
          assert.equal(first, text, what)
          assert.is_true(bytes == s:string(), what)
        end
      end
    end
  end

  -- All forms for two classes (one of them is stored as integers of 32 bits), and two forms for every class.
  for name, form in pairs(FORMS) do
    it('is the same in every way, for ' .. name, function()
      for _, T in ipairs(support.some(2, { 'Double', 'Float' })) do
        for _, program in ipairs(PROGRAMS) do
          check(T, name, form, program, { 1, n = 1 })
        end
        for _, program in ipairs(STORES) do
          check(T, name, form, program, { -1.5, n = 1 })
        end
      end
      assert.is_true(not compiles or compiled > start, 'nothing was compiled')
    end)
  end
  for _, T in ipairs(support.some(5, EVERY)) do
    it('is the same in every way, for a ' .. T, function()
      local indices = INDICES
      INDICES = { 1, 3, -1, n = 3 }
      for _, name in ipairs { 'one dimension', 'two dimensions' } do
        for _, program in ipairs(PROGRAMS) do
          check(T, name, FORMS[name], program, { 1, n = 1 })
        end
        for _, program in ipairs(STORES) do
          check(T, name, FORMS[name], program, VALUES)
        end
      end
      INDICES = indices
      assert.is_true(not compiles or compiled > start, 'nothing was compiled')
    end)
  end
end)
