-- Messages from one rank to another.
local ranks = require 'ranks'
local mpi, torch, world, rank, size = ranks.mpi, ranks.torch, ranks.world, ranks.rank, ranks.size
local test, equal, raises, elements = ranks.test, ranks.equal, ranks.raises, ranks.elements
local next_rank, previous_rank = (rank + 1) % size, (rank - 1) % size

for _, class in ipairs(ranks.classes) do
  test('send and recv: ' .. class, function()
    for _, n in ipairs { 0, 1, 5, 3000, 100000 } do
      local mine, got = ranks.filled(class, n, rank), ranks.storage(class, n)
      if rank == 0 then
        world:send(mine, next_rank, n)
      end
      local count, source, tag = world:recv(got, previous_rank, n)
      if rank > 0 then
        world:send(mine, next_rank, n)
      end
      equal(n, count)
      equal(previous_rank, source)
      equal(n, tag)
      ranks.same(got, ranks.filled(class, n, previous_rank))
    end
  end)

  test('sendrecv: ' .. class, function()
    for _, n in ipairs { 0, 1, 100000 } do
      local mine, got = ranks.filled(class, n, rank), ranks.storage(class, n)
      local count, source, tag = world:sendrecv(mine, next_rank, got, previous_rank, 3, 3)
      equal(n, count)
      equal(previous_rank, source)
      equal(3, tag)
      ranks.same(got, ranks.filled(class, n, previous_rank))
    end
  end)

  test('isend and irecv: ' .. class, function()
    for _, n in ipairs { 0, 1, 100000 } do
      local mine, got = ranks.filled(class, n, rank), ranks.storage(class, n)
      local receive = world:irecv(got, previous_rank, 4)
      local send = world:isend(mine, next_rank, 4)
      local count, source, tag = receive:wait()
      equal(0, select('#', send:wait()))
      equal(n, count)
      equal(previous_rank, source)
      equal(4, tag)
      ranks.same(got, ranks.filled(class, n, previous_rank))
      equal(n, (receive:wait()), 'a second wait')
    end
  end)
end

test('ranks are counted from 0', function()
  equal(rank, tonumber(os.getenv 'OMPI_COMM_WORLD_RANK' or os.getenv 'PMI_RANK'))
  raises('a rank from 0 to ' .. size - 1 .. ' expected, got ' .. size, world.send, world, torch.ByteStorage(1), size)
  raises('expected, got -1', world.send, world, torch.ByteStorage(1), -1)
  raises('expected, got 0.5', world.send, world, torch.ByteStorage(1), 0.5)
  raises("expected, got '0'", world.send, world, torch.ByteStorage(1), '0')
  raises('a rank from 0', world.recv, world, torch.ByteStorage(1), size)
end)

test('a message to itself', function()
  local request = world:isend(torch.IntStorage { 1, 2 }, rank)
  local got = torch.IntStorage(2)
  world:recv(got, rank)
  request:wait()
  elements({ 1, 2 }, got)
end)

test('any rank and any tag', function()
  if rank == 0 then
    local seen = {}
    for _ = 1, size - 1 do
      local got = torch.LongStorage(1)
      local count, source, tag = world:recv(got)
      equal(1, count)
      equal(source * 10, tag)
      equal(source, got[1])
      assert(not seen[source])
      seen[source] = true
    end
  else
    world:send(torch.LongStorage { rank }, 0, rank * 10)
  end
  world:barrier()
end)

test('tags choose the message', function()
  if rank == 0 then
    for tag = 1, 3 do
      world:send(torch.LongStorage { tag }, 1, tag)
    end
  elseif rank == 1 then
    local got = torch.LongStorage(1)
    for _, tag in ipairs { 2, 3, 1 } do
      world:recv(got, 0, tag)
      equal(tag, got[1])
    end
  end
end)

