-- Shared memory by name in one process: what is created, attached, extended, refused, listed and removed. Several processes are
-- in shared_leaving_spec.lua and shared_processes_spec.lua, s:shareMemory() is in share_memory_spec.lua.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local processes = require 'spec.support.processes'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

local exists, listed = processes.exists, processes.listed

-- The globals of the recorded cases.
local function globals()
  return {
    a = processes.name(),
    b = processes.name(),
    c = processes.name(),
    ls = function(name)
      return support.sh(("stat -c '%%a %%s' '/dev/shm/%s'"):format(name)):gsub('^stat.*: ', '')
    end,
    slurp = function(name)
      return support.slurp('/dev/shm/' .. name)
    end,
    collect = support.collect,
    listed = listed,
  }
end

-- The descriptors, maps and shared bytes of this process.
local function holdings()
  support.collect()
  local names = processes.left()
  return ('%d descriptors, %d maps, %d bytes, names: %s'):format(
    support.descriptors(),
    support.mappings 'torch%-spec',
    torch.memory().shared,
    names
  )
end

describe('shared memory', function()
  after_each(processes.clean)

  it('is created with zeros, and ends with its storage', function()
    recorded.check(
      [[
      > s = torch.IntStorage(a, true, 4, true)
      ls(a)   --> "600 16", 0
      s   --> <torch.IntStorage #4: 0 0 0 0>
      s:fill(7)   --> <torch.IntStorage #4: 7 7 7 7>
      slurp(a) == ('\7\0\0\0'):rep(4)   --> true
      s:resize(4)   --> ERROR not resizable: the storage is shared memory
      s:resize(5)   --> ERROR not resizable: the storage is shared memory
      s:reserve(9)   --> ERROR not resizable: the storage is shared memory
      s:flush()   --> ERROR nothing to flush: the storage is shared memory; only a shared map writes to its file
      s:advise('random')   --> ERROR not a mapped file: the storage is shared memory; only a mapped file can be advised or checked
      s:check()   --> ERROR not a mapped file
      > s = nil collect()
      ls(a)   --> "No such file or directory", 1
      > t = torch.ByteStorage(a, true, 3, true):fill(65)
      t:string()   --> "AAA"
      t:string('BB')   --> ERROR not resizable
      > t:free()
      t[1]   --> ERROR storage was freed
      ls(a)   --> "No such file or directory", 1
    ]],
      globals()
    )
  end)

  it('may have no elements', function()
    recorded.check(
      [[
      torch.IntStorage(a, true, nil, true)   --> ERROR (give a size to create it)
      > s = torch.IntStorage(a, true, 0, true)
      s   --> <torch.IntStorage #0: >
      s:isShared()   --> true
      ls(a)   --> "600 0", 0
      torch.IntStorage(a, true, nil, true)   --> <torch.IntStorage #0: >
      #torch.IntStorage(a, true, 2, true)   --> 2
      > s = nil collect()
      ls(a)   --> "No such file or directory", 1
    ]],
      globals()
    )
  end)

  it('describes itself correctly', function()
    recorded.check(
      [[
      > s = torch.ShortStorage(a, true, 5, true)
      s:isShared()   --> true
      s:isMapped()   --> false
      s:isView()   --> false
      s:isReadOnly()   --> false
      s:resizable()   --> false
      s:filename() == a   --> true
      > v = torch.ShortStorage(s, 2, 3)
      v:isShared()   --> true
      v:isView()   --> true
      v:isMapped()   --> false
      v:filename() == a   --> true
      torch.typename(s)   --> "torch.ShortStorage"
      s:nbytes()   --> 10
      torch.memory().shared   --> 10
      s:clone():isShared()   --> false
      s:clone():resizable()   --> true
      s:clone():filename()   --> nil
      s:type('torch.IntStorage'):isShared()   --> false
      s == torch.ShortStorage(a, true, 5, true)   --> false
      s:equal(torch.ShortStorage(a, true, 5, true))   --> true
    ]],
      globals()
    )
  end)

  it('can be attached whole, smaller, larger, or at its own size', function()
    recorded.check(
      [[
      > s = torch.IntStorage(a, true, 4, true):copy(torch.IntStorage{1, 2, 3, 4})
      torch.IntStorage(a, true, 4, true)   --> <torch.IntStorage #4: 1 2 3 4>
      torch.IntStorage(a, true, 2, true):fill(9)   --> <torch.IntStorage #2: 9 9>
      torch.IntStorage(a, true, nil, true)   --> <torch.IntStorage #4: 9 9 3 4>
      torch.IntStorage(a, true, 0, true)   --> <torch.IntStorage #0: >
      torch.IntStorage(a, true, '3', true)   --> <torch.IntStorage #3: 9 9 3>
      [luajit] torch.IntStorage(a, true, 3LL, true)   --> <torch.IntStorage #3: 9 9 3>
      torch.IntStorage(a, true, 2.9, true)   --> <torch.IntStorage #2: 9 9>
      ls(a)   --> "600 16", 0
      > t = torch.IntStorage(a, true, 6, true)
      t   --> <torch.IntStorage #6: 9 9 3 4 0 0>
      s   --> <torch.IntStorage #4: 9 9 3 4>
      ls(a)   --> "600 24", 0
      > t[4] = -1 t[6] = 6 s[1] = 256
      s   --> <torch.IntStorage #4: 256 9 3 -1>
      t   --> <torch.IntStorage #6: 256 9 3 -1 0 6>
      torch.ByteStorage(a, true, 5, true)   --> <torch.ByteStorage #5: 0 1 0 0 9>
      #torch.ByteStorage(a, true, 27, true)   --> 27
      #torch.DoubleStorage(a, true, nil, true)   --> 3
      #torch.IntStorage(a, true, nil, true)   --> 6
      > s = nil collect()
      ls(a)   --> "600 27", 0
      > t = nil collect()
      ls(a)   --> "No such file or directory", 1
    ]],
      globals()
    )
  end)

  it('may have slashes before its name', function()
    recorded.check(
      [[
      > s = torch.IntStorage('/' .. b, true, 2, true):fill(3)
      ls(b)   --> "600 8", 0
      torch.IntStorage('//' .. b, true, 2, true)   --> <torch.IntStorage #2: 3 3>
      torch.IntStorage(b, true, 2, true)   --> <torch.IntStorage #2: 3 3>
      s:filename() == b   --> true
      listed(b)   --> "8 held"
      torch.unlinkSharedMemory('/' .. b)   --> true
      torch.unlinkSharedMemory(b)   --> false
      s   --> <torch.IntStorage #2: 3 3>
    ]],
      globals()
    )
  end)

  it('may have any other name', function()
    local prefix = processes.name()
    local longest = prefix .. ('n'):rep(255 - #prefix)
    local odd = { '100%', '%d%s%n', ' ', "it's", 'a\nb 12 1', '\255\254', '.', '-', longest:sub(#prefix + 1) }
    for _, ending in ipairs(odd) do
      local name = prefix .. ending
      local s = torch.ByteStorage(name, true, 5, true):fill(66)
      assert.equal('BBBBB', torch.ByteStorage(name, true, nil, true):string())
      assert.equal(name, s:filename())
      assert.equal('5 held', listed(name))
      assert.is_true(torch.unlinkSharedMemory(name))
      assert.is_nil(listed(name))
    end
  end)

  it('with wrong arguments is an error, and creates nothing', function()
    local before = holdings()
    local env = globals()
    env.long = ('n'):rep(300)
    recorded.check(
      [[
      torch.IntStorage('', true, 2, true)   --> ERROR '' is not a valid name for shared memory: it is empty
      torch.IntStorage('/', true, 2, true)   --> ERROR '/' is not a valid name for shared memory: it is empty
      torch.IntStorage('.', true, 2, true)   --> ERROR '.' is not a valid name for shared memory: it is a directory
      torch.IntStorage('..', true, 2, true)   --> ERROR '..' is not a valid name for shared memory: it is a directory
      torch.IntStorage(a .. '/d', true, 2, true)   --> ERROR is not a valid name for shared memory: there is a slash in it
      torch.IntStorage('/' .. a .. '/d', true, 2, true)   --> ERROR is not a valid name for shared memory: there is a slash in it
      torch.IntStorage(a .. '\0', true, 2, true)   --> ERROR \0' is not a valid name for shared memory: there is a zero byte in it
      torch.IntStorage(long, true, 2, true)   --> ERROR name too long
      torch.IntStorage(a, true, 2, 1)   --> ERROR bad argument #4 to 'IntStorage' (boolean expected, got number: the arguments are (filename, shared, size, sharedmemory))
      torch.IntStorage(a, true, 2, 'true')   --> ERROR bad argument #4 to 'IntStorage' (boolean expected, got string
      torch.IntStorage(a, 1, 2, true)   --> ERROR bad argument #2 to 'IntStorage' (boolean expected, got number
      torch.IntStorage(a, false, 2, true)   --> ERROR shared memory is always shared: the arguments are (filename, shared, size, sharedmemory), with true for both
      torch.IntStorage(a, nil, 2, true)   --> ERROR shared memory is always shared
      torch.IntStorage(a, true, -1, true)   --> ERROR bad argument #3 to 'IntStorage' (a size is a whole number
      torch.IntStorage(a, true, 'x', true)   --> ERROR bad argument #3 to 'IntStorage' (number expected, got string)
      torch.IntStorage(a, true, {}, true)   --> ERROR bad argument #3 to 'IntStorage' (number expected, got table)
      torch.IntStorage(a, true, 0/0, true)   --> ERROR bad argument #3 to 'IntStorage' (a size is a whole number
      torch.IntStorage(a, true, 2^62, true)   --> ERROR 4611686018427387904 elements of 4 bytes are more than
      torch.IntStorage(a, true, nil, true)   --> ERROR there is no shared memory '
      torch.unlinkSharedMemory()   --> ERROR bad argument #1 to 'unlinkSharedMemory' (string expected, got no value)
      torch.unlinkSharedMemory({})   --> ERROR bad argument #1 to 'unlinkSharedMemory' (string expected, got table)
      torch.unlinkSharedMemory('')   --> ERROR is not a valid name for shared memory: it is empty
      torch.unlinkSharedMemory('a/b')   --> ERROR is not a valid name for shared memory: there is a slash in it
      torch.unlinkSharedMemory(a)   --> false
    ]],
      env
    )
    assert.equal(before, holdings())
    local message = support.failure(torch.IntStorage, env.a, true, nil, true)
    assert.is_truthy(message:find("'" .. env.a .. "'", 1, true), message)
  end)

  it('that does not fit in the file system is an error at creation, and changes nothing', function()
    local room = tonumber(support.sh 'df -B1 --output=size /dev/shm | tail -n 1')
    local before, name = holdings(), processes.name()
    for _, bytes in ipairs { room + 1, room + 4096, 2 ^ 45, 2 ^ 62 } do
      local message = support.failure(torch.ByteStorage, name, true, bytes, true)
      assert.is_truthy(message:find('no room for shared memory', 1, true), message)
      assert.is_truthy(message:find(("'%s' of %.0f bytes: "):format(name, bytes), 1, true), message)
    end
    assert.equal(before, holdings())

    local s = torch.ByteStorage(name, true, 3, true):fill(65)
    before = holdings()
    assert.is_truthy(support.failure(torch.ByteStorage, name, true, room + 1, true):find('no room', 1, true))
    assert.is_truthy(support.failure(torch.DoubleStorage, name, true, 2 ^ 60, true):find('more than', 1, true))
    assert.equal(before, holdings())
    assert.equal('AAA', s:string())
    assert.equal('3 held', listed(name))
  end)

  it('keeps every byte and every holder when it is extended', function()
    for index, T in ipairs(types.NUMBERS) do
      for _, length in ipairs { 1, 7, 4095, 4096, 4097, 70001 } do
        local name, bytes = processes.name(), (('abcdefghijk'):rep(7000)):sub(index, index + length - 1)
        local first = torch.ByteStorage(name, true, length, true)
        first:copy(torch.ByteStorage.fromstring(bytes))
        local view = torch.ByteStorage(first, length)
        local size = math.ceil(length / types.WIDTH[T]) + 5000
        local s = torch[T .. 'Storage'](name, true, size, true)
        assert.equal(size, #s)
        local after = support.slurp('/dev/shm/' .. name)
        assert.is_true(after == bytes .. ('\0'):rep(size * types.WIDTH[T] - length), T .. length)
        assert.is_true(first:string() == bytes)
        s:zero()
        assert.equal(0, view[1])
        view[1] = 88
        assert.equal(88, support.slurp('/dev/shm/' .. name):byte(length))
        s[size] = 1
        assert.equal(1, s[size])
      end
    end
    support.collect()
    assert.equal('', processes.left())
  end)

  it('is removed by the last of its storages, in whatever order and way they end', function()
    local ways = {
      function(s)
        s:free()
      end,
      function() end, -- by the collector
      function(s)
        getmetatable(s).__gc(s)
        getmetatable(s).__gc(s)
      end,
      function(s)
        s:retain()
        s:free()
        s:free()
      end,
      function(s)
        s:retain()
        torch.pushudata(torch.pointer(s), torch.typename(s)):free()
        s:free()
      end,
    }
    local before = holdings()
    for _, order in ipairs { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } } do
      for turn in ipairs(ways) do
        local name, all = processes.name(), {}
        all[1] = torch.IntStorage(name, true, 3, true):fill(turn)
        all[2] = torch.IntStorage(name, true, nil, true)
        all[3] = torch.IntStorage(torch.IntStorage(name, true, 2, true), 2) -- only a view remains
        for index, left in ipairs(order) do
          support.collect()
          assert.is_true(exists(name))
          assert.equal(turn, all[left][1])
          ways[(turn + index) % #ways + 1](all[left])
          all[left] = nil
        end
        support.collect()
        assert.is_false(exists(name))
      end
    end
    assert.equal(before, holdings())
  end)

  it('is held by retains, tokens and publications', function()
    local name = processes.name()
    torch.IntStorage(name, true, 3, true):fill(5):retain()
    local token = torch.IntStorage(name, true, 2, true):token()
    torch.publish(name, torch.IntStorage(name, true, 1, true))
    support.collect()
    assert.equal('12 held', listed(name))
    torch.dropToken(token)
    local s = torch.lookup(name)
    assert.equal(5, s[1])
    assert.is_true(torch.unpublish(name))
    s:free()
    -- The retained storage has no userdata any more: it cannot be reached, and lasts as long as the process.
    assert.equal('12 held', listed(name))
  end)

  it('is listed by name with its bytes, and with whether somebody holds it', function()
    local one, two = processes.name(), processes.name()
    local s = torch.ByteStorage(two, true, 10, true)
    support.spit('/dev/shm/' .. one, 'xyz')
    local last = ''
    for _, object in ipairs(torch.sharedMemory()) do
      assert.equal('string', type(object.name))
      assert.equal('number', type(object.bytes))
      assert.equal('boolean', type(object.held))
      assert.is_true(last < object.name)
      last = object.name
    end
    -- Listing neither holds nor releases it.
    assert.same({ '3 free', '10 held' }, { listed(one), listed(two) })
    assert.same({ '3 free', '10 held' }, { listed(one), listed(two) })
    s:free()
    assert.same({ '3 free' }, { listed(one), listed(two) })
    assert.is_true(torch.unlinkSharedMemory(one))
    assert.is_nil(listed(one))
  end)

  it('that nobody holds is attached with its bytes, and ends with that holder', function()
    local name = processes.name()
    support.spit('/dev/shm/' .. name, 'abcde')
    assert.equal('5 free', listed(name))
    local s = torch.ByteStorage(name, true, 7, true)
    assert.equal('abcde\0\0', s:string())
    assert.equal('7 held', listed(name))
    s:free()
    assert.is_false(exists(name))
    -- A failure leaves it unchanged.
    support.spit('/dev/shm/' .. name, 'abcde')
    assert.is_false(pcall(torch.ByteStorage, name, true, 2 ^ 50, true))
    assert.equal('abcde', support.slurp('/dev/shm/' .. name))
  end)

  it('whose name others removed or replaced raises nothing, and leaves their object alone', function()
    local name = processes.name()
    local s = torch.ByteStorage(name, true, 3, true):fill(65)
    os.remove('/dev/shm/' .. name)
    local other = torch.ByteStorage(name, true, 2, true)
    assert.equal('AAA', s:string())
    assert.equal('\0\0', other:string())
    s = nil
    support.collect()
    assert.equal('2 held', listed(name))
    os.remove('/dev/shm/' .. name)
    support.spit('/dev/shm/' .. name, 'by hand')
    other = nil
    support.collect()
    assert.equal('by hand', support.slurp('/dev/shm/' .. name))
    assert.is_nil(s or other)
  end)

  it('cannot be attached where the name is a directory, a link or a pipe', function()
    local name = processes.name()
    local path = '/dev/shm/' .. name
    local before = support.descriptors()
    local makers = { 'mkdir %s', 'ln -s /etc/passwd %s', 'mkfifo %s' }
    for index, reason in ipairs { 'Is a directory', 'ymbolic link', 'not a regular file' } do
      assert.equal('', support.sh(makers[index]:format(path)))
      for _, size in ipairs { 1, false } do
        local message = support.failure(torch.ByteStorage, name, true, size or nil, true)
        assert.is_truthy(message:find(reason, 1, true), message)
      end
      assert.is_nil(listed(name))
      support.sh('rm -r ' .. path)
    end
    assert.equal(before, support.descriptors())
  end)
end)
