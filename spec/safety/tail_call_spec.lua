-- The error of a function whose results are returned at once, as in `return f()` or `= f()` at a prompt, names the function and
-- counts its arguments as any other call. LuaJIT forgets the name and the position of such a call.
local support = require 'spec.support'

local function problem_of(message)
  return (message:gsub('^[^\n]-:%d+: ', ''))
end

describe('an error in a tail call', function()
  local COLON = 'methods are called with a colon, as in s:size()'
  local CASES = {
    ['a constructor of storages'] = {
      "torch.FloatStorage { 1, 'x' }",
      "bad argument #1 to 'FloatStorage' (element 2 of the table: number expected, got string 'x')",
    },
    ['the constructor new'] = {
      'torch.IntStorage.new(-1)',
      "bad argument #1 to '%s' (a size is a whole number of elements from 0 to 2^63-1, got -1)",
    },
    ['a constructor of tensors'] = {
      'torch.FloatTensor { { 1, 2 }, { 3 } }',
      "bad argument #1 to 'FloatTensor' (%s)",
    },
    ['a method of a storage'] = { "s:fill 'x'", "bad argument #1 to 'fill' (number expected, got string)" },
    ['a method that is called with a point'] = {
      's.fill(0)',
      "bad argument #1 to 'fill' (torch.IntStorage expected, got number: " .. COLON .. ')',
    },
    ['a method of a tensor'] = { "x:narrow('y', 1, 1)", "bad argument #1 to 'narrow' (%s)" },
    ['a function of the module'] = { 'torch.load(5)', "bad argument #1 to 'load' (%s)" },
    ['a function of a table in the module'] = { 'torch.npy.load {}', "bad argument #1 to 'load' (%s)" },
    ['a function that gets a storage'] = { 'torch.save(s)', "bad argument #1 to 'save' (%s)" },
  }
  support.cases('of %s is that of another call', CASES, function(case)
    local source, expected = case[1], case[2]
    local prelude = 'local torch = require "torch" local s = torch.IntStorage(3) local x = torch.IntTensor(2, 3) '
    local plain = support.failure(assert(loadstring(prelude .. 'local y = ' .. source .. ' return y')))
    local returned = support.failure(assert(loadstring(prelude .. 'return ' .. source)))
    plain, returned = problem_of(plain), problem_of(returned)
    local pattern = expected:gsub('%p', '%%%0'):gsub('%%%%s', '.*')
    assert.matches('^' .. pattern .. '$', returned)
    if not source:find '%.new' then
      assert.equal(plain, returned)
    end
  end)
end)
