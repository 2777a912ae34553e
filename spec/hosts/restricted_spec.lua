-- Restricted Lua states of a program in C: attacks on what they withhold, each of which is an error, and budgets of memory.
local support = require 'spec.support'
local c_module = require 'spec.support.c_module'

local missing = c_module.missing()
local it = missing and function(title)
  require('busted').pending(title .. ': ' .. missing)
end or require('busted').it

local RESTRICTS = 'the host program restricts this Lua state'
local ALLOWS = 'the host program allows 8388608'
local HIDDEN = 'the host program gives its scripts no raw addresses'

-- What a script tries, and a part of the error.
local ATTACKS = {
  { 'loads a file', [[torch.load '/etc/passwd']], RESTRICTS },
  { 'saves a file', [[torch.save(os_tmp, { 1 })]], RESTRICTS },
  { 'saves a file by the old name', [[torch.saveobj('x', 1)]], RESTRICTS },
  { 'maps a file by its name', [[torch.ByteStorage '/etc/passwd']], RESTRICTS },
  { 'maps a file by options', [[torch.ByteStorage { filename = '/etc/passwd' }]], RESTRICTS },
  { 'maps a file through new', [[torch.ByteStorage.new('/etc/passwd', true)]], RESTRICTS },
  { 'maps a file through an object', [[torch.ByteStorage(1):new('/etc/passwd')]], 'number expected, got string' },
  { 'maps a file through fromfile', [[torch.ByteStorage.fromfile('/etc/passwd')]], RESTRICTS },
  { 'maps a file as a tensor', [[torch.ByteTensor(torch.ByteStorage('/etc/passwd'))]], RESTRICTS },
  { 'maps a file of bytes', [[torch.UntypedStorage('/etc/passwd', false)]], RESTRICTS },
  {
    'hides options behind a metatable',
    [[torch.ByteStorage(setmetatable({}, { __index = { filename = '/etc/passwd' } }))[1] = 1]],
    'out of range',
  },
  { 'makes shared memory', [[torch.ByteStorage { shared = 'x', size = 10, create = true }]], RESTRICTS },
  { 'makes shared memory by position', [[torch.ByteStorage('x', true, 10, true)]], RESTRICTS },
  { 'moves a storage to shared memory', [[torch.ByteStorage(10):shareMemory 'x']], RESTRICTS },
  { 'lists shared memory', [[torch.sharedMemory()]], RESTRICTS },
  { 'removes shared memory', [[torch.unlinkSharedMemory 'x']], RESTRICTS },
  { 'reads npy', [[torch.npy.load 'x.npy']], RESTRICTS },
  { 'writes npz', [[torch.npz.save('x.npz', {})]], RESTRICTS },
  { 'opens safetensors', [[torch.safetensors.open 'x']], RESTRICTS },
  { 'takes an address', [[torch.ByteStorage(10, 4096)]], HIDDEN },
  { 'asks for an address', [[torch.ByteStorage(10):data()]], RESTRICTS },
  { 'asks for the address of an object', [[torch.pointer {}]], RESTRICTS },
  { 'takes a storage by its address', [[torch.pushudata(4096, 'torch.ByteStorage')]], RESTRICTS },
  { 'wraps a light userdata', [[torch.frombuffer(coroutine.create(print), { size = 10 })]], 'expected' },
  { 'keeps a storage for ever', [[torch.ByteStorage(10):retain()]], RESTRICTS },
  { 'finds retain in the metatable', [[getmetatable(torch.ByteStorage(10)).retain(host)]], RESTRICTS },
  { 'finds retain in the class', [[torch.getmetatable('torch.FloatStorage').retain(host)]], RESTRICTS },
  { 'finds load in the registry of classes', [[torch.getconstructortable('torch.FloatStorage').fromfile('x')]], RESTRICTS },
  { 'makes a token', [[torch.ByteStorage(10):token()]], RESTRICTS },
  {
    'takes a token of another state',
    [[torch.fromToken(other "return torch.ByteStorage(10):token()")]],
    RESTRICTS,
  },
  { 'publishes', [[torch.publish('name', torch.ByteStorage(10))]], RESTRICTS },
  { 'ends a publication', [[other "torch.publish('a', torch.ByteStorage(1))" torch.unpublish 'a']], RESTRICTS },
  { 'looks up what is not listed', [[other "torch.publish('b', torch.ByteStorage(1))" torch.lookup 'b']], RESTRICTS },
  { 'looks up a table', [[torch.lookup {}]], 'string expected, got table' },
  { 'changes the threads of the process', [[torch.setnumthreads(64)]], RESTRICTS },
  { 'counts the memory of the process', [[torch.memory()]], RESTRICTS },
  { 'stops the thread', [[torch.atomic.wait(torch.IntStorage(1), 1, 0, 1)]], RESTRICTS },
  { 'stops the thread exactly', [[torch.atomic.exact.wait(torch.IntStorage(1), 1, 0, 1)]], RESTRICTS },
  { 'changes the metatable of another value', [[torch.setmetatable(host, 'torch.ByteStorage')]], RESTRICTS },
  { 'opens the core again', [[require 'torch.core']], RESTRICTS },
  { 'loads an internal file again', [[require 'torch.pointers']], RESTRICTS },
  {
    'opens the core after package.loaded is cleared',
    [[for name in pairs(package.loaded) do package.loaded[name] = nil end require 'torch.core']],
    RESTRICTS,
  },
  {
    'loads the library again',
    [[package.loaded['torch.storage'] = nil package.loaded.torch = nil require 'torch']],
    RESTRICTS,
  },
  {
    'replaces functions that the library uses',
    [[
      local keep = {}
      for name, f in pairs(_G) do keep[name] = f end
      type = function() return 'userdata' end
      setmetatable = function(t) return t end
      string.format = function() return '' end
      rawget = function() return keep.print end
      error = function() end
      pairs = function() return next, {}, nil end
      torch.load 'x'
    ]],
    RESTRICTS,
  },
  {
    'calls what a class of its own inherits',
    [[
      local class = torch.class('Mine')
      function class:read(file) self.more = file:readObject() torch.load 'x' end
      function class:write(file) file:writeObject { 1 } end
      torch.deserialize(torch.serialize(Mine()))
    ]],
    RESTRICTS,
  },
  { 'reads a file of bytecode', [[torch.deserialize('V 1\n8\n3\n0\n\27Lua')]], '' },
  { 'asks for too much', [[torch.FloatStorage(1e9)]], ALLOWS },
  { 'asks for more than there can be', [[torch.DoubleStorage(2 ^ 61)]], '' },
  { 'collects in a table', [[local t = {} for i = 1, 100 do t[i] = torch.ByteStorage(100000) end]], ALLOWS },
  { 'grows step by step', [[local s = torch.ByteStorage() for i = 1, 100 do s:resize(i * 100000) end]], ALLOWS },
  { 'reserves', [[torch.ByteStorage():reserve(9e6)]], ALLOWS },
  { 'grows a storage of a table', [[torch.LongStorage { 1, 2, 3 }:resize(2e6)]], ALLOWS },
  { 'copies what is expanded', [[torch.FloatTensor(1):expand(2 ^ 31):clone()]], ALLOWS },
  { 'sorts what is expanded', [[torch.FloatTensor(1):expand(2 ^ 31):sort()]], ALLOWS },
  { 'picks from what is expanded', [[torch.FloatTensor(1):expand(2 ^ 31):topk(3)]], ALLOWS },
  { 'joins many', [[local s = torch.ByteStorage(3e6) torch.cat { s, s, s }]], ALLOWS },
  { 'makes numbers', [[torch.range(1, 1e9)]], ALLOWS },
  { 'converts to wider elements', [[torch.ByteStorage(4e6):double()]], ALLOWS },
  { 'reads a long string', [[torch.ByteStorage.fromstring(('x'):rep(9e6))]], ALLOWS },
  {
    'allocates in coroutines',
    [[
      local kept = {}
      for i = 1, 100 do coroutine.wrap(function() kept[i] = torch.ByteStorage(1e6) end)() end
    ]],
    ALLOWS,
  },
  {
    'reads a file in a string',
    [[
      local all = {}
      for i = 1, 12 do all[i] = torch.ByteStorage(0) end
      local s = torch.serialize(torch.ByteStorage(3e6))
      local kept = {}
      for i = 1, 4 do kept[i] = torch.deserialize(s) end
    ]],
    ALLOWS,
  },
}

