-- torch._VERSION is the version in Cargo.toml. tools/check_versions.lua compares the other files that name it.
-- Interpreters: luajit
local torch = require 'torch'
local support = require 'spec.support'

describe('torch._VERSION', function()
  it('is the version in Cargo.toml', function()
    local cargo = support.slurp('Cargo.toml'):match '%[package%].-\nversion = "([^"]+)"'
    assert.is_truthy(cargo:match '^%d+%.%d+%.%d+$', cargo)
    assert.equal(cargo, torch._VERSION)
    assert.equal('torch-storage ' .. cargo, tostring(torch))
  end)
end)
