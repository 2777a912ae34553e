-- Random sequences of sends and receives, the same ones on every rank, and what is left afterwards.
local ranks = require 'ranks'
local mpi, torch, world, rank, size = ranks.mpi, ranks.torch, ranks.world, ranks.rank, ranks.size
local test, equal = ranks.test, ranks.equal

-- Random numbers that are the same on every rank and interpreter.
local state = 42
local function random(n)
  state = (state * 16807) % 2147483647
  return state % n
end

local SEQUENCES = 2500
local MESSAGES = 4
local SIZES = { 0, 1, 17, 1000, 1500, 30000 }

-- A sequence is a few messages between random ranks. Each rank begins its own in a random way, then completes all of them.
local function sequence()
  local pending, checks = {}, {}
  for tag = 1, MESSAGES do
    local from, to = random(size), random(size)
    local n, seed = SIZES[random(#SIZES) + 1], random(100)
    local class = ranks.classes[random(#ranks.classes) + 1]
    local how_sent, how_received, room = random(3), random(4), random(2) * 5
    if to == rank then
      local got = ranks.storage(class, n + room)
      local source, by_tag = how_received > 0 and from or nil, tag
      pending[#pending + 1] = world:irecv(got, source, by_tag)
      checks[#checks + 1] =
        { got = got, n = n, seed = seed, class = class, request = pending[#pending], from = from, tag = tag }
    end
    if from == rank then
      local s = ranks.filled(class, n, seed)
      if how_sent == 0 and from ~= to then
        world:send(s, to, tag)
      elseif how_sent == 1 then
        world:isend(s, to, tag) -- nobody keeps the request
      else
        pending[#pending + 1] = world:isend(s, to, tag)
      end
    end
    if random(10) == 0 then
      world:barrier()
    end
  end
  if random(2) == 0 then
    mpi.waitall(pending)
  else
    while #pending > 0 do
      local n = 1 + (rank + #pending) % #pending
      pending[n]:wait()
      table.remove(pending, n)
    end
  end
  for _, check in ipairs(checks) do
    local count, source, tag = check.request:wait()
    equal(check.n, count)
    equal(check.from, source)
    equal(check.tag, tag)
    local expected = ranks.filled(check.class, check.n, check.seed)
    if check.n > 0 then
      ranks.same(ranks.storage(check.class, check.got, 1, check.n), expected)
    end
  end
  -- The tags are those of the next sequence too.
  world:barrier()
end

test(('%d random messages in sequences of %d'):format(SEQUENCES * MESSAGES, MESSAGES), function()
  for _ = 1, 200 do
    sequence()
  end
  collectgarbage()
  collectgarbage()
  local descriptors, resident = ranks.descriptors(), ranks.resident()
  local heap = torch.memory().heap
  for _ = 201, SEQUENCES do
    sequence()
  end
  world:barrier()
  collectgarbage()
  collectgarbage()
  assert(ranks.descriptors() <= descriptors + 2, 'descriptors: ' .. ranks.descriptors() .. ', before ' .. descriptors)
  assert(torch.memory().heap <= heap + 1e6, ('storages: %d bytes, before %d'):format(torch.memory().heap, heap))
  assert(ranks.resident() < resident + 50000, ('%d kB, before %d'):format(ranks.resident(), resident))
end)

test('requests, communicators and dropped messages leave nothing', function()
  -- In functions of their own, so that no slot of the stack still has the requests.
  local function begin_and_forget(s)
    world:irecv(s)
  end
  local function drop(s)
    local request = world:irecv(torch.IntStorage(10), (rank - 1) % size, 3)
    world:send(s, (rank + 1) % size, 3)
    assert(not pcall(request.wait, request))
  end
  local function round()
    local part = world:split(rank % 2)
    part:barrier()
    part:free()
    local s = torch.IntStorage(1000)
    drop(s)
    begin_and_forget(s) -- never gets a message
    collectgarbage()
    collectgarbage()
    world:barrier()
    world:sendobject({ rank }, (rank + 1) % size, 5)
    world:recvobject((rank - 1) % size, 5)
    collectgarbage()
    assert(not pcall(world.bcast, world, s, -1))
  end
  for _ = 1, 50 do
    round()
  end
  local descriptors, resident = ranks.descriptors(), ranks.resident()
  for _ = 1, 500 do
    round()
  end
  assert(ranks.descriptors() <= descriptors + 2, 'descriptors: ' .. ranks.descriptors() .. ', before ' .. descriptors)
  assert(ranks.resident() < resident + 20000, ('%d kB, before %d'):format(ranks.resident(), resident))
end)

ranks.done()
