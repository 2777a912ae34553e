-- The last holder of shared memory removes its name, however it ends. Also: what killed processes leave behind, and forks of
-- holders.
-- Interpreters: luajit, lua5.4
local support = require 'spec.support'
local processes = require 'spec.support.processes'

local exists, listed, start = processes.exists, processes.listed, processes.start

local ENDS = { 'return', 'os.exit', 'error' }
local WAYS = { 'collection', 'free', 'return', 'os.exit', 'error' }
local ORDERS = { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } }

local function attach(process, name, size)
  process:tell('s = torch.IntStorage(%q, true, %s, true)', name, tostring(size))
  return process
end

local function elements(process)
  return process:tell 's:unpack()'
end

-- The process releases `s`. After the first two ways it is still running, and it prints nothing.
local function leave(process, way)
  if way == 'collection' then
    process:tell 's = nil support.collect()'
  elseif way == 'free' then
    process:tell 's:free()'
  else
    process:finish(way)
  end
end

describe('the name of shared memory #process', function()
  after_each(processes.clean)

  it('is removed by the last of three processes, in whatever order they end', function()
    for turn, order in ipairs(ORDERS) do
      local name, all = processes.name(), {}
      all[1] = attach(start(), name, 4)
      all[2] = attach(start(), name, nil)
      all[3] = attach(start(), name, 2)
      all[3]:tell('s[2] = %d', turn)
      for index, left in ipairs(order) do
        assert.equal('16 held', listed(name))
        assert.equal(left == 3 and '0, ' .. turn or ('0, %d, 0, 0'):format(turn), elements(all[left]))
        leave(all[left], WAYS[(turn + index) % #WAYS + 1])
      end
      assert.is_false(exists(name))
    end
  end)

  it('is removed by the remaining process when the others are killed', function()
    for _, way in ipairs(WAYS) do
      for killed = 1, 2 do
        local name = processes.name()
        local all = { attach(start(), name, 2), attach(start(), name, 2) }
        all[killed]:tell 's[1] = 7'
        all[killed]:finish 'kill'
        assert.equal('8 held', listed(name))
        assert.equal('7, 0', elements(all[3 - killed]))
        leave(all[3 - killed], way)
        assert.is_false(exists(name), way)
      end
    end
  end)

  it('is removed for a heap storage that has moved there as well', function()
    for _, way in ipairs(ENDS) do
      local name = processes.name()
      local one = start()
      one:tell('s = torch.IntStorage{1, 2, 3} v = torch.IntStorage(s) s:shareMemory(%q)', name)
      local two = attach(start(), name, nil)
      two:tell 's[1] = 5'
      assert.equal('5, 2, 3', elements(one))
      assert.equal('1, 2, 3', one:tell 'v:unpack()')
      leave(one, way)
      assert.equal('12 held', listed(name))
      leave(two, way)
      assert.is_false(exists(name))
    end
  end)

  -- Torch7 kept the name of a retained storage for ever.
  it(
    'is removed at exit even if the storage is retained, waits for a token, is published, or is new in a finalizer',
    function()
      local make = [[
      s = torch.IntStorage(NAME, true, 2, true) s:retain()
      t = torch.IntStorage(NAME, true, 2, true) token = t:token()
      torch.publish('x', torch.IntStorage(NAME, true, 2, true))
      proxy = newproxy(true)
      getmetatable(proxy).__gc = function() late = torch.IntStorage(NAME, true, 2, true) late[1] = 5 end
    ]]
      for _, way in ipairs(ENDS) do
        local name, process = processes.name(), start()
        process:tell((make:gsub('NAME', ('%q'):format(name)):gsub('%s+', ' ')))
        process:finish(way)
        assert.is_false(exists(name), way)
      end
    end
  )

  it('is not held by programs that a holder has started', function()
    local name, process = processes.name(), start()
    attach(process, name, 2)
    process:tell [[pipe = io.popen('exec sleep 20 >/dev/null 2>&1 & echo $!') sleeper = pipe:read()]]
    local sleeper = process:tell 'tonumber(sleeper)'
    finally(function()
      os.execute('kill -9 ' .. sleeper .. ' 2>/dev/null')
    end)
    process:finish 'os.exit'
    assert.is_true(#support.slurp('/proc/' .. sleeper .. '/stat') > 0)
    assert.is_false(exists(name))
  end)

  it('that others have removed or replaced is left alone, silently', function()
    for _, way in ipairs(WAYS) do
      local name = processes.name()
      local one, two = attach(start(), name, 2), attach(start(), name, 2)
      os.remove('/dev/shm/' .. name)
      leave(one, way)
      local three = attach(start(), name, 3)
      two:tell 's[1] = 9'
      assert.equal('0, 0, 0', elements(three))
      leave(two, way)
      assert.equal('12 held', listed(name))
      leave(three, way)
      assert.is_false(exists(name))
    end
  end)

  it('that a killed last holder leaves is listed as not held, and removed by the next holder', function()
    for _, way in ipairs(WAYS) do
      local name = processes.name()
      local one = attach(start(), name, 3)
      one:tell 's:fill(6)'
      one:finish 'kill'
      assert.equal('12 free', listed(name))
      local two = start()
      local message = support.failure(two.tell, two, ('torch.IntStorage(3):shareMemory(%q)'):format(name))
      assert.is_truthy(message:find('already', 1, true), message)
      message = support.failure(two.tell, two, ('torch.ByteStorage(%q, true, 2 ^ 50, true)'):format(name))
      assert.is_truthy(message:find('no room', 1, true), message)
      assert.equal('12 free', listed(name))
      attach(two, name, way == 'free' and 5 or nil)
      assert.equal(way == 'free' and '6, 6, 6, 0, 0' or '6, 6, 6', elements(two))
      assert.is_truthy(listed(name):find 'held')
      leave(two, way)
      assert.is_nil(listed(name))
    end
  end)

  it('that a killed last holder leaves can be removed', function()
    local name = processes.name()
    attach(start(), name, 3):finish 'kill'
    assert.equal('12 free', listed(name))
    assert.equal('true, false', start():tell('torch.unlinkSharedMemory(%q), torch.unlinkSharedMemory(%q)', name, name))
    assert.is_false(exists(name))
  end)

  -- In a file system of 1 MiB that replaces /dev/shm for the child process only.
  it('is not created where there is no room, and what is created can be filled', function()
    if support.sh 'unshare -m true' ~= '' then
      pending 'no right to mount a file system of our own'
      return
    end
    local mounted = [[unshare -m sh -c 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec %s "$0"']]
    local output = support.child(
      [[
      local torch = require 'torch'
      local function try(f, ...)
        local ok, message = pcall(f, ...)
        print(ok or message:match 'no room.*' or message, #torch.sharedMemory())
      end
      try(torch.IntStorage, 'x', true, 262145, true)
      local x = torch.IntStorage('x', true, 262144, true):fill(7)
      try(torch.IntStorage, 'y', true, 1, true)
      try(torch.IntStorage, 'x', true, 262145, true)
      try(torch.IntStorage(1).shareMemory, torch.IntStorage(1), 'y')
      print(x[1] + x[262144])
      x = nil -- garbage that is collected when there is no room
      try(torch.IntStorage, 'z', true, 200000, true)
      print(torch.sharedMemory()[1].name)
      ]],
      mounted:format(support.interpreter)
    )
    local full = "no room for shared memory '%s' of %d bytes: %d are free (see df /dev/shm)\t%d\n"
    local expected = full:format('x', 1048580, 1048576, 0)
      .. full:format('y', 4, 0, 1)
      .. full:format('x', 1048580, 0, 1)
      .. full:format('y', 4, 0, 1)
    assert.equal(expected .. '14\ntrue\t1\nz', output)
  end)
end)

-- PUC Lua cannot fork.
if support.luajit then
  describe('a fork of a holder of shared memory #process', function()
    after_each(processes.clean)

    it('is a holder of its own: the last one removes the name', function()
      for turn, order in ipairs(ORDERS) do
        for _, way in ipairs { 'return', 'os.exit', 'error', 'collection', 'kill' } do
          local name = processes.name()
          local parent = attach(start(), name, 2)
          local child = parent:fork()
          local all = { parent, child, child:fork() }
          all[3]:tell('s[1] = %d', turn)
          for index, left in ipairs(order) do
            assert.equal('8 held', listed(name))
            assert.equal(turn .. ', 0', elements(all[left]))
            leave(all[left], index == 3 and way == 'kill' and 'os.exit' or way)
          end
          assert.is_false(exists(name), way)
        end
      end
    end)

    it('has one descriptor per storage, like its parent', function()
      local name = processes.name()
      local parent = start()
      local before = parent:tell 'support.descriptors()'
      attach(parent, name, 2):tell('t = torch.ByteStorage(%q, true, 1, true)', name)
      local child = parent:fork()
      for _, process in ipairs { parent, child } do
        assert.equal(tostring(before + 2), process:tell 'support.descriptors()')
        process:tell 't:free() s:free()'
        assert.equal(before, process:tell 'support.descriptors()')
      end
      assert.is_false(exists(name))
    end)

    it('shares memory without a name with its parent: both see what the other writes', function()
      local parent = start()
      parent:tell 's = torch.DoubleStorage{1, 2, 3}:shareMemory() heap = torch.DoubleStorage{4}'
      local child = parent:fork()
      child:tell 's[2] = 20 heap[1] = 40'
      parent:tell 's[3] = 30'
      assert.equal('1, 20, 30', elements(child))
      assert.equal('1, 20, 30', elements(parent))
      assert.equal('4', parent:tell 'heap[1]')
      parent:finish 'kill'
      assert.equal('1, 20, 30', elements(child))
      child:finish 'return'
    end)

    it('can use everything else: bulk operations, new memory, the collector', function()
      local name = processes.name()
      local parent = start()
      parent:tell('s = torch.IntStorage(%q, true, 4000000, true) h = torch.FloatStorage(4000000):fill(2)', name)
      local child = parent:fork()
      for index, process in ipairs { parent, child } do
        process:tell('d = torch.DoubleStorage(4000000):copy(h) d:fill(%d)', index)
        process:tell 'for i = 1, 50 do torch.IntStorage(1000000):fill(i) end support.collect()'
        local first = (index - 1) * 2000000 + 1
        process:tell(
          'h:resize(5000000) torch.IntStorage(s, %d, 2000000):copy(torch.DoubleStorage(d, %d, 2000000))',
          first,
          first
        )
        assert.equal('2, 0, 5000000', process:tell 'h[4000000], h[5000000], #h')
      end
      assert.equal('1, 1, 2, 2', parent:tell 's[1], s[2000000], s[2000001], s[4000000]')
      child:tell 'torch.IntStorage(s, 2000001):fill(1)'
      assert.equal('true', parent:tell 's:equal(torch.IntStorage(#s):fill(1))')
    end)

    it('that has another user id may not remove the name, and prints nothing', function()
      if support.sh 'id -u' ~= '0' then
        pending 'only root can change its user id'
        return
      end
      local name = processes.name()
      local parent = attach(start(), name, 2)
      local child = parent:fork()
      child:tell "require 'ffi'.cdef 'int setuid(unsigned);'"
      assert.equal('0', child:tell "require 'ffi'.C.setuid(65534)")
      local grandchild = child:fork()
      parent:finish 'os.exit'
      child:tell 's[1] = 3'
      assert.equal('3, 0', elements(grandchild))
      child:finish 'return'
      grandchild:finish 'error'
      assert.equal('8 free', listed(name))
      local other = attach(start(), name, nil)
      assert.equal('3, 0', elements(other))
      other:finish 'return'
      assert.is_false(exists(name))
    end)

    -- The parent cannot open the object again for the fork, so its lock stays where the map of the child keeps it too.
    it('of a parent with another user id holds nothing, and does not keep the hold of its parent', function()
      if support.sh 'id -u' ~= '0' then
        pending 'only root can change its user id'
        return
      end
      local name = processes.name()
      local parent = attach(start(), name, 2)
      parent:tell "require 'ffi'.cdef 'int setuid(unsigned);'"
      assert.equal('0', parent:tell "require 'ffi'.C.setuid(65534)")
      local child = parent:fork()
      child:tell 's[1] = 3'
      assert.equal('3, 0', elements(parent))
      assert.equal('8 held', listed(name))
      parent:finish 'os.exit'
      assert.equal('8 free', listed(name))
      assert.equal('3, 0', elements(child))
      local other = attach(start(), name, nil)
      other:finish 'return'
      assert.is_false(exists(name))
      assert.equal('3, 0', elements(child))
      child:finish 'os.exit'
    end)
  end)
end
