-- What all ranks do together, compared with the same computed by each rank alone.
local ranks = require 'ranks'
local mpi, torch, world, rank, size = ranks.mpi, ranks.torch, ranks.world, ranks.rank, ranks.size
local test, equal, raises, elements = ranks.test, ranks.equal, ranks.raises, ranks.elements
local bit_and, bit_or, bit_xor

-- Bits of whole numbers from 0 to 255, without a library.
local function bitwise(decide)
  return function(a, b)
    local result, place = 0, 1
    while a > 0 or b > 0 do
      if decide(a % 2, b % 2) then
        result = result + place
      end
      a, b, place = math.floor(a / 2), math.floor(b / 2), place * 2
    end
    return result
  end
end
bit_and = bitwise(function(a, b)
  return a + b == 2
end)
bit_or = bitwise(function(a, b)
  return a + b > 0
end)
bit_xor = bitwise(function(a, b)
  return a + b == 1
end)

local OPERATIONS = {
  sum = function(a, b)
    return a + b
  end,
  prod = function(a, b)
    return a * b
  end,
  min = math.min,
  max = math.max,
  ['and'] = bit_and,
  ['or'] = bit_or,
  xor = bit_xor,
}

-- In an order that is the same on all ranks.
local NAMES = { 'sum', 'prod', 'min', 'max', 'and', 'or', 'xor' }

local REDUCED = {
  Byte = true,
  Char = true,
  Short = true,
  Int = true,
  Long = true,
  UInt16 = true,
  UInt32 = true,
  UInt64 = true,
  Float = true,
  Double = true,
  Bool = true,
  ComplexFloat = true,
  ComplexDouble = true,
}

-- Whether a class has an operation.
local function has(class, operation)
  local bits = operation == 'and' or operation == 'or' or operation == 'xor'
  if class == 'Bool' then
    return operation ~= 'sum' and operation ~= 'prod'
  elseif ranks.kind[class] == 'complex' then
    return operation == 'sum' or operation == 'prod'
  end
  return REDUCED[class] and not (bits and (class == 'Float' or class == 'Double'))
end

-- The number of element i on rank r. Products of four fit in a Char.
local function number(class, i, r)
  return class == 'Bool' and (i + r) % 2 or (i + r) % 3 + 1
end

local function made(class, n, r)
  local s = ranks.storage(class, n)
  for i = 1, n do
    s[i] = number(class, i, r)
  end
  return s
end

-- Element i after a reduction.
local function reduced(class, operation, i)
  local result = number(class, i, 0)
  for r = 1, size - 1 do
    result = OPERATIONS[operation](result, number(class, i, r))
  end
  return result
end

