-- The options of loading: which there are, progress, interruption; and that errors leave nothing open.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local formats = require 'spec.support.formats'
local support = require 'spec.support'

local path = support.temporary()

local SIZE = 20 * 2 ^ 20

-- A file of each format with arrays of `size` bytes in all, and its function.
local function files(size)
  local zeros = ('\0'):rep(size / 2)
  local tensors = {
    { name = 'a', dtype = 'U8', shape = { size / 2 }, data = zeros },
    { name = 'b', dtype = 'F32', shape = { size / 8 }, data = zeros },
  }
  return {
    [support.spit(path 'f.safetensors', formats.safetensors(tensors))] = torch.safetensors.load,
    [support.spit(path 'f.npy', formats.npy('|u1', { size }, zeros .. zeros))] = torch.npy.load,
    [support.spit(path 'big.npy', formats.npy('>u4', { size / 4 }, zeros .. zeros))] = torch.npy.load,
  }
end

describe('options', function()
  it('that do not exist, or of wrong types, are errors', function()
    local file = formats.FOLDER .. 'v1.npy'
    support.fails("no option 'names': the options are mmap, dtype, progress", torch.npy.load, file, { names = {} })
    support.fails(
      "no option 'dtype': the options are mmap, names, progress",
      torch.safetensors.load,
      file,
      { dtype = 'x' }
    )
    support.fails("no option 'x': the options are mmap, dtype, names, progress", torch.npz.load, file, { x = 1 })
    support.fails('no option 1', torch.npz.load, file, { 'x' })
    for _, load in ipairs { torch.safetensors.load, torch.npy.load, torch.npz.load } do
      support.fails('table of options expected, got string', load, file, 'x')
      support.fails('table of options expected, got boolean', load, file, true)
      support.fails("option 'mmap': boolean expected, got number", load, file, { mmap = 1 })
      support.fails("option 'progress': function expected, got table", load, file, { progress = {} })
    end
    for _, load in ipairs { torch.safetensors.load, torch.npz.load } do
      support.fails("option 'names': list of names expected, got string", load, file, { names = 'a' })
      support.fails("option 'names': a name is a string, got number", load, file, { names = { 'a', 5 } })
      support.fails(
        "option 'names': list of names expected, got a key that is a string",
        load,
        file,
        { names = { a = 'b' } }
      )
      support.fails("option 'names': ", load, file, { names = { 'a', nil, 'b' } })
    end
    for _, load in ipairs { torch.npy.load, torch.npz.load } do
      support.fails("option 'dtype': no class 'float33': did you mean 'float32'?", load, file, { dtype = 'float33' })
      support.fails("option 'dtype': class ", load, file, { dtype = 5 })
      support.fails(
        "option 'dtype': there are no tensors of bytes without a type",
        load,
        file,
        { dtype = torch.UntypedStorage }
      )
    end
  end)

  it('are as good as none if the table is empty, or missing', function()
    local file = formats.FOLDER .. 'v1.npy'
    assert.is_true(torch.npy.load(file, {}):storage():isMapped())
    assert.is_true(torch.npy.load(file, nil):storage():isMapped())
    assert.is_true(torch.npy.load(file, { mmap = true }):storage():isMapped())
  end)

  it('of an npz file give a dtype to the entries without one only', function()
    local name = support.spit(
      path 'f.npz',
      formats.npz {
        { name = 'typed.npy', data = formats.npy('<i2', { 1 }, '\5\0') },
        { name = 'void.npy', data = formats.npy('<V2', { 1 }, '\128\63') },
      }
    )
    support.fails("(entry 'void.npy')", torch.npz.load, name)
    local arrays = torch.npz.load(name, { dtype = 'bfloat16' })
    assert.equal('5 1', support.joined({ arrays.typed[1], arrays.void[1] }, ' '))
    assert.equal('torch.BFloat16Tensor', torch.type(arrays.void))
    support.fails("('<V2') are not float32", torch.npz.load, name, { dtype = 'float32' })
  end)
end)

