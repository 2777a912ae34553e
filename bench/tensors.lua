-- Measures access to elements of tensors, next to a checked FFI pointer with strides, or on Lua 5.1 next to a table of tables.
--
--   luajit bench/tensors.lua [section]     (get, set, lists, rows or shape; without one, all of them)
--
-- bench/measurement.lua says what the columns are. With the JIT on, elements are accessed by compiled functions.
local torch = require 'torch.storage'
local measurement = require 'bench.measurement'
local run_sections = require 'bench.sections'
local jit = rawget(_G, 'jit')
local compiled = jit ~= nil and jit.status()
local compile, measure, title = measurement.compile, measurement.measure, measurement.title

local POINTERS = { Double = 'double *', Float = 'float *', Byte = 'uint8_t *', Int = 'int32_t *', Long = 'int64_t *' }
local CLASSES = { 'Double', 'Float', 'Byte', 'Int', 'Long' }
local INDICES = { 'i', 'j', 'k', 'l' }
-- The sizes of the tensors with so many dimensions.
local SIZES = { { 1000000 }, { 1000, 1000 }, { 100, 100, 100 }, { 32, 32, 32, 32 } }

-- Loops around `body`. `b` holds the sizes and strides as numbers that the compiler cannot know: n1, n2 ... and s1, s2 ...
local function loops(dimensions, body)
  local text = 'for _ = 1, n do local v, n1, n2, n3, n4, s1, s2, s3, s4 = unpack(b, 1, 9) '
  for d = 1, dimensions do
    text = ('%sfor %s = 1, n%d do '):format(text, INDICES[d], d)
  end
  return text .. body .. (' end'):rep(dimensions + 1)
end

-- A tensor with so many dimensions, the numbers of its shape for `loops`, and the number of its elements.
local function fresh(class, dimensions)
  local sizes = SIZES[dimensions]
  local x = torch[class .. 'Tensor'](unpack(sizes))
  x:storage():fill(1)
  local numbers = { 7 }
  for d = 1, 4 do
    numbers[1 + d], numbers[5 + d] = sizes[d] or 1, sizes[d] and x:stride(d) or 0
  end
  return x, numbers, x:nElement()
end

-- Nested tables of ones.
local function nested(sizes, d)
  local t = {}
  for i = 1, sizes[d] do
    t[i] = sizes[d + 1] and nested(sizes, d + 1) or 1
  end
  return t
end

-- The reference: the text that reads or writes an element, and what it works on.
local function reference(class, x, dimensions, is_write)
  local element = 'a'
  local around = '%s'
  local a
  if compiled then
    local ffi = require 'ffi'
    local offset, checks = {}, {}
    for d = 1, dimensions do
      local index = INDICES[d]
      offset[d] = ('(%s - 1) * s%d'):format(index, d)
      checks[d] = ('%s >= 1 and %s <= n%d'):format(index, index, d)
    end
    element = ('a[%s]'):format(table.concat(offset, ' + '))
    around = ('if %s then %%s else error "range" end'):format(table.concat(checks, ' and '))
    a = ffi.cast(POINTERS[class], x:storage():data())
    if class == 'Long' and not is_write then
      element = ('tonumber(%s)'):format(element)
    end
  else
    for d = 1, dimensions do
      element = ('%s[%s]'):format(element, INDICES[d])
    end
    a = nested(SIZES[dimensions], 1)
  end
  return around:format(is_write and element .. ' = v' or 'sum = sum + ' .. element), a
end

local NAME = compiled and 'checked pointer' or 'nested tables'

-- Measures `body`, which works on a tensor `a`, next to the reference for each class. `d` is a method of the tensor.
local function against_reference(text, dimensions, body, goal, is_write, method)
  title(('%s, %s : %s'):format(text, table.concat(SIZES[dimensions], ' x '), NAME))
  for _, class in ipairs(CLASSES) do
    local x, numbers, count = fresh(class, dimensions)
    local other, a = reference(class, x, dimensions, is_write)
    measure {
      name = class .. 'Tensor',
      run = compile(loops(dimensions, body), x, numbers, nil, method and x[method]),
      reference = compile(loops(dimensions, other), a, numbers),
      unit = count,
      goal = goal,
    }
  end
