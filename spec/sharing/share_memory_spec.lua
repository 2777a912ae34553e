-- s:shareMemory(): a heap storage whose elements move to shared memory. Also s:isShared(), and element access in every way.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local processes = require 'spec.support.processes'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

local path = support.temporary()

local function numbered(T, size)
  local s = torch[T .. 'Storage'](size)
  for i = 1, size do
    s[i] = i * 7 % 100
  end
  return s
end

describe('shareMemory', function()
  after_each(processes.clean)

  it('moves the elements of the same storage, with a name or without', function()
    for _, T in ipairs(types.TORCH7) do
      for _, size in ipairs { 0, 1, 1000, 70001 } do
        for _, name in ipairs { processes.name(), false } do
          local s, key = numbered(T, size), {}
          local expected, address, view = s:clone(), torch.pointer(s), size > 0 and s.new(s, size)
          key[s] = true
          support.collect()
          local heap, shared = torch.memory().heap, torch.memory().shared
          assert.is_true(rawequal(s, s:shareMemory(name or nil)))
          assert.is_true(key[s])
          assert.equal(address, torch.pointer(s))
          assert.equal(torch.typename(expected), torch.typename(s))
          assert.is_true(s:equal(expected))
          assert.is_true(s:isShared())
          assert.is_false(s:resizable())
          assert.is_false(s:isView())
          assert.equal(name or nil, s:filename())
          assert.equal(shared + s:nbytes(), torch.memory().shared)
          assert.equal(heap - (view and 0 or s:nbytes()), torch.memory().heap)
          if view then
            local old = view[1]
            s[size] = 55
            assert.equal(old, view[1], 'a view made before keeps the old bytes')
            view[1] = 44
            assert.equal(55, s[size])
            assert.equal(55, s.new(s, size)[1], 'one made afterwards has the new ones')
          end
          if name then
            local other = s.new(name, true, nil, true)
            assert.is_true(other:equal(s))
            assert.equal(s:nbytes() .. ' held', processes.listed(name))
          end
          for _, call in ipairs { 'resize', 'reserve' } do
            local message = support.failure(s[call], s, size + 1)
            assert.is_truthy(message:find('not resizable: the storage is shared memory', 1, true), message)
          end
        end
      end
    end
    support.collect()
    assert.equal('', processes.left())
  end)

  it('fails for all but heap storages, and for names that exist', function()
    local memory = torch.ByteStorage(8)
    recorded.check(
      [[
      > s = torch.ByteStorage(3):fill(5)
      > v = torch.ByteStorage(s, 2)
      v:shareMemory()   --> ERROR only heap memory can move to shared memory: the storage is a view of another storage; clone()
      v:shareMemory(a)   --> ERROR only heap memory can move to shared memory: the storage is a view of another storage
      torch.ByteStorage(file):shareMemory()   --> ERROR only heap memory can move to shared memory: the storage is a private map
      torch.ByteStorage(file, true):shareMemory(a)   --> ERROR the storage is a shared map of a file
      torch.ByteStorage{filename = file, readonly = true}:shareMemory()   --> ERROR only heap memory can move to shared memory
      torch.ByteStorage(8, memory:data()):shareMemory()   --> ERROR only heap memory can move to shared memory: the storage is memory
      torch.ByteStorage(a, true, 2, true):shareMemory(b)   --> ERROR the storage is shared memory; clone() returns a copy that can move
      > taken = torch.ByteStorage(b, true, 2, true)
      s:shareMemory(b)   --> ERROR ' already exists: attach to it, choose another name, or remove it
      s:shareMemory('/' .. b)   --> ERROR ' already
      s:shareMemory('a/b')   --> ERROR is not a valid name for shared memory: there is a slash in it
      s:shareMemory('')   --> ERROR is not a valid name for shared memory: it is empty
      s:shareMemory(7)   --> ERROR bad argument #1 to 'shareMemory' (string expected, got number)
      s:shareMemory({})   --> ERROR bad argument #1 to 'shareMemory' (string expected, got table)
      s:isShared()   --> false
      s:filename()   --> nil
      s:resize(4)   --> <torch.ByteStorage #4: 5 5 5 0>
      taken   --> <torch.ByteStorage #2: 0 0>
      s:shareMemory(nil) == s   --> true
      s:shareMemory() == s   --> true
      s:shareMemory(a)   --> ERROR only heap memory can move to shared memory: the storage is shared memory
      s   --> <torch.ByteStorage #4: 5 5 5 0>
      > s:free()
      s:shareMemory()   --> ERROR storage was freed
      s:isShared()   --> ERROR storage was freed
      torch.ByteStorage.shareMemory(5)   --> ERROR bad argument #1 to
    ]],
      {
        a = processes.name(),
        b = processes.name(),
        file = support.spit(path 'f', 'abcd'),
        memory = memory,
      }
    )
  end)

  it('is refused while a token or a publication holds the storage, but not for retains of the own state', function()
    local name, s = processes.name(), numbered('Int', 5)
    local token = s:token()
    local message = support.failure(s.shareMemory, s, name)
    assert.is_truthy(message:find('another Lua state, a token or a publication holds the storage', 1, true), message)
    torch.dropToken(token)
    torch.publish(name, s)
    assert.is_false(pcall(s.shareMemory, s, name))
    torch.unpublish(name)
    assert.equal('', processes.left())
    s:retain()
    assert.equal(s, s:shareMemory(name))
    s:free()
    assert.equal(35, s[5])
    assert.equal('20 held', processes.listed(name))
  end)
end)

