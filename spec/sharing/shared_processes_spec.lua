-- Shared memory between many processes: 200 rounds with every way to end, two processes that write at once, a large storage.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local processes = require 'spec.support.processes'

local jit = rawget(_G, 'jit')
local compiled = jit and jit.status()

-- Pseudo-random numbers. SEED in the environment repeats a run.
local seed = tonumber(os.getenv 'SEED') or os.time() % 1000000
local state = seed

local function dice(bound)
  state = (state * 16807 + 12345) % 2147483647
  return math.floor(state / 1000) % bound + 1
end

-- The ways in which a participant leaves. After the first two the process lives on and joins a later round.
local WAYS = { 'collection', 'free', 'return', 'os.exit', 'error', 'kill' }
local CELLS = 8

-- The elements that the model expects in the first `size` cells.
local function expected(model, size)
  local elements = {}
  for i = 1, size do
    elements[i] = tostring(model[i] or 0)
  end
  return table.concat(elements, ', ')
end

local function attach(process, name, size)
  process:tell('s = torch.IntStorage(%q, true, %s, true)', name, tostring(size))
  process.size = tonumber(process:tell '#s')
end

-- One round: processes join, write and read in turn, fork and leave. `idle` are the processes without a storage.
local function round(idle, ends)
  local name, model, objects, present, forks = processes.name(), {}, 0, {}, 2
  for index = 1, 1 + dice(3) do
    local process = table.remove(idle) or processes.start()
    present[index] = process
    local size = index == 1 and CELLS or ({ false, 3, CELLS, CELLS + dice(5000) })[dice(4)] or nil
    objects = math.max(objects, size or 0)
    attach(process, name, size)
    assert.equal(size or objects, process.size)
    process:tell 'v = #s > 4 and torch.IntStorage(s, 2, 2) or nil'
  end
  while #present > 0 do
    local writer, reader = present[dice(#present)], present[dice(#present)]
    local cell, value = dice(math.min(writer.size, CELLS)), dice(1000000)
    writer:tell('s[%d] = %d', cell, value)
    model[cell] = value
    local shown = math.min(reader.size, CELLS)
    assert.equal(expected(model, shown), reader:tell('s:unpack(1, %d)', shown))
    if reader.size > CELLS then
      assert.equal('0', reader:tell 's[#s]')
    end
    assert.is_true(processes.exists(name))

    local index = dice(#present)
    local process = present[index]
    if jit and forks > 0 and dice(5) == 1 then
      forks = forks - 1
      local child = process:fork()
      child.size = process.size
      present[#present + 1] = child
      ends.fork = (ends.fork or 0) + 1
    else
      table.remove(present, index)
      local way = WAYS[dice(#present == 0 and #WAYS - 1 or #WAYS)]
      if way == 'collection' then
        process:tell 's, v = nil support.collect()'
      elseif way == 'free' then
        process:tell 'if v then v:free() end s:free()'
      else
        process:finish(way)
        process = nil
      end
      idle[#idle + 1] = process
      ends[way] = (ends[way] or 0) + 1
    end
    assert.equal(#present > 0, processes.exists(name))
  end
end

describe('shared memory among processes #process', function()
  after_each(processes.clean)

  it('is right in 200 rounds of processes that end in any way, and leaves nothing behind #slow', function()
    local idle, ends = {}, {}
    for number = 1, 200 do
      local ok, message = xpcall(function()
        round(idle, ends)
      end, function(reason)
        return type(reason) == 'table' and tostring(reason.message) or debug.traceback(tostring(reason))
      end)
      if not ok then
        error(('SEED=%d, round %d: %s'):format(seed, number, message))
      end
    end
    for _, process in ipairs(idle) do
      process:finish 'return'
    end
    assert.equal('', processes.left())
    for index, way in ipairs(WAYS) do
      assert.is_true(ends[way] > 30, index .. way)
    end
    assert.is_true(not jit or ends.fork > 30)
  end)

  -- Each process adds 1 to every element of its half, over and over, and they start together. The waiting loop calls a function
  -- because LuaJIT reads an element only once in a loop that changes nothing.
  local HAMMER = ([[
    local T, name, me, times = ...
    local s = torch[T .. 'Storage'](name, true, nil, true)
    local here = torch.IntStorage(name .. '-here', true, 2, true)
    local first, last = 1, 501
    if me == 2 then first, last = 502, #s end
    here[me] = 1
    local deadline = os.time() + 30
    while here[3 - me] == 0 do assert(os.time() < deadline, 'nobody else came') end
    for time = 1, times do
      for i = first, last do s[i] = s[i] + 1 end
    end
  ]]):gsub('%s+', ' ')

  -- 1e8 writes where they are compiled and 1e7 where they are not; a tenth of that for bytes, whose halves share a word.
  it('loses no write when two processes write to different halves at once', function()
    local one, two = processes.start(), processes.start()
    for _, case in ipairs { { 'Int', 2 ^ 32, 1 }, { 'Byte', 256, 10 } } do
      local T, modulus, part = unpack(case)
      local name, times = processes.name(), (compiled and 1e5 or 1e4) / part
      local s = torch[T .. 'Storage'](name, true, 1001, true)
      for me, process in ipairs { one, two } do
        process:send(('assert(loadstring(%q))(%q, %q, %d, %d)'):format(HAMMER, T, name, me, times))
      end
      one:hear()
      two:hear()
      assert.is_true(s:equal(s:clone():fill(times % modulus)), T)
      one:tell 'support.collect()'
      two:tell 'support.collect()'
      s:free()
    end
    assert.equal('', processes.left())
  end)

  it('takes no memory when a process attaches to 1 GiB of it #large', function()
    local size = 2 ^ 27
    local free = tonumber(support.sh 'df -B1 --output=avail /dev/shm | tail -n 1')
    if not free or free < 2 ^ 31 then
      pending('too little room in /dev/shm: ' .. tostring(free))
      return
    end
    local one, two, name = processes.start(), processes.start(), processes.name()
    for index, process in ipairs { one, two } do
      process:tell 'before = support.resident()'
      process:tell('s = torch.DoubleStorage(%q, true, %s, true)', name, index == 1 and size or 'nil')
      process:tell 'all = {} for i = 1, 100 do all[i] = torch.DoubleStorage(s:filename(), true, nil, true) end'
      assert.equal(('%d'):format(size), process:tell '#all[100]')
      local grown = tonumber(process:tell 'support.resident() - before')
      assert.is_true(grown < 2 ^ 22, grown)
    end
    assert.equal(('%d held'):format(2 ^ 30), processes.listed(name))
    two:tell 's[1], s[#s], all[50][2 ^ 26] = 1, 2, 3'
    assert.equal('1, 2, 3, 0', one:tell 'all[7][1], all[70][#s], s[2 ^ 26], s[2 ^ 26 + 1]')
    one:finish 'os.exit'
    two:finish 'return'
    assert.equal('', processes.left())
  end)
end)
