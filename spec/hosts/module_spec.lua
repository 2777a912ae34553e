-- What `require` returns and which globals it sets. Each test runs in a child process, because this one has loaded the module
-- already.
local support = require 'spec.support'

describe("require 'torch.storage' #process", function()
  it('returns the module and sets no global', function()
    local text = support.child [[
      local before = {}
      for name in pairs(_G) do before[name] = true end
      local torch = require 'torch.storage'
      print(type(torch.IntStorage), rawget(_G, 'torch'))
      for name in pairs(_G) do assert(before[name], name) end]]
    assert.equal('table\tnil', text)
  end)
end)

describe("require 'torch' #process", function()
  it('returns the same table, and sets the global torch and no other', function()
    local text = support.child [[
      local before = { torch = true }
      for name in pairs(_G) do before[name] = true end
      local torch_storage = require 'torch.storage'
      local returned = require 'torch'
      print(rawequal(returned, torch_storage), rawequal(rawget(_G, 'torch'), returned))
      for name in pairs(_G) do assert(before[name], name) end]]
    assert.equal('true\ttrue', text)
  end)
end)
