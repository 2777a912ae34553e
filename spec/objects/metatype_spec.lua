-- torch.metatype: a class name for any metatable, and on LuaJIT for an FFI type.
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'

describe('torch.metatype', function()
  it('names the objects that have the metatable', function()
    recorded.check [[
      > mt = { __version = 3 }
      torch.metatype('my.Pt', mt)   --> (no value)
      torch.typename(setmetatable({}, mt))   --> "my.Pt"
      torch.type(setmetatable({}, mt))   --> "my.Pt"
      torch.version(setmetatable({}, mt))   --> 3
      torch.getmetatable('my.Pt') == mt   --> true
      torch.getconstructortable('my.Pt')   --> nil
      torch.factory('my.Pt')   --> nil
      > mt.__factory = function() return 'made' end
      torch.factory('my.Pt')()   --> "made"
      torch.isTypeOf(setmetatable({}, mt), 'my.Pt')   --> true
      torch.isTypeOf(setmetatable({}, mt), mt)   --> true
      torch.isTypeOf(setmetatable({}, mt), 'my%..*')   --> true
      torch.isTypeOf({}, mt)   --> false
      torch.typename(mt)   --> (no value)
      torch.typename(torch.setmetatable({}, 'my.Pt'))   --> "my.Pt"
      torch.metatype('my.Pt', mt)   --> (no value)
    ]]
  end)

  it('names userdata, which then are Torch objects', function()
    recorded.check [[
      > p, q = newproxy(true), newproxy(true)
      torch.typename(p)   --> (no value)
      torch.isequal(p, p)   --> ERROR Torch object expected
      torch.pointer(p)   --> ERROR Torch object expected
      torch.metatype('my.Proxy', getmetatable(p))   --> (no value)
      torch.typename(p)   --> "my.Proxy"
      torch.typename(q)   --> (no value)
      torch.isequal(p, p)   --> true
      torch.isequal(p, newproxy(p))   --> false
      torch.isequal(p, q)   --> ERROR Torch object expected
      torch.isequal(p)   --> false
      torch.pointer(p) > 0   --> true
      torch.pointer(p) == torch.pointer(p)   --> true
      torch.pointer(p) == torch.pointer(newproxy(p))   --> false
      torch.isStorage(p)   --> false
      torch.pushudata(torch.pointer(p), 'my.Proxy')   --> ERROR no class 'my.Proxy'
      torch.pushudata(torch.pointer(p), 'torch.IntStorage')   --> ERROR
    ]]
  end)

  it('makes a class that can be inherited from, and that inherits through its own metatable', function()
    recorded.check(
      [[
        > base, derived = { hello = function() return 'hello' end }, {}
        > torch.metatype('my.Base', base)
        > torch.metatype('my.Derived', setmetatable(derived, base))
        > torch.class('my.Child', 'my.Base', module)
        module.Child():hello()   --> "hello"
        torch.isTypeOf(module.Child(), 'my.Base')   --> true
        torch.isTypeOf(module.Child(), base)   --> true
        torch.isTypeOf(setmetatable({}, derived), 'my.Base')   --> true
        torch.isTypeOf(setmetatable({}, base), 'my.Derived')   --> false
        torch.newmetatable('my.Derived', 'my.Child', nil, nil, nil, module)   --> ERROR has a parent already
        torch.newmetatable('my.Base', 'my.Child', nil, nil, nil, module)   --> ERROR would inherit from itself
        torch.class('my.Base', module) == base   --> true
        torch.typename(module.Base())   --> "my.Base"
      ]],
      { module = {} }
    )
  end)

  it('reports wrong arguments', function()
    recorded.check [[
      > mt = {}
      torch.metatype()   --> ERROR bad argument #1 to 'metatype' (string expected, got no value)
      torch.metatype(5)   --> ERROR bad argument #1 to 'metatype' (string expected, got number)
      torch.metatype('my.Bad')   --> ERROR bad argument #2 to 'metatype' (table expected, got no value)
      torch.metatype('my.Bad', torch.IntStorage())   --> ERROR (table expected, got torch.IntStorage)
      torch.metatype('my.Good', mt)   --> (no value)
      torch.metatype('my.Good', {})   --> ERROR (class 'my.Good' is defined already, with another metatable)
      torch.metatype('my.Bad', mt)   --> ERROR bad argument #2 to 'metatype' (the metatable already belongs to class 'my.Good')
      torch.metatype('my.Bad', getmetatable(torch.IntStorage))   --> ERROR (the metatable already belongs to class 'torch.IntStorage')
      torch.metatype('torch.IntStorage', {})   --> ERROR (class 'torch.IntStorage' is defined already, with another metatable)
      torch.metatype('torch.IntStorage', getmetatable(torch.IntStorage))   --> (no value)
      torch.typename(torch.IntStorage())   --> "torch.IntStorage"
      torch.getmetatable('my.Bad')   --> (no value)
      [puc] torch.metatype('my.Bad', {}, 'int')   --> ERROR bad argument #3 to 'metatype' (FFI types need LuaJIT)
      [luajit] torch.metatype('my.Bad', {}, 'no such type')   --> ERROR bad argument #3 to 'metatype' (not an FFI type
      [luajit] torch.metatype('my.Bad', {}, {})   --> ERROR bad argument #3 to 'metatype' (not an FFI type
    ]]
  end)

  if support.luajit then
    it('names the values of an FFI type', function()
      local ffi = require 'ffi'
      ffi.cdef 'typedef struct { int x; } t7spec_pt; typedef struct { int x; } t7spec_hash;'
      recorded.check(
        [[
          torch.typename(ffi.new('t7spec_pt'))   --> (no value)
          torch.metatype('my.CPt', { __version = 4 }, ffi.typeof('t7spec_pt'))   --> (no value)
          torch.typename(ffi.new('t7spec_pt'))   --> "my.CPt"
          torch.type(ffi.new('t7spec_pt'))   --> "my.CPt"
          torch.version(ffi.new('t7spec_pt'))   --> 4
          torch.isTypeOf(ffi.new('t7spec_pt'), 'my.CPt')   --> true
          torch.isTypeOf(ffi.new('t7spec_pt'), 'my.Other')   --> false
          torch.typename(ffi.new('t7spec_hash'))   --> (no value)
          torch.version(ffi.new('t7spec_hash'))   --> (no value)
          torch.type(ffi.new('t7spec_hash'))   --> "cdata"
          torch.typename(5LL)   --> (no value)
          torch.metatype('my.Hash', {}, 't7spec_hash&')   --> (no value)
          > a = ffi.new('t7spec_hash[1]')
          torch.typename(a[0])   --> "my.Hash"
          torch.metatype('my.Hash', torch.getmetatable('my.Hash'), 't7spec_hash&')   --> (no value)
          torch.metatype('my.Other', {}, 't7spec_hash&')   --> ERROR (the FFI type already belongs to class 'my.Hash')
          torch.getmetatable('my.Other')   --> (no value)
          torch.metatype('torch.IntStorage', getmetatable(torch.IntStorage), 't7spec_hash')   --> ERROR is a storage class, and an FFI value is not a storage
        ]],
        { ffi = ffi }
      )
    end)
  end
end)
