-- torch.accessors, and compiled loops in which something changes: classes, sizes, accessors, Lua states, copies of the library.
local torch = require 'torch'
local support = require 'spec.support'
local hostile = require 'spec.support.hostile'
local types = require 'spec.support.types'

local path = support.temporary()

local jit = rawget(_G, 'jit')
local compiles = jit and jit.status()
local default = compiles and 'ffi' or 'c'

describe('torch.accessors', function()
  after_each(function()
    torch.accessors(default)
  end)

  it("returns 'ffi' at first if the JIT is on, and later the mode that was set", function()
    assert.equal(default, torch.accessors())
    assert.equal(default, torch.accessors(nil))
    assert.equal('c', torch.accessors 'c')
    assert.equal('c', torch.accessors())
    if jit then
      assert.equal('ffi', torch.accessors 'ffi')
      assert.equal('ffi', torch.accessors())
      assert.equal('c', torch.accessors 'c')
    else
      assert.matches('LuaJIT', support.failure(torch.accessors, 'ffi'), 1, true)
    end
    assert.equal('c', torch.accessors())
  end)

  -- LuaJIT may compile code of the library while it is loaded. Which code differs from process to process.
  it('replaces every function of every class, in each of 100 processes #process', function()
    local source = [[
      local torch, core = require 'torch', require 'torch.core'
      if jit then jit.off() end
      torch.accessors 'c'
      local c = {}
      for _, list in ipairs { core.classes, core.tensors } do
        for _, entry in ipairs(list) do
          local functions = {}
          for name, value in pairs(entry.metatable) do functions[name] = value end
          c[entry] = functions
        end
      end
      torch.accessors(...)
      local counts = {}
      for n, list in ipairs { core.classes, core.tensors } do
        counts[n] = 0
        for _, entry in ipairs(list) do
          -- The functions are compiled when the class is used first.
          entry.constructor(1):size()
          for name, value in pairs(entry.metatable) do
            counts[n] = counts[n] + (value == c[entry][name] and 0 or 1)
          end
        end
      end
      print(table.concat(counts, ' '))
    ]]
    local name = support.spit(path 'count.lua', source)
    local command = ('for i in $(seq 100); do %s %s %s; done | sort -u'):format(support.interpreter, name, default)
    -- Eleven functions of each class of storages, and `exact`, which complex classes refuse; nine of each class of tensors.
    local storages = 12 * #types.ALL - #types.COMPLEX
    local tensors = 9 * (#types.NUMBERS + #types.COMPLEX)
    assert.equal(jit and compiles and ('%d %d'):format(storages, tensors) or '0 0', support.sh(command))
  end)

  it('compiles a class for a program that has replaced the functions of the libraries #process', function()
    local source = [[
      local torch, core = require 'torch', require 'torch.core'
      local ipairs, type, next, stdout, write = ipairs, type, next, io.stdout, io.stdout.write
      local function evil() write(stdout, 'called ') end
      for _, library in ipairs { string, table, math, debug, os, io, coroutine, _G, package.loaded.ffi, package.loaded.bit } do
        for name, value in next, library do
          -- LuaJIT crashes when it closes if `ffi.gc` or `ffi.metatype` was collected, with the library or without.
          if type(value) == 'function' and name ~= 'gc' and name ~= 'metatype' then library[name] = evil end
        end
      end
      for _, list in ipairs { core.classes, core.tensors } do
        for _, entry in ipairs(list) do
          local s = entry.constructor(3)
          s:set(2, 1)
          write(stdout, s:get(2) == 1 and 'x' or '?')
        end
      end
    ]]
    local name = support.spit(path 'replaced.lua', source)
    local classes = #types.ALL + #types.NUMBERS + #types.COMPLEX
    assert.equal(('x'):rep(classes), support.sh(support.interpreter .. ' ' .. name))
  end)

  it('refuses unknown modes, and changes nothing', function()
    for _, mode in ipairs(jit and { 'c', 'ffi' } or { 'c' }) do
      torch.accessors(mode)
      for _, bad in ipairs { 'FFI', '', 'C', 'ffi ', 1, 0, true, {}, print, torch.IntStorage(1), false } do
        local message = support.failure(function()
          torch.accessors(bad)
        end)
        assert.matches("^spec/jit/jit_spec%.lua:%d+: bad argument #1 to 'accessors' %(.*'c'.*%)$", message)
        assert.equal(mode, torch.accessors())
      end
    end
  end)

  it('keeps functions that a program has replaced', function()
    local metatable = torch.getmetatable 'torch.ShortStorage'
    local names = { 'fill', 'copy', 'size', '__index', '__newindex', '__len' }
    local old = {}
    for _, name in ipairs(names) do
      old[name] = metatable[name]
    end
    local s = torch.ShortStorage { 1, 2, 3 }
    for _, name in ipairs(names) do
      local called = 0
      local function mine(...)
        called = called + 1
        return old[name](...)
      end
      metatable[name] = mine
      for _, mode in ipairs(jit and { 'ffi', 'c', 'ffi', 'c', 'c' } or { 'c' }) do
        torch.accessors(mode)
        assert.is_true(rawequal(mine, metatable[name]), name)
        called = 0
        s[1] = s[2]
        s:fill(#s):copy(s)
        assert.same({ 3, 3, 3 }, { s[1], s[2], s:size() })
        assert.is_true(called > 0, name)
      end
      metatable[name] = old[name]
    end
    torch.accessors(default)
  end)
end)

-- Makes a test that runs the source in a child process with FFI accessors. The result is 'sane' if storages work afterwards.
local function child(name, source)
  it(name .. ' #process', function()
    assert.equal('sane', hostile.run(source, 'ffi'))
  end)
end

if jit then
  describe('the FFI accessors', function()
    child(
      'of two loads of the library share the classes, and either load switches them',
      [[
        local first, int = torch, torch.getmetatable 'torch.IntStorage'
        local function again()
          for name in pairs(package.loaded) do
            if name:find '^torch' then package.loaded[name] = nil end
          end
          return require 'torch'
        end
        local second = again()
        assert(second ~= first and int == second.getmetatable 'torch.IntStorage')
        local function use()
          local a, b = first.IntStorage(100), second.IntStorage(100)
          for round = 1, 100 do
            for i = 1, 100 do a[i] = i + round b[101 - i] = a[i] end
          end
          assert(a:equal(a) and b[1] == 200 and a:copy(b)[100] == 101 and #a == 100 and b:size() == 100)
          assert(first.isStorage(b) and second.typename(a) == 'torch.IntStorage')
          assert(not pcall(function() return a[101] end) and not pcall(function() b[0] = 1 end))
        end
        use()
        local function by() return debug.getinfo(int.__index).what == 'C' and 'c' or 'ffi' end
        for _, switch in ipairs { first, second, again() } do
          for _, mode in ipairs { 'ffi', 'c', 'ffi', 'c' } do
            assert(switch.accessors(mode) == mode)
            assert(by() == mode, 'told ' .. mode .. ', elements are accessed by ' .. by())
            assert(first.accessors() == mode and second.accessors() == mode, 'another load tells otherwise')
            use()
          end
        end
      ]]
    )

    child(
      'of two Lua states in a process are independent',
      [[
        ffi.cdef 'typedef struct lua_State lua_State; lua_State *luaL_newstate(void); void luaL_openlibs(lua_State *);'
        ffi.cdef 'int luaL_loadstring(lua_State *, const char *); int lua_pcall(lua_State *, int, int, int);'
        ffi.cdef 'void lua_close(lua_State *); const char *lua_tolstring(lua_State *, int, size_t *);'
        local C = pcall(function() return ffi.C.luaL_newstate end) and ffi.C or ffi.load 'luajit-5.1.so.2'
        local code = [=[
          local torch = require 'torch'
          torch.accessors 'ffi'
          local s = torch.DoubleStorage(1000)
          for round = 1, 50 do for i = 1, #s do s[i] = s[i] + i end end
          local ok, message = pcall(function() return s[1001] end)
          assert(not ok and message:find 'out of range')
          kept = s
          return tostring(s[1000])
        ]=]
        for round = 1, 5 do
          local s = torch.DoubleStorage(1000)
          local other = C.luaL_newstate()
          C.luaL_openlibs(other)
          assert(C.luaL_loadstring(other, code) == 0)
          local status = C.lua_pcall(other, 0, 1, 0)
          assert(ffi.string(C.lua_tolstring(other, -1, nil)) == '50000' and status == 0)
          for i = 1, #s do s[i] = i end
          if round % 2 == 0 then C.lua_close(other) end
          for i = 1, #s do assert(s[i] == i) end
        end
      ]]
    )
  end)
end

if not compiles then
  return
end

describe('a compiled loop over a storage', function()
  before_each(function()
    torch.accessors 'ffi'
  end)

  after_each(function()
    torch.accessors(default)
    jit.on()
    jit.opt.start('hotloop=56', 'hotexit=10')
  end)

  -- Runs each case for all classes, with LuaJIT's default thresholds and with the lowest ones.
  local function case(name, f)
    for _, hot in ipairs { 56, 2 } do
      it(name .. ', hot after ' .. hot, function()
        jit.flush()
        jit.opt.start('hotloop=' .. hot, 'hotexit=' .. (hot == 2 and 2 or 10))
        for _, T in ipairs(types.TORCH7) do
          f(torch[T .. 'Storage'], T)
        end
      end)
    end
  end

  case('notices that it grows', function(class)
    local s = class(1)
    for i = 1, 3000 do
      if i > #s then
        s:resize(2 * #s)
      end
      s[i] = i % 100
    end
    local sum = 0
    for i = 1, #s do
      sum = sum + s[i]
    end
    assert.equal(148500, sum)
    assert.equal(4096, #s)
  end)

  case('fails at the right index when it shrinks', function(class)
    local s = class(1000)
    for _, how in ipairs { 's[i] = 1', 'return s[i]' } do
      local use = assert(loadstring('local s, i = ... ' .. how))
      s:resize(1000)
      local last
      local message = support.failure(function()
        for i = 1, 1000 do
          last = i
          if i == 500 then
            s:resize(600)
          end
          use(s, i)
        end
      end)
      assert.equal(601, last)
      assert.matches('index 601 is out of range: the storage has 600 elements', message, 1, true)
    end
  end)

  case('handles freed storages, views, maps, other classes and other values', function(class, T)
    local name = support.spit(path 'f', ('\1'):rep(80))
    local base = class(20):fill(7)
    local dead = class(10)
    dead:free()
    local others = { base, class(base, 5, 10), class(name), class(name, true), class(10), { 9, 9, 9 } }
    for value, other in ipairs { 'Byte', 'Long', 'Half', 'Float', 'Double' } do
      others[#others + 1] = torch[other .. 'Storage'](10):fill(value)
    end
    local sum, expected, failures = 0, 0, 0
    local function read(s, k)
      return s[k]
    end
    for i = 1, 600 do
      local s = others[i % #others + 1]
      if i % 50 == 0 then
        local good, message = pcall(read, dead, 1)
        failures = failures + (not good and message:find 'storage was freed' and 1 or 0)
      end
      sum = sum + s[i % 3 + 1]
    end
    torch.accessors 'c'
    jit.off()
    for i = 1, 600 do
      expected = expected + others[i % #others + 1][i % 3 + 1]
    end
    assert.equal(expected, sum, T)
    assert.equal(12, failures)
  end)

  case('continues while the JIT and the accessors are switched', function(class)
    local s = class(100)
    for i = 1, 100 do
      s[i] = i
    end
    local sum = 0
    for i = 1, 4000 do
      if i % 1000 == 300 then
        jit.off()
      elseif i % 1000 == 400 then
        jit.on()
      elseif i % 1000 == 500 then
        jit.flush()
      elseif i % 1000 == 600 then
        torch.accessors 'c'
      elseif i % 1000 == 700 then
        torch.accessors 'ffi'
      elseif i % 1000 == 800 then
        collectgarbage()
      end
      local k = i % 100 + 1
      s[k] = s[k]
      sum = sum + s[k] + #s - s:size()
    end
    assert.equal(40 * 5050, sum)
  end)

  case('allows finalizers that make, resize and drop storages', function(class)
    local s, left, finalized = class(100), class(100), 0
    local sum = 0
    for i = 1, 2000 do
      if i % 10 == 0 then
        local proxy = newproxy(true)
        getmetatable(proxy).__gc = function()
          finalized = finalized + 1
          left:resize(finalized % 200 + 1):fill(finalized % 100)
          local dropped = class(10)
          dropped[1] = left[1]
          dropped:free()
        end
      end
      local t = { i }
      s[t[1] % 100 + 1] = i % 50
      sum = sum + s[i % 100 + 1]
      if i % 400 == 0 then
        collectgarbage()
      end
    end
    support.collect()
    assert.equal(2000 / 50 * 1225, sum)
    assert.is_true(finalized >= 190)
    assert.equal(finalized % 100, left[1])
  end)
end)

-- What LuaJIT reports about the traces that it records.
describe('the traces', function()
  local LOOPS = {
    read = 'local sum = 0 for i = 1, 1000 do sum = sum + s[i] end',
    write = 'for i = 1, 1000 do s[i] = i end',
    ['write computed'] = 'local x = 3 for i = 1, 1000 do s[i] = i + x end',
    -- The storage must not contain what other loops left: in 8-bit floats NaN is written by C.
    ['read and write'] = 's:fill(1) for i = 1, 1000 do s[i] = s[i] + 1 end',
    length = 'local sum = 0 for i = 1, 1000 do sum = sum + #s end',
    ['length as a bound'] = 'local sum = 0 for i = 1, #s do sum = sum + s[i] end',
    ['length as a condition'] = 'local i = 1 while i <= #s do i = i + 1 end',
    ['size as a condition'] = 'local i = 1 while i <= s:size() do i = i + 1 end',
    iteration = 'local sum = 0 for i, v in s:iter() do sum = sum + v end',
    fill = 'for i = 1, 1000 do s:fill(i) end',
    copy = 'for i = 1, 1000 do s:copy(o) end',
    ['copy between classes'] = 'for i = 1, 1000 do s:copy(other) end',
  }

  for _, T in ipairs(types.NUMBERS) do
    it('of loops over a ' .. T .. ' number one each, without an abort #process', function()
      local names, source = {}, {}
      for name, loop in pairs(LOOPS) do
        names[#names + 1] = name
        local code = 'local s, o, other = ... ' .. loop
        source[#source + 1] = ('trace(%q, %q)'):format(name, code)
      end
      local prelude = [[
        local torch = require 'torch'
        torch.accessors 'ffi'
        local s, o = torch.CLASS(1000), torch.CLASS(1000)
        local other = s:type() == 'torch.IntStorage' and torch.FloatStorage(1000) or torch.IntStorage(1000)
        io.stdout:setvbuf 'no'
        require('jit.v').on '-'
        local function trace(name, code)
          local f = loadstring(code, '=loop')
          jit.flush()
          -- A finalizer that runs during a recording aborts it.
          collectgarbage()
          collectgarbage()
          io.write('<', name, '>\n')
          f(s, o, other)
          io.write '<end>\n'
        end
      ]]
      local output = support.child(prelude:gsub('CLASS', T .. 'Storage') .. table.concat(source, '\n'))
      for _, name in ipairs(names) do
        local said = output:match('<' .. name .. '>\n(.-)<end>')
        assert.matches('^%[TRACE +%d+ loop:1 loop%]\n$', said, nil, nil, T .. ': ' .. name)
      end
    end)

    local errors = support.rounds(1e4, 1e5)
    it('of accesses to a ' .. T .. ' remain after many errors #process #slow', function()
      local output = support.child(([[
        local torch = require 'torch'
        torch.accessors 'ffi'
        io.stdout:setvbuf 'no'
        require('jit.v').on('-')
        local s, o = torch.%sStorage(1000), torch.%sStorage(1000)
        local function read(v, k) return v[k] end
        local function write(v, k, x) v[k] = x end
        local failed = 0
        local function count(ok) if not ok then failed = failed + 1 end end
        for i = 1, %d do
          count(pcall(read, s, 1001)) count(pcall(read, s, 0)) count(pcall(write, s, -1, 1)) count(pcall(write, s, 1, 'x'))
          count(pcall(write, s, 'x', 1)) count(pcall(s.fill, s, 'x')) count(pcall(s.copy, s, 1)) count(pcall(s.size, 1))
        end
        assert(failed == 8 * %d)
        -- As before, nothing is left to finalize while a trace is recorded.
        collectgarbage()
        collectgarbage()
        io.write '<after>\n'
        loadstring('local s = ... local sum = 0 for i = 1, 1000 do s[i] = i sum = sum + s[i] + #s + s:size() end', '=loop')(s)
        loadstring('local s, o = ... for i = 1, 1000 do s:fill(i) s:copy(o) end', '=loop')(s, o)
      ]]):format(T, T, errors, errors))
      assert.is_nil(output:find 'blacklisted', output:match '[^\n]*blacklisted[^\n]*')
      assert.matches('^%[TRACE +%d+ loop:1 loop%]\n%[TRACE +%d+ loop:1 loop%]$', output:match '<after>\n(.*)')
    end)
  end
end)
