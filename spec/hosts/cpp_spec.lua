-- The header for C++, include/torch_storage.hpp, and the programs of examples/cpp: compiled by g++ and run. `make test-cpp`
-- takes more compilers and standards, valgrind and AddressSanitizer.
-- Interpreters: luajit, lua5.4
local support = require 'spec.support'
local c_module = require 'spec.support.c_module'

local lua = support.luajit and 'luajit' or 'lua' .. _VERSION:match '%d%.%d'
local missing = c_module.missing() or support.sh 'command -v g++' == '' and 'g++ is missing' or nil
local it = missing and function(title)
  require('busted').pending(title .. ': ' .. missing)
end or require('busted').it

describe('tests/cpp/header.cpp and examples/cpp #process #slow', function()
  it('are compiled without warnings, and pass', function()
    local output = support.execute(('QUICK=1 LUAS=%s tests/cpp/run'):format(lua))
    assert.matches('%d+ passed, 0 failed$', output)
    assert.matches('particles, g++', output, 1, true)
  end)

  it('are compiled as docs/cpp.md says', function()
    if not support.luajit then
      return
    end
    local compile, run =
      support.slurp('docs/cpp.md'):match '\n```sh %(spec/hosts/cpp_spec.lua%)\n(g%+%+[^\n]+)\n%./(%l+)\n```'
    local program = os.tmpname()
    local messages, status = support.execute((compile:gsub('%-o ' .. run .. ' ', '-o ' .. program .. ' ')))
    assert.equal(0, status, messages)
    local output = support.execute(program)
    os.remove(program)
    assert.matches('^3\n3 samples, the last is 12\n.*torch.FloatStorage expected at stack index 1, got table$', output)
  end)
end)
