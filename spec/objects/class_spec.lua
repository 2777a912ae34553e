-- Classes defined by Lua code: torch.class, torch.newmetatable, torch.setmetatable, and functions that describe their objects.
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'
local classes = require 'spec.support.classes'

local fresh, define = classes.fresh, classes.define

local function is_error(message, f, ...)
  local got = support.failure(f, ...)
  assert.is_truthy(got:find(message, 1, true), got)
end

describe('torch.class', function()
  it('makes a class whose constructor calls __init', function()
    local A, new, name, parent = define()
    function A:__init(...)
      self.n, self.first = select('#', ...), (...)
    end
    function A:double()
      return self.first * 2
    end
    assert.is_nil(parent)
    local a = new(21, nil)
    assert.equal('table', type(a))
    assert.equal(2, a.n)
    assert.equal(42, a:double())
    assert.equal(A, getmetatable(a))
    assert.equal(4, new.new(4, 5).first + 0)
    assert.equal(4, a.new(4).first)
    assert.equal(name, A.__typename)
    assert.equal(1, A.__version)
    assert.equal(A, A.__metatable)
    assert.equal(new, A.__constructor)
    assert.equal(A, getmetatable(new))
    assert.is_nil(next(new))
    assert.is_nil(a.nothing)
    assert.is_nil(rawget(a, 'double'))
  end)

  it('does not require __init', function()
    local _, new = define()
    assert.is_nil(next(new(1, 2, 3)))
  end)

  it('inherits methods and __init, and returns the metatable of the parent', function()
    local A, _, name = define()
    function A:__init(x)
      self.x = x
    end
    function A:get()
      return self.x
    end
    function A.who()
      return 'A'
    end
    local B, new, _, parent = define(name)
    assert.equal(A, parent)
    assert.equal(A, getmetatable(B))
    function B:who()
      return 'B' .. parent.who(self)
    end
    local b = new(5)
    assert.equal(5, b:get())
    assert.equal('BA', b:who())
    function A.late()
      return 'late'
    end
    assert.equal('late', b:late())
    assert.equal('late', new.late())
  end)

  it('accepts methods through the constructor', function()
    local A, new = define()
    function new:twice()
      return self.x * 2
    end
    local a = new()
    a.x = 4
    assert.equal(8, a:twice())
    assert.equal('function', type(rawget(A, 'twice')))
    assert.is_nil(rawget(new, 'twice'))
  end)

  it('stores the constructor under the name: as a global, as a field, or in a given table', function()
    local plain, inner = fresh 'Plain', fresh 'Inner'
    local holder, package_name = fresh 'holder', fresh 'package'
    finally(function()
      rawset(_G, plain, nil)
      rawset(_G, holder, nil)
      package.loaded[package_name] = nil
      torch[inner] = nil
    end)
    torch.class(plain)
    assert.equal(plain, torch.typename(rawget(_G, plain)()))

    rawset(_G, holder, { deep = {} })
    torch.class(holder .. '.' .. inner)
    torch.class(holder .. '.deep.' .. inner, holder .. '.' .. inner)
    local object = rawget(_G, holder).deep[inner]()
    assert.equal(holder .. '.deep.' .. inner, torch.typename(object))
    assert.is_true(torch.isTypeOf(object, holder .. '.' .. inner))

    package.loaded[package_name] = {}
    torch.class(package_name .. '.' .. inner)
    assert.equal(package_name .. '.' .. inner, torch.typename(package.loaded[package_name][inner]()))

    torch.class('torch.' .. inner)
    assert.equal('torch.' .. inner, torch.typename(torch[inner]()))

    local module = {}
    torch.class('nowhere.at.all.' .. inner, module)
    assert.equal('nowhere.at.all.' .. inner, torch.typename(module[inner]()))
    assert.is_nil(rawget(_G, 'nowhere'))
  end)

  it('defines a global also in a program that forbids undeclared ones', function()
    local output = support.child([[
      local torch = require 'torch.storage'
      getfenv = _VERSION == 'Lua 5.1' and getfenv or nil -- the specs have it on later Luas, too
      setmetatable(_G, {
        __index = function(_, k) error('undeclared ' .. k) end,
        __newindex = function(_, k) error('undeclared ' .. k) end,
      })
      package.loaded.nn = {}
      torch.class 'Strict'
      torch.class('nn.Strict', 'Strict')
      torch.class('torch.Strict')
      print(torch.typename(Strict()), torch.typename(package.loaded.nn.Strict()), torch.typename(torch.Strict()))
    ]])
    assert.equal('Strict\tnn.Strict\ttorch.Strict', output)
  end)

  it('reports wrong arguments at the position of the call, and changes nothing', function()
    local known, other = fresh 'Known', fresh()
    recorded.check(
      [[
        torch.class()   --> ERROR bad argument #1 to 'class' (string expected, got no value)
        torch.class(5)   --> ERROR bad argument #1 to 'class' (string expected, got number)
        torch.class('')   --> ERROR '' is not a class name
        torch.class('a..b')   --> ERROR 'a..b' is not a class name
        torch.class('.a')   --> ERROR '.a' is not a class name
        torch.class('a.')   --> ERROR 'a.' is not a class name
        torch.class(other, 5)   --> ERROR bad argument #2 to 'class' (name of the parent or table expected, got number)
        torch.class(other, 'NoSuchClass')   --> ERROR bad argument #2 to 'class' (there is no class 'NoSuchClass')
        torch.class(other, other)   --> ERROR bad argument #2 to 'class' (there is no class
        torch.class(other, nil, 5)   --> ERROR bad argument #3 to 'class' (table expected, got number)
        torch.class('no.such.' .. other)   --> ERROR there is no table 'no'; make it first, or pass a table for the class
        torch.class('string.such.' .. other)   --> ERROR there is no table 'string.such'
        torch.getmetatable('no.such.' .. other)   --> (no value)
        torch.getmetatable(other)   --> (no value)
        > torch.class(known, module)
        > before = module[known]
        torch.class(known, module)   --> ERROR is defined already
        module[known] == before   --> true
        torch.class('torch.IntStorage', module)   --> ERROR bad argument #1 to 'class' (class 'torch.IntStorage' is defined already)
        module.IntStorage   --> nil
      ]],
      { known = known, other = other, module = {} }
    )
  end)
end)

