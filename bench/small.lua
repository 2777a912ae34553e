-- Measures small objects and short calls: making and dropping a storage of ten elements and a view, mapping a file, creating
-- shared memory, and saving to a string. The references are Lua tables, and functions in C (bench/small.c): the least that an
-- object with a finalizer costs, and the system calls that Torch7 makes. Torch7 neither locks shared memory nor reserves its
-- pages, so the system calls of the library are a second reference.
--
--   luajit bench/small.lua [section]     (objects, maps, save or blocks; without one, all of them)
--
-- bench/measurement.lua says what the columns are. The file in C is compiled first, with the headers of the running interpreter.
local torch = require 'torch.storage'
local measurement = require 'bench.measurement'
local run_sections = require 'bench.sections'
local plain = require('spec.support.c_module').of_benchmark 'small'
local compile, title = measurement.compile, measurement.title
local jit = rawget(_G, 'jit')

-- Nanoseconds of Torch7's own binding, per call or saved element, recorded on a machine like the one of docs/performance.md: see
-- bench/access.lua.
local TORCH7 = jit and { new = 346.2, view = 436.9, save = 3.383 } or { new = 504.9, view = 570.7, save = 1.148 }

-- Each new object replaces the one before it in a table, and all are collected within the measured time.
local MADE = 1e5
local function made(expression, ...)
  return compile('for _ = 1, n do b[1] = ' .. expression .. ' end b[1] = nil collectgarbage()', ...)
end

local function objects()
  local new, s = torch.DoubleStorage, torch.DoubleStorage(100)
  local ten = '{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }'
  local least = made('a(80)', plain.header_and_block, {})
  title 'an object in C : table of 10'
  measurement.measure {
    name = 'userdata with __gc',
    run = made('a(80)', plain.userdata, {}),
    reference = made(ten, 0, {}),
    n = MADE,
  }
  measurement.measure {
    name = 'userdata with __gc, calloc(80)',
    run = made('a(80)', plain.block, {}),
    reference = made(ten, 0, {}),
    n = MADE,
  }
  measurement.measure {
    name = 'userdata with __gc, header and 80 bytes',
    run = least,
    reference = made(ten, 0, {}),
    n = MADE,
  }
  title 'DoubleStorage(10), made and dropped'
  measurement.measure {
    name = 'table of 10',
    run = made('a(10)', new, {}),
    reference = made(ten, 0, {}),
    n = MADE,
    goal = 4.5,
    original = TORCH7.new,
    goal_of_original = 0.5,
  }
  measurement.measure {
    name = 'calloc(80)',
    run = made('a(10)', new, {}),
    reference = made('a(80)', plain.block, {}),
    n = MADE,
  }
  measurement.measure {
    name = 'header and 80 bytes',
    run = made('a(10)', new, {}),
    reference = least,
    n = MADE,
    goal = 1.2,
  }
  title 'a view, made and dropped'
  measurement.measure {
    name = 'table of 3',
    run = made('a(c, 11, 50)', new, {}, s),
    reference = made('{ c, 11, 50 }', new, {}, s),
    n = MADE,
    goal = 3.5,
    original = TORCH7.view,
    goal_of_original = 0.5,
  }
  measurement.measure {
    name = 'userdata with __gc, calloc(64)',
    run = made('a(c, 11, 50)', new, {}, s),
    reference = made('a(64)', plain.block, {}),
    n = MADE,
  }
end

