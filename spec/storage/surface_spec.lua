-- The surface of the API as recorded from Torch7: metatable fields, the torch.* functions, identity and operators.
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

-- The fields of Torch7's class metatables. `read` and `write` belong to torch.File, which this library does not have.
local FIELDS = [[
  __add:function __call:function __concat:function __constructor:table __div:function __eq:function __factory:function
  __gc:function __index:function __index__:function __le:function __len:function __len__:function __lt:function
  __metatable:table __mod:function __mul:function __newindex:function __newindex__:function __pow:function
  __sub:function __tostring:function __tostring__:function __typename:string __unm:function __version:number
  copy:function elementSize:function fill:function free:function new:function resize:function retain:function
  size:function totable:function
]]

describe('the metatable of a class', function()
  for _, T in ipairs(types.NUMBERS) do
    it('has the recorded fields: ' .. T, function()
      local metatable = getmetatable(torch[T .. 'Storage']())
      for name, kind in FIELDS:gmatch '([%w_]+):(%w+)' do
        assert.equal(kind, type(rawget(metatable, name)), name)
      end
      assert.equal('function', type(metatable.string))
      assert.equal(support.luajit and 'function' or 'nil', type(metatable.cdata))
      assert.equal('function', type(metatable.data))
      assert.is_nil(metatable.read)
      assert.is_nil(metatable.write)
    end)
  end

  it('is the class itself', function()
    recorded.check [[
      > s = torch.IntStorage{1,2,3}
      > mt = getmetatable(s)
      mt.__typename   --> "torch.IntStorage"
      mt.__version   --> 1
      rawequal(mt.__metatable, mt)   --> true
      rawequal(mt, torch.getmetatable('torch.IntStorage'))   --> true
      rawequal(mt, getmetatable(torch.IntStorage))   --> true
      rawequal(mt.__constructor, torch.IntStorage)   --> true
      rawequal(mt.__constructor, torch.getconstructortable('torch.IntStorage'))   --> true
      type(torch.IntStorage)   --> "table"
      next(torch.IntStorage)   --> nil
      rawequal(debug.getmetatable(torch.IntStorage), mt)   --> false
      type(debug.getmetatable(torch.IntStorage).__new)   --> "function"
      rawequal(debug.getmetatable(torch.IntStorage).__index, mt)   --> true
      getmetatable(mt)   --> nil
      mt.__factory()   --> <torch.IntStorage #0: >
      s.new   --> function
      s.new(2):fill(7)   --> <torch.IntStorage #2: 7 7>
      s:new(2)   --> <torch.IntStorage #2: 2 3>
      torch.IntStorage.new(2):fill(3)   --> <torch.IntStorage #2: 3 3>
      torch.IntStorage.fill(s, 9)   --> <torch.IntStorage #3: 9 9 9>
      torch.IntStorage.elementSize()   --> 4
      s.elementSize()   --> 4
      torch.IntStorage.size(s)   --> 3
      torch.IntStorage.nosuch   --> nil
      [floats] s:nosuchmethod()   --> ERROR attempt to call method 'nosuchmethod' (a nil value)
      [integers] s:nosuchmethod()   --> ERROR attempt to call a nil value (method 'nosuchmethod')
    ]]
  end)

  it('names the value that a method got instead of its storage', function()
    recorded.check [[
      > s = torch.IntStorage{1,2,3}
      torch.IntStorage.size(torch.LongStorage(3))   --> ERROR torch.IntStorage expected, got torch.LongStorage
      torch.IntStorage.size(3)   --> ERROR torch.IntStorage expected, got number
      torch.IntStorage.size()   --> ERROR torch.IntStorage expected, got no value
      torch.IntStorage.size(nil)   --> ERROR torch.IntStorage expected, got nil
      torch.IntStorage.size(io.stdout)   --> ERROR torch.IntStorage expected, got userdata
      s.size({})   --> ERROR torch.IntStorage expected, got table
    ]]
  end)

  it('accepts new methods', function()
    finally(function()
      torch.getmetatable('torch.IntStorage').twice = nil
    end)
    recorded.check [[
      > function torch.IntStorage:twice() return self:size() * 2 end
      > s = torch.IntStorage(4)
      s:twice()   --> 8
      rawget(torch.getmetatable('torch.IntStorage'), 'twice') ~= nil   --> true
      torch.LongStorage(1).twice   --> nil
    ]]
  end)
end)

