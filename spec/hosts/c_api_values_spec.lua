-- The functions of include/torch_storage.h that make storages and tensors, each as a C module calls it.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local host = require 'spec.support.host'
local probes = require 'spec.support.probes'
local processes = require 'spec.support.processes'
local types = require 'spec.support.types'

local ANY, INT = probes.ANY, probes.INT
local WRITABLE, ALIGNED, CONTIGUOUS, HEAP = probes.WRITABLE, probes.ALIGNED, probes.CONTIGUOUS, probes.HEAP
local unpack = rawget(_G, 'unpack') or rawget(table, 'unpack')
local it = probes.it

describe('torch_storage.h #process', function()
  local path = support.temporary()
  local probe = probes.open()
  before_each(support.collect)

  describe('torch_storage_new', function()
    it('makes storages of zeros of every class', function()
      for _, T in ipairs(types.ALL) do
        local dtype = select(3, probe.test(torch[T .. 'Storage'](1), ANY, 0))
        local s, size, _, _, flags, name, address = probe.new(dtype, 5)
        assert.equal('torch.' .. T .. 'Storage', torch.type(s))
        assert.same({ 5, HEAP, 'torch.' .. T .. 'Storage', tonumber(s:data(true)) }, { size, flags, name, address })
        assert.is_true(s:equal(torch[T .. 'Storage'](5):zero()))
      end
      assert.equal(0, #(probe.new(INT, 0)))
    end)

    it('raises an error with a position if it cannot', function()
      local _, message = pcall(function()
        local x = probe.new(INT, 2 ^ 61)
        return x
      end)
      assert.is_truthy(message:find('c_api_values_spec.lua:%d+: '), message)
      support.fails('2305843009213693952 elements of 4 bytes', probe.new, INT, 2 ^ 61)
      support.fails('not enough memory', probe.new, INT, 2 ^ 46)
      support.fails('0 is not a dtype of torch_storage.h', probe.new, 0, 1)
    end)
  end)

  describe('torch_storage_wrap', function()
    it('owns the memory, and gives it back once, after the last storage', function()
      local before, freed = torch.memory().foreign, probe.freed()
      local s = probe.wrap(16, INT, WRITABLE)
      assert.equal(64, torch.memory().foreign - before)
      assert.equal(0x01010101, s[16])
      s[16] = 5
      local part = s:sub(16, 16)
      s:free()
      support.collect()
      assert.same({ freed, 5 }, { (probe.freed()), part[1] })
      part:free()
      assert.same({ freed + 1, before }, { (probe.freed()), torch.memory().foreign })
    end)

    it('is read-only if it is asked to be', function()
      local s = probe.wrap(4, INT, 0)
      support.fails('read-only', function()
        s[1] = 1
      end)
      assert.equal(ALIGNED + CONTIGUOUS, (select(4, probe.test(s, ANY, 0))))
      local primes = probe.wrap_constant()
      assert.equal('2 3 5 7 11', table.concat(primes:totable(), ' '))
      support.fails('read-only', primes.fill, primes, 0)
    end)

    it('gives the memory back when it raises', function()
      local freed = probe.freed()
      support.fails('77 is not a dtype', probe.wrap, 1, 77, 0)
      support.fails('TORCH_WRITABLE or 0 expected as flags, got 2', probe.wrap, 1, INT, 2)
      support.fails('are not a valid range of memory', probe.wrap, 2 ^ 62, INT, 0)
      support.fails('3 elements of 4 bytes at address 0 are not a valid range of memory', probe.wrap_null, 3)
      assert.equal(freed + 4, (probe.freed()))
      assert.equal(0, #probe.wrap_null(0))
      support.collect()
      assert.equal(freed + 5, (probe.freed()))
    end)

    it('gives the memory back when a hook raises in the middle', function()
      local raised = 0
      for _, event in ipairs { 'c', 'r' } do
        for nth = 1, 6 do
          support.collect()
          local freed, made = probe.freed()
          local calls = 0
          local ok = pcall(function()
            debug.sethook(function()
              calls = calls + 1
              if calls == nth then
                debug.sethook()
                error 'from the hook'
              end
            end, event)
            probe.wrap(16, INT, WRITABLE)
            debug.sethook()
          end)
          debug.sethook()
          support.collect()
          local freed_now, made_now = probe.freed()
          assert.equal(made_now - made, freed_now - freed, event .. nth)
          raised = raised + (ok and 0 or made_now - made)
        end
      end
      assert.is_true(raised >= 2)
    end)

    it('counts for the collector', function()
      -- Each storage holds 1 GB for the statistics only: no more than a few of them are ever alive.
      local freed = probe.freed()
      for _ = 1, 50 do
        probe.wrap(2 ^ 30, 1, 0)
      end
      assert.is_true(probe.freed() - freed > 40)
    end)

    it('works through tokens and names, after its Lua state was closed, in any thread', function()
      local output = host.run(
        3,
        ([[
          local probe = assert(package.loadlib(%q, 'luaopen_probe'))()
          if me == 1 then
            local s = probe.wrap(16, 4, 1)
            send(2, s:token())
            torch.publish('wrapped', s)
            meet()
          elseif me == 2 then
            local token = receive()
            meet()
            closed(1)
            local s = torch.fromToken(token)
            assert(s[16] == 0x01010101)
            assert(probe.freed() == 0)
            s:free()
            assert(probe.freed() == 0)
          else
            meet()
            closed(2)
            assert(torch.lookup('wrapped')[1] == 0x01010101)
            torch.unpublish('wrapped')
            collect()
            print((probe.freed()))
          end
        ]]):format(probes.library)
      )
      assert.equal('1', output)
    end)

    it('keeps the library of `free` loaded', function()
      local output, status = probes.child(
        path 'probe.so',
        [[
        local torch = require 'torch'
        do
          local probe = open()
          torch.publish('kept', probe.wrap(16, 4, 1))
        end
        local before = io.open('/proc/self/maps'):read '*a'
        -- What the package library does when a Lua state is closed: it lets go of its libraries.
        for key, value in pairs(debug.getregistry()) do
          if type(key) == 'string' and key:find('probe.so', 1, true) then
            debug.getmetatable(value).__gc(value)
          elseif key == '_CLIBS' or type(key) == 'userdata' and type(value) == 'table' and debug.getmetatable(value) then
            local mt = debug.getmetatable(value)
            if mt and mt.__gc then
              if value[#value] then mt.__gc(value) end
            else -- since Lua 5.5, a string in this table is the library
              for name in pairs(value) do value[name] = nil end
              collectgarbage()
            end
          end
        end
        local maps = io.open('/proc/self/maps'):read '*a'
        print(before:find('probe.so', 1, true) and maps:find('probe.so', 1, true) and 'loaded')
        torch.unpublish 'kept'
        print 'freed'
        os.exit(0)
      ]]
      )
      assert.equal('loaded\nfreed', output)
      assert.equal(0, status)
    end)
  end)

  describe('torch_atomic_wait', function()
    it('compares an element, and waits as long as it is told', function()
      for _, T in ipairs { 'Int', 'UInt32', 'Long', 'UInt64' } do
        local s = torch[T .. 'Storage'] { 0, 7 }
        assert.equal(1, probe.wait(s, 2, 8, 60))
        assert.equal(2, probe.wait(s, 2, 7, 0.01))
        assert.equal(2, probe.wait(s, 2, 7, -1))
        assert.equal(-1, probe.wait(s, 2, 7, 0 / 0))
        assert.equal(0, probe.notify(s, 2, 5))
      end
    end)

    it('refuses other elements', function()
      local s = torch.LongStorage(2)
      for _, dtype in ipairs { 0, 1, 3, 6, 7, 8, 13, 20, 21, -1 } do
        assert.equal(-1, probe.wait(s, 1, 0, 60, dtype))
        assert.equal(0, probe.notify(s, 1, 1, dtype))
      end
      assert.equal(-1, probe.wait(torch.ByteStorage(16):view('int32', 2, 2), 1, 0, 60))
    end)

    it('is woken by Lua, and wakes it #process', function()
      local name, process = processes.name(), processes.start()
      local s = torch.LongStorage(name, true, 1, true)
      process:tell('s = torch.LongStorage(%q, true, nil, true)', name)
      process:send 'torch.atomic.wait(s, 1, 0, 60)'
      while probe.notify(s, 1, 1) == 0 do -- until it waits
        support.sh 'sleep 0.01'
      end
      assert.matches('ok', process:hear())
      process:send 'while torch.atomic.notify(s, 1) == 0 do end'
      assert.equal(0, probe.wait(s, 1, 0, 60))
      process:hear()
      process:finish 'return'
      processes.clean()
    end)
  end)

  describe('torch_tensor_new', function()
    it('makes a tensor over a storage, which both keep', function()
      local s = torch.FloatStorage { 1, 2, 3, 4, 5, 6, 7 }
      local x = probe.tensor(s, 2, 3)
      assert.equal('torch.FloatTensor', torch.type(x))
      assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, x:totable())
      x[1][1] = 9
      assert.equal(9, s[1])
      s:free()
      support.collect()
      assert.equal(6, x[2][3])
      assert.equal(0, probe.tensor(torch.IntStorage(1)):dim())
      assert.equal(0, probe.tensor(torch.IntStorage(), 0, 4):nElement())
    end)

    it('refuses sizes that do not fit, and other values', function()
      local fails = support.fails
      fails('', probe.tensor, torch.IntStorage(5), 2, 3)
      fails('torch.*Storage expected, got number', probe.tensor, 1, 2)
      fails("bad argument #1 to '?' (torch.*Storage expected, got no value)", probe.tensor_of_nothing)
      fails('no tensors of bytes without a type', probe.tensor, torch.UntypedStorage(4), 4)
      local sizes = {}
      for i = 1, 65 do
        sizes[i] = 1
      end
      fails('65 is not a number of dimensions: 0 to 64', probe.tensor, torch.IntStorage(1), unpack(sizes))
      fails('', probe.tensor, torch.IntStorage(1), 2 ^ 40, 2 ^ 40)
    end)
  end)
end)
