-- Memory that is locked in RAM (s:pin), and the other methods of PyTorch's storages about their memory: address, device, file.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local recorded = require 'spec.support.recorded'
local support = require 'spec.support'

local path = support.temporary()

-- The bytes that this process has locked (Linux).
local function locked()
  return tonumber(support.slurp('/proc/self/status'):match 'VmLck:%s*(%d+) kB') * 1024
end

describe('a pinned storage', function()
  local before
  before_each(function()
    support.collect()
    before = locked()
  end)

  -- If this process may not lock any memory, there is nothing to test.
  local function test(title, f)
    it(title, function()
      if not pcall(torch.ByteStorage(1).pin, torch.ByteStorage(1)) then
        return pending 'this process may not lock memory'
      end
      support.collect()
      f()
    end)
  end

  test('keeps its pages locked until it ends', function()
    local s = torch.DoubleStorage(2 ^ 16) -- 512 KiB
    assert.is_false(s:isPinned())
    assert.is_true(s:pin() == s)
    assert.is_true(s:isPinned())
    assert.is_true(locked() - before >= 2 ^ 19)
    assert.is_true(s:pin():isPinned())
    assert.is_true(locked() - before <= 2 ^ 19 + 8192)
    s:free()
    assert.equal(before, locked())
  end)

  test('shares the lock with other storages on the same memory', function()
    local s = torch.IntStorage(100000)
    local v = s:view('uint8', 4096, 40960):pin()
    assert.is_true(v:isPinned())
    assert.is_false(s:isPinned())
    assert.is_true(s:view('uint8', 5000, 100):isPinned())
    assert.is_true(s:pin():isPinned())
    v:free()
    assert.is_true(s:isPinned())
    s:free()
    support.collect() -- the other views
    assert.equal(before, locked())
  end)

  test('does not unlock the pages of its neighbours', function()
    local small = {}
    for i = 1, 1000 do
      small[i] = torch.ByteStorage(64):pin()
    end
    local most = locked() - before
    assert.is_true(most >= 64000 and most <= 1000 * 8192)
    for i = 1, 1000, 2 do
      small[i]:free()
    end
    -- The pages of the remaining storages all stayed locked.
    for i = 2, 1000, 2 do
      assert.is_true(small[i]:isPinned())
    end
    assert.is_true(locked() - before >= most / 4, most)
    for i = 2, 1000, 2 do
      small[i]:free()
    end
    assert.equal(before, locked())
  end)

  test('is no longer pinned when it has been resized or moved', function()
    for _, change in ipairs {
      function(s)
        s:resize(2 ^ 20)
      end,
      function(s)
        s:resize(10)
      end,
      function(s)
        s:reserve(2 ^ 21)
      end,
      function(s)
        s:shareMemory()
      end,
    } do
      local s = torch.ByteStorage(2 ^ 16):pin()
      change(s)
      assert.is_false(s:isPinned())
      assert.equal(before, locked())
      assert.is_true(s:pin():isPinned())
      assert.is_true(locked() > before)
      s:free()
      assert.equal(before, locked())
    end
  end)

  test('stays pinned when other memory that begins at the same address ends', function()
    local text = ('x'):rep(2 ^ 18)
    local first, second = torch.frombuffer(text):pin(), torch.frombuffer(text)
    assert.is_false(second:isPinned())
    second:free()
    assert.is_true(first:isPinned())
    assert.is_true(locked() - before >= 2 ^ 18)
    local own = torch.ByteStorage(2 ^ 18):pin()
    local pointed = torch.ByteStorage(10, own:data(true))
    assert.is_false(pointed:isPinned())
    pointed:pin():free()
    assert.is_true(own:isPinned())
    assert.is_true(locked() - before >= 2 ^ 19)
    own:free()
    first:free()
    assert.equal(before, locked())
  end)

  test('stays pinned when it cannot be resized', function()
    local s = torch.ByteStorage(2 ^ 18):pin()
    for _, name in ipairs { 'resize', 'reserve' } do
      assert.is_false(pcall(s[name], s, 2 ^ 60))
      assert.is_true(s:isPinned())
      assert.is_true(locked() - before >= 2 ^ 18)
    end
    s:free()
    assert.equal(before, locked())
  end)

  test('can be of any kind: a map, shared memory, foreign memory, an empty one', function()
    local file = support.spit(path 'file', ('x'):rep(10000))
    local own = torch.ByteStorage(10000)
    for _, s in ipairs {
      torch.ByteStorage(file),
      torch.ByteStorage { filename = file, offset = 1234 },
      torch.ByteStorage(10000):shareMemory(),
      torch.ByteStorage(5000, own:data(true)),
      torch.frombuffer(('x'):rep(10000)),
    } do
      assert.is_false(s:isPinned())
      assert.is_true(s:pin():isPinned())
      assert.is_true(locked() > before)
      s:free()
      assert.equal(before, locked())
    end
    assert.is_true(torch.ByteStorage():isPinned())
    assert.is_true(torch.ByteStorage():pin():isPinned())
    local s = torch.ByteStorage { filename = file, lock = true }
    assert.is_true(s:isPinned() and s:view('int16'):isPinned())
    -- Locks and unlocks of other owners of the same pages.
    local most = locked()
    torch.ByteStorage(100, s:data(true)):pin():free()
    assert.equal(most, locked())
    assert.is_true(s:isPinned())
    s:free()
    support.collect()
    assert.equal(before, locked())
  end)

  if support.luajit then
    it('is not pinned in a forked child, which inherits the memory but not the lock #process', function()
      local output = support.child [[
        local torch, ffi = require 'torch', require 'ffi'
        ffi.cdef 'int fork(void); int waitpid(int pid, int *status, int options); void _exit(int status);'
        local s = torch.ByteStorage(100000)
        if not pcall(s.pin, s) then
          print 'false\ttrue\nfalse\ttrue\ntrue\ttrue'
          return
        end
        local map = torch.ByteStorage { filename = 'README.md', lock = true }
        local pid = ffi.C.fork()
        if pid == 0 then
          print(s:isPinned(), s:pin():isPinned())
          print(map:isPinned(), map:pin():isPinned())
          io.stdout:flush()
          ffi.C._exit(0)
        end
        ffi.C.waitpid(pid, nil, 0)
        print(s:isPinned(), map:isPinned())
      ]]
      assert.equal('false\ttrue\nfalse\ttrue\ntrue\ttrue', output)
    end)
  end

  it('names the limit when it is too large to lock #process', function()
    local source = support.spit(
      path 'source.lua',
      [[
      local torch = require 'torch'
      local s = torch.ByteStorage(100000)
      print(pcall(s.pin, s))
      print(s:isPinned(), #s)
      print(torch.ByteStorage(1000):pin():isPinned())
      print(io.open('/proc/self/status'):read('*a'):match('VmLck:%s*(%d+) kB'))
    ]]
    )
    local drop = support.sh 'id -u' == '0' and 'setpriv --bounding-set -ipc_lock' or ''
    local output = support.sh(('ulimit -l 16; %s %s %s'):format(drop, support.interpreter, source))
    if output:find 'setpriv' then
      pending('no right to give up a right: ' .. output)
      return
    end
    assert.matches(
      '^false\tcannot lock 100000 bytes in memory: [%a ]+; this process may lock 16384 bytes in total: '
        .. 'raise the limit %(ulimit %-l%)\nfalse\t100000\ntrue\n[48]$',
      output
    )
  end)
end)

describe("the other methods of PyTorch's storages", function()
  it('return what PyTorch returns', function()
    local file = support.spit(path 'file', 'abcdefgh')
    recorded.check(
      [[
      > s = torch.FloatStorage{1, 2}
      s:device()   --> "cpu"
      s:cpu() == s, s:to('cpu') == s   --> true, true
      s:to('cuda:0')   --> ERROR bad argument #1 to 'to' (no device 'cuda:0': the only device is 'cpu', this machine's memory)
      s:to()   --> ERROR bad argument #1 to 'to' (string expected, got no value)
      s:dataptr() == tonumber(s:data(true))   --> true
      s:sub(2):dataptr() - s:dataptr()   --> 4
      torch.FloatStorage():dataptr()   --> 0
      torch.IntStorage.fromfile(file)   --> <torch.IntStorage #2: 1684234849 1751606885>
      torch.IntStorage.fromfile(file, false, 1)   --> <torch.IntStorage #1: 1684234849>
      torch.ByteStorage.fromfile(file, true, 10):string()   --> "abcdefgh\000\000"
      torch.ByteStorage.fromfile(file, false, 11)   --> ERROR it has 10 bytes, 11 are needed
      torch.ByteStorage.fromfile(file .. 'x')   --> ERROR cannot open file
      torch.ByteStorage.fromfile()   --> ERROR bad argument #1 to 'fromfile' (string expected, got no value)
      torch.ByteStorage.fromfile({})   --> ERROR bad argument #1 to 'fromfile' (string expected, got table)
      s.new(3):size(), s:new(2):isView()   --> 3, true
      > s:free()
      s:dataptr()   --> ERROR storage was freed
      s:device()   --> ERROR storage was freed
      s:pin()   --> ERROR storage was freed
    ]],
      { file = file }
    )
  end)
end)
