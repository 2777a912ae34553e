-- Files that Torch7 wrote (spec/support/golden): each loads as the object it was made from, and is saved with the same bytes.
local torch = require 'torch'
local support = require 'spec.support'
local tree = require 'spec.support.tree'

local path = support.temporary()
local entries = dofile 'spec/support/golden/manifest.lua'

-- Some objects are made over a file. It is in this spec's own folder, because several interpreters run the spec at once.
local function build(entry)
  local expression = entry.expr:gsub('golden_map_src%.bin', path 'mapped')
  return setfenv(assert(loadstring(expression)), setmetatable({ torch = torch }, { __index = _G }))()
end

local function golden(entry)
  return 'spec/support/golden/' .. entry.file
end

local function mode(entry)
  return entry.longsize == 4 and 'b32' or entry.mode
end

-- The expected object. For 4-byte longs only the low bits are in the file.
local function expected(entry)
  local value = build(entry)
  if entry.longsize == 4 then
    value = value:type('torch.IntStorage'):type 'torch.LongStorage'
  end
  -- It is written twice, so it loads as two storages.
  if entry.referenced == false then
    value[2] = value[2]:clone()
  end
  return value
end

describe('a file that Torch7 wrote', function()
  it('exists, and the list is complete', function()
    local listed = { ['legacy_nover_Int.bin.t7'] = true, ['legacy_nover_Int.ascii.t7'] = true, ['manifest.lua'] = true }
    for _, entry in ipairs(entries) do
      listed[entry.file] = true
    end
    local count = 0
    for name in support.sh('ls spec/support/golden'):gmatch '[^\n]+' do
      assert.is_true(listed[name], name)
      count = count + 1
    end
    assert.equal(#entries + 3, count)
    assert.is_true(count > 70)
  end)

  for _, entry in ipairs(entries) do
    local file = golden(entry)

    it(entry.file .. ' is read in its mode, and without being told it', function()
      local wanted = tree(expected(entry))
      assert.equal(wanted, tree((torch.load(file, mode(entry)))))
      local object, info = torch.load(file, { info = true })
      assert.equal(wanted, tree(object))
      assert.equal(entry.mode, info.mode)
      if entry.mode == 'binary' then
        assert.equal('little', info.byteorder)
        assert.equal(entry.longsize or 8, info.longsize)
      end
      local bytes = support.slurp(file)
      assert.equal(wanted, tree((torch.deserialize(bytes))))
      assert.equal(wanted, tree((torch.deserialize(bytes, mode(entry)))))
      assert.equal(wanted, tree((torch.deserializeFromStorage(torch.ByteStorage.fromstring(bytes), mode(entry)))))
      assert.equal(wanted, tree((torch.load(file, { mmap = true, mode = mode(entry) }))))
    end)

    it(entry.file .. ' is written again with the same bytes', function()
      local bytes = support.slurp(file)
      local object = torch.load(file, { mode = mode(entry), keeporder = true })
      assert.equal(bytes, torch.serialize(object, mode(entry)))
      local name = path 'f.t7'
      torch.save(name, object, mode(entry))
      local saved = support.slurp(name)
      assert.equal(bytes, saved)
    end)

    -- The order of pairs() is not fixed.
    if entry.serialize_same and not entry.note:find('pairs()', 1, true) then
      it(entry.file .. ' is what serialize gives', function()
        assert.equal(support.slurp(file), torch.serialize(build(entry), entry.mode))
        assert.equal(support.slurp(file), torch.serializeToStorage(build(entry), entry.mode):string())
      end)
    end

    if entry.referenced == false then
      it(entry.file .. ' is what is saved where objects are not referred to', function()
        local name = path 'f.t7'
        torch.save(name, build(entry), entry.mode, false)
        local saved = support.slurp(name)
        torch.save(name, build(entry), { mode = entry.mode, referenced = false })
        local by_option = support.slurp(name)
        assert.equal(support.slurp(file), saved)
        assert.equal(saved, by_option)
      end)
    end
  end

  it('before versions existed is read, and written with a version', function()
    for kind, format in pairs { bin = 'binary', ascii = 'ascii' } do
      local file = 'spec/support/golden/legacy_nover_Int.' .. kind .. '.t7'
      for _, s in ipairs { torch.load(file), torch.load(file, format), torch.load(file, { mmap = true }) } do
        assert.equal('torch.IntStorage', torch.typename(s))
        assert.same({ 7, -8, 9 }, s:totable())
      end
      assert.equal(torch.serialize(torch.IntStorage { 7, -8, 9 }, format), torch.serialize(torch.load(file), format))
    end
  end)
end)
