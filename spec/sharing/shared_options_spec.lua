-- Shared memory by options: torch.TYPEStorage { shared = name, size =, create =, readonly = }.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local processes = require 'spec.support.processes'
local recorded = require 'spec.support.recorded'
local support = require 'spec.support'
local types = require 'spec.support.types'

local exists, listed = processes.exists, processes.listed

local function globals()
  return {
    a = processes.name(),
    b = processes.name(),
    listed = listed,
    exists = exists,
    collect = support.collect,
    file = '/dev/shm/' .. processes.name(),
  }
end

describe('shared memory by options', function()
  after_each(processes.clean)

  it('is created only if that is asked for', function()
    recorded.check(
      [[
      torch.IntStorage{shared = a}   --> ERROR there is no shared memory '
      torch.IntStorage{shared = a}   --> ERROR (create = true and a size create it)
      torch.IntStorage{shared = a, size = 4}   --> ERROR (create = true and a size create it)
      torch.IntStorage{shared = a, size = 4, create = false}   --> ERROR (create = true and a size create it)
      torch.IntStorage{shared = a, readonly = true}   --> ERROR there is no shared memory '
      exists(a)   --> false
      > s = torch.IntStorage{shared = a, size = 4, create = true}
      s:fill(7)   --> <torch.IntStorage #4: 7 7 7 7>
      s:filename() == a   --> true
      s:isShared()   --> true
      s:isReadOnly()   --> false
      listed(a)   --> "16 held"
      > s = nil collect()
      exists(a)   --> false
    ]],
      globals()
    )
  end)

  it('is attached whole or in part, and is extended only if that is asked for', function()
    recorded.check(
      [[
      > s = torch.IntStorage({shared = a, size = 4, create = true}):copy(torch.IntStorage{1, 2, 3, 4})
      torch.IntStorage{shared = a}   --> <torch.IntStorage #4: 1 2 3 4>
      torch.IntStorage{shared = '/' .. a}   --> <torch.IntStorage #4: 1 2 3 4>
      torch.IntStorage{shared = a, size = 2}   --> <torch.IntStorage #2: 1 2>
      torch.IntStorage{shared = a, size = 0}   --> <torch.IntStorage #0: >
      torch.IntStorage{shared = a, size = '3'}   --> <torch.IntStorage #3: 1 2 3>
      [luajit] torch.IntStorage{shared = a, size = 3LL}   --> <torch.IntStorage #3: 1 2 3>
      torch.IntStorage{shared = a, size = 2, create = true}   --> <torch.IntStorage #2: 1 2>
      torch.IntStorage{shared = a, size = 5}   --> ERROR ' has 16 bytes, 20 are needed (create = true extends it)
      torch.IntStorage{shared = a, size = 5, readonly = true}   --> ERROR ' has 16 bytes, 20 are needed (create = true extends it)
      listed(a)   --> "16 held"
      torch.IntStorage{shared = a, size = 6, create = true}   --> <torch.IntStorage #6: 1 2 3 4 0 0>
      torch.IntStorage(a, true, nil, true)   --> <torch.IntStorage #6: 1 2 3 4 0 0>
      #torch.DoubleStorage{shared = a}   --> 3
      #torch.UntypedStorage{shared = a}   --> 24
    ]],
      globals()
    )
  end)

  it('of every class has the elements that another class has written', function()
    local name = processes.name()
    local bytes = torch
      .ByteStorage({ shared = name, size = 480, create = true })
      :copy(torch.ByteStorage.fromstring(('\1\2\3\60'):rep(120)))
    for _, T in ipairs(types.NUMBERS) do
      for _, readonly in ipairs { false, true } do
        local s = torch[T .. 'Storage'] { shared = name, readonly = readonly }
        assert.equal(480 / types.WIDTH[T], #s)
        assert.is_true(s:string() == bytes:string(), T)
        assert.equal(readonly, s:isReadOnly())
      end
    end
  end)

  it('with wrong options is an error, and creates nothing', function()
    local before = torch.memory().shared
    local env = globals()
    env.long = ('n'):rep(300)
    recorded.check(
      [[
      torch.IntStorage{shared = a, size = 2, filename = file}   --> ERROR (option 'shared': boolean expected, got string; shared memory has a name, and no 'filename')
      torch.IntStorage{shared = true, filename = file, size = 2, create = true}   --> ERROR (option 'create': it is for shared memory; a shared map of a file creates it if it has a size)
      torch.IntStorage{filename = file, create = false}   --> ERROR (option 'create': it is for shared memory
      torch.IntStorage{shared = a, offset = 4}   --> ERROR (option 'offset': it is for files; the options of shared memory are shared, size, create, readonly)
      torch.IntStorage{shared = a, advise = 'random'}   --> ERROR (option 'advise': it is for files
      torch.IntStorage{shared = a, lock = false}   --> ERROR (option 'lock': it is for files
      torch.IntStorage{shared = a, hugepages = true}   --> ERROR (option 'hugepages': it is for files
      torch.IntStorage{shared = a, size = 2, create = true, readonly = true}   --> ERROR (option 'create': memory that is created is for writing, and 'readonly' is true)
      torch.IntStorage{shared = a, create = true}   --> ERROR (option 'create': option 'size' is missing: the number of elements)
      torch.IntStorage{create = true, size = 2}   --> ERROR (option 'shared' is missing: the name of the shared memory)
      torch.IntStorage{shared = true, size = 2}   --> ERROR (option 'filename' is missing; shared memory has its name in option 'shared')
      torch.IntStorage{shared = a, name = a}   --> ERROR no option 'name': the options are filename, offset, size, shared, readonly, advise, lock, hugepages, create; a table of elements begins at index 1
      torch.IntStorage{shared = 5}   --> ERROR (option 'shared': boolean, or the name of shared memory, expected, got number)
      torch.IntStorage{shared = {}}   --> ERROR (option 'shared': boolean, or the name of shared memory, expected, got table)
      torch.IntStorage{shared = a, size = -1, create = true}   --> ERROR (option 'size': a whole number of elements from 0 to 2^63-1 expected, got -1)
      torch.IntStorage{shared = a, size = 0/0, create = true}   --> ERROR (option 'size': a whole number of elements from 0 to 2^63-1 expected, got nan)
      torch.IntStorage{shared = a, size = 'x', create = true}   --> ERROR (option 'size': number expected, got string)
      torch.IntStorage{shared = a, size = {}, create = true}   --> ERROR (option 'size': number expected, got table)
      torch.IntStorage{shared = a, size = 2^62, create = true}   --> ERROR 4611686018427387904 elements of 4 bytes are more than
      torch.ByteStorage{shared = a, size = 2^62, create = true}   --> ERROR no room for shared memory
      torch.IntStorage{shared = a, size = 2, create = 1}   --> ERROR (option 'create': boolean expected, got number)
      torch.IntStorage{shared = a, readonly = 'true'}   --> ERROR (option 'readonly': boolean expected, got string)
      torch.IntStorage{shared = '', size = 2, create = true}   --> ERROR '' is not a valid name for shared memory: it is empty
      torch.IntStorage{shared = a .. '\0', size = 2, create = true}   --> ERROR \0' is not a valid name for shared memory: there is a zero byte in it
      torch.IntStorage{shared = a .. '/d', size = 2, create = true}   --> ERROR is not a valid name for shared memory: there is a slash in it
      torch.IntStorage{shared = long, size = 2, create = true}   --> ERROR name too long
      torch.IntStorage{1, shared = a}   --> <torch.IntStorage #1: 1>
      exists(a)   --> false
    ]],
      env
    )
    support.collect()
    assert.equal(before, torch.memory().shared)
  end)
end)

describe('read-only shared memory', function()
  after_each(accessors.restore)
  after_each(processes.clean)

  it('refuses every write, and shows what others write', function()
    for _, mode in ipairs(accessors.MODES) do
      torch.accessors(mode)
      for _, T in ipairs(types.NUMBERS) do
        local name, class = processes.name(), torch[T .. 'Storage']
        local writer = class { shared = name, size = 5, create = true }
        local s = class { shared = name, readonly = true }
        for _, reader in ipairs { s, s:sub(1, 4), s:view(5):storage() } do
          for _, write in ipairs {
            function()
              reader[2] = 1
            end,
            function()
              reader:fill(1)
            end,
            function()
              reader:zero()
            end,
            function()
              reader:copy(class(#reader))
            end,
          } do
            support.fails('read-only: the storage is read-only shared memory; clone() returns a writable copy', write)
          end
        end
        writer:fill(1)
        assert.is_true(s:equal(writer), T)
        assert.is_true(s:clone():fill(0):equal(class(5)), T)
        support.fails('not resizable: the storage is read-only shared memory', s.resize, s, 6)
        assert.is_true(rawequal(s, s:shareMemory()))
      end
    end
  end)

  it('holds the name, as every storage does', function()
    local name = processes.name()
    torch.IntStorage({ shared = name, size = 3, create = true }):fill(5):free()
    assert.is_false(exists(name))
    local writer = torch.IntStorage({ shared = name, size = 3, create = true }):fill(5)
    local reader = torch.IntStorage { shared = name, readonly = true }
    writer:free()
    assert.equal('12 held', listed(name))
    assert.equal(5, reader[3])
    reader:free()
    assert.is_false(exists(name))
  end)

  it('may belong to a program that has left holes in it', function()
    local name = processes.name()
    support.sh(("truncate -s 100000 '/dev/shm/%s'"):format(name))
    local s = torch.ByteStorage { shared = name, readonly = true }
    assert.equal(0, s[100000])
    -- Reading a hole later would end the process if there were no room then.
    assert.is_true(tonumber(support.sh(("stat -c %%b '/dev/shm/%s'"):format(name))) * 512 >= 100000)
    s:free()
  end)

  it('may be write-protected #process', function()
    local name = processes.name()
    local path = '/dev/shm/' .. name
    support.spit(path, 'abc')
    support.sh(("chmod 444 '%s'"):format(path))
    local source = ([[
      local torch = require 'torch'
      print(torch.ByteStorage({ shared = %q, readonly = true }):string())
      print(pcall(torch.ByteStorage, { shared = %q }))
    ]]):format(name, name)
    local drop = support.sh 'id -u' == '0' and 'setpriv --bounding-set -dac_override ' or ''
    local output = support.child(source, drop .. support.interpreter)
    if output:find 'setpriv' then
      pending('no right to give up a right: ' .. output)
      return
    end
    assert.is_truthy(output:find '^abc\nfalse\tcannot open shared memory', output)
    assert.is_truthy(output:find('Permission denied', 1, true), output)
  end)

  it('is read by another process while this one writes #process', function()
    local name = processes.name()
    local s = torch.IntStorage({ shared = name, size = 3, create = true }):fill(7)
    local source = ([[
      local s = require('torch').IntStorage { shared = %q, readonly = true }
      io.write(#s, ' ', s[3], ' ', tostring(pcall(s.fill, s, 0)))
    ]]):format(name)
    assert.equal('3 7 false', support.child(source))
    assert.equal(7, s[1])
  end)
end)
