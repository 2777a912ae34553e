-- Operations on a processor that has fewer instructions than this one may have: valgrind is one without AVX-512. An instruction
-- that a processor does not have ends the process.
-- Interpreters: luajit, lua5.4
local support = require 'spec.support'
local program = require 'spec.support.program'

-- Prints what comes of every operation that is compiled for several processors.
local SOURCE = [[
  local torch = require 'torch'
  local types = require 'spec.support.types'
  local size = 100
  for _, from in ipairs(types.NUMBERS) do
    local source = torch[from .. 'Storage'](size):fill(2)
    for i = 1, size do source[i] = i / 4 end
    for _, to in ipairs(types.NUMBERS) do
      local target = torch[to .. 'Storage'](size):copy(source)
      print(from, to, table.concat(target:totable(), ' '), target:equal(target:clone()), target:byteswap():byteswap()[size])
    end
  end
]]

local in_valgrind = program.tests(function()
  return support.sh 'command -v valgrind' == '' and 'valgrind is not installed' or nil
end)

describe('a processor without AVX-512 #process', function()
  in_valgrind('gives the same results', function()
    local expected = support.child(SOURCE)
    assert.is_true(#expected > 10000)
    assert.equal(expected, support.child(SOURCE, 'valgrind --quiet --tool=none ' .. support.interpreter))
  end)
end)