describe('progress', function()
  it('goes up to the number of bytes of all tensors', function()
    for file, load in pairs(files(SIZE)) do
      for _, mmap in ipairs { true, false } do
        local last, count = -1, 0
        load(file, {
          mmap = mmap,
          progress = function(...)
            local done, total = ...
            assert(select('#', ...) == 2 and total == SIZE and done >= last and done <= total)
            assert(last < total)
            last, count = done, count + 1
          end,
        })
        assert.equal(SIZE, last)
        assert.is_true(count >= (mmap and not file:find 'big' and 1 or 2), count)
      end
    end
    local calls = {}
    torch.npy.load(formats.FOLDER .. 'empty.npy', {
      progress = function(...)
        calls[#calls + 1] = { ... }
      end,
    })
    assert.same({ 0, 0 }, calls[#calls])
  end)

  it('may raise an error, which comes out as it is, and nothing is left open', function()
    support.collect()
    local descriptors, maps, held = support.descriptors(), support.mappings(path()), torch.memory()
    local problem = {}
    collectgarbage 'stop'
    for file, load in pairs(files(SIZE)) do
      for _, mmap in ipairs { true, false } do
        local ok, got = pcall(load, file, {
          mmap = mmap,
          progress = function()
            error(problem)
          end,
        })
        assert.is_false(ok)
        assert.equal(problem, got)
        assert.equal(descriptors, support.descriptors())
      end
    end
    collectgarbage 'restart'
    support.collect()
    assert.equal(maps, support.mappings(path()))
    assert.same(held, torch.memory())
  end)

  it('may load files itself, and collect garbage', function()
    for file, load in pairs(files(2 ^ 20)) do
      for _, mmap in ipairs { true, false } do
        local inner = 0
        local loaded = load(file, {
          mmap = mmap,
          progress = function()
            collectgarbage()
            inner = inner + torch.npy.load(formats.FOLDER .. 'scalar.npy', { mmap = mmap }):totable()
          end,
        })
        assert.is_true(inner <= -7)
        local x = torch.isTensor(loaded) and loaded or loaded.b
        assert.equal(0, x[x:nElement()])
      end
    end
  end)
end)

describe('a hook', function()
  it('can end the loading of a large file, and nothing is left open', function()
    support.collect()
    local descriptors, held = support.descriptors(), torch.memory()
    for file, load in pairs(files(SIZE)) do
      local calls, begun = 0, false
      debug.sethook(function()
        if begun and calls == 1 then
          begun = false
          error 'interrupted!'
        end
      end, 'c')
      local ok, message = pcall(load, file, {
        mmap = false,
        progress = function()
          calls, begun = calls + 1, true
        end,
      })
      debug.sethook()
      assert.is_false(ok)
      assert.matches('interrupted!', message, 1, true)
      assert.equal(descriptors, support.descriptors())
    end
    support.collect()
    assert.same(held, torch.memory())
  end)

  it('that changes the values of running functions does no harm', function()
    for file, load in pairs(files(2 ^ 20)) do
      for _, mmap in ipairs { true, false } do
        for level = 2, 3 do
          for _, value in ipairs { false, 7, 'x', {}, torch.FloatTensor(1), torch.FloatStorage(1) } do
            pcall(load, file, {
              mmap = mmap,
              progress = function()
                assert(debug.getinfo(level, 'S').what == 'C')
                local slot = 1
                while debug.setlocal(level, slot, value) do
                  slot = slot + 1
                end
                collectgarbage()
              end,
            })
          end
        end
      end
    end
    assert.equal(-7, torch.npy.load(formats.FOLDER .. 'scalar.npy'):totable())
  end)
end)

describe('a library that was built without the cargo feature', function()
  it('says how to build it #process', function()
    local output = support.child [[
      package.loaded['torch.core'] = {}
      local tables = require 'torch.formats'
      for _, name in ipairs { 'safetensors.load', 'safetensors.open', 'npz.save' } do
        local format, action = name:match '^(.-)%.(.*)$'
        print((select(2, pcall(function() tables[format][action] 'x' end)):gsub('^.-:%d+: ', '')))
      end
    ]]
    local missing = 'torch.%s is not in this build of torch.core: build it with the cargo feature `formats`\n'
    local expected = missing:format 'safetensors.load' .. missing:format 'safetensors.open' .. missing:format 'npz.save'
    assert.equal(expected, output .. '\n')
  end)
end)

describe('an error', function()
  it('has the position of the caller', function()
    local message = support.failure(function()
      return (torch.npy.load 'missing.npy')
    end)
    assert.matches('^spec/formats/options_spec.lua:%d+: cannot open file', message)
    message = support.failure(function()
      return (torch.safetensors.open 'missing')
    end)
    assert.matches('^spec/formats/options_spec.lua:%d+: cannot open file', message)
  end)

  it('for a file that becomes shorter while it is copied names the file', function()
    for file, load in pairs(files(SIZE)) do
      local message = support.failure(load, file, {
        mmap = false,
        progress = function()
          support.spit(file, 'x')
        end,
      })
      assert.truthy(message:find("cannot load '" .. file .. "': at byte ", 1, true), message)
      assert.truthy(message:find('the elements expected', 1, true), message)
    end
  end)

  it('leaves no memory behind #process', function()
    support.child(([[
      local torch = require 'torch'
      local support = require 'spec.support'
      local file = %q
      local function fail()
        pcall(torch.safetensors.load, file, { names = { 'missing' } })
        pcall(torch.safetensors.load, file, { progress = function() error 'x' end })
        pcall(torch.safetensors.load, file, { mmap = false, progress = function() error 'x' end })
        pcall(torch.npz.load, file)
        local opened = torch.safetensors.open(file)
        pcall(opened.get, opened, 'missing')
        pcall(opened.get, opened, {})
      end
      for i = 1, support.rounds(3000, 3000) do fail() end
      support.collect()
      local before = support.resident()
      for i = 1, support.rounds(3000, 3000) do fail() end
      support.collect()
      local grown = support.resident() - before
      assert(grown < 3e6, grown)
      assert(support.mappings(file) == 0)
    ]]):format(formats.FOLDER .. 'dtypes.safetensors'))
  end)
end)
