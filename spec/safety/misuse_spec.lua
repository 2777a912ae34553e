-- Misuse of storages, methods and classes is an error, never a crash. Each test runs in a child process.
local hostile = require 'spec.support.hostile'

describe('a method called directly #process', function()
  hostile.test(
    'takes any value as its storage',
    [[
      for _, metatable in ipairs(all_metatables) do
        for name, f in pairs(metatable) do
          if type(f) == 'function' then
            local list = values()
            for i = 1, list.n do
              calm(f, list[i])
              calm(f, list[i], 1)
              calm(f, list[i], 1, 1)
              calm(f, list[i], list[i], list[i])
            end
            calm(f)
          end
        end
      end
      assert(calls > 30000, calls)
      -- Calls without any value: the error reports that, whatever the function itself has pushed onto the stack.
      for _, metatable in ipairs(all_metatables) do
        for _, name in ipairs {
          'clone', 'string', 'totable', 'unpack', 'type', 'iter', 'filename', 'resize', 'reserve', 'fill', 'zero', 'copy', 'equal', 'retain',
          'free', 'nbytes', 'size', 'isView', 'isMapped', 'resizable', 'flush', '__index', '__newindex', '__len', 'fromstring',
        } do
          if metatable[name] then
            local message = refused(metatable[name])
            assert(message:find('got no value', 1, true), name .. ': ' .. message)
          end
        end
      end
    ]]
  )

  hostile.test(
    'takes any value as its arguments',
    [[
      for index, metatable in ipairs(all_metatables) do
        for name, f in pairs(metatable) do
          if type(f) == 'function' then
            local list = values()
            for i = 1, list.n do
              calm(f, new(EVERY[index]), list[i])
              calm(f, new(EVERY[index]), list[i], list[i])
              calm(f, new(EVERY[index]), 1, list[i])
              calm(f, new(EVERY[index]), 2, 1, list[i])
              calm(f, new(EVERY[index]), list[i], 1)
            end
          end
        end
      end
      assert(calls > 40000, calls)
    ]]
  )

  hostile.test(
    'takes far more arguments than it has',
    [[
      local many = {}
      for i = 1, 7000 do many[i] = i end
      for index, metatable in ipairs(all_metatables) do
        for name, f in pairs(metatable) do
          if type(f) == 'function' then
            calm(f, new(EVERY[index]), unpack(many))
            calm(f, unpack(many))
          end
        end
      end
    ]]
  )

  hostile.test(
    'refuses storages of another class',
    [[
      local any = {
        __gc = true, __close = true, __eq = true, __factory = true, new = true, elementSize = true, fromstring = true, frombuffer = true,
        fromfile = true, cat = true,
      }
      for index, metatable in ipairs(all_metatables) do
        for name, f in pairs(metatable) do
          if type(f) == 'function' and not any[name] then
            for _, T in ipairs(TYPES) do
              if T ~= EVERY[index] then
                local s = new(T)
                for _, list in ipairs { {}, { 1 }, { 1, 1 }, { s }, { new(EVERY[index]) }, { 'x', 1 } } do
                  if name ~= '__tostring' and name ~= '__tostring__' then refused(f, s, unpack(list)) end
                end
                assert(#s == 3 and s[1] == 1 and s[3] == 3, name)
              end
            end
          end
        end
      end
      assert(calls > 8 * 7 * 30, calls)
    ]]
  )

  hostile.test(
    'and the functions of the module take any value',
    [[
      -- Five of these say how values are read, and two create files.
      local skipped = {
        setclassifier = true, setcomplex = true, setintegers = true, settablereader = true, setrecords = true,
        save = true, saveobj = true,
      }
      for _, library in ipairs { torch, require 'torch.core' } do
        for name, f in pairs(library) do
          if type(f) == 'function' and not skipped[name] then
            local list = values()
            for i = 1, list.n do
              calm(f, list[i])
              calm(f, list[i], list[i])
              calm(f, 1, list[i])
              calm(f, list[i], 'torch.IntStorage')
            end
            calm(f)
          end
        end
      end
      torch.setdefaulttensortype 'torch.DoubleTensor'
    ]]
  )
end)

describe('misuse of complex numbers #process', function()
  -- The library's own functions, which `require 'torch.core'` exposes.
  hostile.test(
    'through functions of any kind is safe',
    [[
      local core = require 'torch.core'
      local s = torch.ComplexDoubleStorage(500)
      local makers = {
        function() end, function() return 'x', 2 end, function() return { re = 'x' } end, function() error 'mine' end,
        function() s:resize(#s - 1) return 5 end, function() s:free() end, function() coroutine.yield(1) end,
        function() return s end, collectgarbage, pcall, function(...) return ... end,
        unpack, tostring,
      }
      local readers = {
        function() end, function() return 'x', 2 end, function() return '1', '2' end, function() return 1 end, function() error 'mine' end,
        function() s:free() return 1, 2 end, function() s:resize(1) return 1, 2 end, function() coroutine.yield(1) end,
        function() return 0 / 0, {} end, function() return 1, 2, 3, 4 end, next, type, unpack,
      }
      local function all()
        calm(function() return s[1] end)
        calm(function() s[1] = { 1, 2 } end)
        calm(function() return s:get(1) end)
        calm(function() return s:set(1, 2, 3):set(1, { 1, 2 }) end)
        calm(function() return s:totable(), s:totable(2, 5) end)
        calm(function() return s:unpack(1, 100) end)
        calm(function() for _ in s:iter() do end end)
        calm(function() return s:fill({ 1, 2 }) end)
        calm(function() return torch.ComplexFloatStorage { 1, { 2, 3 }, { re = 1, im = 2 }, {} } end)
        calm(tostring, s)
        calm(getmetatable(s).__index__, s, 1)
        calm(getmetatable(s).__newindex__, s, 1, { 1, 2 })
        calm(coroutine.wrap(function() return s[1] end))
      end
      for _, make in ipairs(makers) do
        for _, read in ipairs(readers) do
          s = torch.ComplexDoubleStorage(500)
          core.setcomplex(make, read)
          all()
          s = torch.ComplexDoubleStorage(500)
          all()
        end
      end
      -- Restores the library's own functions.
      package.loaded['torch.complex'] = nil
      require 'torch.complex'
    ]]
  )
end)

describe('misuse of a storage #process', function()
  hostile.test(
    'with the metatable of another class is safe',
    [[
      for index, metatable in ipairs(metatables) do
        for _, T in ipairs(TYPES) do
          if T ~= TYPES[index] then
            local s = new(T)
            local own = debug.getmetatable(s)
            debug.setmetatable(s, metatable)
            refused(function() return s[1] end)
            refused(function() s[1] = 1 end)
            refused(function() return #s end)
            refused(function() return s:fill(1) end)
            refused(function() return s:totable() end)
            refused(function() return s:resize(1000) end)
            assert(torch.typename(s) == 'torch.' .. T .. 'Storage')
            syntax(s, new(T))
            syntax(s, new(TYPES[index]))
            debug.setmetatable(s, own)
            if pcall(own.size, s) then assert(s[1] == 1 and s[3] == 3) end
          end
        end
      end
      -- Collected as a storage of another class.
      local base = torch.memory().heap
      local function swapped(a, b)
        debug.setmetatable(a, metatables[1])
        debug.setmetatable(b, metatables[8])
      end
      for _ = 1, 1000 do
        swapped(torch.DoubleStorage(1000), torch.ByteStorage(10))
      end
      collectgarbage()
      collectgarbage()
      assert(torch.memory().heap <= base, torch.memory().heap)
    ]]
  )

  hostile.test(
    'with no metatable, that of a file, or an environment is safe',
    [[
      local s = new 'Int'
      debug.setmetatable(s, nil)
      refused(function() return s[1] end)
      assert(metatables[4].__index(s, 2) == 2 and metatables[4].size(s) == 3)
      assert(torch.isStorage(s) and torch.type(s) == 'torch.IntStorage')
      assert(new('Long'):copy(s)[3] == 3)
      assert(#torch.IntStorage(s, 2) == 2)
      debug.setmetatable(s, {})
      assert(metatables[4].fill(s, 5) == s and metatables[4].__index(s, 1) == 5)
      debug.setmetatable(s, { __index = metatables[4] })
      assert(s:size() == 3)
      for i = 1, 100 do debug.setmetatable(new 'Int', nil) end
      collectgarbage()
      debug.setmetatable(s, metatables[4])
      -- Since Lua 5.4, a userdata has as many such values as were asked for: none.
      local set, get = debug.setfenv or debug.setuservalue, debug.getfenv or debug.getuservalue
      for _, environment in ipairs { {}, { __index = print }, _G, metatables[4], setmetatable({}, { __mode = 'kv' }) } do
        set(s, environment)
        assert(get(s) == environment or debug.setuservalue)
        local v = torch.IntStorage(s, 2)
        set(v, environment)
        collectgarbage()
        assert(s[1] == 5 and v[1] == 5 and s:resize(#s + 1):clone():equal(s))
      end
      if has_ffi then
        -- These means cannot reach the object that keeps an FFI array alive.
        local kept = {}
        for i = 1, 100 do
          local s = torch.IntStorage(100, ffi.new('int[100]', i))
          kept[i] = torch.IntStorage(s, 2)
          set(s, {})
          set(kept[i], {})
          debug.setmetatable(s, i % 2 == 0 and metatables[4] or metatables[1])
        end
        collectgarbage()
        collectgarbage()
        local others = {}
        for i = 1, 300 do others[i] = ffi.new('int[100]', -1) end
        for i = 1, 100 do assert(kept[i][1] == i and kept[i][99] == i, i) end
      end
    ]]
  )

  hostile.test(
    'whose class lost or changed its fields is safe',
    [[
      for index, metatable in ipairs(metatables) do
        local s, T = new(TYPES[index]), TYPES[index]
        for _, name in ipairs {
          '__index', '__newindex', '__len', '__eq', '__metatable', '__typename', '__version', '__constructor', '__factory',
          '__tostring', 'size', 'totable', 'new',
        } do
          local before = metatable[name]
          for _, field in ipairs { false, 5, 'x', {}, math.abs, metatable, s, function() error({}) end, newproxy() } do
            metatable[name] = field or nil
            pcall(function() return s[1] end)
            pcall(function() s[1] = 1 end)
            pcall(function() return #s end)
            pcall(function() return s == new(T) end)
            pcall(tostring, s)
            pcall(torch.type, s)
            pcall(torch.version, s)
            pcall(torch.isTypeOf, s, 'torch.IntStorage')
            pcall(torch.isTypeOf, s, torch.IntStorage)
            pcall(torch.isTypeOf, s, s)
            pcall(torch.factory, 'torch.' .. T .. 'Storage')
            pcall(torch.getconstructortable, 'torch.' .. T .. 'Storage')
            pcall(torch.totable, s)
            pcall(torch[T .. 'Storage'], 10)
            pcall(function() return s:clone() end)
            pcall(collectgarbage)
            metatable[name] = before
          end
        end
        -- A finalizer that fails crashes plain LuaJIT, so this one is only removed or does nothing.
        local before = metatable.__gc
        for _, field in ipairs { false, function() end } do
          metatable.__gc = field or nil
          for _ = 1, 10 do pcall(function() return s:clone(), torch.IntStorage(s, 2):clone() end) end
          collectgarbage()
          metatable.__gc = before
        end
        assert(s:totable()[3] == 3)
      end
    ]]
  )

  hostile.test(
    'that is finalized, indexed and measured directly is safe',
    [[
      for index, metatable in ipairs(metatables) do
        local T = TYPES[index]
        local s = new(T)
        local list = values()
        for i = 1, list.n do
          local v = list[i]
          if not torch.isStorage(v) then assert(pcall(metatable.__gc, v)) end
          calm(metatable.__index, v, v)
          calm(metatable.__index, s, v)
          calm(metatable.__newindex, s, v, v)
          calm(metatable.__newindex, v, 1, 1)
          calm(metatable.__len, v)
          assert(pcall(metatable.__eq, v, s))
          assert(pcall(metatable.__eq, s, v))
          calm(metatable.__lt, s, v)
          calm(metatable.__call, v, s)
        end
        for _, name in ipairs { '__gc', '__index', '__newindex', '__len', '__eq' } do calm(metatable[name]) end
        refused(metatable.__index)
        refused(metatable.__index, s:clone(), 4)
        refused(metatable.__newindex, s, 1)
        for i = 1, 100 do
          metatable.__gc(s)
          refused(metatable.__index, s, 1)
          refused(metatable.__newindex, s, 1, 1)
          refused(metatable.__len, s)
        end
      end
    ]]
  )
end)

describe('misuse of a class #process', function()
  hostile.test(
    'that is indexed, measured, called and copied is safe',
    [[
      for index, metatable in ipairs(metatables) do
        local T = TYPES[index]
        local class = torch[T .. 'Storage']
        local own = debug.getmetatable(class)
        for _, name in ipairs { 'size', 'fill', 'resize', 'totable', 'free', 'retain', 'copy', 'clone', 'data', 'iter', 'unpack', 'zero' } do
          local message = refused(class[name], class, name ~= 'data' and 1 or nil)
          assert(message:find('torch.' .. T .. 'Storage expected, got table', 1, true), message)
        end
        -- Torch7 took the class for a table without elements.
        for _, f in ipairs { function() class:new() end, function() class:new(5) end, function() class(class) end } do
          assert(refused(f):find('got a class instead of elements', 1, true))
        end
        assert(class[1] == nil and class.nothing == nil and next(class) == nil and #class == 0)
        syntax(class, new(T))
        class[1] = nil
        class.x = nil
        assert(not pcall(setmetatable, class, {}))
        local list = values()
        for i = 1, list.n do
          calm(own.__call, list[i])
          calm(own.__call, class, list[i])
          calm(own.__call, list[i], list[i])
          calm(own.__call, list[i], 3, list[i])
          calm(own.__new, list[i], list[i])
        end
        assert(#own.__call() == 0 and #own.__call(class, 4) == 4 and #own.__call(nil, 4) == 4 and #own.__new(4) == 4)
        local copy = setmetatable({}, { __index = metatable, __call = own.__call })
        assert(torch.typename(copy(3)) == 'torch.' .. T .. 'Storage')
        rawset(class, 'size', 5)
        assert(new(T):size() == 3 and class.size == 5)
        rawset(class, 'size', nil)
      end
    ]]
  )

  hostile.test(
    'that is called in coroutines, in hooks and by C functions is safe',
    [[
      for index, metatable in ipairs(metatables) do
        local s = new(TYPES[index])
        -- A C function as the whole body of a coroutine. PUC Lua does not allow that, so there it is wrapped.
        local function wrap(f)
          local ok, thread = pcall(coroutine.wrap, f)
          return ok and thread or coroutine.wrap(function(...) return f(...) end)
        end
        assert(wrap(metatable.size)(s) == 3)
        assert(wrap(metatable.fill)(s, 5) == s and s[3] == 5)
        assert(not pcall(wrap(metatable.fill), s, {}))
        assert(#wrap(torch[TYPES[index] .. 'Storage'].new)(4) == 4)
        assert(not pcall(wrap(metatable.__index), s, 4))
        assert(not pcall(coroutine.create, torch[TYPES[index] .. 'Storage']))
        assert(('abc'):gsub('.', function() return ('%d'):format(s[1]) end) == '555')
        assert(not pcall(string.gsub, 'abc', '.', function() return s[4] end))
        assert(not pcall(table.sort, { 1, 2, 3 }, metatable.__lt))
        assert(not pcall(string.dump, metatable.clone))
        assert(xpcall(function() return metatable.size(s) end, metatable.size))
        assert(not xpcall(function() return s[4] end, metatable.size))
        local t = setmetatable({}, { __index = metatable.__index, __newindex = metatable.__newindex, __call = metatable.fill })
        refused(function() return t[1] end)
        refused(function() t[1] = 1 end)
        refused(t)
        for event in pairs { call = 1, ['return'] = 1, line = 1 } do
          debug.sethook(function() local v = torch.IntStorage(s and 2) v[1] = 1 end, event:sub(1, 1))
          for i = 1, 20 do assert(s:clone():resize(4)[3] == 5) end
          debug.sethook()
        end
      end
    ]]
  )
end)