describe('an object of a class', function()
  local A, B, a, b, newA, newB, nameA, nameB
  setup(function()
    A, newA, nameA = define()
    B, newB, nameB = define(nameA)
    a, b = newA(), newB()
    B.__version = 3
  end)

  it('has the name, the version and the metatable of its class', function()
    assert.equal(nameA, torch.typename(a))
    assert.equal(nameB, torch.type(b))
    assert.equal(1, torch.version(a))
    assert.equal(3, torch.version(b))
    assert.equal(A, torch.getmetatable(nameA))
    assert.equal(newB, torch.getconstructortable(nameB))
    for _, v in ipairs { A, B, newA, newB } do
      assert.equal(0, select('#', torch.typename(v)))
      assert.equal('table', torch.type(v))
    end
    assert.is_false(torch.isStorage(a))
    assert.is_false(torch.isTensor(a))
  end)

  it('belongs to its class and to the classes that it inherits from', function()
    for _, class in ipairs { nameA, A, newA, a, nameA:sub(1, -2) .. '.', nameA:sub(1, 4) .. '.*' } do
      assert.is_true(torch.isTypeOf(a, class))
      assert.is_true(torch.isTypeOf(b, class))
    end
    for _, class in ipairs { nameB, B, newB, b, nameB:sub(1, -2) .. '.' } do
      assert.is_false(torch.isTypeOf(a, class))
      assert.is_true(torch.isTypeOf(b, class))
    end
    local others = { '', nameA:sub(1, -2), nameA:sub(2), 'torch.*Storage', 'torch.IntStorage', torch.IntStorage }
    for _, class in ipairs(others) do
      assert.is_false(torch.isTypeOf(b, class))
    end
    assert.is_false(torch.isTypeOf({}, nameA))
    assert.is_false(torch.isTypeOf(torch.IntStorage(), A))
    assert.is_false(torch.isTypeOf(A, A))
    is_error("bad argument #2 to 'isTypeOf' ('%' is not a Lua pattern)", torch.isTypeOf, b, '%')
    is_error("bad argument #2 to 'isTypeOf' (class name, class or object expected", torch.isTypeOf, b, {})
  end)

  it('has its own address and equals only itself', function()
    assert.is_true(torch.isequal(a, a))
    assert.is_false(torch.isequal(a, newA()))
    assert.is_true(torch.pointer(a) > 0)
    assert.is_true(torch.pointer(a) == torch.pointer(a) and torch.pointer(a) ~= torch.pointer(b))
  end)

  it('is made empty by the factory', function()
    local C, _, name = define(nameA)
    C.__init = error
    local object = torch.factory(name)('a file')
    assert.equal(C, getmetatable(object))
    assert.is_nil(next(object))
    C.__factory = function()
      return 'replaced'
    end
    assert.equal('replaced', torch.factory(name)())
  end)

  it('keeps its class when the Lua files are loaded again', function()
    local output = support.child [[
      local torch = require 'torch'
      local A = torch.class 'Kept'
      local kept = Kept()
      for name in pairs(package.loaded) do
        if name:find '^torch' then package.loaded[name] = nil end
      end
      local again = require 'torch'
      assert(again ~= torch and again.typename(kept) == 'Kept' and again.getmetatable 'Kept' == A)
      again.class('Child', 'Kept')
      function A:hello() return 'hello' end
      assert(again.isTypeOf(Child(), 'Kept') and torch.isTypeOf(Child(), A) and Child():hello() == 'hello')
      print(pcall(again.class, 'Kept'))
    ]]
    assert.is_truthy(output:find('defined already', 1, true), output)
  end)
end)