test('tensors that are contiguous', function()
  local from, to = torch.FloatTensor(3, 4):fill(rank), torch.FloatTensor(2, 6)
  world:sendrecv(from, next_rank, to, previous_rank)
  for i = 1, 2 do
    for j = 1, 6 do
      equal(previous_rank, to:get(i, j))
    end
  end
  raises('contiguous', world.send, world, from:t(), next_rank)
  -- A part of a tensor: only its elements are sent and received.
  local whole = torch.FloatTensor(4, 3):fill(-1)
  world:sendrecv(torch.FloatTensor(6):fill(rank), next_rank, whole:narrow(1, 2, 2), previous_rank)
  local p = previous_rank
  elements({ -1, -1, -1, p, p, p, p, p, p, -1, -1, -1 }, whole)
end)

test('views: only their elements are received', function()
  local s = torch.IntStorage(10):fill(7)
  local part = torch.IntStorage(s, 4, 3)
  world:sendrecv(torch.IntStorage { 1, 2, 3 }, next_rank, part, previous_rank)
  elements({ 7, 7, 7, 1, 2, 3, 7, 7, 7, 7 }, s)
end)

test('a shorter message leaves the other elements', function()
  local got = torch.ShortStorage(5):fill(9)
  local count = world:sendrecv(torch.ShortStorage { 1, 2 }, next_rank, got, previous_rank)
  equal(2, count)
  elements({ 1, 2, 9, 9, 9 }, got)
end)

-- Rule 1. Open MPI would write all of the message, behind the end of the buffer too.
for _, many in ipairs { 12, 5000, 300000 } do
  test(('a message of %d elements is too long for recv'):format(many), function()
    local whole = torch.IntStorage(many):fill(7)
    local part = torch.IntStorage(whole, 1, 10)
    if rank == 0 then
      world:send(torch.IntStorage(many):fill(1), 1)
      world:send(torch.IntStorage { 5 }, 1)
    elseif rank == 1 then
      raises(('the message from rank 0 with tag 0 has %d elements'):format(many), world.recv, world, part, 0)
      for i = 1, many do
        equal(7, whole[i])
      end
      equal(1, (world:recv(part, 0))) -- the next message is not lost
      equal(5, part[1])
    end
  end)

  test(('a message of %d elements is too long for irecv'):format(many), function()
    local whole = torch.IntStorage(many):fill(7)
    local part = torch.IntStorage(whole, 1, 10)
    if rank == 0 then
      world:send(torch.IntStorage(many):fill(1), 1)
      world:send(torch.IntStorage { 5 }, 1)
    elseif rank == 1 then
      local first, second = world:irecv(part, 0), world:irecv(torch.IntStorage(1), 0)
      raises('elements, and the torch.IntStorage for it has 10: it was dropped', first.wait, first)
      raises('it was dropped', first.wait, first)
      raises('it was dropped', first.test, first)
      for i = 1, many do
        equal(7, whole[i])
      end
      equal(1, (second:wait()))
    end
  end)

  test(('a message of %d elements is too long for sendrecv'):format(many), function()
    local whole = torch.IntStorage(many):fill(7)
    local part = torch.IntStorage(whole, 1, 10)
    raises('it was dropped', world.sendrecv, world, torch.IntStorage(many):fill(1), next_rank, part, previous_rank)
    for i = 1, many do
      equal(7, whole[i])
    end
  end)
end

test('a message that is not whole elements', function()
  if rank == 0 then
    world:send(torch.ByteStorage(6), 1)
  elseif rank == 1 then
    raises(
      'has 6 bytes, which are not whole elements of torch.IntStorage (4 bytes)',
      world.recv,
      world,
      torch.IntStorage(4)
    )
  end
end)

test('classes that disagree cannot be seen, their bytes are received', function()
  local got = torch.IntStorage(1)
  equal(1, (world:sendrecv(torch.FloatStorage { 1 }, next_rank, got, previous_rank)))
  equal(0x3f800000, got[1])
end)

test('receives get messages in the order in which they were begun', function()
  local n = 20
  if rank == 0 then
    for i = 1, n do
      world:send(torch.IntStorage { i }, 1, i % 2)
    end
  elseif rank == 1 then
    local got, requests = {}, {}
    for i = 1, n do
      got[i] = torch.IntStorage(1)
      requests[i] = i % 4 == 0 and world:irecv(got[i]) or world:irecv(got[i], 0)
    end
    for i = n, 1, -1 do
      requests[i]:wait()
    end
    for i = 1, n do
      equal(i, got[i][1])
    end
  end
end)

