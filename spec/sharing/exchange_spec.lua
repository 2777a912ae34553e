-- Tokens and publications in one Lua state: what they are, what they hold, and which strings are not tokens. Several states are
-- in states_spec.lua.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

local ffi = support.luajit and require 'ffi'

local function held()
  support.collect()
  local sum = 0
  for _, bytes in pairs(torch.memory()) do
    sum = sum + bytes
  end
  return sum
end

local function first_of(array)
  return tonumber(ffi.cast('intptr_t', array))
end

describe('a token', function()
  it('stands for one reference', function()
    recorded.check [[
      > s = torch.IntStorage{1, 2, 3} tok = s:token()
      type(tok)   --> "string"
      tok:match '^torch%-storage:%d+:%x+:%d+$' == tok   --> true
      tok:match ':(%d+):' == io.open '/proc/self/stat':read '*a':match '^%d+'   --> true
      s:token() ~= tok   --> true
      > t = torch.fromToken(tok)
      t   --> <torch.IntStorage #3: 1 2 3>
      t == s   --> true
      torch.pointer(t) == torch.pointer(s)   --> true
      torch.fromToken(tok)   --> ERROR bad argument #1 to 'fromToken' (the token was already taken or dropped
      torch.dropToken(tok)   --> ERROR the token was already taken or dropped
      > t[2] = 7
      s[2]   --> 7
      > tok = s:token()
      torch.dropToken(tok)   --> (no value)
      torch.dropToken(tok)   --> ERROR the token was already taken or dropped: a token can be taken once
      torch.fromToken(tok)   --> ERROR the token was already taken or dropped: a token can be taken once
      torch.fromToken(torch.IntStorage():token())   --> <torch.IntStorage #0: >
      torch.fromToken(torch.IntStorage(s, 2):token()):isView()   --> true
      torch.fromToken(torch.IntStorage(s, 2):token())   --> <torch.IntStorage #2: 7 3>
    ]]
  end)

  it('works for every class', function()
    for _, T in ipairs(types.TORCH7) do
      local s = torch.fromToken(torch[T .. 'Storage']({ 1, 2, 100 }):token())
      assert.equal('torch.' .. T .. 'Storage', torch.typename(s))
      assert.equal('1 2 100', support.joined(s:totable(), ' '))
    end
  end)

  it('keeps the storage alive by itself', function()
    local before = held()
    local token = torch.DoubleStorage(1000):fill(3):token()
    assert.equal(before + 8000, held())
    local s = torch.fromToken(token)
    assert.equal(3, s[1000])
    token = s:token()
    s:free()
    support.fails('storage was freed', s.token, s)
    assert.equal(before + 8000, held())
    torch.dropToken(token)
    assert.equal(before, held())
  end)

  it('can exist together with ten thousand others', function()
    local before = held()
    local s, tokens, seen = torch.ByteStorage { 9 }, {}, {}
    for i = 1, 10000 do
      tokens[i] = i % 2 == 0 and s:token() or torch.ByteStorage({ 8 }):token()
      assert.is_nil(seen[tokens[i]])
      seen[tokens[i]] = true
    end
    assert.equal(before + 5001, held())
    for i = #tokens, 1, -1 do
      if i % 3 == 0 then
        torch.dropToken(tokens[i])
      else
        assert.equal(i % 2 == 0 and 9 or 8, torch.fromToken(tokens[i])[1])
      end
    end
    assert.equal(before + 1, held())
    s:resize(2)
  end)

  it('is valid only if it was made by token()', function()
    local token = torch.IntStorage(1):token()
    local head, process, random, number = token:match '^([%a-]+):(%d+):(%x+):(%d+)$'
    local function like(a, b, c, d)
      return ('%s:%s:%s:%s'):format(a or head, b or process, c or random, d or number)
    end
    for _, junk in ipairs {
      '',
      ':::',
      'torch-storage',
      'torch-storage:::',
      token .. ' ',
      ' ' .. token,
      token .. ':',
      token .. ':1',
      token .. '\0',
      token:sub(2),
      like('Torch-storage'),
      like(nil, '-1'),
      like(nil, '+' .. process),
      like(nil, ('9'):rep(30)),
      like(nil, nil, 'xyz'),
      like(nil, nil, ('f'):rep(17)),
      like(nil, nil, nil, ('9'):rep(21)),
      like(nil, nil, nil, '1.5'),
      like(nil, nil, nil, '+' .. number),
      '\255\254',
      ('x'):rep(1e6),
    } do
      for _, f in ipairs { torch.fromToken, torch.dropToken } do
        support.fails('(this is not a token: s:token() returns one)', f, junk)
      end
    end
    for _, unknown in ipairs { like(nil, nil, nil, '0'), like(nil, nil, nil, ('9'):rep(19)) } do
      support.fails('was already taken or dropped', torch.fromToken, unknown)
    end
    for _, foreign in ipairs { like(nil, '1'), like(nil, nil, '1'), like(nil, nil, ('f'):rep(16)) } do
      for _, f in ipairs { torch.fromToken, torch.dropToken } do
        support.fails('the token is from process ' .. foreign:match '%d+', f, foreign)
        support.fails('use shared memory between processes', f, foreign)
      end
    end
    for _, value in ipairs { 5, true, {}, print, torch.IntStorage(1), io.stdout } do
      for _, f in ipairs { torch.fromToken, torch.dropToken } do
        support.fails(('(string expected, got %s)'):format(torch.type(value)), f, value)
      end
    end
    support.fails('string expected, got no value', torch.fromToken)
    support.fails('string expected, got nil', torch.dropToken, nil)
    assert.equal(0, torch.fromToken(token)[1]) -- nothing has accessed it yet
  end)

  it('is valid in one process only #process', function()
    local mine = torch.IntStorage { 4 }
    local token = mine:token()
    local output = support.child(([[
      local torch = require 'torch'
      print(pcall(torch.fromToken, '%s'))
      print(pcall(torch.dropToken, '%s'))
      io.write('token ', torch.IntStorage(3):token()) -- never taken: exit releases it
    ]]):format(token, token))
    local _, count = output:gsub('the token is from process ' .. token:match '%d+', '')
    assert.equal(2, count, output)
    local theirs = output:match 'token (%S+)$'
    support.fails('the token is from process ' .. theirs:match '%d+', torch.fromToken, theirs)
    assert.equal(4, torch.fromToken(token)[1])
  end)

  it('stays with the parent after a fork #process', function()
    if not ffi then
      return
    end
    pcall(ffi.cdef, 'int fork(void); void _exit(int status); int waitpid(int pid, int *status, int options);')
    local s = torch.IntStorage({ 1 }):shareMemory()
    local token = s:token()
    torch.publish('forked', s)
    local child = ffi.C.fork()
    if child == 0 then
      local taken, why = pcall(torch.fromToken, token)
      local own = torch.fromToken(torch.IntStorage({ 5 }):token())[1]
      local found = torch.lookup 'forked'
      found[1] = not taken and why:find 'the token is from process' and own == 5 and 11 or 12
      ffi.C._exit(0)
    end
    ffi.C.waitpid(child, nil, 0)
    assert.equal(11, s[1])
    assert.equal(11, torch.fromToken(token)[1])
    assert.is_true(torch.unpublish 'forked')
  end)
end)

