-- Saving safetensors, npy and npz files that fails: wrong arguments, no space, and Lua code that interferes. The old file stays.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'

local path = support.temporary()
local name, x

before_each(function()
  name = path 'file'
  x = torch.FloatTensor { { 1, 2 }, { 3, 4 } }
end)

-- The names in the test's directory, sorted, on one line.
local function files()
  return (support.sh('LC_ALL=C ls -A ' .. path()):gsub('\n', ' '))
end

-- Calls save(...), which has to raise a string that contains `text`, and to leave the old file as it was.
local function fails(text, save, ...)
  support.spit(name, 'old')
  support.fails(text, save, ...)
  assert.equal('old', support.slurp(name))
  assert.equal('file', files())
end

-- The functions with the tensors as a table, as f(name, tensors, options).
local BY_NAME = {
  npz = torch.npz.save,
  safetensors = function(file, tensors, options)
    return torch.safetensors.save(file, tensors, nil, options)
  end,
}
local ALL = {
  npy = function(file, tensors, options)
    return torch.npy.save(file, tensors.x, options)
  end,
  npz = BY_NAME.npz,
  safetensors = BY_NAME.safetensors,
}

local freed = torch.IntStorage(3)
freed:free()

describe('saving', function()
  support.cases('refuses wrong arguments of %s', ALL, function(save)
    fails('file name expected, got table', save, {}, { x = x })
    fails('file name expected, got nil', save, nil, { x = x })
    fails("no option 'mode'", save, name, { x = x }, { mode = 'binary' })
    fails("option 'atomic': boolean expected, got number", save, name, { x = x }, { atomic = 1 })
    fails("option 'progress': function expected, got boolean", save, name, { x = x }, { progress = true })
    fails('table of options expected, got string', save, name, { x = x }, 'binary')
    fails('the storage was freed', save, name, { x = freed })
    fails('zero byte', save, name .. '\0x', { x = x })
    fails('it is a directory', save, path(), { x = x })
    fails('No such file or directory', save, path 'none/file', { x = x })
    fails('nothing more expected', function()
      return torch.npy.save(name, x, {}, 5)
    end)
    -- The elements of this tensor are not in its storage any more.
    local s = torch.IntStorage(4)
    local outside = s:view(4)
    s:resize(2)
    fails('of its storage, which has 2', save, name, { x = outside })
    -- Elements that share memory can be more than any file has room for.
    local endless = torch.DoubleTensor(torch.DoubleStorage(1), 1, { 2 ^ 61 }, { 0 })
    for _, atomic in ipairs { true, false } do
      local message = support.failure(save, name, { x = endless }, { atomic = atomic })
      assert.is_truthy(message:find '2^63%-1 bytes' or message:find 'than a machine can address', message)
      assert.equal('old', support.slurp(name))
    end
  end)

  support.cases('refuses tables that %s cannot have', BY_NAME, function(save)
    fails('table of tensors and storages by name expected, got torch.FloatTensor', save, name, x)
    fails('table of tensors and storages by name expected, got nil', save, name, nil)
    fails('table of tensors and storages by name expected, got table', save, name, torch.FloatTensor)
    fails("'a': tensor or storage expected, got number", save, name, { a = 5 })
    fails("'a': tensor or storage expected, got table", save, name, { x = x, a = { 1 } })
    fails('the names are strings, got a number as a key', save, name, { x })
    fails('the names are strings, got a boolean as a key', save, name, { x = x, [true] = x })
    fails("the name 'a\\xff' is not UTF-8", save, name, { ['a\255'] = x })
    fails("'a': the storage was freed", save, name, { a = freed })
  end)

  it('refuses what only one format cannot have', function()
    local complex = torch.ComplexDoubleTensor(2)
    fails("the tensor 'a': the format has no dtype for complex", torch.safetensors.save, name, { a = complex })
    fails('the name is that of the metadata', torch.safetensors.save, name, { ['__metadata__'] = x })
    fails("metadata 'a': string expected, got number", torch.safetensors.save, name, { x = x }, { a = 1 })
    fails('the names are strings, got a number as a key', torch.safetensors.save, name, { x = x }, { 'a' })
    fails("metadata 'a': the text is not UTF-8", torch.safetensors.save, name, { x = x }, { a = '\255' })
    fails('metadata, texts by name expected, got string', torch.safetensors.save, name, { x = x }, 'pt')
    fails('zero byte', torch.npz.save, name, { ['a\0b'] = x })
    fails('at most 65,531 bytes', torch.npz.save, name, { [('x'):rep(65532)] = x })
    torch.npz.save(name, { [('x'):rep(65531)] = x })
    fails('tensor or storage expected, got no value', function()
      return torch.npy.save(name)
    end)
    fails('tensor or storage expected, got table', torch.npy.save, name, { x })
  end)

  it('names the position of the caller', function()
    local message = support.failure(function()
      torch.npz.save(path 'none/file', { x = x })
    end)
    assert.matches("^spec/formats/saving_failures_spec.lua:%d+: cannot open file '", message)
    message = support.failure(function()
      torch.npz.save(name, 5)
    end)
    assert.matches("^spec/formats/saving_failures_spec.lua:%d+: bad argument #2 to 'save'", message)
  end)

  support.cases('of what does not fit on the disk is refused before it is written: %s', ALL, function(save)
    local kind = support.sh('stat -f -c %T ' .. path())
    if not ('ext2/ext3 xfs tmpfs overlayfs'):find(kind, 1, true) then
      support.skip(it, 'the room on this file system is not known')
    end
    -- 2^50 elements that share one byte.
    local endless = torch.ByteTensor(torch.ByteStorage(1), 1, { 2 ^ 50 }, { 0 })
    for _, atomic in ipairs { true, false } do
      support.spit(name, 'old')
      local message = support.failure(save, name, { x = endless }, { atomic = atomic })
      local file, bytes, free =
        message:match "cannot save '(.-)': it would have (%d+) bytes, and (%d+) are free on its disk$"
      assert.equal(name, file, message)
      assert.is_true(tonumber(bytes) > 2 ^ 50 and tonumber(bytes) < 2 ^ 50 + 1000 and tonumber(free) < 2 ^ 50, message)
      assert.equal('old', support.slurp(name))
      assert.equal('file', files())
      os.remove(name)
      support.fails('are free on its disk', save, name, { x = endless }, { atomic = atomic })
      assert.equal('', files())
    end
    -- A device has no size.
    save('/dev/null', { x = torch.ByteTensor(torch.ByteStorage(1), 1, { 5e7 }, { 0 }) })
  end)

  support.cases('to a full device or without permission is an error: %s', ALL, function(save)
    for _, tensor in ipairs { x, torch.FloatTensor(1e6) } do
      for _, atomic in ipairs { true, false } do
        support.fails("cannot write file '/dev/full': No space left on device", save, '/dev/full', { x = tensor }, {
          atomic = atomic,
        })
      end
    end
    assert.equal('character special file', support.sh 'stat -c %F /dev/full')
  end)

  it('leaves the old file where the new one does not fit #process', function()
    support.spit(name, 'old')
    local script = support.spit(
      path 'script.lua',
      ([[
        local torch = require 'torch'
        for _, x in ipairs { torch.DoubleTensor(1e5), torch.DoubleTensor(300, 300):t() } do
          print(pcall(torch.npy.save, %q, x))
          print(pcall(torch.npz.save, %q, { x = x }))
          print(pcall(torch.safetensors.save, %q, { x = x }))
        end
      ]]):format(name, name, name)
    )
    local output = support.sh(("trap '' XFSZ; ulimit -f 100; %s %s"):format(support.interpreter, script))
    local _, count = output:gsub('false\t[^\n]*File too large', '')
    assert.equal(6, count, output)
    assert.equal('old', support.slurp(name))
    assert.equal('file script.lua', files())
  end)

  -- A new file takes one descriptor. The files that killed processes have left are looked for with another one.
  it('ends if the process can open no more files', function()
    local script = support.spit(
      path 'script.lua',
      ([[
        local torch = require 'torch'
        local open = {}
        repeat
          local file = io.open '/dev/null'
          table.insert(open, file)
        until not file
        for _ = 0, 2 do
          print(pcall(torch.npy.save, %q, torch.FloatTensor(3)))
          table.remove(open):close()
        end
      ]]):format(name)
    )
    local output = support.sh(('ulimit -n 64; timeout 60 %s %s'):format(support.interpreter, script))
    -- The second text is that of musl.
    local reason = output:match '^false\t[^\n]*: (%u[%l ]+)\ntrue\ntrue$'
    assert.is_true(reason == 'Too many open files' or reason == 'No file descriptors available', output)
    assert.equal('file script.lua', files())
  end)

  it('follows links, keeps permissions and writes files in place if that is wanted', function()
    for _, save in pairs(ALL) do
      support.sh(
        ('rm -rf %s/*; echo old >%s/target; chmod 640 %s/target; ln -s target %s'):format(path(), path(), path(), name)
      )
      save(name, { x = x })
      assert.equal('target', support.sh('readlink ' .. name))
      assert.equal('640', support.sh(('stat -c %%a %s/target'):format(path())))
      local node = support.sh(('stat -c %%i %s/target'):format(path()))
      save(name, { x = x }, { atomic = false })
      assert.equal(node, support.sh(('stat -c %%i %s/target'):format(path())))
      assert.equal('file target', files())
    end
  end)
end)

