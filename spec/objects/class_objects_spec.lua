-- Objects of classes that Lua code makes: their operators, and how they are indexed.
local torch = require 'torch'
local support = require 'spec.support'
local define = require('spec.support.classes').define

describe('the operators of a class', function()
  local events = {
    add = 'a + b',
    sub = 'a - b',
    mul = 'a * b',
    div = 'a / b',
    mod = 'a % b',
    pow = 'a ^ b',
    concat = 'a .. b',
    lt = 'a < b',
    le = 'a <= b',
    unm = '-a',
    call = 'a(b)',
  }

  local function compile(code)
    return assert(loadstring('local a, b = ... return (' .. code .. ')', '=t'))
  end

  it('are methods with underscores, also of a parent and of the second operand', function()
    local A, _, name = define()
    local _, newB = define(name)
    local C, newC = define()
    for event, code in pairs(events) do
      -- These compare objects of one class and give a boolean.
      local own = event == 'lt' or event == 'le'
      A['__' .. event .. '__'] = function(x, y)
        return own or { event, x, y }
      end
      local b, c = newB(), own and newB() or newC()
      local result = compile(code)(b, c)
      assert.same(own or event, own and result or result[1])
      assert.equal(b, own and b or result[2])
      if event ~= 'unm' and event ~= 'call' and not own then
        result = compile(code)(c, b)
        assert.same(own or event, own and result or result[1])
        assert.equal(c, own and c or result[2])
      end
      assert.equal('function', type(C['__' .. event]))
    end
  end)

  it('raise errors with the texts of Torch7 where there is no method', function()
    local _, newA, nameA = define()
    local _, newB, nameB = define()
    local names = {
      add = 'addition',
      sub = 'substraction',
      mul = 'multiplication',
      div = 'division',
      mod = 'modulo',
      pow = 'power',
      concat = 'concat',
      lt = 'less-than',
      le = 'less-equal',
    }
    for event, name in pairs(names) do
      local compared = event == 'lt' or event == 'le'
      local second, its_name = newB(), nameB
      if compared then
        -- Since Lua 5.2, the operators of different classes are called.
        local none = ('both %s and %s have no %s operator'):format(nameA, nameB, name)
        assert.equal(
          't:1: ' .. (_VERSION == 'Lua 5.1' and 'attempt to compare two table values' or none),
          support.failure(compile(events[event]), newA(), second)
        )
        second, its_name = newA(), nameA
      end
      local expected = ('t:1: both %s and %s have no %s operator'):format(nameA, its_name, name)
      assert.equal(expected, support.failure(compile(events[event]), newA(), second))
    end
    local expected = ('t:1: both %s and number have no addition operator'):format(nameA)
    assert.equal(expected, support.failure(compile 'a + b', newA(), 1))
    local advice = ': write a loop over the elements, or give the class a method __add__'
    expected = ('t:1: both torch.IntStorage and %s have no addition operator%s'):format(nameA, advice)
    assert.equal(expected, support.failure(compile 'a + b', torch.IntStorage(), newA()))
    assert.equal(('t:1: %s has no negation operator'):format(nameA), support.failure(compile '-a', newA()))
    assert.equal(('t:1: %s has no call operator'):format(nameA), support.failure(compile 'a(b)', newA()))
  end)

  it('can be defined for storages', function()
    local metatable = torch.getmetatable 'torch.IntStorage'
    finally(function()
      metatable.__add__, metatable.__call__ = nil, nil
    end)
    function torch.IntStorage.__add__(a, b)
      return a[1] + b
    end
    function torch.IntStorage.__call__(s, i, j)
      return s[i] + s[j]
    end
    local s = torch.IntStorage { 4, 5 }
    assert.equal(7, s + 3)
    assert.equal(9, s(1, 2))
    assert.is_false(pcall(compile 'a + b', torch.LongStorage(1), 3))
  end)

  it('of storages and tensors raise errors without a line of the library in the traceback', function()
    local x, s = torch.DoubleTensor(2), torch.IntStorage(2)
    local A, newA = define()
    function A.__sub__(a, b)
      return rawequal(a, x) and torch.type(b)
    end
    assert.equal(torch.type(newA()), x - newA())
    for _, operation in ipairs { 'a + 1', '1 * a', '-a', 'a(1, 2)', "a .. ''", 'a < a', 'a - 1' } do
      for _, object in ipairs { x, s } do
        -- The result is in a variable, because the traceback of a tail call lacks the function that makes it.
        local run = assert(loadstring('local a = ... local result = ' .. operation .. ' return result', '=t'))
        local _, traceback = xpcall(function()
          local result = run(object)
          return result
        end, debug.traceback)
        local frames = traceback:match '\nstack traceback:\n(.-)\n\tt:1:'
        assert.is_nil(frames:find('.lua:', 1, true), frames)
        assert.matches('^\t%[C%]: [^\n]*$', frames)
      end
    end
  end)

  it('print the name of the class, or the text or result of __tostring__', function()
    local A, newA, nameA = define()
    local B, newB = define(nameA)
    assert.equal(nameA, tostring(newA()))
    function A:__tostring__()
      return 'an object with ' .. tostring(self.x)
    end
    local b = newB()
    b.x = 5
    assert.equal('an object with 5', tostring(b))
    B.__tostring__ = 'B'
    assert.equal('B', tostring(b))
  end)

  it('compare objects by identity unless there is __eq__', function()
    local A, newA, nameA = define()
    local _, newB = define(nameA)
    local x, y, b, c = newA(), newA(), newB(), newB()
    assert.is_true(x == x and x ~= y and b ~= c)
    function A.__eq__(p, q)
      return p.value == q.value
    end
    assert.is_true(x == y and b == c and x ~= b)
    y.value, c.value = 1, 1
    assert.is_true(x ~= y and b ~= c)
  end)
end)

