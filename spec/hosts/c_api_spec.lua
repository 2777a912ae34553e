-- The functions of include/torch_storage.h, each as a C module calls it (spec/support/probe.c).
local torch = require 'torch'
local support = require 'spec.support'
local c_module = require 'spec.support.c_module'
local host = require 'spec.support.host'
local types = require 'spec.support.types'

local unpack = rawget(_G, 'unpack') or rawget(table, 'unpack')

local ANY, SHORT, INT, FLOAT, DOUBLE = 0, 3, 4, 7, 8
local WRITABLE, ALIGNED, CONTIGUOUS, RESIZABLE, RETYPED = 1, 2, 4, 8, 16
local TENSORS, PIN = 256, 512
local HEAP = WRITABLE + ALIGNED + CONTIGUOUS + RESIZABLE
local HELD = 'C or Rust code of this program holds the storage: its memory cannot move'

local probe, library
local missing = c_module.missing()
local it = missing and function(title)
  require('busted').pending(title .. ': ' .. missing)
end or require('busted').it

describe('torch_storage.h #process', function()
  local path = support.temporary()

  setup(function()
    library = os.tmpname()
    if not missing then
      probe = c_module.open('spec/support/probe.c', 'probe', library)()
    end
  end)
  teardown(function()
    os.remove(library)
  end)
  before_each(support.collect)

  -- Runs Lua source in another process, in which `probe` only has what needs no torch if `only_open` is true.
  local function child(source, only_open, header)
    local name = path 'probe.so'
    local options = (header and '-I' .. header .. ' ' or '') .. (only_open and '-DONLY_OPEN' or '')
    local open = ("assert(package.loadlib('%s', 'luaopen_probe'))"):format(name)
    local messages, status = c_module.compile('spec/support/probe.c', name, options)
    assert.equal(0, status, messages)
    return support.run('local open = ' .. open .. '\n' .. source)
  end

  describe('torch_storage_test', function()
    it('tells the size, the width, the dtype, the flags and the class', function()
      local s = torch.FloatStorage { 1, 2, 3 }
      local size, width, dtype, flags, name, address = probe.test(s, ANY, 0)
      assert.same({ 3, 4, FLOAT, HEAP, 'torch.FloatStorage' }, { size, width, dtype, flags, name })
      assert.equal(tonumber(s:data(true)), address)
      assert.equal(0, (select(6, probe.test(torch.IntStorage(), ANY, 0))))
    end)

    it('has a number for each dtype, in the order of the header', function()
      local names = {}
      local header = support.slurp 'include/torch_storage.h'
      for name, number in header:match('TORCH_ANY = 0,(.-)};'):gmatch 'TORCH_([%w_]+) = (%d+)' do
        names[#names + 1] = name:lower():gsub('_', '')
        assert.equal(#names, tonumber(number))
      end
      assert.equal(#types.ALL, #names)
      for _, T in ipairs(types.ALL) do
        local size, width, dtype, _, name = probe.test(torch[T .. 'Storage'](2), ANY, 0)
        assert.equal('torch.' .. T .. 'Storage', name)
        assert.same({ 2, torch[T .. 'Storage'](1):elementSize() }, { size, width })
        assert.equal((T:lower():gsub('_', '')), names[dtype])
        assert.equal(2, (probe.test(torch[T .. 'Storage'](2), dtype, 0)))
      end
    end)

    it('gives nothing for other values, other dtypes and storages that were freed', function()
      local freed = torch.FloatStorage(1)
      freed:free()
      local other = torch.DoubleStorage(1)
      for _, value in ipairs { 1, 'x', true, {}, print, io.stdout, freed, torch.FloatTensor(1), other } do
        assert.equal(0, select('#', probe.test(value, FLOAT, 0)))
      end
      assert.equal(0, select('#', probe.test(nil, FLOAT, 0)))
      assert.equal(0, select('#', probe.test(torch.FloatStorage(1), 77, 0)))
    end)

    it('tells which elements cannot be written, are not aligned, or have another type elsewhere', function()
      local flags = function(s)
        return (select(4, probe.test(s, ANY, 0)))
      end
      support.spit(path 'file', ('x'):rep(24))
      assert.equal(ALIGNED + CONTIGUOUS, flags(torch.IntStorage { filename = path 'file', readonly = true }))
      assert.equal(WRITABLE + ALIGNED + CONTIGUOUS, flags(torch.IntStorage(path 'file', true)))
      local bytes = torch.ByteStorage(16)
      assert.equal(WRITABLE + ALIGNED + CONTIGUOUS + RETYPED, flags(bytes:view('int32')))
      local odd = torch.IntStorage.frombuffer(bytes, { offset = 1, count = 2 })
      assert.equal(WRITABLE + CONTIGUOUS + RETYPED, flags(odd))
      local complex = torch.ComplexDoubleStorage.frombuffer(torch.DoubleStorage(5), { offset = 8, count = 2 })
      assert.equal(WRITABLE + ALIGNED + CONTIGUOUS + RETYPED, flags(complex))
      assert.equal(0, select('#', probe.test(odd, INT, ALIGNED)))
      assert.equal(2, (probe.test(odd, INT, WRITABLE)))
    end)

    it('takes a contiguous tensor if it is asked to', function()
      local x = torch.DoubleTensor(4, 3)
      local address = tonumber(x:dataptr())
      assert.equal(0, select('#', probe.test(x, ANY, 0)))
      local size, width, dtype, flags, name, data = probe.test(x, DOUBLE, TENSORS)
      assert.same(
        { 12, 8, DOUBLE, WRITABLE + ALIGNED + CONTIGUOUS, 'torch.DoubleTensor', address },
        { size, width, dtype, flags, name, data }
      )
      local part = { probe.test(x:narrow(1, 2, 2), ANY, TENSORS) }
      assert.same({ 6, address + 24 }, { part[1], part[6] })
      assert.equal(0, select('#', probe.test(x:t(), ANY, TENSORS)))
      assert.equal(4, (probe.test(torch.FloatStorage(4), ANY, TENSORS)))
    end)

    it('fills views of other versions of the header', function()
      probe.other_views(torch.FloatStorage(3))
    end)
  end)

  describe('torch_storage_check', function()
    it('says which storage is expected, and how to get one', function()
      local name, fails = path 'file', support.fails
      support.spit(name, ('x'):rep(8))
      fails(
        'torch.FloatStorage expected, got torch.DoubleStorage: s:float() converts it',
        probe.check,
        torch.DoubleStorage(1),
        FLOAT,
        0
      )
      fails('torch.FloatStorage expected, got table', probe.check, {}, FLOAT, 0)
      fails(
        'torch.FloatStorage expected, got torch.FloatTensor: x:storage() is its storage',
        probe.check,
        torch.FloatTensor(1),
        FLOAT,
        0
      )
      fails('torch.*Storage expected, got nil', probe.check, nil, ANY, 0)
      fails('read-only: ', probe.check, torch.IntStorage { filename = name, readonly = true }, ANY, WRITABLE)
      fails('not resizable', probe.check, torch.IntStorage(name), ANY, RESIZABLE)
      local odd = torch.ShortStorage.frombuffer(torch.ByteStorage(4), { offset = 1, count = 1 })
      fails('the elements are not aligned for their type: clone()', probe.check, odd, SHORT, ALIGNED)
      local freed = torch.IntStorage(1)
      freed:free()
      fails('storage was freed', probe.check, freed, ANY, 0)
      fails('77 is not a dtype of torch_storage.h', probe.check, torch.IntStorage(1), 77, 0)
    end)

    it('says which tensor is expected', function()
      local fails = support.fails
      fails('torch.*Storage or contiguous torch.*Tensor expected, got string', probe.check, 'x', ANY, TENSORS)
      fails('torch.IntStorage or contiguous torch.IntTensor expected, got number', probe.check, 1, INT, TENSORS)
      fails(
        'torch.IntTensor expected, got torch.FloatTensor: x:int() converts it',
        probe.check,
        torch.FloatTensor(2),
        INT,
        TENSORS
      )
      fails('do not lie side by side; x:contiguous()', probe.check, torch.IntTensor(2, 3):t(), INT, TENSORS)
      local shrunk = torch.IntTensor(4)
      shrunk:storage():resize(2)
      fails('', probe.check, shrunk, INT, TENSORS)
    end)

    it('names the argument and the function, with a position', function()
      local ok, message = pcall(function()
        local x = probe.check({}, FLOAT, 0)
        return x
      end)
      assert.is_false(ok)
      assert.is_truthy(
        message:find("^[^:]+:%d+: bad argument #1 to 'check' %(torch.FloatStorage expected, got table%)"),
        message
      )
      ok, message = pcall(function()
        local x = probe.check_top 'x'
        return x
      end)
      assert.is_false(ok)
      assert.is_truthy(message:find("bad argument #1 to 'check_top' (", 1, true), message)
      assert.equal(2, (probe.check_top(torch.FloatStorage(2))))
    end)

    it('works in coroutines', function()
      local size = coroutine.wrap(function()
        return (probe.check(torch.IntStorage(7), INT, HEAP))
      end)()
      assert.equal(7, size)
      local ok, message = coroutine.resume(coroutine.create(function()
        return probe.check(1, INT, 0)
      end))
      assert.is_false(ok)
      assert.is_truthy(message:find('torch.IntStorage expected, got number', 1, true), message)
    end)
  end)

  describe('torch_tensor_check and torch_tensor_test', function()
    it('tell sizes, strides, and the first element', function()
      local x = torch.FloatTensor(2, 3, 4)
      local address = tonumber(x:dataptr())
      assert.same(
        { 24, 4, FLOAT, WRITABLE + ALIGNED + CONTIGUOUS, 'torch.FloatTensor', address, { 2, 3, 4 }, { 12, 4, 1 } },
        { probe.test_tensor(x, ANY, 0) }
      )
      local part = x:transpose(1, 3):select(2, 2)
      assert.same(
        { 8, 4, FLOAT, WRITABLE + ALIGNED, 'torch.FloatTensor', address + 16, { 4, 2 }, { 1, 12 } },
        { probe.check_tensor(part, FLOAT, WRITABLE) }
      )
      local none = { probe.check_tensor(torch.FloatTensor(), ANY, CONTIGUOUS) }
      assert.same({ 0, 0, { 0 } }, { none[1], none[6], none[7] })
      local scalar = { probe.check_tensor(probe.tensor(torch.IntStorage(3)), ANY, 0) }
      assert.same({ 1, {}, {} }, { scalar[1], scalar[7], scalar[8] })
    end)

    it('refuse what does not fit', function()
      local fails = support.fails
      for _, value in ipairs { 1, {}, torch.FloatStorage(2), torch.IntTensor(2) } do
        assert.equal(0, select('#', probe.test_tensor(value, FLOAT, 0)))
      end
      fails('torch.FloatTensor expected, got number', probe.check_tensor, 1, FLOAT, 0)
      fails('s:view(-1) is a tensor of its elements', probe.check_tensor, torch.FloatStorage(2), FLOAT, 0)
      fails('x:float() converts it', probe.check_tensor, torch.IntTensor(2), FLOAT, 0)
      fails('x:contiguous()', probe.check_tensor, torch.IntTensor(2, 3):t(), ANY, CONTIGUOUS)
      local shrunk = torch.IntTensor(4)
      shrunk:storage():resize(2)
      assert.equal(0, select('#', probe.test_tensor(shrunk, ANY, 0)))
      fails('', probe.check_tensor, shrunk, ANY, 0)
      local constant = torch.IntTensor(torch.IntStorage.frombuffer(('x'):rep(8)))
      fails('read-only', probe.check_tensor, constant, ANY, WRITABLE)
    end)
  end)

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
      assert.is_truthy(message:find('c_api_spec.lua:%d+: '), message)
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
        ]]):format(library)
      )
      assert.equal('1', output)
    end)

    it('keeps the library of `free` loaded', function()
      local output, status = child [[
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
      assert.equal('loaded\nfreed', output)
      assert.equal(0, status)
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
      fails('no tensors of bytes without a type', probe.tensor, torch.UntypedStorage(4), 4)
      local sizes = {}
      for i = 1, 65 do
        sizes[i] = 1
      end
      fails('65 is not a number of dimensions: 0 to 64', probe.tensor, torch.IntStorage(1), unpack(sizes))
      fails('', probe.tensor, torch.IntStorage(1), 2 ^ 40, 2 ^ 40)
    end)
  end)

  describe('the table of functions', function()
    it('is found by its key, and loads torch if necessary', function()
      assert.is_truthy(probe.open():find '^torch%-storage %d+%.%d+%.%d+, functions 1%.0$')
      local output, status = child(
        [[
        local probe = open()
        print(package.loaded['torch.core'], (probe.open():gsub(' %S+,', ',')), rawget(_G, 'torch'))
        package.loaded['torch.core'], package.loaded['torch.storage'] = nil, nil
        print((probe.open():gsub(' %S+,', ',')))]],
        true
      )
      assert.equal('nil\ttorch-storage, functions 1.0\tnil\ntorch-storage, functions 1.0', output)
      assert.equal(0, status)
    end)

    it('of another version or size, or another value, is refused with both versions', function()
      local OURS = 'this module was compiled with torch_storage.h 1.0, and '
      local OTHER = OURS .. 'the library that is loaded (torch-storage 9.9) has version %s: %s'
      local OLDER = 'install a newer torch-storage, or compile the module with the torch_storage.h of that library'
      local NEWER = 'compile the module with the torch_storage.h of that library'
      local NONE = OURS .. 'the torch.core that is loaded has no functions for C modules: install a newer torch-storage'
      local cases = {
        { 'probe.fake("torch_storage.1", 0, 2, 0, 1000)', OTHER:format('2.0', NEWER) },
        { 'probe.fake("torch_storage.1", 0, 0, 7, 1000)', OTHER:format('0.7', OLDER) },
        { 'probe.fake("torch_storage.1", 0, 1, 0, 992)', OTHER:format('1.0', OLDER) },
        { 'probe.fake("torch_storage.1", 1e5, 1, 0, 1000)', NONE },
        { 'probe.lose(true)', NONE },
        { 'probe.lose(io.stdout)', NONE },
        { 'probe.lose(torch.IntStorage(3))', NONE },
        { 'probe.lose(false) probe.fake("torch_storage.2", 0, 2, 5, 1000)', OTHER:format('2.5', NEWER) },
        { 'probe.fake("torch_storage.1", 0, 1, 3, 1200) print "as"', 'as\ntrue\ttorch-storage 9.9, functions 1.3' },
      }
      local lines = { "local torch, probe = require 'torch', open()", 'local function try()' }
      lines[#lines + 1] = '  local ok, result = pcall(probe.open)'
      lines[#lines + 1] = '  if ok then print(ok, result) else print(result) end\nend'
      local expected = {}
      for _, case in ipairs(cases) do
        lines[#lines + 1] = case[1] .. ' try()'
        expected[#expected + 1] = case[2]
      end
      local output, status = child(table.concat(lines, '\n'), true)
      assert.equal(0, status, output)
      assert.equal(table.concat(expected, '\n'), output)
    end)

    it('without a function that a newer header has is refused', function()
      local header = support.slurp 'include/torch_storage.h'
      local changes = 0
      local function change(from, to)
        local first, last = header:find(from, 1, true)
        header = header:sub(1, first - 1) .. to .. header:sub(last + 1)
        changes = changes + 1
      end
      change('#define TORCH_STORAGE_MINOR 0', '#define TORCH_STORAGE_MINOR 4')
      change('} torch_storage_api;', '  void (*appended)(void);\n} torch_storage_api;')
      assert.equal(2, changes)
      support.sh("mkdir '" .. path() .. "/include'")
      support.spit(path 'include/torch_storage.h', header)
      local output, status = child("require 'torch'\nprint(pcall(open))", false, path 'include')
      assert.equal(0, status, output)
      local version = require('torch.core').version
      assert.is_truthy(
        output:find(
          'compiled with torch_storage.h 1.4, and the library that is loaded (torch-storage '
            .. version
            .. ') has version 1.0: install a newer torch-storage',
          1,
          true
        ),
        output
      )
    end)

    it('has to be the upvalue of the function', function()
      support.fails('upvalue 1 of this function is not the table of torch_storage.h', probe.without_table, 1, 0, 0)
    end)

    it('of one library is the only one in a Lua state', function()
      local loaded = support.slurp('/proc/self/maps'):match '%s(/[^\n]*/torch/core%.so)\n'
      support.sh(("cp '%s' '%s'"):format(loaded, path 'core.so'))
      local output, status = support.run(([[
        require 'torch.storage'
        local open = assert(package.loadlib(%q, 'luaopen_torch_core'))
        local ok, message = pcall(open)
        print(ok, message)
        print(require 'torch.core' == package.loaded['torch.core'])
      ]]):format(path 'core.so'))
      assert.equal(0, status, output)
      local version = 'another torch.core is open in this Lua state: version ' .. require('torch.core').version
      assert.is_truthy(output:find('^false\t'), output)
      assert.is_truthy(
        output:find(version .. ' in ' .. loaded .. '. A Lua state can have only one\ntrue', 1, true),
        output
      )
    end)
  end)

  it('works in finalizers, also while the Lua state is closed', function()
    local output, status = child [[
      local torch, probe = require 'torch', open()
      local s, hold = torch.DoubleStorage(5), nil
      hold = probe.retain(s, 512)
      local function at_end()
        local t = probe.new(7, 3)
        print(probe.check(t, 7, 1), (probe.held(hold)), #probe.push(hold))
        probe.release(hold)
        print(pcall(probe.check, 1, 7, 0))
      end
      if newproxy then
        kept = newproxy(true)
        getmetatable(kept).__gc = at_end
      else
        kept = setmetatable({}, { __gc = at_end })
      end
    ]]
    assert.equal(0, status, output)
    assert.is_truthy(output:find('^3\t.-5\t5\nfalse\t.*torch.FloatStorage expected, got number'), output)
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
      ]]):format(library)
    )
    assert.equal('', output)
  end)
end)