describe('elementSize', function()
  it('is the width in bytes', function()
    recorded.check [[
      torch.ByteStorage():elementSize()   --> 1
      torch.CharStorage():elementSize()   --> 1
      torch.ShortStorage():elementSize()   --> 2
      torch.IntStorage():elementSize()   --> 4
      torch.LongStorage():elementSize()   --> 8
      torch.FloatStorage():elementSize()   --> 4
      torch.DoubleStorage():elementSize()   --> 8
      torch.HalfStorage():elementSize()   --> 2
    ]]
  end)
end)

describe('methods', function()
  it('return what Torch7 returned, and report wrong arguments', function()
    recorded.check [[
      > s = torch.IntStorage{1,2,3}
      > function same(a) return rawequal(a, s) end
      same(s:fill(4))   --> true
      same(s:copy(torch.IntStorage{7,8,9}))   --> true
      same(s:resize(4))   --> true
      s   --> <torch.IntStorage #4: 7 8 9 0>
      select('#', s:retain())   --> 0
      select('#', s:free())   --> 0
      s:size()   --> 4
      #s   --> 4
      s:size(1, 2, 3)   --> 4
      s:resize(3):fill(1)   --> <torch.IntStorage #3: 1 1 1>
      s:resize()   --> ERROR number expected, got no value
      s:resize(nil)   --> ERROR number expected, got nil
      s:resize('2')   --> <torch.IntStorage #2: 1 1>
      s:resize('x')   --> ERROR number expected, got string
      s:resize(2.9)   --> <torch.IntStorage #2: 1 1>
      s:resize(-1)   --> ERROR got -1
      #s   --> 2
      s:resize({})   --> ERROR number expected, got table
      s:fill()   --> ERROR number expected, got no value
      s:fill(nil)   --> ERROR number expected, got nil
      s:fill({})   --> ERROR number expected, got table
      s:fill('x')   --> ERROR number expected, got string
      s   --> <torch.IntStorage #2: 1 1>
      s:copy()   --> ERROR torch.*Storage expected, got no value
      s:copy(nil)   --> ERROR torch.*Storage expected, got nil
      s:copy(5)   --> ERROR torch.*Storage expected, got number
      s:copy({1,2})   --> ERROR torch.*Storage expected, got table
      s:copy(io.stdout)   --> ERROR torch.*Storage expected, got userdata
      s:totable()   --> {1, 1}
      s:totable(1)   --> {1, 1}
      torch.totable(s)   --> {1, 1}
      torch.totable({})   --> ERROR torch.*Storage expected, got table
      torch.totable(nil)   --> ERROR torch.*Storage expected, got nil
    ]]
  end)
end)

