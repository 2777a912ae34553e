-- The functions of include/torch_storage.h that read arguments, each as a C module calls it.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local probes = require 'spec.support.probes'
local types = require 'spec.support.types'

local ANY, SHORT, INT, FLOAT, DOUBLE = probes.ANY, probes.SHORT, probes.INT, probes.FLOAT, probes.DOUBLE
local WRITABLE, ALIGNED, CONTIGUOUS, RESIZABLE = probes.WRITABLE, probes.ALIGNED, probes.CONTIGUOUS, probes.RESIZABLE
local RETYPED, TENSORS, HEAP = probes.RETYPED, probes.TENSORS, probes.HEAP
local it = probes.it

describe('torch_storage.h #process', function()
  local path = support.temporary()
  local probe = probes.open()
  before_each(support.collect)

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
      for _, wants in ipairs { -1, 32, 512 + WRITABLE } do
        local message = 'flags such as TORCH_WRITABLE expected as wants, got ' .. wants
        fails(message, probe.check, torch.IntStorage(1), ANY, wants)
        fails(message, probe.check, 'x', ANY, wants)
        fails(message, probe.check_tensor, torch.IntTensor(1), ANY, wants)
        assert.equal(0, select('#', probe.test(torch.IntStorage(1), ANY, wants)))
        assert.equal(0, select('#', probe.test_tensor(torch.IntTensor(1), ANY, wants)))
      end
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
end)
