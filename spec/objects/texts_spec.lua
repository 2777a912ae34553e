-- What the library gives a program says what it is when it is printed, and not `table: 0x...`.
local torch = require 'torch'
local support = require 'spec.support'

describe('the text of', function()
  it('every table in the module is its name', function()
    local count = 0
    for name, value in pairs(torch) do
      if type(value) == 'table' then
        local class = name == 'Storage' and 'DoubleStorage' or name == 'Tensor' and 'DoubleTensor' or name
        assert.equal('torch.' .. class, tostring(value))
        count = count + 1
      end
    end
    assert.is_true(count > 40, count .. ' tables')
    assert.matches('^torch%-storage %d', tostring(torch))
  end)

  it('a complex element has its parts', function()
    for _, T in ipairs { 'ComplexFloat', 'ComplexDouble' } do
      local s = torch[T .. 'Storage'] { { 1, 2 }, { 3, -4 }, { 0.5, 1 / 0 }, { -0.25, 0 } }
      local texts = {}
      for i = 1, #s do
        texts[i] = support.plain(tostring(s[i]))
      end
      assert.same({ '1+2i', '3-4i', '0.5+infI', '-0.25+0i' }, texts)
      assert.equal('3-4i', support.plain(tostring(s:view(2, 2)[1][2])))
      -- The text changes nothing else.
      local z = s[2]
      assert.equal(3, z.re)
      assert.is_true(torch[T .. 'Storage']({ z }):equal(s:sub(2, 2)))
      assert.same({ { 3, -4 } }, { { z.re, z.im } })
    end
  end)

  it('the bytes of memory has all kinds', function()
    local s = torch.ByteStorage(1000)
    local bytes = torch.memory()
    local expected = ('bytes of memory: heap %d, mapped %d, shared %d, foreign %d'):format(
      bytes.heap,
      bytes.mapped,
      bytes.shared,
      bytes.foreign
    )
    assert.equal(expected, tostring(bytes))
    assert.is_true(bytes.heap >= #s)
    bytes.heap, bytes.mapped = nil, {}
    assert.matches('^bytes of memory: heap nil, mapped table: ', tostring(bytes))
  end)

  it('shared memory has the name, the size and whether it is held', function()
    local processes = require 'spec.support.processes'
    finally(processes.clean)
    local name = processes.name()
    local s = torch.ByteStorage(name, true, 100, true)
    local list = torch.sharedMemory()
    local found
    for _, object in ipairs(list) do
      found = object.name == name and object or found
    end
    local expected = name .. ': ' .. s:nbytes() .. ' bytes, held by a storage'
    assert.equal(expected, tostring(found))
    assert.is_truthy(tostring(list):find(expected, 1, true))
    for i = 1, #list do
      list[i] = nil
    end
    assert.equal('no shared memory', tostring(list))
  end)

  it('the print options has all of them', function()
    local before = torch.getprintoptions()
    finally(function()
      torch.setprintoptions(before)
    end)
    torch.setprintoptions { threshold = 7, edgeitems = 2 }
    local options = torch.getprintoptions()
    assert.same({ threshold = 7, edgeitems = 2 }, options)
    assert.equal('print options: threshold 7, edgeitems 2', tostring(options))
    options.threshold = 8 -- a copy
    assert.equal(7, torch.getprintoptions().threshold)
    torch.setprintoptions(options)
    assert.equal(8, torch.getprintoptions().threshold)
  end)

  it('tables that are saved is not saved', function()
    for _, value in ipairs { torch.memory(), torch.getprintoptions() } do
      assert.same(value, torch.deserialize(torch.serialize(value)))
    end
  end)
end)
