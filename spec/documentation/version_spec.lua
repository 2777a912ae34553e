-- The version of the library: Cargo.toml has it, and the other files that name a version agree.
local torch = require 'torch'
local support = require 'spec.support'

local cargo = support.slurp('Cargo.toml'):match '%[package%].-\nversion = "([^"]+)"'

describe('torch._VERSION', function()
  it('is the version in Cargo.toml', function()
    assert.is_truthy(cargo:match '^%d+%.%d+%.%d+$', cargo)
    assert.equal(cargo, torch._VERSION)
    assert.equal('torch-storage ' .. cargo, tostring(torch))
  end)

  it('is that of the rockspec, unless this is one of the development version', function()
    local version = support.slurp(support.sh 'ls *.rockspec'):match "\nversion = '([^']+)%-%d+'"
    assert.is_true(version == 'dev' or version == cargo, version)
  end)

  it('is that of the newest release in CHANGELOG.md, if there is one', function()
    local release = support.slurp('CHANGELOG.md'):match '\n## %[(%d[^%]]*)%]'
    assert.is_true(release == nil or release == cargo, release)
  end)
end)
