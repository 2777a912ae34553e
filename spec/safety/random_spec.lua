-- Random calls of the whole API do not crash.
local support = require 'spec.support'
local run = require 'spec.support.random_calls'
local run_tensors = require 'spec.support.random_tensors'

describe('random calls', function()
  it('return or raise strings, in this process', function()
    assert.equal(20000, run(20260101, 20000))
  end)

  it('with tensors return or raise strings, and read the right elements', function()
    assert.equal(20000, run_tensors(20260101, 20000))
  end)
end)

describe('many random calls #process #slow', function()
  local count = support.rounds(100000, 1000000)

  for _, program in ipairs { 'random_calls', 'random_tensors' } do
    it('return or raise strings, in a process of their own: ' .. program, function()
      -- Another seed each day. A failure can be repeated with the seed in the message.
      local seed = tonumber(os.date '%Y%m%d')
      -- A call may ask for as much memory as the machine has. The limit holds for programs of this machine only.
      local limit = os.getenv 'EMULATED' and '' or 'ulimit -v 6000000; '
      local output, status =
        support.execute(('%s%s spec/support/%s.lua %d %d'):format(limit, support.interpreter, program, seed, count))
      assert.is_truthy(
        output:find('done\t' .. count .. '$') and status == 0,
        'seed ' .. seed .. ': ' .. output:sub(-2000)
      )
    end)
  end
end)