describe('isShared', function()
  after_each(processes.clean)

  it('is true for shared maps and shared memory, and their views', function()
    recorded.check(
      [[
      torch.IntStorage():isShared()   --> false
      torch.IntStorage(3):isShared()   --> false
      torch.IntStorage(torch.IntStorage(3)):isShared()   --> false
      torch.IntStorage(file):isShared()   --> false
      torch.IntStorage(torch.IntStorage(file)):isShared()   --> false
      torch.IntStorage(file, true):isShared()   --> true
      torch.IntStorage(torch.IntStorage(file, true), 2):isShared()   --> true
      torch.IntStorage{filename = file, shared = true}:isShared()   --> true
      torch.IntStorage{filename = file, shared = false}:isShared()   --> false
      torch.IntStorage(2, memory:data()):isShared()   --> false
      torch.IntStorage(a, true, 3, true):isShared()   --> true
      torch.IntStorage(torch.IntStorage(a, true, 3, true), 2):isShared()   --> true
      torch.IntStorage(3):shareMemory():isShared()   --> true
      torch.IntStorage(3):shareMemory():clone():isShared()   --> false
    ]],
      { a = processes.name(), file = support.spit(path 'f', 'abcdefgh'), memory = torch.IntStorage(2) }
    )
  end)
end)

describe('an element of shared memory', function()
  after_each(function()
    accessors.restore()
    processes.clean()
  end)

  -- One storage is accessed by compiled code, another on the same memory through C, and both through pointers, in loops that
  -- get compiled.
  it('is the same in every way to access it', function()
    for _, T in ipairs(types.TORCH7) do
      local name, size = processes.name(), 300
      local one = torch[T .. 'Storage'](name, true, size, true)
      local two = torch[T .. 'Storage'](size):shareMemory()
      for _, s in ipairs { one, two } do
        local other = s == one and s.new(name, true, nil, true) or s.new(s)
        local pointed = s.new(size, other:data())
        for _, modes in ipairs(support.luajit and { { 'ffi', 'c' }, { 'c', 'ffi' } } or { { 'c', 'c' } }) do
          torch.accessors(modes[1])
          for i = 1, size do
            s[i] = i % 120 + (modes[1] == 'c' and 1 or 0)
          end
          local difference, length = 0, 0
          torch.accessors(modes[2])
          for i = 1, size do
            difference = difference + math.abs(other[i] - s[i]) + math.abs(pointed[i] - s[i])
            length = length + (#other - #s)
          end
          assert.equal(0, difference, T)
          assert.equal(0, length)
          assert.equal(300 % 120 + (modes[1] == 'c' and 1 or 0), other[size])
          assert.is_true(other:equal(s))
          for _, k in ipairs { 0, size + 1, -1 } do
            support.fails('out of range', function()
              other[k] = 1
            end)
          end
        end
        if support.luajit then
          local data = s:data()
          for i = 1, size do
            data[i - 1] = T == 'Half' and data[0] or i % 50
          end
          local expected = T == 'Half' and s[1] or size % 50
          assert.equal(expected, other[size], T)
        end
      end
    end
  end)
end)
