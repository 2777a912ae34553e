-- What is different on Windows: names of shared memory end by themselves, files that are mapped cannot be replaced, names of
-- files have a code page, and the library stays loaded when a Lua state ends. tools/platforms/windows/test runs this.
local torch = require 'torch'
local support = require 'spec.support'

local path = support.temporary()
local count = 0
local function name()
  count = count + 1
  return ('torch-spec-%d-%d'):format(os.time(), count) .. tostring({}):match '%x+$'
end

-- Starts Lua code in a new process, and returns the first line that it prints. It goes on until it is killed.
local function start(source)
  local script = path 'process.lua'
  support.spit(script, source)
  local pipe = io.popen(('%s %s & echo $!; wait'):format(support.interpreter, script))
  return { pipe = pipe, id = pipe:read(), said = pipe:read() }
end

local function kill(process)
  os.execute('kill -9 ' .. process.id)
  process.pipe:read '*a'
  process.pipe:close()
end

describe('shared memory on Windows', function()
  it('has one name in two processes', function()
    local shared = name()
    local s = torch.IntStorage(shared, true, 3, true)
    s[1] = 11
    local output = support.child(([[
      require 'torch'
      local s = torch.IntStorage('%s', true, nil, true)
      print(#s, s[1], s:filename(), s:isShared())
      s[2] = 22
    ]]):format(shared))
    assert.equal('3\t11\t' .. shared .. '\ttrue', output)
    assert.equal(22, s[2])
  end)

  it('is not left by a process that is killed', function()
    local shared = name()
    local process = start(([[
      require 'torch'
      local s = torch.IntStorage('%s', true, 3, true)
      s[3] = 33
      print 'ready'
      io.stdout:flush()
      while true do end
    ]]):format(shared))
    assert.equal('ready', process.said)
    local s = torch.IntStorage(shared, true, nil, true)
    assert.equal(33, s[3])
    s:free()
    kill(process)
    support.fails(("there is no shared memory '%s'"):format(shared), torch.IntStorage, shared, true, nil, true)
  end)

  it('begins with the elements of a heap storage, once', function()
    local shared = name()
    local s = torch.DoubleStorage({ 1, 2, 3 }):shareMemory(shared)
    local other = torch.DoubleStorage(shared, true, 2, true)
    other[2] = 20
    assert.equal('1 20 3', support.joined(s:totable(), ' '))
    support.fails('already exists', function()
      torch.DoubleStorage(1):shareMemory(shared)
    end)
    other:free()
    s:free()
    assert.equal(1, #torch.DoubleStorage(1):shareMemory(shared))
  end)

  it('is created by options, attached to in part, and read only', function()
    local shared = name()
    support.fails(
      ("there is no shared memory '%s' (create = true and a size create it)"):format(shared),
      torch.IntStorage,
      { shared = shared, size = 3 }
    )
    local s = torch.IntStorage({ shared = shared, size = 3, create = true }):fill(5)
    assert.equal('5 5', support.joined(torch.IntStorage({ shared = shared, size = 2 }):totable(), ' '))
    support.fails('has 12 bytes, 16 are needed', torch.IntStorage, { shared = shared, size = 4 })
    support.fails('does not grow on Windows', torch.IntStorage, { shared = shared, size = 4, create = true })
    local reader = torch.IntStorage { shared = shared, readonly = true }
    assert.is_true(reader:isReadOnly())
    support.fails('read-only: the storage is read-only shared memory', reader.fill, reader, 0)
    s[3] = 7
    assert.equal('5 5 7', support.joined(reader:totable(), ' '))
  end)

  it('does not grow, has no list, needs a name, and is not removed', function()
    local shared = name()
    local s = torch.ByteStorage(shared, true, 10, true)
    support.fails(
      'it is shorter, and shared memory does not grow on Windows',
      torch.ByteStorage,
      shared,
      true,
      11,
      true
    )
    support.fails('Windows does not list it', torch.sharedMemory)
    support.fails('Windows has no fork; give a name', function()
      torch.ByteStorage(1):shareMemory()
    end)
    support.fails('on Windows it ends with the last storage over it', torch.unlinkSharedMemory, shared)
    s:free()
    assert.is_false(torch.unlinkSharedMemory(shared))
  end)
end)

describe('files on Windows', function()
  it('that a storage maps are not replaced or shortened, and the error names the storage', function()
    local file = path 'file.t7'
    torch.save(file, torch.FloatStorage { 1, 2 })
    local bytes = support.slurp(file)
    local map = torch.ShortStorage(file)
    for _, options in ipairs { { atomic = true }, { atomic = false } } do
      support.fails('a torch.ShortStorage of this process maps it', torch.save, file, torch.FloatStorage(9), options)
    end
    assert.equal(bytes, support.slurp(file))
    map:free()
    torch.save(file, torch.FloatStorage(9))
    assert.equal(9, #torch.load(file))
    assert.equal('file.t7', support.sh('ls -A ' .. path()))
  end)

  it('that a killed process has left half written are removed by the next save', function()
    local file = path 'file.t7'
    torch.save(file, 'old')
    local process = start(([[
      local torch = require 'torch'
      local function wait()
        print 'ready'
        io.stdout:flush()
        while true do end
      end
      torch.save('%s', torch.DoubleTensor(1e6), { progress = wait })
    ]]):format(file))
    assert.equal('ready', process.said)
    torch.save(path 'other.t7', 'another file')
    kill(process)
    assert.equal('.file.t7.0.new file.t7 other.t7 process.lua', (support.sh('ls -A ' .. path()):gsub('\n', ' ')))
    assert.equal('old', torch.load(file))
    torch.save(file, 'new')
    assert.equal('file.t7 other.t7 process.lua', (support.sh('ls -A ' .. path()):gsub('\n', ' ')))
    assert.equal('new', torch.load(file))
  end)

  it('are replaced when the storages that map them are garbage', function()
    local file = path 'file.t7'
    torch.save(file, torch.FloatStorage { 1, 2 })
    torch.ShortStorage(file) -- luacheck: ignore
    torch.save(file, torch.FloatStorage(9))
    assert.equal(9, #torch.load(file))
  end)

  it('have names in the code page, as io.open takes them', function()
    -- An e with an acute accent in Windows-1252, which is not UTF-8.
    local file = path 'caf\233.t7'
    torch.save(file, torch.LongStorage { 2 ^ 40 })
    assert.truthy(support.slurp(file):find 'torch.LongStorage')
    local map = torch.ByteStorage(file)
    assert.equal(file, map:filename())
    map:free()
    assert.equal(2 ^ 40, torch.load(file)[1])
    os.remove(file)
    support.fails('No such file or directory', torch.load, file)
  end)

  it('are mapped for reading if there is not enough memory to write', function()
    -- Lua 5.1 does not seek beyond 2^31 on Windows.
    support.sh(('truncate -s 1T %s && printf x >>%s'):format(path 'large', path 'large'))
    local map = torch.ByteStorage(path 'large')
    assert.equal(2 ^ 40 + 1, #map)
    assert.is_true(map:isReadOnly())
    assert.equal(120, map[#map])
    support.fails('clone() returns a writable copy', function()
      map[1] = 1
    end)
  end)
end)

describe('the library', function()
  it('stays loaded until the objects of a Lua state have ended', function()
    local output = support.child [[
      local finalizer = newproxy and newproxy(true) or setmetatable({}, { __gc = true })
      local s
      getmetatable(finalizer).__gc = function()
        -- Younger objects have ended before, so this is an error, which is raised in the library.
        print(select(2, pcall(s.size, s)):match 'storage was freed')
      end
      require 'torch'
      s = torch.IntStorage { 4, 5 }
      other = { finalizer, s }
    ]]
    assert.equal('storage was freed', output)
  end)
end)
