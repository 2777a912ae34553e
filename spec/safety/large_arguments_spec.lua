-- Every declared function is called with a string of 256 MB in the place of each argument, while there is little memory left.
-- Each call has to be an error or to succeed: nothing may end the process. The calls are made in a child process, so that its end
-- is seen.
-- Interpreters: luajit
local support = require 'spec.support'

local BYTES = 256 * 2 ^ 20

local path = support.temporary()

-- Makes all calls. `megabytes` is the memory that is left, and `byte` what the string consists of. Returns a list of the calls
-- that ended the process, and how many calls were made.
local function ends(megabytes, byte)
  local ended, first = {}, 1
  while true do
    local output, status = support.execute(
      ('ulimit -f 2000; ulimit -c 0; %s spec/support/large_arguments.lua %d %d %d %d %s'):format(
        support.interpreter,
        BYTES,
        byte,
        megabytes,
        first,
        path()
      )
    )
    local progress = support.slurp(path 'progress')
    local number, call = progress:match '(%d+) ([^\n]*)\n$'
    if status == 0 then
      assert.equal('done', call)
      return ended, tonumber(number)
    end
    assert.is_true(#ended < 5 and call:find '^large ' ~= nil, call .. ': ' .. output)
    ended[#ended + 1] = ('%s: exit status %d: %s'):format(call, status, output)
    first = number + 1
  end
end

describe('a string of 256 MB #process #large', function()
  -- The first two limits let small and middle allocations fail, and the last lets one copy of the string succeed. Bytes of 255
  -- are not text, and take three times as much memory where they are shown as text.
  for _, limit in ipairs { { 1, 120 }, { 40, 255 }, { 300, 120 } } do
    it(('ends no process in which %d MB are left'):format(limit[1]), function()
      if support.sh 'command -v prlimit' == '' then
        return pending 'prlimit sets the limit of a process that runs'
      end
      local ended, calls = ends(limit[1], limit[2])
      assert.same({}, ended)
      assert.is_true(calls > 1000, calls)
      -- Nor does a call that takes the string for a path leave a file in the working directory.
      assert.is_nil(io.open(string.char(limit[2]):rep(9)))
    end)
  end
end)
