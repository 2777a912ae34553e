-- Tests that run in another program, which may be missing: nginx, Neovim and Tarantool have their own LuaJIT.
local support = require 'spec.support'
local it = require('busted').it

local program = {}

-- Returns two functions to use as `it`. If missing() returns a reason, the tests are pending. The second function is for tests
-- that do not use the spec's own interpreter: it runs them under one interpreter only.
function program.tests(missing)
  local function test(title, f)
    it(title, function()
      local what = missing()
      if what then
        support.skip(f, what)
      end
      f()
    end)
  end
  return test, support.luajit and function() end or test
end

return program