describe('torch.newmetatable', function()
  it('makes a class with a given constructor', function()
    local module, name = {}, fresh()
    local metatable
    metatable = torch.newmetatable(name, nil, function(x)
      return setmetatable({ x = x }, metatable)
    end, nil, nil, module)
    assert.equal(5, module[name](5).x)
    assert.equal(name, torch.typename(metatable.new()))
    assert.is_nil(torch.factory(name))
  end)

  it('adds missing parts to an existing class', function()
    local module, name, parent = {}, fresh(), fresh()
    -- Since Lua 5.2 it is called for the object that is made below.
    local function finalizer() end
    local metatable = torch.newmetatable(name, nil, nil, nil, nil, module)
    is_error('has no constructor', module[name])
    torch.class(parent, module)
    assert.equal(metatable, torch.newmetatable(name, parent, nil, finalizer, nil, module))
    assert.equal(finalizer, rawget(metatable, '__gc'))
    is_error('has a destructor already', torch.newmetatable, name, nil, nil, print, nil, module)
    is_error('has a parent already', torch.newmetatable, name, parent, nil, nil, nil, module)
    is_error('has a parent already', torch.class, name, parent, module)
    assert.equal(metatable, (torch.class(name, module)))
    assert.is_true(torch.isTypeOf(module[name](), parent))
    is_error('has a factory already', torch.newmetatable, name, nil, nil, nil, print, module)
    is_error('has a constructor already', torch.newmetatable, name, nil, print, nil, nil, module)
    is_error('would inherit from itself', torch.newmetatable, parent, name, nil, nil, nil, module)
    is_error('would inherit from itself', torch.newmetatable, parent, parent, nil, nil, nil, module)
  end)

  it('does not pass its factory on to child classes', function()
    local module, parent, child = {}, fresh(), fresh()
    torch.newmetatable(parent, nil, nil, nil, function() end, module)
    torch.newmetatable(child, parent, nil, nil, nil, module)
    assert.equal('function', type(torch.factory(parent)))
    assert.is_nil(torch.factory(child))
  end)

  it('reports wrong arguments', function()
    recorded.check [[
      torch.newmetatable()   --> ERROR bad argument #1 to 'newmetatable' (string expected, got no value)
      torch.newmetatable('X', 5)   --> ERROR bad argument #2 to 'newmetatable' (name of the parent or nil expected, got number)
      torch.newmetatable('X', 'NoSuchClass')   --> ERROR bad argument #2 to 'newmetatable' (there is no class 'NoSuchClass')
      torch.newmetatable('X', nil, 5)   --> ERROR bad argument #3 to 'newmetatable' (function or nil expected, got number)
      torch.newmetatable('X', nil, nil, {})   --> ERROR bad argument #4 to 'newmetatable' (function or nil expected, got table)
      torch.newmetatable('X', nil, nil, nil, 'x')   --> ERROR bad argument #5 to 'newmetatable' (function or nil expected, got string)
      torch.newmetatable('X', nil, nil, nil, nil, 5)   --> ERROR bad argument #6 to 'newmetatable' (table or nil expected, got number)
      torch.newmetatable('torch.IntStorage', nil, print)   --> ERROR class 'torch.IntStorage' has a constructor already
      torch.newmetatable('torch.IntStorage', nil, nil, print)   --> ERROR class 'torch.IntStorage' has a destructor already
      torch.newmetatable('torch.IntStorage', 'torch.LongStorage')   --> ERROR is a storage class, and a storage class has no parent
      torch.newmetatable('torch.IntStorage') == getmetatable(torch.IntStorage())   --> true
    ]]
  end)
end)

describe('torch.setmetatable', function()
  it('makes any table an object', function()
    local A, newA, nameA = define()
    local _, _, nameB = define(nameA)
    local object = { x = 1 }
    assert.equal(object, torch.setmetatable(object, nameA))
    assert.equal(A, getmetatable(object))
    assert.equal(nameB, torch.typename(torch.setmetatable(object, nameB)))
    assert.equal(nameB, torch.typename(torch.setmetatable(newA(), nameB)))
  end)

  it('reports wrong arguments', function()
    recorded.check [[
      torch.setmetatable()   --> ERROR bad argument #1 to 'setmetatable' (table expected, got no value)
      torch.setmetatable(torch.IntStorage(), 'x')   --> ERROR (table expected, got torch.IntStorage)
      torch.setmetatable({})   --> ERROR bad argument #2 to 'setmetatable' (string expected, got no value)
      torch.setmetatable({}, 'NoSuchClass')   --> ERROR (there is no class 'NoSuchClass')
      torch.setmetatable({}, 'torch.IntStorage')   --> ERROR (class 'torch.IntStorage' is a storage class, and a table is not a storage)
    ]]
  end)
end)
