-- Storages over the caller's memory: which values count as an address, and what such a storage can do.
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

describe('an address', function()
  it('of a storage makes another storage over the same bytes', function()
    for _, T in ipairs(types.TORCH7) do
      local class = torch[T .. 'Storage']
      local s = class { 1, 2, 3, 4 }
      local addresses = { s:data(), s:data(true), torch.data(s), torch.data(s, true), tonumber((s:data(true))) }
      for index, address in ipairs(addresses) do
        local other = class(4, address)
        assert.is_false(other == s)
        assert.is_true(other:equal(s), T .. index)
        other[index % 4 + 1] = 10 * index
        assert.equal(10 * index, s[index % 4 + 1])
        assert.equal(s:data(true), other:data(true))
      end
      local view = class(s, 3)
      assert.equal(s[3], class(2, view:data())[1])
      assert.equal(s:data(true) + 2 * types.WIDTH[T], view:data(true))
    end
  end)

  it('may be that of elements of another class', function()
    recorded.check [[
      > s = torch.IntStorage{0x04030201, -1}
      torch.ByteStorage(8, s:data())   --> <torch.ByteStorage #8: 1 2 3 4 255 255 255 255>
      torch.ShortStorage(4, s:data(true))   --> <torch.ShortStorage #4: 513 1027 -1 -1>
      torch.CharStorage(3, torch.data(s))   --> <torch.CharStorage #3: 1 2 3>
      > torch.LongStorage(1, s:data()):fill(7)
      s   --> <torch.IntStorage #2: 7 0>
    ]]
  end)

  it('may be 0 for a size of 0, and that of an empty storage', function()
    recorded.check [[
      torch.IntStorage(0, 0)   --> <torch.IntStorage #0: >
      torch.IntStorage(nil, 0)   --> <torch.IntStorage #0: >
      torch.IntStorage(0, 65537)   --> <torch.IntStorage #0: >
      torch.IntStorage(0, torch.IntStorage():data())   --> <torch.IntStorage #0: >
      torch.IntStorage(0, torch.IntStorage():data(true))   --> <torch.IntStorage #0: >
      [luajit] torch.IntStorage(0, 0LL)   --> <torch.IntStorage #0: >
      torch.IntStorage(0, 0):fill(1):resizable()   --> false
      torch.IntStorage(0, 0)[1]   --> ERROR out of range: the storage is empty
      torch.IntStorage(0, 1)   --> ERROR 1 is not an address; for a storage of these two elements write torch.IntStorage{0, 1}
      torch.IntStorage(0, -1.5)   --> ERROR write torch.IntStorage{0, -1.5}
      torch.IntStorage(0, 0/0)   --> ERROR nan is not an address
      torch.IntStorage(0, 2^70)   --> ERROR is not an address
      torch.IntStorage(0.9, 3)   --> ERROR write torch.IntStorage{0.9, 3}
      torch.IntStorage(nil, 5)   --> ERROR 5 is not an address
      [luajit] torch.IntStorage(0, -1LL)   --> ERROR -1 is not an address
      torch.IntStorage(0, 'x')   --> ERROR got string
      torch.IntStorage(0, true)   --> ERROR got boolean
    ]]
  end)

  it('is distinguished from the second element of a list with forgotten braces', function()
    recorded.check [[
      torch.LongStorage(5, 2)   --> ERROR write torch.LongStorage{5, 2}
      torch.LongStorage.new(5, 2)   --> ERROR write torch.LongStorage{5, 2}
      torch.DoubleStorage(3, 0.5)   --> ERROR write torch.DoubleStorage{3, 0.5}
      torch.IntStorage(2, -7)   --> ERROR write torch.IntStorage{2, -7}
      torch.IntStorage(1.5, 20)   --> ERROR write torch.IntStorage{1.5, 20}
      [luajit] torch.IntStorage(1, 20LL)   --> ERROR write torch.IntStorage{1, 20}
    ]]
  end)

  it('has to be a valid address', function()
    recorded.check [[
      > mine = torch.ByteStorage(64)
      > address = mine:data(true)
      torch.ByteStorage(2, address + 1)   --> <torch.ByteStorage #2: 0 0>
      torch.CharStorage(2, address + 3)   --> <torch.CharStorage #2: 0 0>
      torch.ShortStorage(2, address + 2)   --> <torch.ShortStorage #2: 0 0>
      torch.ShortStorage(2, address + 1)   --> ERROR is not aligned
      torch.HalfStorage(2, address + 3)   --> ERROR is not aligned
      torch.IntStorage(2, address + 4)   --> <torch.IntStorage #2: 0 0>
      torch.IntStorage(2, address + 2)   --> ERROR is not aligned
      torch.FloatStorage(2, address + 1)   --> ERROR is not aligned
      torch.LongStorage(2, address + 8)   --> <torch.LongStorage #2: 0 0>
      torch.LongStorage(2, address + 4)   --> ERROR is not aligned
      torch.DoubleStorage(2, address + 12)   --> ERROR is not aligned
      torch.IntStorage(1, torch.ByteStorage(mine, 2):data())   --> ERROR is not aligned
      [puc] torch.ByteStorage(1, address + 0.5)   --> ERROR is not an address
      torch.IntStorage(1, 70000.5)   --> ERROR is not an address
      torch.IntStorage(1, 65532)   --> ERROR 65532 is not an address
      torch.IntStorage(1, -2^40)   --> ERROR is not an address
      torch.ByteStorage(1, 2^63)   --> ERROR is not
      torch.ByteStorage(1, 2^64)   --> ERROR is not
      torch.ByteStorage(2^63 - 1024, address)   --> ERROR is not
      torch.ByteStorage(2^63, address)   --> ERROR got 9
      torch.LongStorage(2^60, address)   --> ERROR bad argument
      torch.LongStorage(2^61, address)   --> ERROR bad argument
      torch.ByteStorage(-1, address)   --> ERROR got -1
      torch.ByteStorage(0/0, address)   --> ERROR got nan
      torch.ByteStorage(true, address)   --> ERROR number expected, got boolean
      torch.ByteStorage(print, address)   --> ERROR number expected, got function
      torch.ByteStorage(1, tostring(address))   --> ERROR got string
      torch.ByteStorage(1, print)   --> ERROR got function
      torch.ByteStorage(1, torch.ByteStorage(1))   --> ERROR got torch.ByteStorage
      torch.ByteStorage(1, io.stdout)   --> ERROR got userdata
    ]]
  end)
end)