local function maps()
  local path = os.tmpname()
  local file = assert(io.open(path, 'wb'))
  file:seek('set', 64 * 2 ^ 20 - 1)
  file:write '\0'
  file:close()
  title '64 MB mapped and unmapped : open, fstat, mmap, close, munmap'
  measurement.measure {
    name = 'DoubleStorage',
    run = compile('for _ = 1, n do a(b):free() end', torch.DoubleStorage, path),
    reference = compile('for _ = 1, n do c(a(b)) end', plain.map, path, plain.free),
    goal = 1,
  }
  -- What a program pays that leaves it to the collector: both sides collect the same heap.
  measurement.measure {
    name = 'DoubleStorage, by the collector',
    run = compile('for _ = 1, n do a(b) collectgarbage() end', torch.DoubleStorage, path),
    reference = compile('for _ = 1, n do a(b) collectgarbage() end', plain.map, path),
    goal = 1.05,
  }
  os.remove(path)
  title '4 KB of shared memory : shm_open, ftruncate, mmap, close, munmap, shm_unlink'
  measurement.measure {
    name = 'ByteStorage',
    run = compile('for _ = 1, n do a(b, true, 4096, true):free() end', torch.ByteStorage, 'torch-storage-bench'),
    reference = compile('for _ = 1, n do c(a(b, 4096)) end', plain.share, '/torch-storage-bench', plain.free),
    goal = 1,
  }
  measurement.measure {
    name = 'ByteStorage, by the collector',
    run = compile(
      'for _ = 1, n do a(b, true, 4096, true) collectgarbage() end',
      torch.ByteStorage,
      'torch-storage-bench'
    ),
    reference = compile('for _ = 1, n do a(b, 4096) collectgarbage() end', plain.share, '/torch-storage-bench'),
    goal = 1.15,
  }
  title '4 KB of shared memory : the same with a lock, reserved memory, and a name at the end'
  measurement.measure {
    name = 'ByteStorage',
    run = compile('for _ = 1, n do a(b, true, 4096, true):free() end', torch.ByteStorage, 'torch-storage-bench'),
    reference = compile(
      'for _ = 1, n do c(a(b, 4096)) end',
      plain.share_locked,
      '/dev/shm/torch-storage-bench',
      plain.free
    ),
    goal = 1.1,
  }
end

-- Every string begins and ends with another element, because LuaJIT and Lua 5.1 look for a string of the same bytes first.
local function save()
  local s, count = torch.DoubleStorage(1e6):fill(0.1), { 0 }
  local SAVED = 8
  local function saved(expression, f)
    local change = 'b[1] = b[1] + 1 c[1], c[1e6] = b[1], b[1] '
    return compile('for _ = 1, n do ' .. change .. 'sum = sum + #' .. expression .. ' end', f, count, s)
  end
  title '1e6 doubles saved to a string : realloc, memmove, lua_pushlstring; per element'
  measurement.measure {
    name = 'torch.serialize',
    run = saved('a(c)', torch.serialize),
    reference = saved('a(c, 8e6)', plain.save),
    unit = 1e6,
    n = SAVED,
    goal = 0.7,
    original = TORCH7.save,
  }
  measurement.measure {
    name = 'torch.serialize : lua_pushlstring',
    run = saved('a(c)', torch.serialize),
    reference = saved('a(c, 8e6)', plain.string),
    unit = 1e6,
    n = SAVED,
  }
  measurement.measure {
    name = 's:string() : lua_pushlstring',
    run = saved 'c:string()',
    reference = saved('a(c, 8e6)', plain.string),
    unit = 1e6,
    n = SAVED,
    goal = 0.7,
  }
end

-- The strings differ at both ends, for the same reason.
local function blocks()
  local MB = 2 ^ 20
  local s, count = torch.ByteStorage(MB):fill(7), { 0 }
  local change = 'b[1] = (b[1] + 1) % 251 c[1], c[#c] = b[1], b[1] '
  title '1 MB as a string : lua_pushlstring'
  measurement.measure {
    name = 's:string()',
    run = compile('for _ = 1, n do ' .. change .. 'sum = sum + #c:string() end', nil, count, s),
    reference = compile('for _ = 1, n do ' .. change .. 'sum = sum + #a(c, 1048576) end', plain.string, count, s),
    goal = 1.1,
  }
  title '1 MB from a string : memmove'
  measurement.measure {
    name = 's:string(str)',
    run = compile('for _ = 1, n do c:string(b) end', nil, ('x'):rep(MB), s),
    reference = compile('for _ = 1, n do a(c, b) end', plain.set, ('x'):rep(MB), s),
    goal = 1.1,
  }
  title '80 MB of new memory, filled and dropped : malloc and a loop'
  measurement.measure {
    name = 'DoubleStorage',
    run = compile('for _ = 1, n do a(1e7):fill(1.5) collectgarbage() end', torch.DoubleStorage),
    reference = compile('for _ = 1, n do a(1e7, 1.5) collectgarbage() end', plain.filled),
    goal = 1,
  }
end

run_sections { { 'objects', objects }, { 'maps', maps }, { 'save', save }, { 'blocks', blocks } }
measurement.report()
