-- Limits of the system on memory and file sizes, and how the collector learns about memory that Lua does not see.
-- Interpreters: luajit, lua5.4
local support = require 'spec.support'

local path = support.temporary()

-- Runs Lua source in a shell with a limit. Returns its output and its exit status.
local function limited(limit, source)
  local name = support.spit(path 'script.lua', source)
  local output, status = support.execute(("bash -c 'ulimit %s; %s %s'"):format(limit, support.interpreter, name))
  return output, status
end

describe('a limit of the system #process', function()
  it('on file sizes is an error, and leaves no file', function()
    local text, status = limited(
      '-f 10',
      ([[
      local torch = require 'torch'
      print(pcall(torch.ByteStorage, '%s/f', true, 1e6))
      print(#torch.ByteStorage('%s/g', true, 5000))]]):format(path(), path())
    )
    assert.equal(0, status)
    assert.is_truthy(text:find('File too large', 1, true), text)
    assert.is_truthy(text:find '5000$', text)
    assert.equal('g\nscript.lua', support.sh('ls -A ' .. path()))
  end)

  it('on memory is an error, however small the allocation that fails', function()
    -- The point where the limit is reached differs from run to run: in one of these it hits a small allocation of the library.
    for kilobytes = 260000, 450000, 31667 do
      local text, status = limited(
        '-v ' .. kilobytes,
        [[
        local torch = require 'torch'
        local kept = {}
        for i = 1, 1e6 do kept[i] = 0 end
        local ok, message = pcall(function()
          for i = 1, 1e8 do kept[i] = torch.ByteStorage(1) end
        end)
        io.write(tostring(ok), ' ', tostring(message):match 'not enough memory' or tostring(message))]]
      )
      assert.equal('false not enough memory', text, kilobytes .. ': ' .. text)
      assert.equal(0, status)
    end
  end)
end)

describe('the collector #process', function()
  local PEAK = [[
    local torch = require 'torch'
    local function resident()
      local file = io.open '/proc/self/status'
      local text = file:read '*a'
      file:close()
      return tonumber(text:match 'VmRSS:%s*(%d+)') / 1024
    end
    local function peak(count, make)
      local most = 0
      for i = 1, count do
        make(i)
        most = math.max(most, resident())
      end
      return most
    end
  ]]

  local function megabytes(source)
    local text = support.child(PEAK .. source)
    -- The current LuaJIT tells about finalizers that fail, also when the program has ended.
    return tonumber(('\n' .. text .. '\n'):match '\n([%d.]+)\n')
  end

  it('counts private maps, whose written pages use memory', function()
    local name = support.spit(path 'f', ('x'):rep(2 ^ 23))
    local most = megabytes(('print(peak(60, function(i) torch.ByteStorage(%q):fill(i) end))'):format(name))
    assert.is_true(most < 200, most)
  end)

  it('continues when a finalizer fails', function()
    local most = megabytes [[
      jit = nil
      print(peak(150, function()
        for _ = 1, 2 do
          getmetatable(newproxy(true)).__gc = function() error 'no' end
        end
        pcall(function() torch.ByteStorage(2 ^ 23):fill(1) end)
      end))]]
    assert.is_true(most < 400, most)
  end)

  it('does not use the memory of the past as the measure for garbage', function()
    local most = megabytes [[
      local kept = {}
      for i = 1, 400 do kept[i] = torch.ByteStorage(2 ^ 23) end -- never written, so it uses no memory
      for i = 1, 400 do kept[i]:free() end
      kept = nil
      collectgarbage()
      collectgarbage()
      print(peak(60, function() torch.ByteStorage(2 ^ 23):fill(1) end))]]
    assert.is_true(most < 200, most)
  end)
end)

describe('a finalizer that searches the stack #process', function()
  it('does not find the object that holds the bytes of a string being made', function()
    local text = support.child [[
      local torch = require 'torch'
      local s
      -- From Lua 5.2 on, the values of C functions are found too, and among them this script.
      local script = debug.getinfo(1, 'f').func
      local hunt
      function hunt()
        for level = 2, 8 do
          if not debug.getinfo(level, 'f') then break end
          for n = 1, 5 do
            local name, value = debug.getlocal(level, n)
            if not name then break end
            if torch.isStorage(value) then pcall(value.free, value) end
            if type(value) == 'function' and value ~= script and value ~= hunt then pcall(value) end
          end
        end
        pcall(s.free, s)
      end
      local whole = 0
      for i = 1, 400 do
        s = torch.ByteStorage(200000)
        -- FFI access has Lua frames of its own, in which the storage is found and freed.
        pcall(s.fill, s, 65)
        getmetatable(newproxy(true)).__gc = hunt
        collectgarbage 'setpause'
        collectgarbage('setstepmul', 20 + i)
        local ok, made = pcall(s.string, s)
        if ok then
          assert(made == nil or made == ('A'):rep(200000), 'the bytes changed')
          whole = whole + 1
        end
      end
      print('whole', whole > 0)]]
    assert.equal('whole\ttrue', text)
  end)
end)