describe("a storage over the caller's memory", function()
  it('can do everything except change its size', function()
    recorded.check [[
      > mine = torch.IntStorage{10, 20, 30, 40}
      > s = torch.IntStorage(4, mine:data())
      s:resizable()   --> false
      s:isView()   --> false
      s:isMapped()   --> false
      s:filename()   --> nil
      s:nbytes()   --> 16
      s:resize(4)   --> ERROR not resizable: the storage is memory of the caller
      s:resize(0)   --> ERROR not resizable
      s:reserve(9)   --> ERROR not resizable
      torch.ByteStorage(2, mine:data()):string('ab')   --> ERROR not resizable
      torch.ByteStorage(2, mine:data()):string()   --> "\010\000"
      s:flush()   --> ERROR nothing to flush
      s:clone():resize(5)   --> <torch.IntStorage #5: 10 20 30 40 0>
      s:type('torch.ByteStorage'):resize(1)   --> <torch.ByteStorage #1: 10>
      s:copy(torch.ByteStorage{1, 2, 3, 4}) == s   --> true
      mine   --> <torch.IntStorage #4: 1 2 3 4>
      torch.IntStorage(s, 2, 2):fill(9)   --> <torch.IntStorage #2: 9 9>
      mine   --> <torch.IntStorage #4: 1 9 9 4>
      torch.IntStorage(torch.IntStorage(s, 2), 2):resize(1)   --> ERROR not resizable
      s:equal(mine)   --> true
      s:zero()   --> <torch.IntStorage #4: 0 0 0 0>
      mine   --> <torch.IntStorage #4: 0 0 0 0>
    ]]
  end)

  it('does not free it', function()
    local mine = torch.IntStorage(1000):fill(5)
    support.collect() -- so that nothing from earlier tests is freed in between
    local before = torch.memory()
    local s = torch.IntStorage(1000, mine:data())
    local view = torch.IntStorage(s, 2)
    assert.equal(before.foreign + 4000, torch.memory().foreign)
    assert.equal(before.heap, torch.memory().heap)
    s:free()
    assert.equal(before.foreign + 4000, torch.memory().foreign)
    assert.equal(5, view[999])
    view:free()
    assert.same(before, torch.memory())
    assert.is_true(mine:equal(torch.IntStorage(1000):fill(5)))
  end)

  -- One storage's bytes as elements of two classes at two offsets: the result is as if the source had been copied first.
  it('copies to another storage over the same bytes', function()
    local mine = torch.ByteStorage(4096)
    local function over(T, offset, size)
      return torch[T .. 'Storage'](size, mine:data(true) + offset)
    end
    for _, D in ipairs(types.TORCH7) do
      for _, S in ipairs(types.TORCH7) do
        for _, offsets in ipairs { { 1024, 1024 }, { 1024, 1040 }, { 1040, 1024 }, { 1024, 1400 }, { 1400, 1024 } } do
          for i = 1, 4096 do
            mine[i] = (i * 29 + 3) % 60
          end
          local source = over(S, offsets[2], 67)
          local expected = torch[D .. 'Storage'](67):copy(source:clone())
          local rest = mine:clone()
          local got = over(D, offsets[1], 67):copy(source)
          assert.is_true(got:equal(expected), ('%s at %d from %s at %d'):format(D, offsets[1], S, offsets[2]))
          -- No other bytes were written.
          local first, last = offsets[1] + 1, offsets[1] + 67 * types.WIDTH[D]
          torch.ByteStorage(rest, first, last - first + 1):copy(torch.ByteStorage(mine, first, last - first + 1))
          assert.is_true(rest:equal(mine))
        end
      end
    end
  end)
end)
