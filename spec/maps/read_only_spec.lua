-- Read-only maps: every write is an error that leaves the bytes unchanged, and everything else works.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

local SIZE = 300
local REFUSED = 'read-only: the storage is a read-only map of a file; clone() returns a writable copy'

local path = support.temporary()
local file

before_each(function()
  file = path 'file'
end)
after_each(accessors.restore)

-- Calls body(T, s, bytes) for read-only storages of every class and views of them: private and shared, aligned and not, in both
-- ways to access elements.
local function each(body)
  for _, mode in ipairs(accessors.MODES) do
    torch.accessors(mode)
    for _, T in ipairs(types.NUMBERS) do
      local class = torch[T .. 'Storage']
      for shared = 0, 1 do
        for offset = 0, 1 do
          local bytes = ('<'):rep(offset) .. ('\1\2\3\60'):rep(2 * SIZE)
          -- A file of its own: Windows does not write to one that the storage before may still map.
          file = path(('%s-%s-%d-%d'):format(mode, T, shared, offset))
          support.spit(file, bytes)
          local s = class { filename = file, shared = shared == 1, readonly = true, offset = offset, size = SIZE }
          local view = class(class(s, 2), 3)
          for _, one in ipairs { s, view } do
            local text = tostring(one)
            body(T, one, text)
            assert.is_true(tostring(one) == text, T)
            assert.is_true(support.slurp(file) == bytes, T)
          end
        end
      end
    end
  end
end

local function refused(f, ...)
  support.fails(REFUSED, f, ...)
end