test('a receive after an irecv gets the later message', function()
  if rank == 0 then
    world:send(torch.IntStorage { 1 }, 1)
    world:send(torch.IntStorage { 2 }, 1)
  elseif rank == 1 then
    local first, second = torch.IntStorage(1), torch.IntStorage(1)
    local request = world:irecv(first, 0)
    world:recv(second, 0)
    request:wait()
    equal(1, first[1])
    equal(2, second[1])
  end
end)

-- Large messages wait for their receivers: each rank must find its message while it waits for something else.
local LARGE = 200000

test('irecv, then send', function()
  local got = torch.IntStorage(LARGE)
  local request = world:irecv(got, previous_rank)
  world:send(torch.IntStorage(LARGE):fill(rank), next_rank)
  request:wait()
  equal(previous_rank, got[LARGE])
end)

test('irecv, then a collective', function()
  local got = torch.IntStorage(LARGE)
  local request = rank ~= 0 and world:irecv(got, 0)
  if rank == 0 then
    for other = 1, size - 1 do
      world:isend(torch.IntStorage(LARGE):fill(3), other):wait()
    end
  end
  world:barrier()
  if request then
    request:wait()
    equal(3, got[LARGE])
  end
end)

test('irecv, then recv of another message', function()
  if rank == 0 then
    world:send(torch.IntStorage(LARGE):fill(1), 1, 1)
    world:send(torch.IntStorage(LARGE):fill(2), 1, 2)
  elseif rank == 1 then
    local first, second = torch.IntStorage(LARGE), torch.IntStorage(LARGE)
    local request = world:irecv(first, 0, 1)
    world:recv(second, 0, 2)
    request:wait()
    equal(1, first[LARGE])
    equal(2, second[LARGE])
  end
end)

test('test looks and does not wait', function()
  if rank == 0 then
    world:barrier()
    world:send(torch.IntStorage { 4 }, 1)
  elseif rank == 1 then
    local got = torch.IntStorage(1)
    local request = world:irecv(got, 0)
    equal(false, request:test())
    world:barrier()
    local is_done, count, source
    repeat
      is_done, count, source = request:test()
    until is_done
    equal(1, count)
    equal(0, source)
    equal(4, got[1])
  else
    world:barrier()
  end
end)

test('waitall', function()
  local got, requests = {}, {}
  for other = 0, size - 1 do
    got[other] = torch.DoubleStorage(1000)
    table.insert(requests, world:irecv(got[other], other, 9))
    table.insert(requests, world:isend(torch.DoubleStorage(1000):fill(rank), other, 9))
  end
  equal(0, select('#', mpi.waitall(requests)))
  for other = 0, size - 1 do
    equal(other, got[other][1000])
  end
  mpi.waitall {}
  raises('a table of requests expected, got number at index 1', mpi.waitall, { 1 })
  raises('a table of requests expected, got nil', mpi.waitall, nil)
end)

test('waitall waits for all requests, even if one fails', function()
  if rank == 0 then
    world:send(torch.IntStorage(3), 1)
    world:send(torch.IntStorage { 8 }, 1)
  elseif rank == 1 then
    local got = torch.IntStorage(1)
    raises('has 3 elements', mpi.waitall, { world:irecv(torch.IntStorage(1), 0), world:irecv(got, 0) })
    equal(8, got[1])
  end
end)

