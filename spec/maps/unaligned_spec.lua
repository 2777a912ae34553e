-- Maps with an unaligned offset: their elements are read and written correctly in every way.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local types = require 'spec.support.types'

local SIZE = 700
local OFFSETS = { 0, 1, 2, 3, 5, 7, 8, 4093, 4095, 4097, 8191 }

local path = support.temporary()

local function bytes_of(s)
  return torch.ByteStorage(s:nbytes(), s:data(true)):string()
end

-- Values that every class can hold, with different neighbours; each seed gives another row.
local function value(i, seed)
  return (i * 37 + seed * 11) % 127
end

local function numbered(T, size, seed)
  local t = {}
  for i = 1, size do
    t[i] = value(i, seed)
  end
  return torch[T .. 'Storage'](t)
end

-- A file with the storage's bytes from `offset` on, between other bytes.
local function file_of(storage, offset)
  return support.spit(path 'file', ('<'):rep(offset) .. bytes_of(storage) .. ('>'):rep(100))
end

local function each(body)
  for _, mode in ipairs(accessors.MODES) do
    for _, T in ipairs(types.TORCH7) do
      for _, offset in ipairs(OFFSETS) do
        torch.accessors(mode)
        local reference = numbered(T, SIZE, offset)
        local name = file_of(reference, offset)
        body(T, reference, function(shared, readonly)
          local options = { filename = name, offset = offset, size = SIZE, shared = shared, readonly = readonly }
          return torch[T .. 'Storage'](options)
        end, offset, name)
      end
    end
  end
end

after_each(accessors.restore)

describe('unaligned elements', function()
  it('are read correctly', function()
    each(function(T, reference, map, offset)
      local kind = ({ { false }, { true }, { true, true }, { false, true } })[offset % 4 + 1]
      local s = map(kind[1], kind[2])
      assert.is_true(s:equal(reference))
      assert.is_true(reference:equal(s))
      local sum, wrong = 0, 0
      for i = 1, #s do
        sum = sum + s[i]
        wrong = wrong + (s[i] == value(i, offset) and 0 or 1)
      end
      for i, v in s:iter() do
        sum = sum - v
        wrong = wrong + (v == value(i, offset) and 0 or 1)
      end
      for i, v in ipairs(s:totable()) do
        wrong = wrong + (v == value(i, offset) and 0 or 1)
      end
      for i, v in ipairs { s:unpack(101, 180) } do
        wrong = wrong + (v == value(100 + i, offset) and 0 or 1)
      end
      assert.equal(0, sum)
      assert.equal(0, wrong)
      assert.equal(tostring(reference), tostring(s))
      assert.is_true(s:clone():equal(reference))
      local view = torch[T .. 'Storage'](s, 3, 600)
      assert.is_true(view:equal(torch[T .. 'Storage'](reference, 3, 600)))
      if T == 'Byte' or T == 'Char' then
        assert.is_true(s:string() == reference:string())
      end
      for _, U in ipairs(types.TORCH7) do
        assert.is_true(torch[U .. 'Storage'](SIZE):copy(s):equal(numbered(U, SIZE, offset)), T .. ' to ' .. U)
        assert.is_true(s:type(U .. 'Storage'):equal(numbered(U, SIZE, offset)))
      end
    end)
  end)

  it('are written correctly, and the bytes beside them stay', function()
    each(function(T, reference, map, offset, name)
      local s = map(true)
      local function holds(seed)
        local got = support.slurp(name)
        local wanted = ('<'):rep(offset) .. bytes_of(numbered(T, SIZE, seed)) .. ('>'):rep(100)
        return got == wanted
      end
      assert.is_true(holds(offset))
      for i = 1, #s do
        s[i] = value(i, 1)
      end
      assert.is_true(holds(1), 'assigned')
      for i = 1, #s do
        s[i] = s[i] + value(i, 2) - value(i, 1) -- compiled code stores sums in a different way
      end
      assert.is_true(holds(2), 'sums')
      s:copy(numbered(T, SIZE, 3))
      assert.is_true(holds(3), 'copy')
      for seed, U in ipairs(types.TORCH7) do
        s:copy(numbered(U, SIZE, seed))
        assert.is_true(holds(seed), U)
      end
      local view = torch[T .. 'Storage'](s, 2, SIZE - 2)
      view:copy(torch[T .. 'Storage'](s, 3)) -- overlapping, one element apart
      assert.equal(value(3, #types.TORCH7), s[2])
      assert.equal(value(SIZE, #types.TORCH7), s[SIZE - 1])
      view:fill(9)
      local ends = support.joined({ s[1], s[2], s[SIZE - 1], s[SIZE] }, ' ')
      assert.equal(('%d 9 9 %d'):format(value(1, 8), value(SIZE, 8)), ends)
      torch[T .. 'Storage'](view, 2, 3):zero()
      assert.equal('9 0 0 0 9', support.joined(torch[T .. 'Storage'](s, 2, 5):totable(), ' '))
      s:fill(7)
      local bytes = support.slurp(name)
      assert.is_true(bytes:sub(offset + 1, -101) == bytes_of(reference:fill(7)), 'fill')
      assert.equal(('<'):rep(offset), bytes:sub(1, offset))
      assert.equal(('>'):rep(100), bytes:sub(-100))
    end)
  end)

  it('keep special values, also in compiled loops', function()
    local values =
      { 0.1, -0.1, 1 / 0, -1 / 0, 5e-324, 1e-40, 6e-8, 65504, 65520, 2 ^ 53, -(2 ^ 63), 2 ^ 63, 1e300, 300 }
    for _, mode in ipairs(accessors.MODES) do
      torch.accessors(mode)
      for _, T in ipairs(types.TORCH7) do
        for _, offset in ipairs { 1, 3, 4094 } do
          local options = { filename = path 'special', offset = offset, size = #values + 1, shared = true }
          local s, reference = torch[T .. 'Storage'](options), torch[T .. 'Storage'](#values + 1)
          for _ = 1, 100 do
            for i = 1, #values do
              s[i] = values[i]
              reference[i] = values[i]
            end
          end
          s[#s], reference[#s] = 0 / 0, 0 / 0
          assert.is_true(support.slurp(options.filename):sub(offset + 1) == bytes_of(reference), T .. offset)
          for i = 1, #values do
            assert.equal(reference[i], s[i])
          end
          assert.equal(tostring(reference[#s]), tostring(s[#s]))
          os.remove(options.filename)
        end
      end
    end
  end)

  it('are filled and converted correctly by several threads #large', function()
    local size = 2 ^ 21
    local name = path 'large'
    local s = torch.DoubleStorage { filename = name, offset = 4099, size = size, shared = true }
    s:fill(0.5)
    s[1], s[size / 2], s[size] = 1, 2, 3
    local floats = torch.FloatStorage { filename = name .. '2', offset = 1, size = size, shared = true }
    floats:copy(s)
    for _, one in ipairs { s, floats, floats:clone(), floats:type 'DoubleStorage' } do
      assert.equal('1 0.5 2 0.5 3', support.joined({ one[1], one[2], one[size / 2], one[size - 1], one[size] }, ' '))
      local sum = 0
      for i = 1, size, 1009 do
        sum = sum + (one[i] == 0.5 and 0 or 1)
      end
      assert.equal(1, sum) -- the first one
    end
    assert.equal(4099 + 8 * size, #support.slurp(name))
  end)
end)