describe('a publication', function()
  it('is found by its name', function()
    recorded.check [[
      > s = torch.FloatStorage{1, 2.5}
      torch.lookup('x')   --> nil
      torch.unpublish('x')   --> false
      torch.publish('x', s)   --> (no value)
      torch.lookup('x')   --> <torch.FloatStorage #2: 1 2.5>
      torch.lookup('x') == s   --> true
      torch.lookup('x') == torch.lookup('x')   --> true
      torch.publish('x', s)   --> (no value)
      torch.publish('y', s)   --> (no value)
      torch.publish('x', torch.FloatStorage(2))   --> ERROR another storage is published as 'x': unpublish it first
      torch.publish('x', torch.FloatStorage(s))   --> ERROR another storage is published as 'x'
      torch.lookup('X')   --> nil
      torch.lookup('x\0')   --> nil
      torch.lookup('')   --> nil
      torch.unpublish('x')   --> true
      torch.unpublish('x')   --> false
      torch.lookup('x')   --> nil
      torch.lookup('y')   --> <torch.FloatStorage #2: 1 2.5>
      torch.publish('x', torch.IntStorage{3})   --> (no value)
      torch.lookup('x')   --> <torch.IntStorage #1: 3>
      torch.unpublish('x')   --> true
      torch.unpublish('y')   --> true
      torch.publish('', s)   --> (no value)
      torch.lookup('')   --> <torch.FloatStorage #2: 1 2.5>
      torch.unpublish('')   --> true
      torch.publish('z', nil)   --> ERROR bad argument #2 to 'publish' (torch.*Storage expected, got nil)
      torch.publish('z')   --> ERROR bad argument #2 to 'publish' (torch.*Storage expected, got no value)
      torch.publish('z', 'x')   --> ERROR bad argument #2 to 'publish' (torch.*Storage expected, got string)
      torch.publish(s, 'z')   --> ERROR bad argument #1 to 'publish' (string expected, got torch.FloatStorage)
      torch.publish(nil, s)   --> ERROR bad argument #1 to 'publish' (string expected, got nil)
      torch.lookup()   --> ERROR bad argument #1 to 'lookup' (string expected, got no value)
      torch.lookup({})   --> ERROR bad argument #1 to 'lookup' (string expected, got table)
      torch.unpublish(true)   --> ERROR bad argument #1 to 'unpublish' (string expected, got boolean)
      > s:free()
      torch.publish('z', s)   --> ERROR bad argument #2 to 'publish' (storage was freed)
      s:token()   --> ERROR storage was freed
      torch.lookup('z')   --> nil
    ]]
  end)

  it('keeps the storage alive, once for each name', function()
    local before = held()
    local s = torch.IntStorage(1000)
    for _ = 1, 3 do
      torch.publish('one', s)
    end
    torch.publish('two', s)
    s:free()
    assert.equal(before + 4000, held())
    assert.is_true(torch.unpublish 'one')
    assert.equal(before + 4000, held())
    s = torch.lookup 'two'
    assert.is_true(torch.unpublish 'two')
    assert.equal(before + 4000, held())
    s:free()
    assert.equal(before, held())
  end)
end)

