-- Measures the three figures that README.md begins with: elements next to a table and an FFI pointer, a file of 1 GiB that is
-- opened, and 500 MB that 8 processes share. It runs on LuaJIT only, because the references use its FFI, and on Linux.
--
--   luajit bench/front.lua [section]     (elements, file or workers; without one, all)
--
-- The section of workers needs 5 GB of memory, and that of the file 1 GiB on the disk of the current folder.
local torch = require 'torch.storage'
local measurement = require 'bench.measurement'
local run_sections = require 'bench.sections'
local tsv = require 'bench.tsv'

local has_ffi, ffi = pcall(require, 'ffi')
if not has_ffi then
  print 'bench/front.lua needs LuaJIT'
  return
end

-- What this benchmark and its workers share: a clock, and a reference that reads a file into memory of its own.
local COMMON = [[
  local torch = require 'torch.storage'
  local ffi = require 'ffi'
  ffi.cdef 'typedef struct { long s, ns; } front_time; int clock_gettime(int, front_time *); int usleep(unsigned);'
  ffi.cdef 'int open(const char *, int, ...); long read(int, void *, size_t); int close(int); void *malloc(size_t); void free(void *);'
  local now = ffi.new 'front_time'
  local function milliseconds()
    ffi.C.clock_gettime(1, now)
    return tonumber(now.s) * 1e3 + tonumber(now.ns) / 1e6
  end
  local function read_all(name, bytes)
    local memory = ffi.C.malloc(bytes)
    local file = ffi.C.open(name, 0)
    local done = 0
    while done < bytes do
      local count = tonumber(ffi.C.read(file, ffi.cast('char *', memory) + done, bytes - done))
      assert(count > 0, 'the file is too short')
      done = done + count
    end
    ffi.C.close(file)
    return ffi.cast('float *', memory)
  end
]]
local milliseconds, read_all = assert(loadstring(COMMON .. ' return milliseconds, read_all'))()

