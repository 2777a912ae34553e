-- Named shared memory on systems where an object cannot be created without its name: TORCH_STORAGE_SHARED_MEMORY=names.
-- Interpreters: luajit
local torch = require 'torch'
local support = require 'spec.support'
local processes = require 'spec.support.processes'

local NAMES = 'env TORCH_STORAGE_SHARED_MEMORY=names '

local function path_of(name)
  return '/dev/shm/' .. name
end

-- An object that its creator has not completed: the mark is the sticky bit.
local function begin_object(name, bytes)
  support.spit(path_of(name), bytes)
  support.sh(("chmod 1600 '%s'"):format(path_of(name)))
end

local function mode(name)
  return support.sh(("stat -c %%a '%s'"):format(path_of(name)))
end

describe('shared memory that is created with its name #process', function()
  after_each(processes.clean)

  for _, file in ipairs { 'share_memory', 'shared_memory', 'shared_leaving', 'shared_processes' } do
    it('passes ' .. file .. '_spec', function()
      local busted = support.sh 'command -v busted'
      local command = ('%s%s %s --output=plainTerminal spec/sharing/%s_spec.lua'):format(
        NAMES,
        support.interpreter,
        busted,
        file
      )
      local output, status = support.execute(command)
      assert.equal(0, status, output)
      assert.truthy(output:match '[1-9]%d* success.* / 0 failures / 0 errors')
    end)
  end

  -- The same program runs in both ways, and the two kinds of processes use one object.
  it('is the same object for processes that create it without a name', function()
    for turn = 1, 4 do
      local name = processes.name()
      local first, second = turn % 2 == 0 and NAMES or '', turn % 2 == 1 and NAMES or ''
      local line = "local torch = require 'torch' local s = torch.IntStorage(%q, true, 4, true) "
      local inner = support.directory() .. '/inner.lua'
      support.spit(inner, line:format(name) .. 's[2] = 5 io.write(s[1])')
      local output = support.child(
        line:format(name)
          .. ("s[1] = 7 io.write(io.popen('%s%s %s'):read '*a', s[2])"):format(second, support.interpreter, inner),
        first .. support.interpreter
      )
      support.remove(inner:match '^(.*)/')
      assert.equal('75', output)
      assert.is_false(processes.exists(name))
    end
  end)

  it('has the permissions of an object that is created without a name', function()
    local name = processes.name()
    local source = [[
      local torch = require 'torch'
      local s = torch.IntStorage(%q, true, 4, true)
      io.write(io.popen "stat -c '%%%%a %%%%s' '/dev/shm/%s'":read '*a')
    ]]
    source = source:format(name, name):gsub('%%%%', '%%')
    assert.equal('600 16', support.child(source, NAMES .. support.interpreter))
    assert.equal('600 16', support.child(source))
  end)

  it('is created anew if its creator was killed', function()
    local name = processes.name()
    begin_object(name, ('x'):rep(100))
    assert.error_matches(function()
      torch.ByteStorage(name, true, nil, true)
    end, 'no shared memory')
    assert.is_false(processes.exists(name))

    begin_object(name, ('x'):rep(100))
    local s = torch.ByteStorage(name, true, 4, true)
    assert.equal('0 0 0 0', table.concat(s:totable(), ' '))
    assert.equal('600', mode(name))
    s:free()
    assert.is_false(processes.exists(name))
  end)

  it('is waited for while its creator has the lock', function()
    local name = processes.name()
    begin_object(name, 'abcd')
    -- The other process stands for the creator: it takes the mark away and writes, and then gives the lock back.
    local creator = io.popen(([[
      flock -x '%s' sh -c 'echo locked; sleep 0.3; printf wxyz >"$0"; chmod 600 "$0"' '%s'
    ]]):format(path_of(name), path_of(name)))
    assert.equal('locked', creator:read())
    local s = torch.ByteStorage(name, true, nil, true)
    assert.equal('wxyz', s:string())
    creator:close()
    s:free()
    assert.is_false(processes.exists(name))
  end)

  it('is listed while nobody completes it, but not while somebody creates it', function()
    local name = processes.name()
    begin_object(name, 'abcd')
    local function find()
      for _, object in ipairs(torch.sharedMemory()) do
        if object.name == name then
          return object
        end
      end
    end
    assert.same({ name = name, bytes = 4, held = false }, find())
    local creator = io.popen(([[flock -x '%s' sh -c 'echo locked; sleep 0.2']]):format(path_of(name)))
    assert.equal('locked', creator:read())
    assert.is_nil(find())
    creator:close()
  end)

  it('is one object for processes that create it at the same moment', function()
    local name, directory = processes.name(), support.directory()
    local program = support.spit(
      directory .. '/program.lua',
      ([[
        local torch = require 'torch'
        local elements, seen = torch.IntStorage(100000):fill(3), 0
        for round = 1, 200 do
          local ok, s = pcall(torch.IntStorage, %q, true, 100000, true)
          if not ok then
            io.write(s) os.exit(1)
          end
          -- Elements of a storage that another process moves here are 3, those of new memory are 0.
          assert(s[1] == s[100000] and (s[1] == 0 or s[1] == 3))
          seen = seen + s[1]
          s:free()
          local moved, message = pcall(elements.shareMemory, elements, %q)
          assert(moved or message:match 'exists', message)
          elements = torch.IntStorage(100000):fill(3)
          collectgarbage()
        end
        io.write 'done '
      ]]):format(name, name)
    )
    local line = ('%s%s %s & '):format(NAMES, support.interpreter, program)
    local other = ('%s %s & '):format(support.interpreter, program)
    assert.equal('done done done done ', support.sh(line:rep(2) .. other:rep(2) .. 'wait'))
    support.remove(directory)
    assert.is_false(processes.exists(name))
  end)

  it('needs no /proc', function()
    if support.sh 'unshare -m true' ~= '' then
      pending 'no right to mount a file system of our own'
      return
    end
    local name = processes.name()
    local output = support.child(
      ([[
        local torch = require 'torch'
        assert(not io.open '/proc/self/stat')
        local s = torch.IntStorage(%q, true, 4, true):fill(7)
        local t = torch.IntStorage(%q, true, nil, true)
        io.write(#t, ' ', t[4], ' ', #torch.sharedMemory() > 0 and 'listed' or 'missing')
        torch.DoubleStorage(4):shareMemory(%q)
      ]]):format(name, name, name .. '-2'),
      ([[unshare -m sh -c 'mount -t tmpfs tmpfs /proc && exec %s "$0"']]):format(support.interpreter)
    )
    assert.equal('4 7 listed', output)
    assert.is_false(processes.exists(name))
  end)
end)
