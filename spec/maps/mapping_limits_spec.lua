-- Many and large mapped files: ten thousand maps leave nothing behind, and more than 4 GiB of one file work.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()

-- The directory has a random name, so every map of a file in it is ours.
local function mapped()
  return support.mappings((path():gsub('%p', '%%%0')))
end

before_each(support.collect)
after_each(support.collect)

local function descriptors()
  local pid = support.slurp('/proc/self/stat'):match '^%d+'
  return tonumber(support.sh(("ls -l /proc/%s/fd | grep -cF '%s'"):format(pid, path())))
end

-- What f() leaves behind: descriptors and mappings of files in our directory, and bytes that the library counts.
local function left_by(f)
  support.collect()
  local memory = torch.memory()
  f()
  support.collect()
  local now = torch.memory()
  for kind, bytes in pairs(memory) do
    now[kind] = now[kind] - bytes
  end
  now.descriptors, now.mappings = descriptors(), mapped()
  return now
end

local NOTHING = { descriptors = 0, mappings = 0, heap = 0, mapped = 0, shared = 0, foreign = 0 }

describe('ten thousand', function()
  it('would be noticed if they leaked', function()
    local name = support.spit(path 'f', ('x'):rep(10000))
    local before, file = torch.memory().mapped, io.open(name)
    local view, map = torch.IntStorage(torch.IntStorage(name, true), 25), torch.ByteStorage(name)
    assert.equal(2, mapped())
    assert.equal(1, descriptors())
    assert.equal(before + 20000, torch.memory().mapped)
    assert.equal(view:nbytes() + 96, #map)
    file:close()
  end)

  it('maps leave no descriptor and no mapping', function()
    local name = support.spit(path 'f', ('x'):rep(10000))
    assert.same(
      NOTHING,
      left_by(function()
        local s
        for i = 1, 5000 do
          s = torch.ByteStorage(name, i % 2 == 0)
          s = torch.DoubleStorage(torch.DoubleStorage(name, i % 2 == 1, #s / 8), 3, 4)
        end
        assert.equal(4, #s)
      end)
    )
  end)

  it('failing maps leave no descriptor, no mapping and no memory', function()
    local name = support.spit(path 'f', 'x')
    assert.same(
      NOTHING,
      left_by(function()
        for _ = 1, 2000 do
          assert(not pcall(torch.ByteStorage, path()))
          assert(not pcall(torch.ByteStorage, path 'nofile', true))
          assert(not pcall(torch.ByteStorage, name, true, 2 ^ 62))
          assert(not pcall(torch.ByteStorage, path 'new', true, 2 ^ 62))
          assert(not pcall(torch.ByteStorage, name, false, 2))
        end
      end)
    )
    assert.equal('f', support.sh(("ls -A '%s'"):format(path())))
  end)

  it('failing constructors of other kinds leave no memory #slow', function()
    local s = torch.IntStorage(4)
    local array = support.luajit and require('ffi').new 'char[2]' or -1
    local attempts = {
      { 2 ^ 62 },
      { -1 },
      { 2 ^ 50 },
      { s, 6 },
      { s, 1, 5 },
      { torch.ByteStorage(1) },
      { { 1, 2, 'x' } },
      { 3, 5 },
      { 3, array },
      { 2 ^ 62, s:data() },
      { 3, {} },
      { function() end },
    }
    assert.same(
      NOTHING,
      left_by(function()
        for _ = 1, 1000 do
          for index, arguments in ipairs(attempts) do
            assert(not pcall(torch.IntStorage, unpack(arguments)), index)
          end
          assert(not pcall(torch.IntStorage.fromstring, 'abc'))
          assert(not pcall(s.type, s, 'NoStorage'))
          assert(not pcall(s.clone, s.nothing))
        end
      end)
    )
  end)

  -- Memory that the library does not count: a file name kept by each of them would be 60 MB.
  it('failures, thirty times, do not make the process grow #slow', function()
    local long = path(('n'):rep(200))
    local function fail(count)
      for _ = 1, count do
        pcall(torch.ByteStorage, long)
      end
      support.collect()
    end
    fail(1000)
    local before = support.resident()
    fail(support.rounds(300000, 300000))
    assert.is_true(support.resident() - before < 10 * 2 ^ 20, support.resident() - before)
  end)
end)

-- The system allows 65,530 mappings and a limited number of descriptors. The library runs the collector when they are used up.
describe('dropped maps that are not collected by hand #slow', function()
  local function drop_maps(count)
    local name = support.spit(path 'f', 'abcdefgh')
    local s
    for i = 1, count do
      s = torch.ByteStorage(name, i % 2 == 0)
      assert(s[1] == 97)
    end
  end

  it('can be a hundred thousand', function()
    drop_maps(100000)
    support.collect()
    assert.equal(0, mapped())
  end)

  it('can be a hundred thousand while the collector is stopped', function()
    collectgarbage 'stop'
    local ok, message = pcall(drop_maps, 100000)
    collectgarbage 'restart'
    assert.is_true(ok, message)
    support.collect()
    assert.equal(0, mapped())
  end)

  it('free the descriptors that other garbage holds #process', function()
    support.spit(path 'f', 'abcdefgh')
    local script = support.spit(
      path 'source.lua',
      ([[
        local torch = require 'torch'
        collectgarbage 'stop'
        local count = 0
        while io.open '%s' do
          count = count + 1
        end
        print(count > 10, torch.ByteStorage '%s':string())
      ]]):format(path 'f', path 'f')
    )
    local output = support.sh(("ulimit -n 64; %s '%s'"):format(support.interpreter, script))
    assert.equal('true\tabcdefgh', output)
  end)
end)

describe('a file of more than 4 GiB #large', function()
  local SIZE = 5 * 2 ^ 30
  local name

  before_each(function()
    name = path 'sparse'
    -- PUC Lua does not seek beyond 2^31 on Windows.
    support.sh(("truncate -s %.0f '%s'"):format(SIZE - 8, name))
    local file = assert(io.open(name, 'ab'))
    file:write 'ABCDEFGH'
    file:close()
  end)

  -- The bytes of the file at an offset, as another process reads them.
  local function bytes_at(offset, count)
    return support.sh(("od -An -v -tu1 -j %.0f -N %d '%s'"):format(offset, count, name)):gsub('^ +', ''):gsub(' +', ' ')
  end

  local last = { Byte = 72, Char = 72, Short = 18503, Int = 1212630597, Long = 5208208757389214273 }
  last.Half, last.Float, last.Double = 8.5546875, 204057.078125, 1.5839800103804824e+40

  for _, T in ipairs(types.TORCH7) do
    it('is mapped privately as ' .. T, function()
      local s = torch[T .. 'Storage'](name)
      local size = SIZE / types.WIDTH[T]
      assert.equal(size, #s)
      assert.equal(size, s:size())
      assert.equal(SIZE, s:nbytes())
      assert.equal(last[T], s[size])
      assert.equal(0, s[size - 8 / types.WIDTH[T]])
      assert.equal(0, s[1])
      s[size], s[size - 1] = 1, 2
      assert.equal(1, s[size])
      assert.equal(2, s[size - 1])
      assert.equal(0, s[2 ^ 30 / types.WIDTH[T]]) -- where the offset would lead if it were cut to 32 bits
      assert.is_truthy(support
        .failure(function()
          return s[size + 1]
        end)
        :find('out of range', 1, true))
      assert.equal('65 66 67 68 69 70 71 72', bytes_at(SIZE - 8, 8))
    end)
  end

  it('has views beyond 2^31 and 2^32 elements', function()
    local s = torch.ByteStorage(name)
    for _, offset in ipairs { 2 ^ 31 - 1, 2 ^ 31, 2 ^ 31 + 1, 2 ^ 32, 2 ^ 32 + 1, SIZE - 3 } do
      local view = torch.ByteStorage(s, offset, 4)
      view:copy(torch.CharStorage { 1, 2, 3, -1 })
      assert.same({ 1, 2, 3, 255 }, view:totable())
      assert.same({ 1, 2, 3, 255 }, { s:unpack(offset, offset + 3) })
      assert.equal(255, s[offset + 3])
      view:zero()
    end
    local tail = torch.ByteStorage(s, 2 ^ 32 + 1)
    assert.equal(2 ^ 30, #tail)
    assert.equal(69 - 1, torch.ByteStorage(tail, 2 ^ 30 - 4)[1])
    assert.equal(2 ^ 32 + 5, #torch.ByteStorage(s, 2, 2 ^ 32 + 5))
    assert.equal(0, #torch.ByteStorage(s, SIZE + 1))
    assert.is_truthy(support.failure(torch.ByteStorage, s, SIZE + 2):find('offset out of bounds', 1, true))
    assert.is_truthy(support.failure(torch.ByteStorage, s, 2 ^ 32, SIZE):find('size out of bounds', 1, true))
    assert.is_truthy(tostring(s):find('torch.ByteStorage of size 5368709120', 1, true))
  end)

  it('is written to through a shared map', function()
    local s = torch.ByteStorage(name, true)
    s[2 ^ 32 + 7] = 200
    s[SIZE] = 201
    torch.ByteStorage(s, 2 ^ 32 + 2 ^ 20, 3):fill(202):flush()
    local t = torch.DoubleStorage(name, true)
    t[2 ^ 32 / 8 + 3] = -2
    assert.equal('200 0 0', bytes_at(2 ^ 32 + 6, 3):gsub('^0 ', ''))
    assert.equal('71 201', bytes_at(SIZE - 2, 2))
    assert.equal('0 202 202 202 0', bytes_at(2 ^ 32 + 2 ^ 20 - 2, 5))
    assert.equal('0 0 0 0 0 0 0 192', bytes_at(2 ^ 32 + 16, 8))
    assert.equal('0 0 0 0 0 0 0 0', bytes_at(0, 8)) -- nothing has changed 2^32 bytes below
    assert.equal('0 0 0', bytes_at(2 ^ 20 - 1, 3))
    assert.equal(('%.0f'):format(SIZE), support.sh(("stat -c %%s '%s'"):format(name)))
  end)

  it('can be extended from a short one, and its hole stays sparse', function()
    local s = torch.ByteStorage(name, true, SIZE + 4096)
    assert.equal(SIZE + 4096, #s)
    assert.equal(72, s[SIZE])
    assert.equal(0, s[SIZE + 4096])
    s[SIZE + 1] = 9
    assert.equal('65 66 67 68 69 70 71 72 9', bytes_at(SIZE - 8, 9))
    local blocks = tonumber((support.sh(("stat -c %%b '%s'"):format(name))))
    assert.is_true(blocks < 2000, blocks)
  end)
end)