describe('indexing an object', function()
  it('works as for a table until there is __index__ or __newindex__', function()
    local A, new = define()
    assert.equal(A, rawget(A, '__index'))
    assert.is_nil(rawget(A, '__newindex'))
    local object = new()
    object.x = 1
    assert.equal(1, rawget(object, 'x'))
  end)

  it('calls __index__, also that of a parent, whenever it was defined', function()
    local A, newA, nameA = define()
    local _, newB = define(nameA)
    local _, newC = define((torch.typename(newB())))
    local before = newC()
    function A.method()
      return 'method'
    end
    function newA.__index__(_, key)
      if type(key) == 'number' then
        return key * 10, true
      elseif key == 'hidden' then
        return nil, true
      end
      return false
    end
    A.hidden = 'a method that __index__ hides'
    for _, object in ipairs { before, newA(), newB(), newC() } do
      assert.equal(70, object[7])
      assert.equal('method', object:method())
      assert.is_nil(object.hidden)
      assert.is_nil(object.nothing)
      object[7] = 'own'
      assert.equal('own', object[7])
    end
    A.__index__ = nil
    assert.is_nil(before[8])
    assert.equal('method', before:method())
  end)

  it('calls __newindex__, also that of a parent', function()
    local A, newA, nameA = define()
    local _, newB = define(nameA)
    local before = newB()
    local log = {}
    function A.__newindex__(_, key, value)
      if type(key) == 'number' then
        log[key] = value
        return true
      end
      return false
    end
    for _, object in ipairs { before, newA() } do
      object[1], object.x = object, 2
      assert.equal(object, log[1])
      assert.is_nil(rawget(object, 1))
      assert.equal(2, rawget(object, 'x'))
    end
  end)

  it('keeps metamethods that the class itself defines', function()
    local A, new = define()
    A.__index = function(_, key)
      return key ~= '__init' and 'own ' .. key or nil
    end
    A.__index__ = error
    assert.equal('own x', new().x)
  end)
end)