end

-- On Lua 5.1 `x:get(i, j)` calls two C functions, and the first one finds `get`. The smallest possible functions of this form,
-- without any check of the object, were measured at 2.7 times the nested tables. So the goal of 2.5 is that of the second call
-- alone.
local function get()
  local goal = compiled and 1.5 or nil
  against_reference('x:get(i, j)', 2, 'sum = sum + a:get(i, j)', goal)
  local own = goal or not jit and 2.5 or nil
  against_reference('local get = x.get; get(x, i, j)', 2, 'sum = sum + d(a, i, j)', own, false, 'get')
  against_reference('x:get(i, j, k)', 3, 'sum = sum + a:get(i, j, k)', compiled and 2 or nil)
  against_reference('x:get(i, j, k, l)', 4, 'sum = sum + a:get(i, j, k, l)')
end

local function set()
  local goal = compiled and 1.7 or nil
  against_reference('x:set(i, j, v)', 2, 'a:set(i, j, v)', goal, true)
  against_reference('local set = x.set; set(x, i, j, v)', 2, 'd(a, i, j, v)', goal, true, 'set')
  against_reference('x:set(i, j, k, v)', 3, 'a:set(i, j, k, v)', nil, true)
  against_reference('x:set(i, j, k, l, v)', 4, 'a:set(i, j, k, l, v)', nil, true)
end

local function lists()
  against_reference('x[{i, j}]', 2, 'sum = sum + a[{ i, j }]')
  against_reference('x[{i, j, k}]', 3, 'sum = sum + a[{ i, j, k }]')
  against_reference('x[{i, j}] = v', 2, 'a[{ i, j }] = v', nil, true)
end

-- A row that is made once, next to a storage of as many elements; and a row that is made for each element.
local function rows()
  local goal = compiled and 1.1 or nil
  for text, body in pairs { ['row[j]'] = 'sum = sum + a[i]', ['row[j] = v'] = 'a[i] = v' } do
    title(('row = x[i] once, %s : storage'):format(text))
    for _, class in ipairs(CLASSES) do
      local x, numbers = fresh(class, 2)
      local row = x[2]
      numbers[2] = row:nElement()
      measure {
        name = class .. 'Tensor',
        run = compile(loops(1, body), row, numbers),
        reference = compile(loops(1, body), torch[class .. 'Storage'](row:nElement()):fill(1), numbers),
        unit = row:nElement(),
        goal = goal,
      }
    end
  end
  title 'x[i][j], a row each time : x:get(i, j)'
  local x = torch.DoubleTensor(100, 100)
  local numbers = { 7, 100, 100, 1, 1, 1, 1, 1, 1 }
  measure {
    name = 'DoubleTensor',
    run = compile(loops(2, 'sum = sum + a[i][j]'), x, numbers),
    reference = compile(loops(2, 'sum = sum + a:get(i, j)'), x, numbers),
    unit = x:nElement(),
  }
end

local function shape()
  title 'shape : #table'
  local calls = { 'x:dim()', 'x:size(1)', 'x:nElement()' }
  for _, call in ipairs(calls) do
    measure {
      name = call,
      run = compile('for _ = 1, n do sum = sum + ' .. call:gsub('x', 'a') .. ' end', (fresh('Double', 2))),
      reference = compile('for _ = 1, n do sum = sum + #a end', { 1, 2, 3 }),
    }
  end
end

run_sections {
  { 'get', get },
  { 'set', set },
  { 'lists', lists },
  { 'rows', rows },
  { 'shape', shape },
}
measurement.report()
