-- Hostile files, and files that are cut or changed: an error that names the file, or tensors whose elements can be read.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local formats = require 'spec.support.formats'
local support = require 'spec.support'

local path = support.temporary()

-- The ways to load a file of this name: functions that get its path.
local function ways(name)
  if name:find '%.npy$' then
    return {
      torch.npy.load,
      function(file)
        return torch.npy.load(file, { mmap = false })
      end,
    }
  elseif name:find '%.npz$' then
    return {
      torch.npz.load,
      function(file)
        return torch.npz.load(file, { mmap = false })
      end,
    }
  end
  return {
    torch.safetensors.load,
    torch.safetensors.open,
    function(file)
      return torch.safetensors.load(file, { mmap = false })
    end,
  }
end

-- Reads every element of what was loaded.
local function use(loaded)
  if torch.isTensor(loaded) then
    formats.hex(loaded)
  elseif type(loaded) == 'table' then
    for _, x in pairs(loaded) do
      use(x)
    end
  else
    for _, key in ipairs(loaded:keys()) do
      loaded:info(key)
      use(loaded:get(key))
    end
  end
end

describe('every hostile file', function()
  it('is refused within a second, and nothing is left open', function()
    support.collect()
    local descriptors, maps = support.descriptors(), support.mappings 'hostile'
    local count = 0
    collectgarbage 'stop'
    for _, case in ipairs(formats.hostile()) do
      for _, load in ipairs(ways(case.path)) do
        local begin = os.clock()
        local message = support.failure(load, case.path)
        assert.is_true(os.clock() - begin < 1, case.path)
        assert.truthy(message:find(case.path, 1, true), message)
        assert.truthy(message:find 'at byte %d', message)
        assert.truthy(message:find(case.says, 1, true), message)
        count = count + 1
      end
    end
    collectgarbage 'restart'
    assert.is_true(count > 500)
    assert.equal(descriptors, support.descriptors())
    assert.equal(maps, support.mappings 'hostile')
  end)

  it('that nests a million levels deep is refused', function()
    local open = ('['):rep(1e6)
    local header = '{"__metadata__":{},"x":' .. open .. '}'
    local name = support.spit(path 'f.safetensors', formats.number(#header, 8) .. header)
    support.fails(name .. "': at byte", torch.safetensors.load, name)
    name = support.spit(path 'f.npy', '\147NUMPY\2\0' .. formats.number(#open, 4) .. open)
    support.fails(name .. "': at byte", torch.npy.load, name)
  end)
end)

-- Writes a new file. Some file systems write a file to the disk at once if it was made shorter before.
local function rewrite(name, bytes)
  os.remove(name)
  support.spit(name, bytes)
end

local SAMPLES = { 'shapes.safetensors', 'unaligned.safetensors', 'v1.npy', 'fortran.npy', 'stored.npz' }

describe('a file', function()
  it('that is cut at any byte is refused', function()
    for _, sample in ipairs(SAMPLES) do
      local bytes = support.slurp(formats.FOLDER .. sample)
      local name = path(sample)
      for cut = 0, #bytes - 1 do
        rewrite(name, bytes:sub(1, cut))
        for _, load in ipairs(ways(sample)) do
          assert(support.failure(load, name):find(name, 1, true))
        end
      end
    end
  end)

  it('with any byte changed is refused or loaded', function()
    local seed, loaded = 20240607, 0
    for _, sample in ipairs(SAMPLES) do
      local bytes = support.slurp(formats.FOLDER .. sample)
      local name = path(sample)
      for at = 1, #bytes do
        seed = (seed * 16807) % 2147483647
        rewrite(name, bytes:sub(1, at - 1) .. string.char(seed % 256) .. bytes:sub(at + 1))
        local load = ways(sample)[1 + seed % #ways(sample)]
        local ok, result = pcall(load, name)
        if ok then
          use(result)
          loaded = loaded + 1
        else
          assert(type(result) == 'string' and result:find(name, 1, true), result)
        end
      end
    end
    assert.is_true(loaded > 500, loaded)
  end)
end)

describe('an entry of an npz file', function()
  it('whose checksum is wrong is refused when it is copied', function()
    local data = formats.npy('<f4', { 2 }, '\0\0\0\0\0\0\0\0')
    local good, bad = { name = 'good.npy', data = data }, { name = 'bad.npy', data = data, checksum = 1 }
    local name = support.spit(path 'f.npz', formats.npz { good, bad })
    assert.same({ 0, 0 }, torch.npz.load(name).bad:totable())
    local message = support.failure(torch.npz.load, name, { mmap = false })
    assert.truthy(message:find(name, 1, true), message)
    assert.truthy(message:find("(entry 'bad.npy'): the checksum of the entry is 00000001", 1, true), message)
    assert.same({ 0, 0 }, torch.npz.load(name, { mmap = false, names = { 'good' } }).good:totable())
  end)

  it('has a checksum of the bytes after the array too', function()
    local data = formats.npy('>i2', { 2 }, '\1\2\3\4 and more')
    local name =
      support.spit(path 'f.npz', formats.npz { { name = 'x.npy', data = data }, { name = 'read.me', data = 'x' } })
    for _, mmap in ipairs { true, false } do
      local arrays, others = torch.npz.load(name, { mmap = mmap })
      assert.same({ 'read.me' }, others)
      assert.same({ 258, 772 }, arrays.x:totable())
      assert.is_false(arrays.x:storage():isMapped())
      assert.is_nil(next(arrays, next(arrays)))
    end
  end)

  it('is an array whatever its name is, if it begins like one', function()
    local data = formats.npy('>i2', { 2 }, '\1\2\3\4')
    local entries = { { name = 'b', data = data }, { name = 'c.txt', data = 'text' }, { name = 'b.npy', data = data } }
    entries[4] = { name = 'a', data = '' }
    local name = support.spit(path 'f.npz', formats.npz(entries))
    local arrays, others = torch.npz.load(name)
    assert.same({ 'a', 'c.txt' }, others)
    local names = {}
    for key, x in pairs(arrays) do
      assert.same({ 258, 772 }, x:totable())
      names[#names + 1] = key
    end
    table.sort(names)
    assert.same({ 'b', 'b.npy' }, names)
    local one = torch.npz.load(name, { mmap = false, names = { 'b' } })
    assert.same({ 258, 772 }, one.b:totable())
    support.fails("no tensor 'c.txt'", torch.npz.load, name, { names = { 'c.txt' } })
    -- An error names the entry as it is in the file.
    name =
      support.spit(path 'g.npz', formats.npz { { name = 'bad', data = formats.npy('|u1', { 1 }, '7'), checksum = 1 } })
    support.fails("(entry 'bad'): the checksum", torch.npz.load, name, { mmap = false })
  end)
end)
