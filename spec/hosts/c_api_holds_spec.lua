-- The holds of include/torch_storage.h, which keep storages for a C module.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local host = require 'spec.support.host'
local probes = require 'spec.support.probes'

local DOUBLE, PIN, HEAP = probes.DOUBLE, probes.PIN, probes.HEAP
local HELD = 'C or Rust code of this program holds the storage: its memory cannot move'
local it = probes.it

describe('torch_storage.h #process', function()
  local probe = probes.open()
  before_each(support.collect)

  describe('torch_storage_retain', function()
    it('with TORCH_PIN keeps the elements where they are until the release', function()
      local s = torch.DoubleStorage(4)
      local hold = probe.retain(s, PIN)
      support.fails(HELD, s.resize, s, 1e6)
      support.fails(HELD, s.shareMemory, s)
      support.fails(HELD, s.string, s, 'eight.by')
      assert.same({ 4, 8, DOUBLE, HEAP, 'torch.DoubleStorage', tonumber(s:data(true)) }, { probe.held(hold) })
      local second = probe.retain(s, PIN)
      probe.release(hold)
      support.fails(HELD, s.resize, s, 1e6)
      probe.release_in_thread(second)
      s:resize(1e6)
      probe.release(second) -- NULL by now
    end)

    it('without it keeps the storage, which may be resized', function()
      local before = torch.memory().heap
      local s = torch.DoubleStorage(4)
      local hold = probe.retain(s, 0)
      s:resize(1e6)
      assert.equal(1e6, (probe.held(hold)))
      s:free()
      support.collect()
      assert.equal(1e6, (probe.held(hold)))
      probe.release_in_thread(hold)
      assert.equal(before, torch.memory().heap)
    end)

    it('keeps a storage that is freed in Lua, and s:free() never takes its reference', function()
      local before = torch.memory().heap
      local s = torch.DoubleStorage(1000):fill(3)
      local hold = probe.retain(s, PIN)
      s:free()
      support.fails('storage was freed', s.size, s)
      support.collect()
      assert.equal(1000, (probe.held(hold)))
      local again = probe.push(hold)
      assert.equal(3, again[1000])
      assert.is_false(rawequal(s, again))
      again:free()
      assert.equal(8000, torch.memory().heap - before)
      probe.release(hold)
      assert.equal(before, torch.memory().heap)
    end)

    it('holds the elements of a contiguous tensor', function()
      local x = torch.FloatTensor(4, 5)
      local hold = probe.retain(x:narrow(1, 3, 2), PIN)
      local size, _, _, _, name, address = probe.held(hold)
      assert.same({ 10, 'torch.FloatStorage', tonumber(x:dataptr()) + 40 }, { size, name, address })
      support.fails(HELD, function()
        x:storage():resize(1)
      end)
      assert.equal(20, #probe.push(hold))
      probe.release(hold)
      hold = probe.retain(x:narrow(1, 3, 2), 0)
      x:storage():resize(1)
      assert.same({ 0, 0 }, { (probe.held(hold)), (select(6, probe.held(hold))) })
      probe.release(hold)
    end)

    it('refuses other values, and memory that ends with a Lua value', function()
      local fails = support.fails
      fails('torch.*Storage expected, got number', probe.retain, 1, PIN)
      fails("bad argument #1 to '?' (torch.*Storage expected, got no value)", probe.retain_nothing)
      fails('do not lie side by side', probe.retain, torch.FloatTensor(2, 2):t(), PIN)
      for _, options in ipairs { PIN, 0 } do
        fails('its memory belongs to a Lua value', probe.retain, torch.ByteStorage.frombuffer 'text', options)
      end
      fails('TORCH_PIN or 0 expected as options, got 3', probe.retain, torch.FloatStorage(1), 3)
      local freed = torch.IntStorage(1)
      freed:free()
      fails('storage was freed', probe.retain, freed, PIN)
    end)

    it('gives nothing away when a hook raises in the middle', function()
      local before, s = torch.memory().heap, torch.DoubleStorage(1000)
      for _, event in ipairs { 'c', 'r' } do
        for nth = 1, 6 do
          local hold
          local ok = pcall(function()
            local calls = 0
            debug.sethook(function()
              calls = calls + 1
              if calls == nth then
                debug.sethook()
                error 'from the hook'
              end
            end, event)
            hold = probe.retain(s, PIN)
            debug.sethook()
          end)
          debug.sethook()
          assert.is_true(not ok or hold ~= nil)
          if hold then
            probe.release(hold)
          end
        end
      end
      support.collect()
      s:resize(10)
      s:free()
      assert.equal(before, torch.memory().heap)
    end)
  end)

  it('lets several threads retain and release at random', function()
    local output = host.run(
      6,
      ([[
        local probe = assert(package.loadlib(%q, 'luaopen_probe'))()
        local random = me * 7919
        local function next_random()
          random = (random * 16807) %% 2147483647
          return random
        end
        for round = 1, tonumber(os.getenv 'STATES_PASSES' or 3000) do
          local s = round %% 3 == 0 and probe.wrap(8, 8, 1) or torch.DoubleStorage(64)
          s:fill(me)
          probe.hold(s, next_random())
          if round %% 2 == 0 then
            pcall(s.resize, s, 1000)
          end
          local other, sum = probe.take(next_random())
          if other then
            assert(sum == other[1] * #other or #other == 1000, sum)
            pcall(other.resize, other, 100)
          end
          if round %% 5 == 0 then
            s:free()
          end
        end
        meet()
        if me == 1 then
          for place = 0, 31 do
            probe.take(place)
          end
        end
        meet()
        collect()
      ]]):format(probes.library)
    )
    assert.equal('', output)
  end)
end)