-- All functions that save, with .t7 files.
local EVERY = {
  t7 = function(file, tensors, options)
    return torch.save(file, tensors, options)
  end,
}
for format, save in pairs(ALL) do
  EVERY[format] = save
end

describe('an error of saving', function()
  it('names the file', function()
    local complex, nul = { a = torch.ComplexDoubleTensor(2) }, { ['a\0b'] = x }
    local start = ("cannot save '%s': "):format(name)
    fails(start .. "a safetensors file cannot have the tensor 'a'", torch.safetensors.save, name, complex)
    fails(start .. "an npz file cannot have the tensor 'a", torch.npz.save, name, nul)
    local s = torch.IntStorage(4)
    local outside = s:view(4)
    s:resize(2)
    for _, save in pairs(EVERY) do
      fails(start, save, name, { x = outside })
    end
    local function progress() end
    fails(start .. '<function> at a: only nil', torch.save, name, { a = print })
    fails(start .. '<function> at a: only nil', torch.save, name, { a = print }, { progress = progress })
    support.fails('cannot save <function> at a: only nil', torch.serialize, { a = print })
  end)
end)

describe('progress', function()
  support.cases('of saving goes up to the size of the file: %s', ALL, function(save)
    local large = torch.DoubleTensor(1000, 3000)
    for _, tensor in ipairs { x, large, large:t(), torch.IntTensor(0) } do
      local calls = {}
      save(name, { x = tensor }, {
        progress = function(...)
          assert(select('#', ...) == 2)
          calls[#calls + 1] = { ... }
        end,
      })
      local size, last = #support.slurp(name), 0
      for _, call in ipairs(calls) do
        assert.is_true(call[1] >= last and call[1] <= call[2])
        assert.equal(size, call[2])
        last = call[1]
      end
      assert.equal(size, last)
      assert.is_true(#calls < 200 and (size < 1e7 or #calls > 10), #calls)
    end
  end)

  support.cases('that raises an error ends it, and the old file stays: %s', ALL, function(save)
    local large = torch.FloatTensor(1e6)
    fails('enough', save, name, { x = large }, {
      progress = function()
        error 'enough'
      end,
    })
    local thrown = {}
    for _, at in ipairs { 1, 3e6, 4e6 } do
      local ok, got = pcall(save, name, { x = large }, {
        progress = function(done)
          if done >= at then
            error(thrown)
          end
        end,
      })
      assert.is_false(ok)
      assert.equal(thrown, got)
      assert.equal('old', support.slurp(name))
      assert.equal('file', files())
    end
    assert.matches('yield', support.failure(save, name, { x = x }, { progress = coroutine.yield }))
  end)

  support.cases('callbacks may save and load: %s', ALL, function(save)
    local calls = 0
    save(name, { x = torch.FloatTensor(1e6) }, {
      progress = function()
        calls = calls + 1
        save(path 'other', { x = x })
        torch.save(path 't7', { x })
      end,
    })
    assert.is_true(calls > 2)
    assert.equal('file other t7', files())
  end)
end)

describe('Lua code that runs during a save', function()
  support.cases('cannot break the file: %s', ALL, function(save, format)
    for _, meddle in ipairs {
      function(tensors)
        tensors.x:storage():resize(3)
      end,
      function(tensors)
        tensors.x:storage():resize(5e6)
      end,
      function(tensors)
        tensors.x:storage():free()
      end,
      function(tensors)
        tensors.x = nil
        collectgarbage()
        collectgarbage()
      end,
      function(tensors)
        for level = 2, 12 do
          for slot = 1, debug.getinfo(level, 'f') and 12 or 0 do
            local info = debug.getinfo(level, 'Sf')
            if info.what == 'C' and info.func ~= pcall and debug.getlocal(level, slot) then
              debug.setlocal(level, slot, tensors)
            end
          end
        end
      end,
    } do
      local tensors = { x = torch.IntTensor(1e6):fill(7) }
      local ok, message = pcall(save, name, tensors, {
        progress = function()
          meddle(tensors)
        end,
      })
      assert.is_true(ok or type(message) == 'string', message)
      if ok then
        local loaded = torch[format].load(name, { mmap = false })
        loaded = format == 'npy' and loaded or loaded.x
        assert.equal(1e6, loaded:size(1))
        assert.equal(7, loaded[1e6])
      end
    end
  end)

  support.cases('in a hook may change everything, and interrupt: %s', ALL, function(save)
    local tensors, count = { x = torch.IntTensor(6e6):fill(7) }, 0
    debug.sethook(function()
      count = count + 1
      tensors.x:storage():resize(6e6 + count)
    end, 'c')
    local ok, message = pcall(save, name, tensors)
    debug.sethook()
    assert.is_true(ok, message)
    assert.is_true(count > 1)
    support.spit(name, 'old')
    local large = torch.ByteTensor(40e6)
    local inside = { [torch.npy.save] = true, [torch.npz.save] = true, [torch.safetensors.save] = true }
    debug.sethook(function()
      -- Level 2 is the function that is called, and level 3 the one that calls it.
      local caller = debug.getinfo(3, 'f')
      if caller and inside[caller.func] then
        error 'interrupted!'
      end
    end, 'c')
    ok, message = pcall(save, name, { x = large })
    debug.sethook()
    assert.is_false(ok)
    assert.matches('interrupted!', message, 1, true)
    assert.equal('old', support.slurp(name))
    assert.equal('file', files())
  end)

  it('cannot lose the owner of memory', function()
    local function save_freed()
      local s = torch.frombuffer(('abcd'):rep(1e6))
      torch.npz.save(name, { s = s }, {
        progress = function()
          if s then
            s:free()
            s = nil
            collectgarbage()
          end
        end,
      })
    end
    save_freed()
    assert.equal(('abcd'):byte(4), torch.npz.load(name).s[4e6])
    support.collect()
    local before, heap = torch.memory(), collectgarbage 'count'
    for _ = 1, 3 do
      save_freed()
    end
    support.collect()
    assert.same(before, torch.memory())
    -- Each string that is kept takes 4,000 kilobytes. An unused slot of the Lua stack may keep one.
    assert.is_true(collectgarbage 'count' < heap + 8000)
  end)
end)

describe('descriptors and memory', function()
  it('are all given back, whatever happens', function()
    local function all()
      for _, save in pairs(ALL) do
        save(name, { x = x })
        pcall(save, name, { x = freed })
        pcall(save, '/dev/full', { x = x })
        pcall(save, path 'none/file', { x = x })
        pcall(save, name, { x = x }, { progress = error })
      end
    end
    all()
    support.collect()
    local descriptors, memory = support.descriptors(), torch.memory()
    for _ = 1, 20 do
      all()
    end
    support.collect()
    assert.equal(descriptors, support.descriptors())
    assert.same(memory, torch.memory())
    assert.equal('file', files())
  end)
end)
