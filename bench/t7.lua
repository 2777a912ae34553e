-- Measures saving and loading .t7 files, next to handling as many bytes without the format.
--
--   luajit bench/t7.lua [files|tables|ascii|memory]
--
-- Every line has our figure, that of its reference, their ratio, and the project's goal: the largest ratio that is good
-- enough. Both are medians, measured in turn in one run. The references are: for files, plain reading and writing of as many
-- bytes in the same folder, with fsync; for tables, the same format in plain Lua (bench/plain_t7.lua); for memory, the size
-- of the storage.
package.path = './?.lua;' .. package.path
local torch = require 'torch.storage'
local plain = require 'bench.plain_t7'
local tsv = require 'bench.tsv'
local run_sections = require 'bench.sections'
local has_ffi, ffi = pcall(require, 'ffi')
has_ffi = has_ffi and rawget(_G, 'jit') ~= nil

local BYTES = 1e8
local ROUNDS = 5

-- A path in a temporary folder of this run.
local folder
local function path(name)
  folder = folder or assert(io.popen('mktemp -d'):read())
  return folder .. '/' .. name
end

-- Wall time, because waiting for the disk takes no processor time.
local seconds
if has_ffi then
  ffi.cdef [[
    struct bench_t7_timespec { long seconds, nanoseconds; };
    int clock_gettime(int clock, struct bench_t7_timespec *time);
    int open(const char *path, int flags, int mode);
    int close(int descriptor);
    int fsync(int descriptor);
    ssize_t write(int descriptor, const void *bytes, size_t count);
    ssize_t read(int descriptor, void *bytes, size_t count);
    void *malloc(size_t size);
    void free(void *pointer);
  ]]
  local time = ffi.new 'struct bench_t7_timespec'
  function seconds()
    ffi.C.clock_gettime(1, time)
    return tonumber(time.seconds) + tonumber(time.nanoseconds) * 1e-9
  end
end

local function timed(clock, f, ...)
  collectgarbage()
  collectgarbage()
  local started = clock()
  local kept = f(...)
  local time = clock() - started
  return time, kept
end