describe('a storage that a token or a publication holds', function()
  local HELD = 'another Lua state, a token or a publication holds the storage'

  it('cannot be moved', function()
    local s = torch.IntStorage { 1, 2, 3 }
    local again = torch.fromToken(s:token())
    s:retain()
    s:resize(4) -- userdata and retains of this state do not prevent it
    local token = s:token()
    torch.publish('stays', again)
    for index = 1, 3 do
      for _, one in ipairs { s, again } do
        for _, n in ipairs { 0, 3, 4, 5, 1e6 } do
          support.fails(HELD, one.resize, one, n)
          support.fails(HELD, one.reserve, one, n)
        end
        support.fails(HELD, one.shareMemory, one)
        assert.equal('1 2 3 0', support.joined(one:totable(), ' '))
        assert.is_true(one:resizable())
      end
      if index == 1 then
        torch.dropToken(token)
        token = again:token()
      elseif index == 2 then
        torch.unpublish 'stays'
      end
    end
    torch.dropToken(token)
    assert.equal(5, #again:resize(5))
    s:reserve(1e6)
    s:shareMemory()
    assert.equal('1 2 3 0 0', support.joined(again:totable(), ' '))
    s:free()
  end)

  it('refuses a string that would change the size', function()
    local s = torch.ByteStorage():string 'abc'
    local token = s:token()
    support.fails(HELD, s.string, s, 'abcd')
    assert.equal('abc', s:string())
    torch.dropToken(token)
    assert.equal('abcd', s:string('abcd'):string())
  end)

  it('can be written and read by everybody', function()
    local s = torch.ShortStorage { 1, 2, 3 }
    local token = s:token()
    s:fill(5):copy(torch.ShortStorage { 7, 8, 9 })
    s[2] = 0
    assert.equal('7 0 9', support.joined(torch.fromToken(token):totable(), ' '))
  end)

  it('is released at exit: no name stays, and nothing is printed #process', function()
    local name = 'exchange-spec-' .. os.tmpname():match '[^/]+$'
    local output = support.child(([[
      local torch = require 'torch'
      local s = torch.IntStorage('%s', true, 10, true)
      local t = torch.IntStorage('%s', true, 10, true)
      TOKEN = s:token()
      torch.publish('p', t)
      torch.publish('q', torch.IntStorage(1e6))
      s:free()
      io.write(#io.popen 'ls /dev/shm/%s*':read '*a' > 0 and 'there' or 'missing')
    ]]):format(name, name .. '-2', name))
    local left = support.sh(('ls /dev/shm | grep %s; rm -f /dev/shm/%s /dev/shm/%s-2'):format(name, name, name))
    assert.equal('there', output)
    assert.equal('', left)
  end)
end)

if ffi then
  describe('memory that an FFI value owns', function()
    local OWNED = 'the memory of this storage belongs to a value of one Lua state'

    it('cannot be parked, and neither can views of it', function()
      local array = ffi.new('double[3]', { 1, 2, 3 })
      local s = torch.DoubleStorage(3, array)
      for _, one in ipairs { s, torch.DoubleStorage(s, 2), torch.DoubleStorage(3, ffi.cast('double *', array)) } do
        support.fails(OWNED, one.token, one)
        support.fails(OWNED, torch.publish, 'owned', one)
        one:retain() -- retains of the own state are allowed
        one:free()
      end
      assert.is_nil(torch.lookup 'owned')
      torch.dropToken(s:clone():token())
      torch.dropToken(torch.DoubleStorage(3, first_of(array)):token()) -- an address given as a number has no owner
      assert.equal(3, array[2])
    end)
  end)
end