describe('torch functions', function()
  it('tell the type of a value', function()
    recorded.check [[
      > s = torch.DoubleStorage{1,2}
      torch.typename(s)   --> "torch.DoubleStorage"
      torch.typename(torch.DoubleStorage)   --> (no value)
      torch.typename(getmetatable(s))   --> (no value)
      torch.typename({})   --> (no value)
      torch.typename(nil)   --> (no value)
      torch.typename()   --> ERROR value expected
      torch.typename('x')   --> (no value)
      torch.typename(io.stdout)   --> (no value)
      torch.type(s)   --> "torch.DoubleStorage"
      torch.type({})   --> "table"
      torch.type(nil)   --> "nil"
      torch.type('x')   --> "string"
      torch.isStorage(s)   --> true
      torch.isStorage(torch.DoubleStorage)   --> false
      torch.isStorage(nil)   --> false
      torch.isStorage()   --> false
      torch.isStorage('torch.DoubleStorage')   --> false
      torch.isStorage(io.stdout)   --> false
      torch.isTensor(s)   --> false
      torch.isTypeOf(s, 'torch.DoubleStorage')   --> true
      torch.isTypeOf(s, 'torch.IntStorage')   --> false
      torch.isTypeOf(s, 'DoubleStorage')   --> false
      torch.isTypeOf(s, 'torch.*Storage')   --> true
      torch.isTypeOf(s, '.*Storage')   --> true
      torch.isTypeOf(s, 'torch%..+Storage')   --> true
      torch.isTypeOf(s, 'torch.Double')   --> false
      torch.isTypeOf(s, '')   --> false
      torch.isTypeOf(s, torch.DoubleStorage)   --> true
      torch.isTypeOf(s, torch.IntStorage)   --> false
      torch.isTypeOf(s, s)   --> true
      torch.isTypeOf(s, {})   --> ERROR expected, got table
      torch.isTypeOf(s, nil)   --> ERROR expected, got nil
      torch.isTypeOf(s)   --> ERROR expected, got no value
      torch.isTypeOf(nil, 'x')   --> false
      torch.isTypeOf(5, 'torch.DoubleStorage')   --> false
      torch.version(s)   --> 1
      torch.version(torch.DoubleStorage)   --> nil
      torch.version({})   --> (no value)
      torch.version(nil)   --> (no value)
      torch.version()   --> ERROR value expected
      torch.version('x')   --> nil
    ]]
  end)

  it('accept only real storages as storages, whatever their class says', function()
    recorded.check [[
      > impostor = newproxy(true)
      > getmetatable(impostor).__typename = 'torch.IntStorage'
      torch.isStorage(impostor)   --> false
      torch.isStorage(setmetatable({}, { __typename = 'torch.IntStorage' }))   --> false
      torch.IntStorage(1):copy(impostor)   --> ERROR torch.*Storage expected, got userdata
    ]]
  end)

  it('find classes by name', function()
    recorded.check [[
      > s = torch.DoubleStorage{1,2}
      type(torch.factory('torch.DoubleStorage'))   --> "function"
      torch.factory('torch.DoubleStorage')()   --> <torch.DoubleStorage #0: >
      torch.factory('torch.DoubleStorage')('ignored', 5)   --> <torch.DoubleStorage #0: >
      torch.factory('torch.NoSuch')   --> nil
      torch.factory()   --> ERROR string expected, got no value
      torch.getmetatable('torch.DoubleStorage') == getmetatable(s)   --> true
      torch.getmetatable('torch.NoSuch')   --> (no value)
      torch.getmetatable()   --> ERROR string expected, got no value
      torch.getconstructortable('torch.DoubleStorage') == torch.DoubleStorage   --> true
      select('#', torch.getconstructortable('torch.NoSuch'))   --> 0
      torch.Storage == torch.DoubleStorage   --> true
      torch.Storage(2):fill(0)   --> <torch.DoubleStorage #2: 0 0>
      torch.getdefaulttensortype()   --> "torch.DoubleTensor"
    ]]
  end)

  it('compare objects and return their address', function()
    recorded.check [[
      > s = torch.DoubleStorage{1,2}
      torch.isequal(s, s)   --> true
      torch.isequal(s, torch.DoubleStorage{1,2})   --> false
      torch.isequal(s, 5)   --> false
      torch.isequal(s, io.stdout)   --> ERROR Torch object expected, got userdata
      torch.isequal({}, {})   --> false
      type(torch.pointer(s))   --> "number"
      torch.pointer(s) == torch.pointer(s)   --> true
      torch.pointer(s) == torch.pointer(torch.DoubleStorage(s))   --> false
      torch.pointer({}) > 0   --> true
      torch.pointer('abc') > 0   --> true
      torch.pointer(print) > 0   --> true
      torch.pointer(5) > 0   --> true
      torch.pointer(io.stdout)   --> ERROR Torch object expected, got userdata
      torch.pointer(nil)   --> ERROR expected, got nil
      torch.pointer(torch.DoubleStorage) > 0   --> true
    ]]
  end)
end)

describe('torch.setdefaulttensortype', function()
  it('changes torch.Storage, or nothing on an error', function()
    finally(function()
      torch.setdefaulttensortype 'torch.DoubleTensor'
    end)
    recorded.check [[
      > function named(T) return torch.Storage == torch[T .. 'Storage'] end
      > function st() for _, T in ipairs(TYPES) do if named(T) then return T .. 'Storage' end end end
      st()   --> "DoubleStorage"
      torch.setdefaulttensortype('torch.FloatTensor')   --> (no value)
      st()   --> "FloatStorage"
      torch.getdefaulttensortype()   --> "torch.FloatTensor"
      torch.Storage{1.5}   --> <torch.FloatStorage #1: 1.5>
      torch.setdefaulttensortype('torch.HalfTensor')   --> (no value)
      st()   --> "HalfStorage"
      torch.setdefaulttensortype('torch.ByteTensor')   --> (no value)
      st()   --> "ByteStorage"
      torch.setdefaulttensortype('torch.NoSuchTensor')   --> ERROR 'torch.NoSuchTensor'
      torch.setdefaulttensortype(nil)   --> ERROR string such as 'torch.FloatTensor' expected, got nil
      torch.setdefaulttensortype(torch.FloatStorage)   --> ERROR string such as 'torch.FloatTensor' expected, got table
      torch.setdefaulttensortype('torch.DoubleStorage')   --> ERROR 'torch.DoubleStorage'
      st()   --> "ByteStorage"
      torch.getdefaulttensortype()   --> "torch.ByteTensor"
    ]]
  end)
end)

