-- Tests in a program that brings a LuaJIT of its own: nginx, Neovim, Tarantool.
local support = require 'spec.support'
local it = require('busted').it

local program = {}

-- Two functions to use as `it`. What missing() says is not installed leaves the tests pending. The program is the same whatever
-- interpreter runs the spec: what the spec's own storages have no part in is for the second, and runs under one.
function program.tests(missing)
  local function test(title, f)
    it(title, function()
      local what = missing()
      if what then
        getfenv(f).pending(what) -- a spec's own: the one of `require 'busted'` does not end a test
      end
      f()
    end)
  end
  return test, support.luajit and function() end or test
end

return program
