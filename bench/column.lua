-- Measures `bytes:column`, which reads one field of many records, next to reading the same bytes once, and next to a loop over
-- packed structures on LuaJIT.
--
--   luajit bench/column.lua [records [rounds]]     (30 million records and 7 rounds without arguments)
--
-- A record has 10 bytes: a uint32, a float32 at byte 4, and a uint16. The rows take turns, so that what else the machine does
-- touches all of them. Each line has the median and the minimum in milliseconds, and the ratio of its median to that of the
-- first row. Reading is `equal` of the records and a view of themselves, which reads each line from memory once: the second
-- time it is in the cache. A column is written, too, into memory that may be new to the process, so `clone` of a column is
-- measured by itself. One thread, unless THREADS=n is set.
local torch = require 'torch.storage'
local has_ffi, ffi = pcall(require, 'ffi')

local RECORDS, ROUNDS = tonumber(arg[1]) or 30e6, tonumber(arg[2]) or 7
local WIDTH = 10

torch.setnumthreads(tonumber(os.getenv 'THREADS') or 1)

local bytes = torch.ByteStorage(RECORDS * WIDTH)
bytes:setColumn(torch.FloatStorage(RECORDS):fill(0.5), 4, WIDTH)
local again = bytes:view('uint8', 0, #bytes)
local column = bytes:column('float32', 4, WIDTH)
local big = { byteorder = 'big' }

local rows = {
  {
    'read the bytes once',
    function()
      return bytes:equal(again)
    end,
  },
  {
    'column of float32',
    function()
      return bytes:column('float32', 4, WIDTH)
    end,
  },
  {
    'column of float32, big',
    function()
      return bytes:column('float32', 4, WIDTH, big)
    end,
  },
  {
    'column of uint16',
    function()
      return bytes:column('uint16', 8, WIDTH)
    end,
  },
  {
    'setColumn of float32',
    function()
      return bytes:setColumn(column, 4, WIDTH)
    end,
  },
  {
    'clone of a column',
    function()
      return column:clone()
    end,
  },
}

if has_ffi then
  ffi.cdef [[
    typedef struct __attribute__((packed)) { uint32_t id; float x; uint16_t flags; } torch_bench_record;
  ]]
  local records = ffi.cast('torch_bench_record *', bytes:data())
  rows[#rows + 1] = {
    'sum of a column, FFI',
    function()
      local sum = 0
      for i = 0, RECORDS - 1 do
        sum = sum + records[i].x
      end
      return sum
    end,
  }
  rows[#rows + 1] = {
    'copy of a column, FFI',
    function()
      local copy = torch.FloatStorage(RECORDS)
      local data = copy:data()
      for i = 0, RECORDS - 1 do
        data[i] = records[i].x
      end
      return copy
    end,
  }
end

-- os.clock is the processor time, which with several threads is not the time that passes.
local clock = os.clock
if has_ffi and ffi.os == 'Linux' then
  ffi.cdef 'typedef struct { long s, ns; } torch_bench_time; int clock_gettime(int, torch_bench_time *);'
  local now = ffi.new 'torch_bench_time'
  clock = function()
    ffi.C.clock_gettime(1, now)
    return tonumber(now.s) + tonumber(now.ns) / 1e9
  end
end

local times = {}
for n = 1, #rows do
  times[n] = {}
end
for _ = 1, ROUNDS do
  for n, row in ipairs(rows) do
    collectgarbage()
    local start = clock()
    local result = row[2]()
    times[n][#times[n] + 1] = clock() - start
    assert(result)
  end
end

print(('%d records of %d bytes, %d rounds, %d threads'):format(RECORDS, WIDTH, ROUNDS, torch.getnumthreads()))
local first
for n, row in ipairs(rows) do
  table.sort(times[n])
  local median = times[n][math.floor((ROUNDS + 1) / 2)]
  first = first or median
  print(('%-24s %8.1f ms %8.1f ms %6.2f'):format(row[1], median * 1e3, times[n][1] * 1e3, median / first))
end
