-- The budget of a Lua state: torch_storage_limit and torch_storage_memory of include/torch_storage.h.
-- Interpreters: luajit, lua5.4
local support = require 'spec.support'
local host = require 'spec.support.host'
local probes = require 'spec.support.probes'

local it = probes.it

-- What the scripts of this file begin with. `refused` returns the message of a call that exceeds the limit.
local HEAD = [[
local MB = 2 ^ 20
local function collect()
  collectgarbage()
  collectgarbage()
end
local function refused(f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok and message:find('not enough memory: %d+ bytes were requested, and the host program allows %d+'), message)
  return message
end
local function expect(bytes)
  local got = probe.memory()
  if got ~= bytes then
    error(('%d bytes expected, got %d'):format(bytes, got), 2)
  end
end
]]

describe('the budget of a Lua state #process', function()
  local path = support.temporary()
  probes.open()
  before_each(support.collect)

  -- Runs a script in a new process, with the functions of the probe.
  local function run(script)
    local start = ("local torch, probe = require 'torch', open()\n%s%s"):format(HEAD, script)
    local output, status = probes.child(path 'probe.so', start)
    assert.equal(0, status, output)
    return output
  end

  it('counts what is made after the first limit was set', function()
    run [[
      local before = torch.FloatStorage(1000)
      expect(0)
      assert(probe.limit(MB))
      expect(0)
      local s = torch.FloatStorage(1000)
      expect(4000)
      local v, x = s:sub(1, 10), torch.FloatTensor(s)
      expect(4000)
      local t = s:clone()
      local d = torch.DoubleStorage { 1, 2 }
      expect(8016)
      t:free()
      d = nil
      collect()
      expect(4000)
      s:resize(2000)
      expect(12000) -- the view keeps the old memory
      v, x = nil, nil
      collect()
      expect(8000)
      s:reserve(10000)
      expect(40000)
      s:resize(1)
      s:reserve(0)
      expect(4)
      before:resize(2000)
      expect(8004)
      before:free()
      expect(4)
      s:shareMemory()
      expect(0)
      probe.limit(0)
      s = torch.FloatStorage(10 * MB)
      expect(40 * MB)
    ]]
  end)

  it('is kept by an error that says what was allowed, and has a position', function()
    local output = run [[
      probe.limit(8 * MB)
      local kept = torch.ByteStorage(1000)
      local before = torch.memory().heap
      print((refused(function() torch.FloatStorage(1e9) end)))
      print((refused(function() kept:resize(2 ^ 40) end))) -- so many more
      expect(1000)
      assert(#kept == 1000 and torch.memory().heap == before)
    ]]
    local allows = 'bytes were requested, and the host program allows 8388608, of which 1000 are in use'
    local lines = {}
    for line in output:gmatch '[^\n]+' do
      lines[#lines + 1] = line:match '^%S+:%d+: (.*)$'
    end
    assert.same({
      'not enough memory: 4000000000 ' .. allows,
      'not enough memory: 1099511626776 ' .. allows,
    }, lines)
  end)

  it('counts what C modules make, and not what they lend', function()
    run [[
      probe.limit(850)
      local s = probe.new(7, 200)
      expect(800)
      refused(probe.new, 7, 200)
      local w = probe.wrap(8, 8, 1)
      expect(800)
      refused(w.clone, w)
      w:sub(1, 6):clone():free()
    ]]
  end)

  it('lets a loop make garbage', function()
    run [[
      probe.limit(8 * MB)
      for i = 1, 10000 do
        torch.ByteStorage(MB)[i] = 1
        assert(probe.memory() <= 8 * MB)
      end
      for i = 1, 300 do
        local x = torch.FloatTensor(100, 1000):fill(i)
        local y = x:clone()
        assert(y[100][1000] == i and probe.memory() <= 8 * MB)
      end
    ]]
  end)

  it('is one for all coroutines', function()
    run [[
      probe.limit(8 * MB)
      local threads, kept = {}, {}
      for n = 1, 10 do
        threads[n] = coroutine.create(function()
          while true do
            local s = torch.ByteStorage(MB)
            kept[#kept + 1] = s
            coroutine.yield 'made'
          end
        end)
      end
      local made, failed = 0, 0
      for n = 1, 10 do
        local ok, message = coroutine.resume(threads[n])
        if ok then
          made = made + 1
        else
          failed = failed + 1
          assert(message:find 'the host program allows', message)
        end
      end
      assert(made == 8 and failed == 2)
      expect(8 * MB)
      kept[1]:free()
      assert(coroutine.resume(threads[1]))
      assert(not coroutine.resume(threads[2]))
      kept, threads = {}, {}
      collect()
      expect(0)
    ]]
  end)

  it('may be lowered below what is in use', function()
    run [[
      assert(probe.limit(8 * MB))
      local a, b = torch.ByteStorage(3 * MB), torch.ByteStorage(2 * MB):fill(7)
      assert(not probe.limit(4 * MB))
      refused(torch.ByteStorage, 1)
      refused(a.resize, a, 3 * MB + 1)
      refused(b.clone, b)
      assert(b[1] == 7 and b:sub(1, 2)[2] == 7 and #torch.ByteStorage(0) == 0)
      a:resize(MB)
      expect(3 * MB)
      torch.ByteStorage(MB):free()
      assert(probe.limit(4 * MB))
      refused(torch.ByteStorage, MB + 1)
    ]]
  end)

  -- Each operation runs with every limit up to the one that is enough. An operation that is refused leaves everything as it was.
  it('is kept by operations that take much memory', function()
    run [[
      local N = 20000
      local source = torch.FloatStorage(N)
      for i = 1, N do source[i] = (i * 7919) % N end
      local text = torch.serialize { source, source:double(), { torch.FloatTensor(source, 1, 100, 200):clone() } }
      local one = torch.FloatTensor(1):expand(N)
      local operations = {
        clone = function() return source:clone() end,
        double = function() return source:double() end,
        cat = function() return torch.cat { source, source, source } end,
        range = function() return torch.range(1, N) end,
        zeros = function() return torch.zeros(100, 200) end,
        sort = function() return source:sort() end,
        argsort = function() return source:argsort() end,
        topk = function() return source:topk(N / 2) end,
        lines = function() return torch.FloatTensor(source, 1, 100, 200):sort(1) end,
        index = function() return source:index(torch.LongStorage(N):fill(1)) end,
        nonzero = function() return torch.FloatTensor(source):nonzero() end,
        contiguous = function() return one:contiguous() end,
        expanded = function() return one:sort() end,
        deserialize = function() return torch.deserialize(text) end,
        serialized = function() return torch.serializeToStorage { source, source:sub(1, N - 1) } end,
        strings = function() return torch.ByteStorage.fromstring(text) end,
        resize = function() local s = torch.FloatStorage(10) s:resize(N) s:reserve(2 * N) return s end,
        list = function() return torch.FloatStorage(source:totable()) end,
      }
      assert(probe.limit(1))
      for name, operation in pairs(operations) do
        local failures, done = 0
        for limit = 1000, 3e6, 7000 do
          collect()
          expect(0)
          assert(probe.limit(limit))
          local ok, result = pcall(operation)
          assert(probe.memory() <= limit, name)
          if ok then
            done = true
            break
          end
          assert(result:find(('the host program allows %d,'):format(limit), 1, true), name .. ': ' .. result)
          failures = failures + 1
        end
        assert(done and failures > 0, name)
      end
    ]]
  end)

  it('counts the same as a model of the memory', function()
    run([[
      local LIMIT, rounds = 3 * MB, ]] .. support.rounds(3000, 30000) .. [[

      probe.limit(LIMIT)
      -- A block of memory has a number of bytes, and the storage and views that use it.
      local pool, total, refusals = {}, 0, 0
      local function use(block)
        block.users = block.users + 1
        return block
      end
      local function leave(block)
        block.users = block.users - 1
        if block.users == 0 then
          total = total - block.bytes
        end
      end
      local function block_of(bytes)
        total = total + bytes
        return { bytes = bytes, users = 1 }
      end
      local sizes = { 0, 1, 10, 200, 256, 257, 3000, 70000, 400000, 900000 }
      local function size()
        return sizes[math.random(#sizes)]
      end
      -- Makes an attempt that needs `bytes` more bytes at most. Returns nothing if it is refused.
      local function try(bytes, f, ...)
        local ok, result = pcall(f, ...)
        if not ok then
          refusals = refusals + 1
          assert(result:find 'the host program allows' and total + bytes > LIMIT, result)
          return
        end
        return result
      end
      local function put(storage, block, is_view)
        if storage then
          pool[#pool + 1] = { storage = storage, block = block(), reserved = 0, is_view = is_view }
        end
      end
      for round = 1, rounds do
        local what, item, bytes = math.random(7), pool[math.random(math.max(#pool, 1))], size()
        if what == 1 or not item then
          put(try(bytes, torch.ByteStorage, bytes), function() return block_of(bytes) end)
        elseif what == 2 then
          local n = item.storage:size()
          put(try(n, item.storage.clone, item.storage), function() return block_of(n) end)
        elseif what == 3 and item.storage:size() > 0 then
          put(item.storage:sub(1, 1), function() return use(item.block) end, true)
        elseif what <= 5 and not item.is_view then
          local method, reserved = 'resize', item.reserved
          local capacity = math.max(bytes, reserved)
          if what == 5 then
            method, reserved = 'reserve', bytes
            capacity = math.max(item.storage:size(), bytes)
          end
          local is_same = method == 'resize' and bytes == item.storage:size()
          if try(capacity, item.storage[method], item.storage, bytes) and not is_same then
            leave(item.block)
            item.block, item.reserved = block_of(capacity), reserved
          end
        elseif what == 6 or #pool > 30 then
          local place = math.random(#pool)
          pool[place].storage:free()
          leave(pool[place].block)
          pool[place] = pool[#pool]
          pool[#pool] = nil
        end
        expect(total)
        assert(total <= LIMIT)
      end
      assert(refusals > rounds / 100, refusals)
      pool, total = {}, 0
      collect()
      expect(0)
    ]])
  end)

  it('is over when the Lua state is closed: finalizers get no memory', function()
    local output = run [[
      probe.limit(8 * MB)
      local function finalizer(f)
        if newproxy then
          local object = newproxy(true)
          getmetatable(object).__gc = f
          return object
        end
        return setmetatable({}, { __gc = f })
      end
      local function try(name)
        return function()
          print(name, (pcall(torch.ByteStorage, 1000)), (pcall(torch.ByteStorage, 9 * MB)))
        end
      end
      -- Finalizers run in the reverse order. So this one runs before the account is closed.
      kept = { torch.ByteStorage(MB), finalizer(try 'later') }
    ]]
    assert.equal('later\ttrue\tfalse', output)
    output = run [[
      local function finalizer(f)
        if newproxy then
          local object = newproxy(true)
          getmetatable(object).__gc = f
          return object
        end
        return setmetatable({}, { __gc = f })
      end
      kept = finalizer(function()
        local ok, message = pcall(torch.ByteStorage, 1000)
        print(ok, message:match 'allows %d+', #torch.ByteStorage(0))
        -- Nothing changes that, not even the host.
        print((pcall(probe.limit, 0)), probe.memory() == 0, (pcall(torch.ByteStorage, 1)))
      end)
      probe.limit(8 * MB)
      kept_too = torch.ByteStorage(MB)
    ]]
    assert.equal('false\tallows 0\t0\ntrue\ttrue\tfalse', output)
  end)

  it('holds in states that run in several threads, whoever frees the memory', function()
    host.run(
      4,
      ([[
        local probe = assert(package.loadlib(%q, 'luaopen_probe'))()
        %s
        local LIMIT = me * MB
        assert(probe.limit(LIMIT))
        local random = me * 7919
        local function next_random(most)
          random = (random * 16807) %% 2147483647
          return random %% most + 1
        end
        local own, others, refusals = {}, {}, 0
        for round = 1, tonumber(os.getenv 'STATES_PASSES' or 400) do
          local ok, s = pcall(torch.ByteStorage, next_random(LIMIT / 2))
          assert(probe.memory() <= LIMIT)
          if ok then
            local part = s:sub(1, 1)
            part[1] = me
            -- Every second one goes to the next state, which frees it.
            send(me %% count + 1, round %% 2 == 0 and s:token() or '')
            own[#own + 1] = round %% 2 == 1 and s or part
          else
            refusals = refusals + 1
            assert(s:find(('the host program allows %%d,'):format(LIMIT), 1, true), s)
            send(me %% count + 1, '')
          end
          local token = receive()
          if token ~= '' then
            others[#others + 1] = torch.fromToken(token)
            assert(others[#others][1] == (me - 2) %% count + 1)
          end
          if #others > 3 then
            table.remove(others, 1):free()
          end
          if #own > 3 then
            table.remove(own, 1):free()
          end
        end
        assert(refusals > 0, 'nothing was refused')
        others = nil
        collect()
        meet()
        own = nil
        collect()
        expect(0)
        -- What another state still has is charged until it ends there.
        local s = torch.ByteStorage(1000)
        send(me %% count + 1, s:token())
        s:free()
        local other = torch.fromToken(receive())
        meet()
        expect(1000)
        meet()
        other:free()
        meet()
        expect(0)
      ]]):format(probes.library, HEAD)
    )
  end)

  it('is no limit for other states of the process', function()
    host.run(
      2,
      ([[
        local probe = assert(package.loadlib(%q, 'luaopen_probe'))()
        %s
        if me == 1 then
          probe.limit(1000)
        end
        meet()
        if me == 1 then
          refused(torch.ByteStorage, 1001)
        else
          torch.ByteStorage(10 * MB):free()
          expect(0)
        end
        -- Growing takes the memory over, whoever made it.
        local s = torch.ByteStorage(500)
        send(3 - me, s:token())
        s:free()
        local other = torch.fromToken(receive())
        meet()
        if me == 1 then
          expect(500)
          refused(other.resize, other, 501)
          other:resize(400)
          expect(500)
        end
        meet()
        if me == 2 then
          other:resize(5000)
        end
        meet()
        expect(0)
      ]]):format(probes.library, HEAD)
    )
  end)
end)