local function median(times)
  table.sort(times)
  return times[math.floor(#times / 2) + 1]
end

-- Returns the times of both, sorted. They are measured in turn, and which of them comes first alternates.
local function both(clock, rounds, ours, reference)
  local mine, theirs = {}, {}
  for round = 1, rounds do
    if round % 2 == 0 then
      theirs[round] = timed(clock, reference)
      mine[round] = timed(clock, ours)
    else
      mine[round] = timed(clock, ours)
      theirs[round] = timed(clock, reference)
    end
  end
  table.sort(mine)
  table.sort(theirs)
  return mine, theirs
end

-- The section: the `unit` of its figures, the `scale` from seconds or bytes to it, and the name of the `reference`.
local section
local function title(text, unit, scale, reference)
  section = { name = text, unit = unit, scale = scale, reference = reference }
  local heading = ('%s, %s (%s)'):format(text, unit, reference)
  print(('\n%-46s %10s %10s %8s %8s'):format(heading, 'ours', 'reference', 'ratio', 'goal'))
end

-- The figures of both sides are sorted lists.
local function line(name, our_figures, reference_figures, goal)
  local scale = section.scale
  local ours, reference = median(our_figures) * scale, median(reference_figures) * scale
  local ratio = ours / reference
  tsv.row {
    section = section.name,
    case = name,
    unit = section.unit,
    min = our_figures[1] * scale,
    median = ours,
    reference = section.reference,
    reference_min = reference_figures[1] * scale,
    reference_median = reference,
  }
  print(
    ('  %-44s %10.4g %10.4g %8.3f %8.2f%s'):format(
      name,
      ours,
      reference,
      ratio,
      goal,
      ratio <= goal and '' or ' missed'
    )
  )
end

-- Plain writing with fsync, plain reading into new memory, and plain reading into memory that is in use already and so causes
-- no page faults.
local plain_write, plain_read, plain_reread

if has_ffi then
  local CREATE = 577 -- O_WRONLY | O_CREAT | O_TRUNC
  function plain_write(name, storage)
    local descriptor = ffi.C.open(name, CREATE, 420)
    local bytes, done = ffi.cast('const char *', storage:data()), 0
    while done < BYTES do
      done = done + tonumber(ffi.C.write(descriptor, bytes + done, BYTES - done))
    end
    assert(ffi.C.fsync(descriptor) == 0)
    ffi.C.close(descriptor)
  end
  local function read_into(name, memory)
    local descriptor = ffi.C.open(name, 0, 0)
    local bytes, done = ffi.cast('char *', memory), 0
    while done < BYTES do
      done = done + tonumber(ffi.C.read(descriptor, bytes + done, BYTES - done))
    end
    ffi.C.close(descriptor)
  end
  function plain_read(name)
    local memory = ffi.C.malloc(BYTES)
    read_into(name, memory)
    ffi.C.free(memory)
  end
  local warm = torch.ByteStorage(BYTES):fill(1)
  function plain_reread(name)
    read_into(name, warm:data())
  end
end

local function files()
  title('one storage of 1e8 bytes', 'ms', 1e3, 'write and fsync, read')
  local storage = torch.DoubleStorage(BYTES / 8):fill(1.5)
  local ours, theirs = path 'ours.t7', path 'plain'
  local mine, reference = both(seconds, ROUNDS, function()
    torch.save(ours, storage)
  end, function()
    plain_write(theirs, storage)
  end)
  line('save', mine, reference, 1.25)
  mine, reference = both(seconds, ROUNDS, function()
    return torch.load(ours)
  end, function()
    plain_read(theirs)
  end)
  line('load', mine, reference, 1.25)
  mine, reference = both(seconds, ROUNDS, function()
    return torch.load(ours)
  end, function()
    plain_reread(theirs)
  end)
  line('load (read into memory in use)', mine, reference, 2)
  mine, reference = both(seconds, ROUNDS, function()
    return torch.load(ours, { mmap = true })
  end, function()
    plain_read(theirs)
  end)
  line('load, mmap=true', mine, reference, 0.1)
  mine, reference = both(os.clock, ROUNDS, function()
    return torch.serializeToStorage(storage)
  end, function()
    return storage:clone()
  end)
  line('serializeToStorage (storage:clone())', mine, reference, 2)
end

local function tables()
  local numbers, strings, nested = {}, {}, {}
  for i = 1, 1e6 do
    numbers[i] = i % 3 == 0 and i or i * 0.1
  end
  for i = 1, 1e5 do
    strings[i] = ('string %d'):format(i)
    nested[i] = { i, x = i }
  end
  local samples = { { '1e6 numbers', numbers }, { '1e5 strings', strings }, { '1e5 small tables', nested } }
  title('tables in memory', 'ms', 1e3, 'plain Lua')
  for _, sample in ipairs(samples) do
    local name, object = sample[1], sample[2]
    local bytes = plain.serialize(object)
    assert(bytes == torch.serialize(object) and plain.serialize(plain.deserialize(bytes)) == bytes)
    local mine, reference = both(os.clock, 3, function()
      return torch.serialize(object)
    end, function()
      return plain.serialize(object)
    end)
    line('serialize ' .. name, mine, reference, 0.2)
    mine, reference = both(os.clock, 3, function()
      return torch.deserialize(bytes)
    end, function()
      return plain.deserialize(bytes)
    end)
    line('deserialize ' .. name, mine, reference, 0.2)
    if object == strings then
      -- The part of the work that any reader must do: making the strings, by the interpreter's own function.
      local starts, from = {}, 1
      for i = 1, #strings do
        starts[i] = bytes:find(strings[i], from, true)
        from = starts[i] + #strings[i]
      end
      mine, reference = both(os.clock, 3, function()
        local t, sub = {}, string.sub
        for i = 1, #strings do
          t[i] = sub(bytes, starts[i], starts[i] + #strings[i] - 1)
        end
        return t
      end, function()
        return plain.deserialize(bytes)
      end)
      line('only string.sub, 1e5 strings', mine, reference, 0.2)
    end
  end
end

-- Torch7's figure for writing, recorded for each interpreter on a machine of this kind. There is none for reading.
local ORIGINAL = rawget(_G, 'jit') and 204.1 or 207.1

local function ascii()
  local count = 1e5
  local seed = 1
  local function dice()
    seed = (seed * 16807) % 2147483647
    return seed / 2147483647
  end
  local kinds = {
    {
      'random',
      function()
        return dice() - 0.5
      end,
    },
    {
      'of any size',
      function()
        return (dice() - 0.5) * 2 ^ math.floor(dice() * 1800 - 900)
      end,
    },
    {
      'small integers',
      function()
        return math.floor(dice() * 1000)
      end,
    },
  }
  title('ascii doubles', 'ns/element', 1e9, 'Torch7, recorded')
  for _, kind in ipairs(kinds) do
    local storage = torch.DoubleStorage(count)
    for i = 1, count do
      storage[i] = kind[2]()
    end
    local text = torch.serialize(storage, 'ascii')
    local writing, reading = {}, {}
    for round = 1, 9 do
      writing[round] = timed(os.clock, torch.serialize, storage, 'ascii') / count
      reading[round] = timed(os.clock, torch.deserialize, text, 'ascii') / count
    end
    line('serialize, ' .. kind[1], writing, { ORIGINAL / 1e9 }, 0.5)
    line('deserialize, ' .. kind[1], reading, { ORIGINAL / 1e9 }, 0.5)
  end
end

-- Returns the peak memory, in bytes, of a child process that runs the source.
local function peak(source)
  local name = path 'child.lua'
  local file = assert(io.open(name, 'w'))
  file:write(
    "local torch = require 'torch.storage'\n",
    source,
    [[

    local status = io.open('/proc/self/status'):read '*a'
    print(tonumber(status:match 'VmHWM:%s*(%d+)') * 1024)
  ]]
  )
  file:close()
  local words, lowest = {}, 0
  while arg[lowest - 1] do
    lowest = lowest - 1
  end
  for i = lowest, -1 do
    words[#words + 1] = arg[i]
  end
  local pipe = io.popen(('%s %s'):format(table.concat(words, ' '), name))
  local bytes = tonumber(pipe:read '*a')
  pipe:close()
  return (assert(bytes, 'the child failed'))
end

local function memory()
  title('peak memory', 'MiB', 2 ^ -20, 'a 1 GiB storage')
  local name = path 'large.t7'
  local make = 'local s = torch.DoubleStorage(2^27):fill(1)\n'
  local storage = peak(make)
  local function measured(what, source, goal)
    line(what, { peak(source) }, { storage }, goal)
  end
  measured('save', make .. ('torch.save(%q, s)'):format(name), 1.05)
  measured('load', ('kept = torch.load(%q)'):format(name), 1.05)
  measured('load, mmap=true', ('kept = torch.load(%q, { mmap = true })'):format(name), 0.05)
  measured('serializeToStorage', make .. 'kept = torch.serializeToStorage(s)', 2.1)
end

local sections = { { 'tables', tables }, { 'ascii', ascii }, { 'memory', memory } }
if has_ffi then -- plain Lua has neither fsync nor a clock for wall time
  table.insert(sections, 1, { 'files', files })
end
local ok, message = xpcall(function()
  run_sections(sections)
end, debug.traceback)
if folder then
  os.execute("rm -rf '" .. folder .. "'")
end
assert(ok, message)