-- Rule 5.
test('a storage in flight cannot be resized', function()
  local s = torch.IntStorage(10)
  local request = world:irecv(s, previous_rank)
  raises('', s.resize, s, 20)
  equal(10, #s)
  world:send(torch.IntStorage(10), next_rank)
  request:wait()
  s:resize(20)
  local send = world:isend(s, next_rank)
  world:recv(torch.IntStorage(20), previous_rank)
  send:wait()
  s:resize(5)
end)

test('a storage that was freed in flight stays until the message is complete', function()
  local s = torch.IntStorage(LARGE):fill(rank)
  local request = world:isend(s, next_rank)
  s:free()
  local got = torch.IntStorage(LARGE)
  world:recv(got, previous_rank)
  request:wait()
  equal(previous_rank, got[LARGE])
end)

test('a request for sending that was collected: the message arrives', function()
  -- In a function of its own, so that no slot of the stack still has the request.
  local function begin()
    local s = torch.IntStorage(LARGE):fill(rank + 10)
    world:isend(s, next_rank)
  end
  begin()
  collectgarbage()
  collectgarbage()
  local junk = torch.IntStorage(LARGE):fill(99)
  local got = torch.IntStorage(LARGE)
  world:recv(got, previous_rank)
  for i = 1, LARGE, 1000 do
    equal(previous_rank + 10, got[i])
  end
  equal(99, junk[1])
  world:barrier()
end)

test('a request for receiving that was collected: the message is for the next receive', function()
  local function begin()
    world:irecv(torch.IntStorage(4), previous_rank)
  end
  begin()
  collectgarbage()
  collectgarbage()
  world:barrier()
  world:send(torch.IntStorage { 6 }, next_rank)
  local got = torch.IntStorage(1)
  world:recv(got, previous_rank)
  equal(6, got[1])
end)

test('storages that are only read', function()
  local s = torch.ByteStorage(12)
  local name = os.tmpname()
  local file = assert(io.open(name, 'w'))
  file:write 'twelve bytes'
  file:close()
  local map = torch.ByteStorage { filename = name, readonly = true }
  raises('read-only', world.recv, world, map)
  raises('read-only', world.irecv, world, map)
  raises('read-only', world.sendrecv, world, s, next_rank, map, previous_rank)
  local got = torch.ByteStorage(12)
  world:sendrecv(map, next_rank, got, previous_rank)
  equal('twelve bytes', got:string())
  os.remove(name)
end)

test('wrong arguments', function()
  local s = torch.ByteStorage(1)
  raises('a communicator', world.send, 1, s, 0)
  raises('a communicator', world.send, io.stdout, s, 0)
  raises('expected, got number', world.send, world, 1, 0)
  raises('expected, got nil', world.isend, world, nil, 0)
  raises('a rank from 0', world.send, world, s)
  raises('a tag from 0', world.send, world, s, 0, -1)
  raises('a tag from 0', world.send, world, s, 0, 2 ^ 40)
  raises('a tag from 0', world.recv, world, s, 0, 1.5)
  raises('other memory', world.sendrecv, world, s, next_rank, s, previous_rank)
  s:free()
  raises('', world.send, world, s, 0)
  local message = select(
    2,
    pcall(function()
      world:send(torch.ByteStorage(1), 99)
    end)
  )
  assert(message:find '^.-point_ranks.lua:%d+: bad argument', message)
end)

test('everything is declared for editors, and nothing else', function()
  local file = assert(io.open 'lua/torch/meta_mpi.lua')
  local text = file:read '*a'
  file:close()
  local declared = { world = true }
  for name in text:gmatch '\nfunction mpi%.([%w_]+)' do
    declared[name] = true
  end
  for name in pairs(declared) do
    assert(mpi[name], name .. ' does not exist')
  end
  for name in pairs(mpi) do
    assert(declared[name], name .. ' is not declared')
  end
  local request = world:irecv(torch.IntStorage(1), rank)
  for class, object in pairs { Communicator = world, Request = request } do
    local methods = {}
    for name in text:gmatch('\nfunction ' .. class .. ':([%w_]+)') do
      methods[name] = true
      assert(object[name], name .. ' does not exist')
    end
    for name in pairs(debug.getmetatable(object).__index) do
      assert(methods[name] or name:find '^__', name .. ' is not declared')
    end
  end
  world:send(torch.IntStorage(1), rank)
  request:wait()
end)

test('nothing is left', function()
  world:barrier()
  collectgarbage()
  collectgarbage()
end)

ranks.done()