local function median(list)
  table.sort(list)
  return list[math.floor(#list / 2) + 1]
end

-- Prints and writes a line of figures and their reference, which are sorted here.
local function report(section, case, unit, figures, reference, references)
  local middle, other = median(figures), median(references)
  print(('  %-44s %10.4g %10.4g %10.4g %10.3g'):format(case, figures[1], middle, other, middle / other))
  tsv.row {
    section = section,
    case = case,
    unit = unit,
    min = figures[1],
    median = middle,
    reference = reference,
    reference_min = references[1],
    reference_median = other,
  }
end

local function elements()
  local SIZE = 1e6
  local storage, t, array = torch.DoubleStorage(SIZE), {}, ffi.new('double[?]', SIZE)
  for i = 1, SIZE do
    storage[i], t[i], array[i - 1] = i, i, i
  end
  local sum = 'for _ = 1, n do for i = 1, b do sum = sum + a[i] end end'
  local sum_from_0 = 'for _ = 1, n do for i = 0, b - 1 do sum = sum + a[i] end end'
  local function line(name, reference)
    local run = measurement.compile(sum, storage, SIZE)
    measurement.measure { name = 'DoubleStorage : ' .. name, run = run, reference = reference, unit = SIZE }
  end
  measurement.title 'sum of 1e+06 elements'
  line('table', measurement.compile(sum, t, SIZE))
  line('FFI pointer without checks', measurement.compile(sum_from_0, ffi.cast('double *', array), SIZE))
end

local function file()
  local BYTES, ROUNDS = 2 ^ 30, 7
  local name = ('front-%s.tmp'):format(torch.pointer {})
  torch.FloatStorage({ filename = name, shared = true, size = BYTES / 4 }):fill(0.5):free()
  local mapped, read = {}, {}
  for round = 1, ROUNDS do
    local began = milliseconds()
    local s = torch.FloatStorage { filename = name, readonly = true }
    assert(s[BYTES / 4] == 0.5)
    mapped[round] = milliseconds() - began
    s:free()
    began = milliseconds()
    local pointer = read_all(name, BYTES)
    assert(pointer[BYTES / 4 - 1] == 0.5)
    read[round] = milliseconds() - began
    ffi.C.free(pointer)
  end
  os.remove(name)
  measurement.title 'a file of 1 GiB, ms'
  report('a file of 1 GiB', 'FloatStorage { filename }, last element', 'ms', mapped, 'malloc and read', read)
end

-- What a worker does: in its turn it gets the elements and says how long that took. Then it reads all of them, and says how much
-- memory it has while all workers have theirs.
local WORKER = COMMON
  .. [[
  local WAY, NUMBER, NAME, SIZE = %q, %d, %q, %d
  local status = torch.DoubleStorage { shared = NAME .. '-status' }
  local function wait_for(index, value)
    while status[index] < value do
      ffi.C.usleep(1000)
    end
  end
  wait_for(3, NUMBER)
  local began = milliseconds()
  local elements, first
  if WAY == 'attach' then
    elements, first = torch.FloatStorage { shared = NAME, readonly = true }, 1
  else
    elements, first = read_all('/dev/shm/' .. NAME, SIZE * 4), 0
  end
  local last = elements[first + SIZE - 1]
  status[10 + NUMBER] = milliseconds() - began
  local sum = 0
  for i = first, first + SIZE - 1 do
    sum = sum + elements[i]
  end
  assert(sum == SIZE * last)
  status[20 + NUMBER] = 1
  wait_for(1, 1)
  for line in io.lines '/proc/self/smaps_rollup' do
    local kilobytes = line:match '^Pss:%%s*(%%d+)'
    if kilobytes then
      status[30 + NUMBER] = kilobytes / 1000 * 1.024
    end
  end
  status[40 + NUMBER] = 1
  wait_for(2, 1)
]]

local function workers()
  local COUNT, SIZE = 8, 125e6
  local name = ('front-%s'):format(torch.pointer {})
  -- Milliseconds until each worker has the elements, and the megabytes of all workers together.
  local function run(way)
    local shared = torch.FloatStorage({ shared = name, size = SIZE, create = true }):fill(0.5)
    local status = torch.DoubleStorage { shared = name .. '-status', size = 50, create = true }
    local function wait_for(index)
      for worker = 1, COUNT do
        while status[index + worker] == 0 do
          ffi.C.usleep(1000)
        end
      end
    end
    local pipes = {}
    for worker = 1, COUNT do
      local program = os.tmpname()
      local out = assert(io.open(program, 'w'))
      out:write(WORKER:format(way, worker, name, SIZE), ('os.remove(%q)\n'):format(program))
      out:close()
      pipes[worker] = assert(io.popen(('luajit %s 2>&1'):format(program)))
    end
    for worker = 1, COUNT do
      status[3] = worker
      while status[10 + worker] == 0 do
        ffi.C.usleep(1000)
      end
    end
    wait_for(20)
    shared:free() -- only the workers have them now, if they share them
    status[1] = 1
    wait_for(40)
    status[2] = 1
    local times, megabytes = {}, 0
    for worker = 1, COUNT do
      local output = pipes[worker]:read '*a'
      pipes[worker]:close()
      assert(output == '', output)
      times[worker] = status[10 + worker]
      megabytes = megabytes + status[30 + worker]
    end
    return times, megabytes
  end
  local attached, memory = run 'attach'
  local read, more_memory = run 'read'
  measurement.title '500 MB for 8 workers, ms for each and MB in all'
  local section = '500 MB for 8 workers'
  report(section, 'FloatStorage { shared }, last element', 'ms', attached, 'malloc and read', read)
  report(section, 'memory of all workers', 'MB', { memory }, 'malloc and read', { more_memory })
end

run_sections { { 'elements', elements }, { 'file', file }, { 'workers', workers } }
