-- x:iter() of tensors: iterates over the indices and elements, in row-major order.
local core = require 'torch.core'
local class = require 'torch.class'
local versions = require 'torch.versions'

local unpack = versions.unpack

-- The iterators for one, two and three dimensions call `get`, which LuaJIT compiles. A tensor has elements here.
local iterators = {
  function(x, get, size)
    local i = 0
    return function()
      if i < size then
        i = i + 1
        return i, get(x, i)
      end
    end
  end,

  function(x, get, rows, columns)
    local i, j = 1, 0
    return function()
      if j < columns then
        j = j + 1
      elseif i < rows then
        i, j = i + 1, 1
      else
        return
      end
      return i, j, get(x, i, j)
    end
  end,

  function(x, get, planes, rows, columns)
    local i, j, k = 1, 1, 0
    return function()
      if k < columns then
        k = k + 1
      elseif j < rows then
        j, k = j + 1, 1
      elseif i < planes then
        i, j, k = i + 1, 1, 1
      else
        return
      end
      return i, j, k, get(x, i, j, k)
    end
  end,
}

-- Any number of dimensions, and complex elements, for which `get` gives two numbers.
local function iterate(x, sizes, new_key)
  local count = #sizes
  local indices, key = {}, new_key(count)
  for d = 1, count do
    indices[d], key[d] = 1, 1
  end
  local ended = false
  return function()
    if ended then
      return
    end
    local v = x[key]
    -- The indices of the next element.
    local given = { unpack(indices, 1, count) }
    given[count + 1] = v
    local d = count
    while d > 0 and indices[d] == sizes[d] do
      indices[d], key[d] = 1, 1
      d = d - 1
    end
    if d > 0 then
      indices[d] = indices[d] + 1
      key[d] = indices[d]
    else
      ended = true
    end
    return unpack(given, 1, count + 1)
  end
end

local function nothing() end

-- The constructor of torch.LongStorage.
local longs
for _, entry in ipairs(core.classes) do
  longs = entry.element == 'Long' and entry.constructor or longs
end

for _, entry in ipairs(core.tensors) do
  local metatable, name = entry.metatable, entry.name
  local described = core.classes[entry.number]
  function metatable.iter(...)
    local x = ...
    if not core.isTensor(x) or core.typename(x) ~= name then
      error(class.mismatch(1, 'iter', name, x, select('#', ...)), 2)
    end
    if metatable.nElement(x) == 0 then
      return nothing
    end
    local sizes = metatable.size(x):totable()
    local make = iterators[#sizes]
    if make and described.kind ~= 'complex' then
      return make(x, metatable.get, unpack(sizes))
    end
    return iterate(x, sizes, longs)
  end
end
