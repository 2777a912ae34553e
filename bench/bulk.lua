-- Measures filling, copying and converting whole storages, next to a Lua table and, on LuaJIT, an FFI array.
--
--   luajit bench/bulk.lua [section]     (bulk or tables; without one, both)
--
-- Every line is measured in rounds that alternate with those of its group, so that a change of the machine's
-- speed affects all of them. `min` and `median` are nanoseconds per operation. `ratio` is the ratio to the median of the
-- first line of the group, measured in the same run.
local torch = require 'torch.storage'
local tsv = require 'bench.tsv'
local run_sections = require 'bench.sections'
local has_ffi, ffi = pcall(require, 'ffi')
has_ffi = has_ffi and rawget(_G, 'jit') ~= nil

local ROUNDS = 9
local ROUND_SECONDS = 0.012
local clock = os.clock

-- Every measured loop is compiled from its own text, so that LuaJIT specialises it to its values, as in a program that does one
-- thing. `n` counts the operations, and `a` to `d` are the values that the loop works on.
local function compile(body, ...)
  local chunk = assert(loadstring('local a, b, c, d = ... return function(n) ' .. body .. ' end'))
  return chunk(...)
end

local function seconds(run, n)
  collectgarbage()
  local started = clock()
  run(n)
  return clock() - started
end

-- Adds a case to a group. `unit` is the number of operations in one turn of its loop (the elements of a bulk operation).
local function case(group, name, unit, body, ...)
  group[#group + 1] = { name = name, unit = unit, run = compile(body, ...), times = {} }
end

-- Measures the cases of a group. The first one is the reference.
local function measure(title, group)
  print(('\n%-44s %10s %10s %8s'):format(title, 'min', 'median', 'ratio'))
  for _, entry in ipairs(group) do
    local n = 1
    while seconds(entry.run, n) < ROUND_SECONDS / 4 and n < 2 ^ 30 do -- this warms up as well
      n = n * 2
    end
    local time = math.max(seconds(entry.run, n), 1e-6)
    entry.n = math.max(1, math.floor(n * ROUND_SECONDS / time))
  end
  for round = 1, ROUNDS do
    for _, entry in ipairs(group) do
      entry.times[round] = seconds(entry.run, entry.n) / (entry.n * entry.unit) * 1e9
    end
  end
  local first = group[1]
  for _, entry in ipairs(group) do
    table.sort(entry.times)
    entry.median = entry.times[math.floor(ROUNDS / 2) + 1]
    print(('  %-42s %10.3f %10.3f %8.3f'):format(entry.name, entry.times[1], entry.median, entry.median / first.median))
    tsv.row {
      section = title,
      case = entry.name,
      unit = 'ns/element',
      min = entry.times[1],
      median = entry.median,
      reference = first.name,
      reference_min = first.times[1],
      reference_median = first.median,
    }
  end
end

local function ones(count)
  local t = {}
  for i = 1, count do
    t[i] = 1
  end
  return t
end

-- The new objects are kept in a ring, so that the compiler removes none, and are collected as in a program.
local function tables()
  local ring, many = {}, 1e4
  local function keep(expression)
    return 'for i = 1, n do b[i % 16] = ' .. expression .. ' end'
  end
  local group = {}
  local table_copy = 'for i = 1, n do local t = {} for k = 1, ' .. many .. ' do t[k] = c[k] end b[i % 16] = t end'
  case(group, 'Lua table, copied', many, table_copy, nil, ring, ones(many))
  case(group, 'DoubleStorage(table)', many, keep 'a(c)', torch.DoubleStorage, ring, ones(many))
  case(group, 'ByteStorage(table)', many, keep 'a(c)', torch.ByteStorage, ring, ones(many))
  case(group, 'storage:totable()', many, keep 'a:totable()', torch.DoubleStorage(many):fill(1), ring)
  measure('10,000 elements from and to a table, ns each', group)
end

local function bulk()
  for _, size in ipairs { 10, 1e4, 1e6 } do
    local source, target = torch.DoubleStorage(size):fill(1), torch.DoubleStorage(size)
    local loop = 'for _ = 1, n do for k = 1, ' .. size .. ' do %s end end'
    local loop_0 = 'for _ = 1, n do for k = 0, ' .. size - 1 .. ' do %s end end'
    local group = {}
    case(group, 'Lua table, loop', size, loop:format 'a[k] = 1.5', ones(size))
    if has_ffi then
      local array = ffi.new('double[?]', size)
      case(group, 'FFI array, loop', size, loop_0:format 'a[k] = 1.5', array)
      case(group, 'FFI array, ffi.fill (zeros)', size, 'for _ = 1, n do b(a, c) end', array, ffi.fill, size * 8)
    end
    case(group, 'DoubleStorage:fill(1.5)', size, 'for _ = 1, n do a:fill(1.5) end', target)
    case(group, 'DoubleStorage:zero()', size, 'for _ = 1, n do a:zero() end', target)
    measure(('fill %d elements, ns per element'):format(size), group)

    group = {}
    case(group, 'Lua table, loop', size, loop:format 'a[k] = b[k]', ones(size), ones(size))
    if has_ffi then
      local from, to = ffi.new('double[?]', size, 1), ffi.new('double[?]', size)
      case(group, 'FFI array, loop', size, loop_0:format 'a[k] = b[k]', to, from)
      case(group, 'FFI array, ffi.copy', size, 'for _ = 1, n do c(a, b, d) end', to, from, ffi.copy, size * 8)
    end
    case(group, 'DoubleStorage:copy(DoubleStorage)', size, 'for _ = 1, n do a:copy(b) end', target, source)
    local conversions = { 'Byte>Double', 'Double>Byte', 'Float>Double', 'Half>Double', 'Double>Half', 'Double>Long' }
    for _, pair in ipairs(conversions) do
      local from_type, to_type = pair:match '(%w+)>(%w+)'
      local from, to = torch[from_type .. 'Storage'](size):fill(1), torch[to_type .. 'Storage'](size)
      local name = ('%sStorage:copy(%sStorage)'):format(to_type, from_type)
      case(group, name, size, 'for _ = 1, n do a:copy(b) end', to, from)
    end
    measure(('copy %d elements, ns per element'):format(size), group)
  end
end

run_sections { { 'bulk', bulk }, { 'tables', tables } }