describe('two userdata of one storage', function()
  it('are equal but are different keys', function()
    recorded.check [[
      > a = torch.DoubleStorage{1,1,1,1}
      > a:retain()
      > b = torch.pushudata(torch.pointer(a), 'torch.DoubleStorage')
      > c = torch.DoubleStorage{1,1,1,1}
      > v = torch.DoubleStorage(a)
      rawequal(a, b)   --> false
      a == b   --> true
      a ~= b   --> false
      torch.pointer(a) == torch.pointer(b)   --> true
      a == c   --> false
      a == v   --> false
      a == 5   --> false
      a == nil   --> false
      a == torch.IntStorage(4)   --> false
      ({[a]=1})[b]   --> nil
      ({[a]=1})[a]   --> 1
      b:fill(3)   --> <torch.DoubleStorage #4: 3 3 3 3>
      a   --> <torch.DoubleStorage #4: 3 3 3 3>
      b:resize(1)   --> <torch.DoubleStorage #1: 3>
      a   --> <torch.DoubleStorage #1: 3>
    ]]
  end)
end)

describe('operators', function()
  it('raise errors that name the operands and the operator', function()
    recorded.check [[
      > s = torch.IntStorage{1,2}
      > z = torch.LongStorage{1,2}
      s + 1   --> ERROR both torch.IntStorage and number have no addition operator
      1 + s   --> ERROR both number and torch.IntStorage have no addition operator
      s - z   --> ERROR both torch.IntStorage and torch.LongStorage have no substraction operator
      s * 2   --> ERROR both torch.IntStorage and number have no multiplication operator
      s / s   --> ERROR both torch.IntStorage and torch.IntStorage have no division operator
      s % 2   --> ERROR both torch.IntStorage and number have no modulo operator
      s ^ 2   --> ERROR both torch.IntStorage and number have no power operator
      -s   --> ERROR torch.IntStorage has no negation operator
      s .. 'x'   --> ERROR both torch.IntStorage and string have no concat operator
      'x' .. s   --> ERROR both string and torch.IntStorage have no concat operator
      s .. s   --> ERROR both torch.IntStorage and torch.IntStorage have no concat operator
      s < s   --> ERROR both torch.IntStorage and torch.IntStorage have no less-than operator
      s <= s   --> ERROR both torch.IntStorage and torch.IntStorage have no less-equal operator
      [5.1] s < z   --> ERROR attempt to compare two userdata values
      [later] s < z   --> ERROR both torch.IntStorage and torch.LongStorage have no less-than operator
      [5.1] s < 1   --> ERROR attempt to compare userdata with number
      [later] s < 1   --> ERROR both torch.IntStorage and number have no less-than operator
      [later] 'x' <= s   --> ERROR both string and torch.IntStorage have no less-equal operator
      s()   --> ERROR torch.IntStorage has no call operator
      s(1)   --> ERROR torch.IntStorage has no call operator
      #s   --> 2
      not s   --> false
    ]]
  end)

  it('say what to do instead, of storages and tensors', function()
    local arithmetic = ': write a loop over the elements, or give the class a method '
    local failing = {
      ['x + 1'] = 'both CLASS and number have no addition operator' .. arithmetic .. '__add__',
      ['1 / x'] = 'both number and CLASS have no division operator' .. arithmetic .. '__div__',
      ['-x'] = 'CLASS has no negation operator' .. arithmetic .. '__unm__',
      ["x .. 'a'"] = 'both CLASS and string have no concat operator: tostring(x) is its text',
      ['x < x'] = 'both CLASS and CLASS have no less-than operator: x[i] < y[i] compares elements',
      ['x >= x'] = 'both CLASS and CLASS have no less-equal operator: x[i] <= y[i] compares elements',
      ['x(1)'] = 'CLASS has no call operator: x[i] is an element, and methods are called as in x:size()',
    }
    for _, x in ipairs { torch.IntStorage(2), torch.FloatTensor(2) } do
      for source, message in pairs(failing) do
        local run = assert(loadstring(('local x = ...\nlocal y = %s\nreturn y'):format(source), '=program'))
        local text, traceback
        assert.is_false((xpcall(function()
          return (run(x))
        end, function(raised)
          text, traceback = raised, debug.traceback()
        end)))
        assert.equal('program:2: ' .. message:gsub('CLASS', torch.type(x)), text)
        if support.luajit then
          assert.is_nil(traceback:find('class.lua', 1, true), traceback)
        end
      end
    end
  end)
end)