describe('a read-only map', function()
  it('refuses every write', function()
    each(function(T, s)
      local metatable = torch.getmetatable('torch.' .. T .. 'Storage')
      local function assign(k, v)
        s[k] = v
      end
      for _, k in ipairs { 1, #s, 1.5, '1' } do
        for _, v in ipairs { 0, 5, '7', -1.5, 0 / 0 } do
          refused(assign, k, v)
        end
      end
      refused(metatable.__newindex, s, 1, 5)
      -- The form of Torch7's metamethods, which return whether they handled the write.
      refused(metatable.__newindex__, s, 1, 5)
      refused(s.fill, s, 0)
      refused(s.fill, s, '3')
      refused(s.zero, s)
      refused(s.copy, s, torch[T .. 'Storage'](#s))
      refused(s.copy, s, torch.DoubleStorage(#s))
      refused(s.copy, s, torch.ByteStorage(#s))
      refused(s.copy, s, s)
      refused(s.copy, s, s:clone())
      if support.luajit then
        local ffi = require 'ffi'
        refused(assign, 1, ffi.new('int64_t', 5))
        refused(assign, ffi.new('int64_t', 1), 5)
        refused(s.fill, s, ffi.new('uint64_t', 5))
      end
    end)
  end)

  -- The refused write comes after many allowed ones, so that it meets compiled code.
  it('refuses writes of compiled loops', function()
    each(function(T, s)
      local free = s:clone()
      local function fill_from(target, first)
        for i = first, #target do
          target[i] = i % 100
        end
      end
      for _ = 1, 3 do
        fill_from(free, 1)
      end
      refused(fill_from, s, 1)
      refused(fill_from, s, #s)
      local targets = {}
      for i = 1, 200 do
        targets[i] = i < 200 and free or s
      end
      local done = 0
      local function turn()
        for i = 1, #targets do
          targets[i][1] = i % 100
          done = i
        end
      end
      refused(turn)
      assert.equal(199, done)
      local function fill_each(method)
        for i = 1, #targets do
          method(targets[i], 5)
          done = i
        end
      end
      refused(fill_each, s.fill)
      assert.equal(199, done)
      local other = torch[T .. 'Storage'](#s)
      refused(fill_each, function(target)
        target:copy(other)
      end)
      assert.equal(199, done)
      assert.equal(0, free[1])
    end)
  end)

  it('reports other wrong arguments first', function()
    support.spit(file, 'abcdefgh')
    recorded.check(
      [[
      > s = torch.ByteStorage{filename = file, readonly = true}
      s:isReadOnly(), torch.ByteStorage(s):isReadOnly(), torch.ByteStorage(s, 9):isReadOnly()   --> true, true, true
      s:clone():isReadOnly(), s:type('IntStorage'):isReadOnly(), torch.ByteStorage(3):isReadOnly()   --> false, false, false
      torch.ByteStorage{filename = file}:isReadOnly(), torch.ByteStorage(file, true):isReadOnly()   --> false, false
      s:copy(torch.ByteStorage(3))   --> ERROR read-only
      s:copy(nil)   --> ERROR bad argument
      s:fill('x')   --> ERROR number expected, got string
      s:resize(8)   --> ERROR not resizable: the storage is a read-only map of a file
      s:reserve(8)   --> ERROR not resizable: the storage is a read-only map of a file
      s:string('abcdefgh')   --> ERROR not resizable: the storage is a read-only map of a file
      s:shareMemory()   --> ERROR only heap memory can move to shared memory: the storage is a read-only map of a file
      s:flush()   --> ERROR nothing to flush: the storage is a read-only map of a file; only a shared map writes to its file
      torch.ByteStorage{filename = file, readonly = true, shared = true}:flush()   --> ERROR nothing to flush
      s:string()   --> "abcdefgh"
      s:advise('random') == s   --> true
      s:check()   --> true
      s:isShared(), torch.ByteStorage{filename = file, readonly = true, shared = true}:isShared()   --> false, true
      > e = torch.ByteStorage{filename = file, readonly = true, size = 0}
      e:isReadOnly(), e:fill(1) == e, e:zero() == e, e:copy(torch.IntStorage()) == e   --> true, true, true, true
      > v = torch.ByteStorage(s, 9)
      v:fill(1) == v   --> true
      slurp(file)   --> "abcdefgh"
    ]],
      { file = file, slurp = support.slurp }
    )
  end)

  it('can be read, copied, converted, viewed and passed on', function()
    each(function(T, s)
      assert.is_true(s:isReadOnly())
      local copy = s:clone()
      assert.is_true(copy:equal(s) and s:equal(copy))
      copy:fill(1)
      assert.is_true(torch[T .. 'Storage'](#s):copy(s):equal(s))
      local sum = 0
      for i, v in s:iter() do
        sum = sum + (v == s[i] and 0 or 1)
      end
      assert.equal(0, sum)
      assert.equal(#s, #s:totable())
      local token = s:token()
      local again = torch.fromToken(token)
      refused(again.fill, again, 1)
      assert.is_true(again == s and again:isReadOnly())
      torch.publish('read-only-spec', s)
      local found = torch.lookup 'read-only-spec'
      refused(function()
        found[1] = 1
      end)
      torch.unpublish 'read-only-spec'
      s:retain()
      refused(torch.pushudata(torch.pointer(s), 'torch.' .. T .. 'Storage').zero, s)
    end)
  end)

  it('needs no permission to write #process', function()
    support.spit(file, 'abcd')
    support.sh(("chmod 444 '%s'; chmod 755 '%s'"):format(file, path()))
    -- Root may write to every file, so it drops that right first.
    local drop = support.sh 'id -u' == '0' and 'setpriv --bounding-set -dac_override' or ''
    local source = [[
      local torch = require 'torch'
      for _, shared in ipairs { true, false } do
        local s = torch.ByteStorage { filename = '%s', shared = shared, readonly = true }
        print(s:string(), s:isReadOnly(), pcall(s.fill, s, 1))
      end
      print(pcall(torch.ByteStorage, '%s', true))
    ]]
    source = support.spit(path 'source.lua', source:format(file, file))
    local output = support.sh(('%s %s %s'):format(drop, support.interpreter, source))
    if output:find 'setpriv' then
      pending('no right to give up a right: ' .. output)
      return
    end
    assert.is_truthy(output:find('^abcd\ttrue\tfalse\tread%-only[^\n]*\nabcd\ttrue\tfalse\tread%-only'), output)
    assert.is_truthy(output:find('Permission denied', 1, true), output)
  end)

  it('shows what others write to the file', function()
    support.spit(file, 'abcd')
    local reader = torch.ByteStorage { filename = file, shared = true, readonly = true, offset = 1 }
    local writer = torch.ByteStorage { filename = file, shared = true }
    writer[3] = 88
    assert.equal('bXd', reader:string())
  end)
end)
