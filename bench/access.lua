-- Measures element access and small calls, next to a Lua table and, on LuaJIT, an FFI pointer with and without bounds checks.
--
--   luajit bench/access.lua [section]     (elements, upvalues, several, complex, loops, calls or tables; without one, all)
--
-- bench/measurement.lua says what the columns are.
--
-- With the JIT on, elements are accessed by compiled functions (`torch.accessors 'ffi'`). Lines with 'c' use the C functions,
-- for one class, and have no goal.
local torch = require 'torch.storage'
local measurement = require 'bench.measurement'
local run_sections = require 'bench.sections'
local jit = rawget(_G, 'jit')
local compile, title = measurement.compile, measurement.title
local has_ffi = jit ~= nil and pcall(require, 'ffi')
local compiled = jit ~= nil and jit.status()

local CLASSES, PART, INTEGER, WIDE, SMALL = {}, {}, {}, {}, {}
for _, entry in ipairs(require('torch.core').classes) do
  local class, kind = entry.element, entry.kind
  if kind == 'complex' then
    PART[class] = entry.ctype:match ' (%l+)$'
  elseif kind ~= 'untyped' then
    CLASSES[#CLASSES + 1] = class
    INTEGER[class] = kind == 'signed' or kind == 'unsigned'
    WIDE[class] = INTEGER[class] and entry.width == 8
    -- LuaJIT has no number type for their C type. They are measured next to single precision.
    SMALL[class] = kind == 'small float'
  end
end

-- Nanoseconds per call of Torch7's own binding. It is not available here: these are minima that were recorded with
-- DoubleStorage on a machine like the one of docs/performance.md. It calls C on LuaJIT too, with the JIT on or off.
local TORCH7 = {
  luajit = { len = 131.6, size = 174.9, fill = 185.4, copy = 239.6, new = 346.2, view = 436.9, from_table = 394.0 },
  lua51 = { len = 158.6, size = 211.1, fill = 217.4, copy = 277.9, new = 504.9, view = 570.7, from_table = 531.4 },
}
-- Nanoseconds per element of a table of a million numbers, recorded in the same way.
TORCH7.luajit.elements, TORCH7.lua51.elements = 19.1, 18.0
local torch7 = jit and TORCH7.luajit or TORCH7.lua51

-- If there are two ways to access elements, a DoubleStorage is measured with both.
local function measure(case)
  measurement.measure(case)
  if compiled and case.name:find '^DoubleStorage' then
    torch.accessors 'c'
    case.name = case.name:gsub('Storage', "Storage, 'c'", 1)
    case.goal, case.goal_of_original = nil, nil
    measurement.measure(case)
    torch.accessors 'ffi'
  end
end

-- Elements ------------------------------------------------------------------------------------------------------------------

-- What a loop does with element `i`. A pointer to 64-bit integers gives cdata, which a program converts to numbers as
-- storages do. Without the conversion such a loop adds integers, in 0.56 ns an element, where storages add numbers, in 0.83 ns.
local FORMS = {
  index = { add = 'sum = sum + a[i]', put = 'a[i] = v', inc = 'a[i] = a[i] + 1' },
  pointer = { add = 'sum = sum + a[i - 1]', put = 'a[i - 1] = v', inc = 'a[i - 1] = a[i - 1] + 1' },
  pointer64 = {
    add = 'sum = sum + tonumber(a[i - 1])',
    put = 'a[i - 1] = v',
    inc = 'a[i - 1] = tonumber(a[i - 1]) + 1',
  },
}

-- The text of a loop over `m` elements of `a`. `c` holds numbers that the compiler cannot know, and `d` is a table of numbers.
local function loop(inner, form, checked)
  local text = inner:gsub('%$(%a+)', function(what)
    local access = FORMS[form][what]
    return checked and 'if i >= 1 and i <= m then ' .. access .. ' else error "range" end' or access
  end)
  return 'local m = b for _ = 1, n do local v, x = c[1], c[2] ' .. text .. ' end'
end

local function numbers(count)
  local t = {}
  for i = 1, count do
    t[i] = i % 100
  end
  return t
end

-- The project's goals for a class on this interpreter; nil if there is none.
local function read_goal(class)
  local small = class == 'BFloat16' and 1.5 or 1.3 -- bfloat16 is computed, and the others are looked up in a table
  return compiled and (SMALL[class] and small or 1.1) or jit and 6.5 or 2.6
end
local function write_goal(class)
  return compiled and (SMALL[class] and 3 or INTEGER[class] and 1.2 or 1.1) or jit and 7.7 or 3
end
local function computed_goal(class)
  return compiled and INTEGER[class] and 1.7 or nil
end
local function update_goal(class)
  return compiled and class == 'Double' and 1.8 or nil
end

-- For an index that LuaJIT computes as a float, and for storages that are open upvalues.
local function float_goal(class)
  return compiled and not INTEGER[class] and not SMALL[class] and 1.3 or nil
end
local function index_goal(class)
  return compiled and class == 'Double' and 1.15 or nil
end

local READ = 'for i = 1, m do $add end'
-- { title, number of elements, loop, goal }
local ELEMENTS = {
  { 'read s[i]', 1e6, READ, read_goal },
  { 'read s[i]', 1e3, READ, read_goal },
  { 'read s[i], a local', 1e3, 'local a = a ' .. READ, read_goal },
  { 'write s[i] = v, a number', 1e6, 'for i = 1, m do $put end', write_goal },
  { 'write s[i] = v, a number', 1e3, 'for i = 1, m do $put end', write_goal },
  { 'write s[i] = t[i], a number', 1e3, 'for i = 1, m do local v = d[i] $put end', write_goal },
  {
    'write s[i] = i + x, computed',
    compiled and 1e6 or 1e4,
    'for i = 1, m do local v = i + x $put end',
    computed_goal,
  },
  { 'write s[i] = i + x, computed', 1e3, 'for i = 1, m do local v = i + x $put end', computed_goal },
  { 'write s[i] = i', 1e3, 'for i = 1, m do local v = i $put end', index_goal },
  { 's[i] = s[i] + 1', 1e3, 'for i = 1, m do $inc end', update_goal },
  {
    'read s[row * 100 + column]',
    1e4,
    'for row = 0, 99 do for column = 1, 100 do local i = row * 100 + column $add end end',
    float_goal,
  },
}

-- A loop over the memory of the storage by an FFI pointer of its element type.
local function pointer_loop(class, storage, inner, checked, ...)
  return compile(loop(inner, WIDE[class] and 'pointer64' or 'pointer', checked), storage:data(), ...)
end

local function elements()
  for _, kind in ipairs(ELEMENTS) do
    local text, size, inner, goal = unpack(kind)
    title(('%s, %.0e'):format(text, size))
    local given, values = { 7, 3 }, numbers(size)
    local function indexed(of)
      return compile(loop(inner, 'index'), of, size, given, values)
    end
    local function fresh(class)
      return torch[class .. 'Storage'](size):fill(1)
    end

    local double = fresh 'Double'
    local checked = compiled and pointer_loop('Double', double, inner, true, size, given, values)
    local of_table = indexed(numbers(size))
    if compiled then
      measure { name = 'Lua table : checked double *', run = of_table, reference = checked, unit = size }
    end
    if has_ffi then
      local reference = checked or of_table
      local against = compiled and 'checked' or 'table'
      local unchecked = pointer_loop('Double', double, inner, false, size, given, values)
      measure { name = 'unchecked double * : ' .. against, run = unchecked, reference = reference, unit = size }
      if not compiled then
        local slow = pointer_loop('Double', double, inner, true, size, given, values)
        measure { name = 'checked double * : table', run = slow, reference = of_table, unit = size }
      end
    end
    for _, class in ipairs(CLASSES) do
      local storage = fresh(class)
      local name, reference
      if not compiled then
        name, reference = class .. 'Storage : table', indexed(numbers(size))
      elseif SMALL[class] then
        name, reference = class .. 'Storage : FloatStorage', indexed(fresh 'Float')
      else
        name = class .. 'Storage : checked pointer'
        reference = pointer_loop(class, storage, inner, true, size, given, values)
      end
      measure { name = name, run = indexed(storage), reference = reference, unit = size, goal = goal(class) }
    end
  end
end

-- Upvalues -----------------------------------------------------------------------------------------------------------------

-- Calls `use` with a function that runs a loop over local variables of a chunk that has not returned, as a script's functions use
-- the script's variables. LuaJIT checks in each pass that the variables are still on the stack.
local function with_open(body, a, b, c, use)
  local text = 'local a, b, c, use = ... use(function(n) local sum = 0 ' .. body .. ' return sum end) return'
  assert(loadstring(text))(a, b, c, use)
end

local function upvalue_goal(class)
  return not SMALL[class] and 1.3 or nil
end
local function no_goal() end

local UPVALUES = {
  { 'read s[i], an open upvalue', READ, upvalue_goal },
  { 'write s[i] = v, an open upvalue', 'for i = 1, m do $put end', upvalue_goal },
  { 's[i] = s[i] + 1, an open upvalue', 'for i = 1, m do $inc end', no_goal },
}

local function upvalues()
  if not compiled then
    return
  end
  local size, given = 1e3, { 7, 3 }
  for _, kind in ipairs(UPVALUES) do
    local text, inner, goal = kind[1], kind[2], kind[3]
    title(('%s, %.0e'):format(text, size))
    for _, class in ipairs(CLASSES) do
      local storage = torch[class .. 'Storage'](size):fill(1)
      local name, form, other = 'checked pointer', WIDE[class] and 'pointer64' or 'pointer', storage
      if SMALL[class] then
        name, form, other = 'FloatStorage', 'index', torch.FloatStorage(size):fill(1)
      else
        other = storage:data()
      end
      with_open(loop(inner, 'index'), storage, size, given, function(run)
        with_open(loop(inner, form, form ~= 'index'), other, size, given, function(reference)
          measure {
            name = ('%sStorage : %s'):format(class, name),
            run = run,
            reference = reference,
            unit = size,
            goal = goal(class),
          }
        end)
      end)
    end
  end
end

-- Several storages in a loop: what an access keeps in registers is not free for the others.
local function several()
  local size = 1e3
  title(('s[i] = x * t[i] + u[i], %.0e'):format(size))
  local around = 'local s, t, u, m, x = a, b, c, d[1], d[2] for _ = 1, n do for i = 1, m do %s end end'
  local access = 's[i] = x * t[i] + u[i]'
  for _, class in ipairs(CLASSES) do
    local numbers_here, names = { size, 3 }, { 'table', 'FloatStorage', 'checked pointers' }
    local name, text, new, pointers = names[1], access, numbers, compiled and not SMALL[class]
    if pointers then
      local element = WIDE[class] and 'tonumber(%1[i - 1])' or '%1[i - 1]'
      local right = ('x * t[i] + u[i]'):gsub('(%l)%[i%]', element)
      name, text = names[3], 'if i >= 1 and i <= m then s[i - 1] = ' .. right .. ' else error "range" end'
    elseif compiled then
      name, new = names[2], torch.FloatStorage
    end
    local function fresh()
      return torch[class .. 'Storage'](size):fill(1)
    end
    local s, t, u = fresh(), fresh(), fresh()
    local reference
    if pointers then
      reference = compile(around:format(text), s:data(), t:data(), u:data(), numbers_here)
    else
      reference = compile(around:format(text), new(size), new(size), new(size), numbers_here)
    end
    measure {
      name = ('%sStorage : %s'):format(class, name),
      run = compile(around:format(access), s, t, u, numbers_here),
      reference = reference,
      unit = size,
    }
  end
end

-- Complex numbers -------------------------------------------------------------------------------------------------------------

-- What a loop does with element `i` of a storage, and with that of the reference: a checked pointer to pairs, or a table of {
-- re =, im = }. The goals for reading are those of the real classes. Writing has a wider goal, because the accessors first
-- store both parts in memory of their own.
local COMPLEX = {
  { 's[i].re + s[i].im', 'local z = a[i] sum = sum + z.re + z.im', 'sum = sum + a[$].re + a[$].im', compiled and 1.1 },
  {
    're, im = s:get(i)',
    'local re, im = a:get(i) sum = sum + re + im',
    'sum = sum + a[$].re + a[$].im',
    compiled and 1.1,
  },
  { 's:set(i, x, y)', 'a:set(i, v, x)', 'local z = a[$] z.re = v z.im = x', compiled and 2 },
  { 's[i] = t[i]', 'a[i] = d[i]', compiled and 'local z, o = a[$], d[$] z.re = o.re z.im = o.im' or 'a[$] = d[$]' },
  {
    's[i] = {x, y}',
    'a[i] = { v, x }',
    compiled and 'local z = a[$] z.re = v z.im = x' or 'a[$] = { re = v, im = x }',
  },
}

local function complexes()
  for _, kind in ipairs(COMPLEX) do
    title(kind[1] .. (compiled and ' : checked pointer to pairs' or ' : table of { re =, im = }'))
    local access = kind[3]:gsub('%$', compiled and 'i - 1' or 'i')
    local around = 'local m = b for _ = 1, n do local v, x = c[1], c[2] for i = 1, m do %s end end'
    for class, part in pairs(PART) do
      local size, given = 1e3, { 7, 3 }
      local s, other = torch[class .. 'Storage'](size):fill(1), torch[class .. 'Storage'](size):fill(1)
      local a, d = {}, {}
      if compiled then
        local ffi = require 'ffi'
        local pair = ffi.typeof('struct { $ re, im; } *', ffi.typeof(part))
        a, d = ffi.cast(pair, s:data()), ffi.cast(pair, other:data())
        access = 'if i >= 1 and i <= m then ' .. access .. ' else error "range" end'
      else
        for i = 1, size do
          a[i], d[i] = { re = 1, im = 0 }, { re = 1, im = 0 }
        end
      end
      measure {
        name = class .. 'Storage',
        run = compile(around:format(kind[2]), s, size, given, other),
        reference = compile(around:format(access), a, size, given, d),
        unit = size,
        goal = kind[4] or nil,
      }
    end
  end
end

-- Loops ---------------------------------------------------------------------------------------------------------------------

local WHILE = 'local i = 1 while i <= %s do $add i = i + 1 end'
local while_goal = compiled and 1.6 or nil
-- { title, loop, loop of the reference, goal }
local LOOPS = {
  { 'for i = 1, #s : a local', 'for i = 1, #a do $add end', READ, 1.05 },
  { 'while i <= #s : a local', WHILE:format '#a', WHILE:format 'm', while_goal },
  { 'while i <= s:size() : a local', WHILE:format 'a:size()', WHILE:format 'm', while_goal },
}

local SUM = 'local function total(s) local t = 0 for i = 1, #s do t = t + s[i] end return t end '

-- Measures one function that is called with all classes in turn, next to one function for each class.
local function generic(size)
  local all, own = {}, {}
  for k, class in ipairs(CLASSES) do
    all[k] = torch[class .. 'Storage'](size):fill(1)
    own[k] = assert(loadstring(SUM .. 'return total'))()
  end
  measure {
    name = ('%d elements each'):format(size),
    run = compile(SUM .. 'for _ = 1, n do for k = 1, #a do sum = sum + total(a[k]) end end', all),
    reference = compile('for _ = 1, n do for k = 1, #a do sum = sum + b[k](a[k]) end end', all, own),
    unit = size * #CLASSES,
    goal = compiled and 1.3 or nil,
  }
end

local function loops()
  for _, kind in ipairs(LOOPS) do
    title(kind[1])
    for _, class in ipairs(CLASSES) do
      local size, given = 1e3, { 7, 3 }
      local storage = torch[class .. 'Storage'](size):fill(1)
      measure {
        name = class .. 'Storage',
        run = compile(loop(kind[2], 'index'), storage, size, given),
        reference = compile(loop(kind[3], 'index'), storage, size, given),
        unit = size,
        goal = kind[4],
      }
    end
  end
  title 'one sum(s) for all classes : one each'
  generic(1e3)
  generic(1e6)
  title 's:iter() : ipairs(table)'
  local step = 'for _ = 1, n do for _, v in %s do sum = sum + v end end'
  measure {
    name = 'DoubleStorage',
    run = compile(step:format 'a:iter()', torch.DoubleStorage(1e3):fill(1)),
    reference = compile(step:format 'ipairs(a)', numbers(1e3)),
    unit = 1e3,
  }
end

-- Calls ---------------------------------------------------------------------------------------------------------------------

-- Each new object replaces the one before it in a table, and all are collected within the measured time.
local function made(expression)
  return 'for _ = 1, n do b[1] = ' .. expression .. ' end b[1] = nil collectgarbage()'
end
local MADE = 1e5
local LENGTH = 'for _ = 1, n do sum = sum + #a end'

-- { title, key in TORCH7, loop with a storage, loop with a Lua table, goal for the ratio to Torch7, passes }
local CALLS = {
  { '#s : #table', 'len', LENGTH, LENGTH, 0.4 },
  { 's:size() : #table', 'size', 'for _ = 1, n do sum = sum + a:size() end', LENGTH, 0.4 },
  {
    's:fill(v), 10 : loop over a table',
    'fill',
    'for i = 1, n do a:fill(i) end',
    'for i = 1, n do for k = 1, 10 do a[k] = i end end',
    0.4,
  },
  {
    's:copy(o), 10 : loop over tables',
    'copy',
    'for _ = 1, n do a:copy(c) end',
    'for _ = 1, n do for k = 1, 10 do a[k] = c[k] end end',
    0.4,
  },
  { 'view(s, 11, 50) : table of 3', 'view', made 'd(c, 11, 50)', made '{ c, 11, 50 }', 0.4, MADE },
  { 'new(10), dropped : table of 10', 'new', made 'd(10)', made '{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }', 0.4, MADE },
  { 'new{a, b, c} : table of 3', 'from_table', made 'd(c)', made '{ c[1], c[2], c[3] }', nil, MADE },
}

local function calls()
  for _, kind in ipairs(CALLS) do
    local text, key, run, reference, goal, n = kind[1], kind[2], kind[3], kind[4], kind[5], kind[6]
    title(text)
    for _, class in ipairs(CLASSES) do
      local new = torch[class .. 'Storage']
      local other = key == 'view' and new(100) or key == 'from_table' and { 1, 2, 3 } or new(10)
      local run_here = compile(run, new(10), {}, other, new)
      measure {
        name = class .. 'Storage',
        run = run_here,
        reference = compile(reference, numbers(10), {}, key == 'copy' and numbers(10) or other),
        n = n,
        original = torch7[key],
        goal_of_original = goal,
      }
      if not n and class == 'Double' then
        run_here(1e4) -- compiles the loop, so that only the calls themselves allocate afterwards
        collectgarbage()
        collectgarbage 'stop'
        local before = collectgarbage 'count'
        run_here(1e4)
        local bytes = (collectgarbage 'count' - before) * 1024 / 1e4
        collectgarbage 'restart'
        print(('  %-38s %9.3f bytes per call'):format('DoubleStorage allocates', bytes))
      end
    end
  end
end

-- Tables ----------------------------------------------------------------------------------------------------------------------

-- A storage of a table, next to a loop that does the same: it makes a storage and sets its elements.
local function tables()
  for _, size in ipairs { 8, 1e4, 1e6 } do
    title(('new(t), %.0e : s = new(#t), s[i] = t[i]'):format(size))
    for _, class in ipairs(CLASSES) do
      measure {
        name = class .. 'Storage',
        run = compile('for _ = 1, n do a(c):free() end', torch[class .. 'Storage'], size, numbers(size)),
        reference = compile(
          'for _ = 1, n do local s = a(b) for i = 1, b do s[i] = c[i] end s:free() end',
          torch[class .. 'Storage'],
          size,
          numbers(size)
        ),
        unit = size,
        goal = size > 8 and (compiled and 1.5 or not jit and 0.5) or nil,
        original = size == 1e6 and torch7.elements or nil,
        goal_of_original = not jit and 0.65 or nil,
      }
    end
  end
end

-- Calls come first: collections are part of their time, and the Lua heap is still small.
run_sections {
  { 'calls', calls },
  { 'tables', tables },
  { 'elements', elements },
  { 'upvalues', upvalues },
  { 'several', several },
  { 'complex', complexes },
  { 'loops', loops },
}
measurement.report()
