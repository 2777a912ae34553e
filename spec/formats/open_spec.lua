-- torch.safetensors.open: the methods of an open file, and what it does when it is closed or misused.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local formats = require 'spec.support.formats'
local support = require 'spec.support'

local path = support.temporary()

local function written(name)
  return support.spit(
    path(name or 'f.safetensors'),
    formats.safetensors({
      { name = 'w', dtype = 'F32', shape = { 2, 1 }, data = ('\0'):rep(8) },
      { name = 'b', dtype = 'I16', shape = { 2 }, data = '\1\0\2\0' },
    }, { format = 'pt', empty = '' })
  )
end

describe('an open file', function()
  it('has names, tensors, what the file says about them, and metadata', function()
    local name = written()
    local file = torch.safetensors.open(name)
    assert.equal(2, #file)
    assert.equal("safetensors file '" .. name .. "': 2 tensors", tostring(file))
    assert.same({ 'b', 'w' }, file:keys())
    assert.same({ dtype = 'I16', class = 'torch.ShortTensor', shape = { 2 }, bytes = 4 }, file:info 'b')
    assert.same({ dtype = 'F32', class = 'torch.FloatTensor', shape = { 2, 1 }, bytes = 8 }, file:info 'w')
    assert.same({ format = 'pt', empty = '' }, file:metadata())
    assert.same({ 1, 2 }, file:get('b'):totable())
    assert.same({ { 0 }, { 0 } }, file:get('w'):totable())
    assert.same({}, torch.safetensors.open(formats.FOLDER .. 'unaligned.safetensors'):metadata())
    local one = torch.safetensors.open(formats.FOLDER .. 'net-00001-of-00002.safetensors')
    assert.truthy(tostring(one):find ': 1 tensor$')
  end)

  it('gives new tables each time, and tensors over the same elements', function()
    local file = torch.safetensors.open(written())
    file:keys()[1] = 'changed'
    file:metadata().format = 'changed'
    file:info('b').shape[1] = 9
    assert.same({ 'b', 'w' }, file:keys())
    assert.equal('pt', file:metadata().format)
    assert.same({ 2 }, file:info('b').shape)
    file:get('b')[1] = 7
    assert.equal(7, file:get('b')[1])
    assert.equal(1, torch.safetensors.open(path 'f.safetensors'):get('b')[1])
  end)

  it('stays as it was when the path leads to another file, or to none', function()
    local name = written()
    local file = torch.safetensors.open(name)
    os.rename(written 'other', name)
    support.spit(name .. '2', 'x')
    os.rename(name .. '2', name)
    assert.equal(2, file:get('b')[2])
    os.remove(name)
    assert.equal(2, file:get('b')[2])
    assert.equal(2, #file)
  end)

  it('keeps one map and no descriptor', function()
    local name = written()
    local descriptors, maps = support.descriptors(), support.mappings(name)
    local file = torch.safetensors.open(name)
    local b, w = file:get 'b', file:get 'w'
    assert.equal(descriptors, support.descriptors())
    assert.equal(maps + 1, support.mappings(name))
    file:close()
    assert.equal(2, b[2])
    assert.equal(0, w[1][1])
    b, w = nil, nil -- luacheck: ignore
    support.collect()
    assert.equal(maps, support.mappings(name))
    file = torch.safetensors.open(name)
    assert.equal(maps + 1, support.mappings(name))
    file:close()
    assert.equal(maps, support.mappings(name))
    assert.equal(2, #torch.safetensors.open(name))
    support.collect()
    assert.equal(maps, support.mappings(name))
  end)

  it('that is closed says so', function()
    local file = torch.safetensors.open(written())
    assert.equal(0, select('#', file:close()))
    file:close()
    for _, method in ipairs { 'keys', 'get', 'info', 'metadata' } do
      support.fails('the file is closed', file[method], file, 'b')
    end
    support.fails('the file is closed', function()
      return #file
    end)
    assert.equal('safetensors file (closed)', tostring(file))
  end)
end)

describe('a sparse file of 100 GiB', function()
  it('opens without reading it #process', function()
    local name = path 'large.safetensors'
    local bytes = 100 * 2 ^ 30
    local header = ('{"all":{"dtype":"F32","shape":[%.0f],"data_offsets":[0,%.0f]}}'):format(bytes / 4, bytes)
    support.spit(name, formats.number(#header, 8) .. header)
    assert.equal('', support.sh(("truncate -s %.0f '%s'"):format(bytes + 8 + #header, name)))
    local before = support.resident()
    local begin = os.clock()
    local file = torch.safetensors.open(name)
    assert.same({ dtype = 'F32', class = 'torch.FloatTensor', shape = { bytes / 4 }, bytes = bytes }, file:info 'all')
    local x, y = file:get 'all', torch.safetensors.load(name).all
    assert.is_true(os.clock() - begin < 0.1)
    assert.equal(bytes / 4, x:nElement())
    assert.equal(0, x[bytes / 4])
    x[bytes / 8] = 5
    assert.equal(5, file:get('all')[bytes / 8])
    assert.equal(0, y[bytes / 8])
    assert.is_true(support.resident() - before < 10e6)
    support.fails('not enough memory', torch.safetensors.load, name, { mmap = false })
  end)
end)

describe('misuse', function()
  it('of self is an error', function()
    local file = torch.safetensors.open(written())
    local values = { 3, 'x', {}, io.stdout, torch.FloatStorage(1), torch.FloatTensor(1), print, false }
    local metatable = debug.getmetatable(file)
    for _, value in ipairs(values) do
      for _, method in ipairs { 'keys', 'get', 'info', 'metadata', 'close' } do
        support.fails('open safetensors file expected, got ', file[method], value, 'b')
      end
      support.fails('open safetensors file expected', metatable.__tostring, value)
      support.fails('open safetensors file expected', metatable.__len, value)
      metatable.__gc(value)
    end
    for _, method in ipairs { 'keys', 'get', 'info', 'metadata', 'close' } do
      support.fails('open safetensors file expected, got no value', file[method])
    end
    assert.equal(false, getmetatable(file))
    assert.equal(2, #file)
  end)

  it('of arguments is an error', function()
    local file = torch.safetensors.open(written())
    support.fails('string expected, got no value', file.get, file)
    support.fails('string expected, got number', file.get, file, 1)
    support.fails('string expected, got table', file.info, file, {})
    for _, open in ipairs { torch.safetensors.open, torch.safetensors.load, torch.npy.load, torch.npz.load } do
      support.fails('file name expected, got no value', open)
      support.fails('file name expected, got table', open, {})
      support.fails("'" .. path 'missing' .. "': No such file or directory", open, path 'missing')
      support.fails('it is a directory', open, path())
      support.fails('a pipe or a device', open, '/dev/null')
      support.fails('zero byte', open, 'a\0b')
    end
  end)

  it('of spoofed objects does no harm', function()
    local file = torch.safetensors.open(written())
    local metatable = debug.getmetatable(file)
    local spoofs = { io.tmpfile(), torch.IntTensor(3), torch.IntStorage(3) }
    if support.luajit then
      local ffi = require 'ffi'
      spoofs[#spoofs + 1] = ffi.new('char[?]', 200)
    end
    if newproxy then
      spoofs[#spoofs + 1] = newproxy(true)
    end
    for _, spoof in ipairs(spoofs) do
      local before = debug.getmetatable(spoof)
      if type(spoof) == 'userdata' then
        debug.setmetatable(spoof, metatable)
        support.fails('open safetensors file expected', function()
          return spoof:get 'b'
        end)
        support.fails('open safetensors file expected', function()
          return spoof:keys()
        end)
        assert.is_false((pcall(tostring, spoof)))
        debug.setmetatable(spoof, before)
      else
        support.fails('open safetensors file expected', metatable.__index.get, spoof, 'b')
      end
    end
    -- An open file with the metatable of something else.
    for _, other in ipairs { torch.IntTensor(3), torch.IntStorage(3) } do
      debug.setmetatable(file, debug.getmetatable(other))
      assert.is_false((pcall(tostring, file)))
      assert.is_false((pcall(function()
        return file[1]
      end)))
      support.fails('expected, got', function()
        return file:size()
      end)
      debug.setmetatable(file, metatable)
    end
    assert.equal(2, file:get('b')[2])
  end)

  it('closing it in a finalizer or a hook does no harm', function()
    local name = written()
    for round = 1, 200 do
      local file = torch.safetensors.open(name)
      local proxy = newproxy and newproxy(true)
      if proxy then
        getmetatable(proxy).__gc = function()
          file:close()
        end
        proxy = nil -- luacheck: ignore
        collectgarbage 'restart'
        collectgarbage('step', round % 7)
      end
      for _ = 1, 20 do
        pcall(file.keys, file)
        pcall(file.get, file, 'b')
        pcall(file.info, file, 'w')
        pcall(file.metadata, file)
        pcall(tostring, file)
      end
      local count = 0
      debug.sethook(function()
        count = count + 1
        if count == round then
          file:close()
        end
      end, '', 1)
      pcall(file.keys, file)
      pcall(file.get, file, 'b')
      debug.sethook()
    end
  end)
end)
