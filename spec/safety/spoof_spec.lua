-- Values that pretend to be storages are refused, and never cause a crash. Each test runs in a child process.
local hostile = require 'spec.support.hostile'
local support = require 'spec.support'
local types = require 'spec.support.types'

describe('a fake storage #process', function()
  hostile.test(
    'can be an object that names a class in __metatable',
    [[
      for index, metatable in ipairs(metatables) do
        local plain = newproxy(true)
        getmetatable(plain).__metatable = metatable
        assert(getmetatable(plain) == metatable)
        local full = newproxy(true)
        local own = getmetatable(full)
        for name, field in pairs(metatable) do own[name] = field end
        own.__metatable = metatable
        local twin = newproxy(full)
        for _, v in ipairs { plain, full, twin } do
          assert(not torch.isStorage(v) and torch.typename(v) == nil)
          refused(metatable.__index, v, 1)
          refused(metatable.__newindex, v, 1, 1)
          refused(metatable.__len, v)
          refused(metatable.fill, v, 1)
          syntax(v, new(TYPES[index]))
          syntax(v, v)
        end
      end
    ]]
  )

  hostile.test(
    'can be any string, whose getmetatable gives a class',
    [[
      local strings = getmetatable ''
      for index, metatable in ipairs(metatables) do
        strings.__metatable = metatable
        assert(getmetatable('x') == metatable)
        for _, text in ipairs { '', 'x', ('\0'):rep(16), ('\255'):rep(16), ('x'):rep(100000) } do
          refused(metatable.__index, text, 1)
          refused(metatable.__newindex, text, 1, 1)
          refused(metatable.__len, text)
          for name, f in pairs(metatable) do
            if type(f) == 'function' and name ~= '__tostring' and name ~= '__tostring__' then
              calm(f, text)
              calm(f, text, 1)
              calm(f, new(TYPES[index]), text)
            end
          end
          syntax(text, new(TYPES[index]))
        end
        strings.__metatable = nil
      end
    ]]
  )

  -- Sets the metatable of a class for all values of a type with debug.setmetatable, and removes it after each round.
  for _, kind in ipairs {
    "'x'",
    "('\\0'):rep(16)",
    '5',
    '0',
    'nil',
    'true',
    'math.abs',
    'function() end',
    'coroutine.create(function() end)',
    'light',
    'io.stdout',
    'io.stderr',
    'newproxy()',
    'newproxy(true)',
    '{}',
    'torch.IntStorage',
    'insides[1]',
    'metatables[3]',
  } do
    hostile.test(
      'can be ' .. kind .. ' with the metatable of a class',
      ('local function value() return %s end\n'):format(kind)
        .. [[
          local v = value()
          for index, metatable in ipairs(metatables) do
            local before = debug.getmetatable(v)
            local other = new(TYPES[index])
            local size, exact, decimal = metatable.size, metatable.exact, metatable.decimal
            local results = {}
            debug.setmetatable(v, metatable)
            -- Few library functions work in this state; methods of strings do not.
            for i = 1, 200 do
              results[1] = pcall(function() return v[i % 5] end)
              results[2] = pcall(function() v[i % 5] = 1 end)
              results[3] = type(v) ~= 'string' and type(v) ~= 'table' and pcall(function() return #v end)
              results[4] = pcall(size, v)
              results[5] = pcall(function() return v:fill(3) end)
              results[6] = pcall(function() return v:resize(3) end)
              results[7] = pcall(function() return other:copy(v) end)
              results[8] = pcall(metatable.__gc, v) and nil
              results[9] = pcall(function() return v:totable() end)
              results[10] = pcall(function() return v:clone() end)
              results[11] = pcall(exact, v, i % 5)
              results[12] = pcall(decimal, v, i % 5)
            end
            debug.setmetatable(v, before)
            for i = 1, 12 do assert(not results[i], i) end
            debug.setmetatable(v, metatable)
            pcall(syntax, v, other)
            pcall(tostring, v)
            debug.setmetatable(v, before)
          end
        ]]
    )
  end
end)

-- C modules give null pointers to Lua (`ngx.null`, `cjson.null`). Plain Lua code cannot make one, so this one comes from the C
-- API of LuaJIT, in a Lua state of its own.
if support.luajit then
  local IN_STATE = [=[
    local torch = require 'torch'
    torch.accessors 'ffi'
    for _, T in ipairs(TYPES) do
      local metatable = torch.getmetatable('torch.' .. T .. 'Storage')
      local other, another = torch[T .. 'Storage'](3), torch[T == 'Byte' and 'IntStorage' or 'ByteStorage'](3)
      debug.setmetatable(null, metatable)
      for i = 1, 200 do
        assert(not pcall(metatable.__index, null, 1) and not pcall(metatable.__newindex, null, 1, 1))
        assert(not pcall(metatable.__len, null) and not pcall(metatable.get, null, 1) and not pcall(metatable.set, null, 1, 1))
        assert(not pcall(other.fill, null, 1) and not pcall(other.copy, null, other))
        assert(not pcall(other.copy, other, null) and not pcall(another.copy, another, null))
      end
      local of_tensors = T ~= 'Untyped' and torch.getmetatable('torch.' .. T .. 'Tensor')
      debug.setmetatable(null, of_tensors or nil)
      for i = 1, of_tensors and 200 or 0 do
        assert(not pcall(of_tensors.__index, null, { 1, 2 }) and not pcall(of_tensors.__newindex, null, { 1, 2 }, 1))
        assert(not pcall(of_tensors.get, null, 1, 2) and not pcall(of_tensors.set, null, 1, 2, 1))
        assert(not pcall(of_tensors.dim, null) and not pcall(of_tensors.size, null, 1))
      end
      debug.setmetatable(null, nil)
    end
    return 'sane'
  ]=]
  describe('a null pointer with the metatable of a class #process', function()
    it('is refused by compiled code', function()
      local source = [[
        local ffi = require 'ffi'
        ffi.cdef 'typedef struct lua_State lua_State; lua_State *luaL_newstate(void); void luaL_openlibs(lua_State *);'
        ffi.cdef 'int luaL_loadstring(lua_State *, const char *); int lua_pcall(lua_State *, int, int, int);'
        ffi.cdef 'void lua_pushlightuserdata(lua_State *, void *); void lua_setfield(lua_State *, int, const char *);'
        ffi.cdef 'const char *lua_tolstring(lua_State *, int, size_t *);'
        local C = pcall(function() return ffi.C.luaL_newstate end) and ffi.C or ffi.load 'luajit-5.1.so.2'
        local GLOBALS = -10002
        local state = C.luaL_newstate()
        C.luaL_openlibs(state)
        C.lua_pushlightuserdata(state, nil)
        C.lua_setfield(state, GLOBALS, 'null')
        assert(C.luaL_loadstring(state, CODE) == 0)
        C.lua_pcall(state, 0, 1, 0)
        print(ffi.string(C.lua_tolstring(state, -1, nil)))
      ]]
      local code = ("local TYPES = { '%s' }\n"):format(table.concat(types.ALL, "', '")) .. IN_STATE
      assert.equal('sane', support.child(('local CODE = %q\n'):format(code) .. source))
    end)
  end)
end

describe('an object of a class that inherits from storages #process', function()
  hostile.test(
    'is not a storage',
    [[
      for index, metatable in ipairs(metatables) do
        local T = TYPES[index]
        local name = 'Heir' .. T
        local class, parent = torch.class(name, 'torch.' .. T .. 'Storage', {})
        assert(parent == metatable)
        local object = torch.factory(name)()
        -- The same class on userdata, and on real storages.
        local full, borrowed = newproxy(true), new(T)
        debug.setmetatable(full, class)
        debug.setmetatable(borrowed, class)
        assert(torch.typename(object) == name and torch.isTypeOf(object, 'torch.' .. T .. 'Storage'))
        assert(torch.typename(full) == name and torch.typename(borrowed) == 'torch.' .. T .. 'Storage')
        object.x = 5
        assert(object.x == 5 and object[1] == nil and tostring(object) == name and object.fill == metatable.fill)
        object[1] = 7
        assert(object[1] == 7)
        object[1] = nil
        for _, v in ipairs { object, full } do
          assert(not torch.isStorage(v) and torch.totable and not pcall(torch.totable, v))
          for name, f in pairs(metatable) do
            if type(f) == 'function' and not name:find '^__' and name ~= 'new' and name ~= 'elementSize' then
              assert(name == 'fromstring' or not calm(f, v, 1), name)
              calm(f, new(T), v)
            end
          end
          refused(metatable.__index, v, 1)
          refused(metatable.__newindex, v, 1, 1)
          refused(metatable.__len, v)
          refused(torch[T .. 'Storage'], new(T == 'Byte' and 'Int' or 'Byte'), v)
          refused(torch.data, v)
          for i = 1, 200 do
            local ok, element = pcall(function() return v[i % 5] end)
            assert(not ok or element == nil)
            ok = pcall(function() return v:fill(3) end)
            assert(not ok)
          end
          syntax(v, new(T))
          syntax(v, v)
        end
        calm(syntax, borrowed, new(T))
        debug.setmetatable(borrowed, metatable)
        -- A child of the child, with the indexing of storages requested explicitly.
        local grandchild = torch.class('Grand' .. name, name, {})
        grandchild.__index__, grandchild.__newindex__ = metatable.__index__, metatable.__newindex__
        local late = torch.factory('Grand' .. name)()
        refused(function() return late[1] end)
        refused(function() late[1] = 2 end)
      end
    ]]
  )
end)

describe('a compiled loop #process', function()
  hostile.test(
    'meets storages of other classes, freed ones, and other values',
    [[
      local function read(v, k) return v[k] end
      local function write(v, k, x) v[k] = x end
      local function length(v) return #v end
      for index, metatable in ipairs(metatables) do
        local T = TYPES[index]
        local hot = new(T)
        local strange = values()
        strange.n = strange.n + 2
        local pretended = newproxy(true)
        local own = getmetatable(pretended)
        own.__index, own.__newindex, own.__len, own.__metatable = metatable.__index, metatable.__newindex, metatable.__len, metatable
        strange[strange.n - 1] = pretended
        local borrowed = new(T == 'Byte' and 'Double' or 'Byte')
        debug.setmetatable(borrowed, metatable)
        strange[strange.n] = borrowed
        for i = 1, strange.n do
          local v = strange[i]
          -- Reading an element of a null pointer crashes the FFI itself.
          if type(v) == 'cdata' then v = nil end
          local bad = v == pretended or v == borrowed
          for round = 1, 3 do
            local sum = 0
            for k = 1, 120 do
              local s = k == 100 and v or hot
              if k == 100 then
                local ok = pcall(read, s, 1)
                assert(not (ok and bad))
                ok = pcall(write, s, 1, 1)
                assert(not (ok and bad))
                ok = type(s) ~= 'string' and type(s) ~= 'table' and pcall(length, s)
                assert(not (ok and bad))
              else
                write(s, 2, k % 100)
                sum = sum + read(s, 2) + length(s)
              end
            end
            assert(sum == 4950 + 210 + 119 * 3, sum)
          end
        end
        debug.setmetatable(borrowed, torch.getmetatable(torch.typename(borrowed)))
      end
    ]]
  )
end)