describe('a restricted state #process', function()
  local path = support.temporary()
  local host

  setup(function()
    host = os.tmpname()
    if not missing then
      local library = support.luajit and '-lluajit-5.1' or '-llua' .. _VERSION:match '%d%.%d'
      local line = 'cc -std=c99 -Wall -Wextra -Werror -O1 -Iinclude -I%s -o %s spec/support/restricted.c %s -Wl,-E'
      local messages, status = support.execute(line:format(c_module.headers(), host, library))
      assert.equal(0, status, messages)
    end
  end)
  teardown(function()
    os.remove(host)
  end)

  -- What the host prints for a script.
  local function run(script, names)
    support.spit(path 'script.lua', script)
    local output, status = support.execute(("'%s' '%s' %s"):format(host, path 'script.lua', names or ''))
    assert.equal(0, status, output)
    assert.is_nil(output:find 'the state is broken', output)
    return output
  end

  for _, attack in ipairs(ATTACKS) do
    it('refuses a script that ' .. attack[1], function()
      local output = run(attack[2])
      local message = assert(output:match '^error: (.-)\n%d+ bytes$', output)
      assert(message:find(attack[3], 1, true), message)
    end)
  end

  it('has what the page allows', function()
    assert.matches(
      '^%d+ bytes$',
      run [[
        local x = torch.zeros(2, 3):fill(2)
        assert(x:sum() == 12 and torch.cat(x, x, 1):size(1) == 4 and x:sort():size(1) == 2)
        local s = torch.LongStorage { 3, 1, 2 }
        assert(s:sort()[1] == 1 and torch.atomic.add(s, 1, 4) == 1 and s[1] == 5)
        assert(torch.deserialize(torch.serialize { s })[1][1] == 5 and #torch.frombuffer('abc') == 3)
        host[1] = 7
        assert(host:sum() == 16 and require 'torch' == torch)
      ]]
    )
  end)

  it('looks up the publications that are listed', function()
    local script = [[
      other "torch.publish('shown', torch.IntStorage { 7 })"
      assert(torch.lookup('shown')[1] == 7 and torch.lookup 'later' == nil)
      torch.lookup 'hidden'
    ]]
    assert.matches("(got 'hidden')", run(script, 'shown later'), 1, true)
  end)

  it('makes garbage without end under a small budget', function()
    local output = run 'for i = 1, 10000 do local s = torch.FloatStorage(250000) s[1] = i end'
    assert.matches('^%d+ bytes', output)
  end)

  it('counts what a script grows of the memory of the host', function()
    local output = run [[
      local mine = torch.ByteStorage(1000)
      mine:resize(2e6)
      mine:resize(10)
      local small = torch.ByteStorage(100)
      kept = { mine, small }
    ]]
    assert.equal('122 bytes', output)
  end)
end)
