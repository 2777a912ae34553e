-- Messages and collectives of more than 2^31-1 elements. `make test-mpi LARGE=1 RANKS=2` runs this too; it takes 9 GB of memory.
local ranks = require 'ranks'
local torch, world, rank = ranks.torch, ranks.world, ranks.rank
local test, equal = ranks.test, ranks.equal

local SIZE = 2 ^ 31 + 5

local s = torch.ByteStorage(SIZE)

local function set()
  s:fill(rank + 1)
  s[1], s[2 ^ 30], s[2 ^ 30 + 1], s[2 ^ 31], s[SIZE] = rank + 11, rank + 12, rank + 13, rank + 14, rank + 15
end

local function check(first, other)
  equal(first, s[1])
  equal(first + 1, s[2 ^ 30])
  equal(first + 2, s[2 ^ 30 + 1])
  equal(first + 3, s[2 ^ 31])
  equal(first + 4, s[SIZE])
  equal(other, s[2])
  equal(other, s[SIZE - 1])
end

test('send and recv', function()
  set()
  if rank == 0 then
    world:send(s, 1)
  elseif rank == 1 then
    equal(SIZE, (world:recv(s, 0)))
    check(11, 1)
  end
end)

test('isend and irecv', function()
  set()
  if rank == 0 then
    world:isend(s, 1):wait()
  elseif rank == 1 then
    equal(SIZE, (world:irecv(s, 0):wait()))
    check(11, 1)
  end
end)

test('a message that is too long', function()
  if rank == 0 then
    world:send(s, 1)
  elseif rank == 1 then
    local works, why = pcall(world.recv, world, torch.ByteStorage(10), 0)
    assert(not works and why:find('has 2147483653 elements', 1, true), why)
  end
end)

test('bcast', function()
  set()
  world:bcast(s, 1)
  check(12, 2)
end)

test('allreduce', function()
  set()
  world:allreduce(s, 'max')
  check(10 + world:size(), world:size())
end)

ranks.done()
