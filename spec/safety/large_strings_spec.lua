-- While the library makes a string of several MiB, the allocator of the Lua state is replaced, so that the string gets huge
-- pages. Whatever happens then, the old allocator is back afterwards, and the next string gets huge pages again. Each test
-- runs in a child process.
local support = require 'spec.support'

local path = support.temporary()

-- `text()` makes a large string. The storage is a map of a file, because other storages have huge pages themselves. `advised()`
-- is true if a new string has huge pages. PUC Lua may still have them from an earlier string, but LuaJIT gives the memory of each
-- large string back.
local PRELUDE = [[
  local torch = require 'torch'
  local due = require 'spec.support.due_collection'
  local BYTES = 16 * 2 ^ 20
  local s = torch.ByteStorage(%q, false, BYTES)
  local function huge()
    local sum, size = 0, 0
    for line in io.lines '/proc/self/smaps' do
      size = tonumber(line:match '^Size:%%s*(%%d+) kB') or size
      sum = sum + (line:find '^VmFlags:.* hg' and size or 0)
    end
    return sum * 1024
  end
  local count = 0
  local function text(make)
    -- The bytes differ from those of every other string: Lua may keep one of the same bytes.
    count = count %% 255 + 1
    s[1], s[BYTES] = count, 7
    local made = (make or torch.serialize)(s)
    assert(#made >= BYTES and made:byte(-1) == 7)
    return made
  end
  local function to_string()
    return s:string()
  end
  -- Makes large strings, and calls `act` in a hook at a call of an unnamed function in C. There are two in torch.serialize and one
  -- in s:string(), and the last makes the string. Returns how many strings were not made.
  local function meanwhile(act)
    local failed, left = 0, nil
    debug.sethook(function()
      local info = left and debug.getinfo(2, 'nS')
      if info and info.what == 'C' and not info.name then
        left = left - 1
        if left == 0 then
          left = nil
          act()
        end
      end
    end, 'c')
    for _, case in ipairs { { torch.serialize, 1 }, { torch.serialize, 2 }, { to_string, 1 } } do
      local ok = pcall(function()
        left = case[2]
        text(case[1])
      end)
      failed = failed + (ok and 0 or 1)
    end
    debug.sethook()
    return failed
  end
  local function advised(make)
    collectgarbage()
    collectgarbage()
    local kept = text(make)
    return huge() >= BYTES * 0.8 and kept ~= nil
  end
]]

-- The last line that a child prints, with a limit on its memory if `limit` is given.
local function last(source, limit)
  local file = path 'zeros'
  support.sh(('truncate -s 16M %s'):format(file))
  local script = support.spit(path 'script.lua', PRELUDE:format(file) .. source)
  local output, status =
    support.execute(('ulimit -v %s; %s %s'):format(limit or 'unlimited', support.interpreter, script))
  assert.equal(0, status, output)
  return (output:match('[^\n]*$'):gsub('\t', ' '))
end

describe('a large string #process', function()
  local has_huge_pages = io.open '/sys/kernel/mm/transparent_hugepage/enabled' ~= nil

  local function prints(expected, source, limit)
    if not has_huge_pages then
      return pending 'this kernel has no huge pages'
    end
    assert.equal(expected, last(source, limit))
  end

  it('gets huge pages', function()
    prints('true true', 'print(advised(torch.serialize), advised(to_string))')
  end)

  it('gets them even if a finalizer makes another one', function()
    prints(
      'true true',
      [[
      local made = 0
      meanwhile(function()
        due(function() made = made + (text() and 1 or 0) end)
      end)
      collectgarbage()
      print(made == 3, advised())
    ]]
    )
  end)

  it('gets them even if a hook makes another one', function()
    prints(
      'true true',
      [[
      local made = 0
      meanwhile(function()
        made = made + (text() and 1 or 0)
      end)
      print(made == 3, advised())
    ]]
    )
  end)

  it('gets them after a finalizer has raised an error', function()
    prints(
      'true',
      [[
      meanwhile(function()
        due(function() error 'the error of a finalizer' end)
      end)
      print(advised())
    ]]
    )
  end)

  it('gets them after a hook has raised an error', function()
    prints(
      'true true',
      [[
      local failed = meanwhile(function()
        error 'the error of a hook'
      end)
      print(failed == 3, advised())
    ]]
    )
  end)

  it('gets them after there was no memory for one', function()
    prints(
      'true not enough memory true',
      [[
      local kept = {}
      local ok, message = pcall(function()
        for i = 1, 1000 do
          kept[i] = text()
        end
      end)
      local made = #kept > 2
      kept = nil
      print(made, tostring(message):match 'not enough memory' or message, advised())
    ]],
      400000
    )
  end)
end)