local function check_reduced(class, operation, s)
  local expected = ranks.storage(class, #s)
  for i = 1, #s do
    expected[i] = reduced(class, operation, i)
  end
  ranks.same(s, expected, operation)
end

for _, class in ipairs(ranks.classes) do
  for _, operation in ipairs(NAMES) do
    if has(class, operation) then
      test(('allreduce and reduce: %s of %s'):format(operation, class), function()
        for _, n in ipairs { 0, 1, 300 } do
          local s = made(class, n, rank)
          equal(0, select('#', world:allreduce(s, operation)))
          check_reduced(class, operation, s)

          local from, to = made(class, n, rank), ranks.storage(class, n)
          world:allreduce(from, to, operation)
          check_reduced(class, operation, to)
          ranks.same(from, made(class, n, rank))

          local root = n % size
          s = made(class, n, rank)
          world:reduce(s, operation, root)
          if rank == root then
            check_reduced(class, operation, s)
          else
            ranks.same(s, made(class, n, rank))
          end

          to = rank == root and ranks.storage(class, n) or nil
          world:reduce(from, to, operation, root)
          if rank == root then
            check_reduced(class, operation, to)
          end
        end
      end)
    else
      test(('allreduce and reduce: no %s of %s'):format(operation, class), function()
        local s = ranks.storage(class, 2)
        raises('bad argument', world.allreduce, world, s, operation)
        raises('bad argument', world.reduce, world, s, operation)
      end)
    end
  end

  test('bcast: ' .. class, function()
    for _, n in ipairs { 0, 1, 3000, 50000 } do
      local root = n % size
      local s = ranks.filled(class, n, rank)
      world:bcast(s, root)
      ranks.same(s, ranks.filled(class, n, root))
    end
  end)

  local function parts(n, of)
    local whole = ranks.storage(class, n * size)
    for r = 0, size - 1 do
      ranks.storage(class, whole, r * n + 1, n):copy(of(r))
    end
    return whole
  end

  -- Empty parts are a case of their own: a view of no elements has no first element.
  for _, n in ipairs { 1, 3, 20000 } do
    local function mine(r)
      return ranks.filled(class, n, r)
    end

    test(('gather, %d elements of %s'):format(n, class), function()
      local root = size - 1
      local to = rank == root and ranks.storage(class, n * size) or nil
      world:gather(mine(rank), to, root)
      if to then
        ranks.same(to, parts(n, mine))
      end
      -- In place: the root's own part is where it belongs.
      if rank == root then
        local whole = ranks.storage(class, n * size)
        ranks.storage(class, whole, rank * n + 1, n):copy(mine(rank))
        world:gather(whole, root)
        ranks.same(whole, parts(n, mine))
      else
        world:gather(mine(rank), root)
      end
    end)

    test(('allgather, %d elements of %s'):format(n, class), function()
      local to = ranks.storage(class, n * size)
      world:allgather(mine(rank), to)
      ranks.same(to, parts(n, mine))
      local whole = ranks.storage(class, n * size)
      ranks.storage(class, whole, rank * n + 1, n):copy(mine(rank))
      world:allgather(whole)
      ranks.same(whole, parts(n, mine))
    end)

    test(('scatter, %d elements of %s'):format(n, class), function()
      local root = 1
      local to = ranks.storage(class, n)
      world:scatter(rank == root and parts(n, mine) or nil, to, root)
      ranks.same(to, mine(rank))
      if rank == root then
        local whole = parts(n, mine)
        world:scatter(whole, root)
        ranks.same(whole, parts(n, mine))
      else
        to = ranks.storage(class, n)
        world:scatter(to, root)
        ranks.same(to, mine(rank))
      end
    end)

    test(('alltoall, %d elements of %s'):format(n, class), function()
      local function piece(from, to)
        return ranks.filled(class, n, from * 3 + to)
      end
      local from = parts(n, function(r)
        return piece(rank, r)
      end)
      local expected = parts(n, function(r)
        return piece(r, rank)
      end)
      local to = ranks.storage(class, n * size)
      world:alltoall(from, to)
      ranks.same(to, expected)
      world:alltoall(from)
      ranks.same(from, expected)
    end)
  end
end

test('empty parts', function()
  local empty = torch.IntStorage(0)
  world:gather(empty, torch.IntStorage(0), 0)
  world:allgather(empty)
  world:scatter(empty, torch.IntStorage(0))
  world:alltoall(empty)
end)

test('tensors', function()
  local x = torch.DoubleTensor(3, 4):fill(rank + 1)
  world:allreduce(x, 'sum')
  equal(size * (size + 1) / 2, x:get(3, 4))
  raises('contiguous', world.allreduce, world, x:t(), 'sum')
  local whole = torch.DoubleTensor(size, 3, 4)
  world:allgather(x:fill(rank), whole)
  for r = 0, size - 1 do
    equal(r, whole:get(r + 1, 2, 2))
  end
end)

-- Rule 2: the ranks agree before MPI is called.
test('unequal sizes are an error on every rank', function()
  raises(
    'rank 0 has 1 element for each rank, and rank 1 has 2 elements',
    world.allreduce,
    world,
    torch.IntStorage(rank + 1),
    'sum'
  )
  raises('the ranks do not agree', world.bcast, world, torch.IntStorage(rank * 1000), 0)
  raises('the ranks do not agree', world.alltoall, world, torch.IntStorage(size * (rank + 1)))
  raises(
    'the ranks do not agree',
    world.gather,
    world,
    torch.IntStorage(rank + 1),
    torch.IntStorage((rank + 1) * size),
    0
  )
  raises(
    'the ranks do not agree',
    world.allgather,
    world,
    torch.IntStorage(rank + 1),
    torch.IntStorage((rank + 1) * size)
  )
  raises('the ranks do not agree', world.scatter, world, torch.IntStorage((rank + 1) * size), 0)
end)

test('unequal classes, operations and roots are an error on every rank', function()
  local class = rank == 0 and 'Int' or 'Float'
  raises(
    'rank 0 has elements of Int, and rank 1 has elements of Float',
    world.allreduce,
    world,
    ranks.storage(class, 3),
    'sum'
  )
  local operation = rank == 0 and 'min' or 'max'
  raises("rank 0 asks for 'min', and rank 1 asks for 'max'", world.allreduce, world, torch.IntStorage(2), operation)
  raises(
    'rank 0 says that the root is 0, and rank 1 says that the root is 1',
    world.bcast,
    world,
    torch.IntStorage(2),
    rank % 2
  )
end)

test('different collectives are an error on every rank', function()
  local why = 'rank 0 calls barrier, and rank 1 calls allreduce'
  if rank == 0 then
    raises(why, world.barrier, world)
  else
    raises(why, world.allreduce, world, torch.IntStorage(1), 'sum')
  end
end)

test('wrong arguments of one rank are an error on every rank', function()
  local s = torch.IntStorage(3)
  if rank == 1 then
    raises("'sun'", world.allreduce, world, s, 'sun')
  else
    raises('allreduce: rank 1 had an error in this call', world.allreduce, world, s, 'sum')
  end
  if rank == 0 then
    raises('expected, got nil', world.bcast, world, nil, 0)
  else
    raises('bcast: rank 0 had an error in this call', world.bcast, world, s, 0)
  end
  world:allreduce(s, 'sum')
end)

test('mpi.check(false) leaves the agreement out, and the results are the same', function()
  equal(true, mpi.check())
  equal(true, mpi.check(false))
  equal(false, mpi.check())
  local s = torch.IntStorage { rank }
  world:allreduce(s, 'sum')
  equal(size * (size - 1) / 2, s[1])
  world:barrier()
  equal(false, mpi.check(true))
end)

test('wrong arguments', function()
  local s, t = torch.IntStorage(4), torch.IntStorage(4)
  raises('in place', world.allreduce, world, s, s, 'sum')
  local both = torch.IntStorage(6)
  raises('in place', world.allreduce, world, torch.IntStorage(both, 1, 4), torch.IntStorage(both, 3, 4), 'sum')
  raises(
    '4 elements expected (as many as in the first storage), got 3',
    world.allreduce,
    world,
    s,
    torch.IntStorage(3),
    'sum'
  )
  raises('torch.IntStorage', world.allreduce, world, s, torch.FloatStorage(4), 'sum')
  raises("an operation ('sum', 'prod', 'min', 'max', 'and', 'or', 'xor') expected, got", world.allreduce, world, s, t)
  raises('a rank from 0', world.bcast, world, s, size)
  raises('a rank from 0', world.reduce, world, s, 'sum', 'x')
  raises(('%d elements expected'):format(4 * size), world.allgather, world, s, t)
  raises('a multiple of ' .. size, world.alltoall, world, torch.IntStorage(size + 1))
  raises('a communicator', world.barrier, {})
end)

test('half, bfloat16 and floats of 8 bits say what to do', function()
  for _, class in ipairs { 'Half', 'BFloat16', 'Float8_e4m3fn' } do
    raises('convert it, for example with s:float()', world.allreduce, world, ranks.storage(class, 2), 'sum')
  end
end)

test('split', function()
  local half = world:split(rank % 2, -rank)
  local members = math.floor((size - rank % 2 + 1) / 2)
  equal(members, half:size())
  equal(members - 1 - math.floor(rank / 2), half:rank()) -- the key turns the order round
  local s = torch.IntStorage { rank }
  half:allreduce(s, 'sum')
  local expected = 0
  for r = rank % 2, size - 1, 2 do
    expected = expected + r
  end
  equal(expected, s[1])
  half:free()
  raises('this communicator was freed', half.rank, half)
  raises('this communicator was freed', half.barrier, half)

  local only = world:split(rank == 0 and 5 or nil)
  if rank == 0 then
    equal(1, only:size())
    only:free()
  else
    equal(nil, only)
  end
  raises('a color from 0', world.split, world, -1)
  raises('mpi.world is not freed', world.free, world)
end)

test('messages of one communicator are not those of another', function()
  local other = world:split(0)
  if rank == 0 then
    world:send(torch.IntStorage { 1 }, 1)
    other:send(torch.IntStorage { 2 }, 1)
  elseif rank == 1 then
    local got = torch.IntStorage(1)
    local waiting = other:irecv(torch.IntStorage(1), 0, 77)
    other:recv(got)
    equal(2, got[1])
    world:recv(got)
    equal(1, got[1])
    raises('messages of this communicator are not complete: 1', other.free, other)
    equal(false, waiting:test())
    waiting = nil
    collectgarbage()
    collectgarbage()
    equal(nil, waiting)
  end
  if rank ~= 1 then
    raises('rank 1 had an error in this call', other.free, other)
  end
  other:free()
end)

test('objects', function()
  local value = { 1, 'two', { three = torch.FloatStorage { 3 } }, true, ('x'):rep(100000) }
  local function check(got)
    equal(1, got[1])
    equal('two', got[2])
    elements({ 3 }, got[3].three)
    equal(true, got[4])
    equal(100000, #got[5])
  end
  if rank == 0 then
    for other = 1, size - 1 do
      world:sendobject(value, other, 6)
    end
  else
    local got, source, tag = world:recvobject(0)
    check(got)
    equal(0, source)
    equal(6, tag)
  end
  check(world:bcastobject(rank == 0 and value or nil))
  local root = size - 1
  equal('text', world:bcastobject(rank == root and 'text' or 'ignored', root))
  equal(nil, world:bcastobject(nil, 0))
end)

test('objects that cannot be serialized', function()
  local value = coroutine.create(function() end)
  raises('', world.sendobject, world, value, 0)
  if rank == 0 then
    raises('', world.bcastobject, world, value)
  else
    raises('rank 0 had an error in this call', world.bcastobject, world)
  end
  raises('a rank from 0', world.sendobject, world, 1, size)
  if rank == 0 then
    world:send(torch.ByteStorage { 255, 255, 255 }, 1)
  elseif rank == 1 then
    raises('', world.recvobject, world, 0)
  end
  world:barrier()
end)

ranks.done()
