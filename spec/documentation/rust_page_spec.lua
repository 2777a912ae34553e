-- docs/rust-hosts.md: the dependencies that it shows have the versions and features of Cargo.toml. Its program is in tests/host.
-- Interpreters: luajit
local blocks = require 'tools.blocks'
local support = require 'spec.support'

describe('docs/rust-hosts.md', function()
  it('shows the version of mlua, and features that exist', function()
    local cargo, seen = support.slurp 'Cargo.toml', 0
    for _, block in ipairs(blocks.of 'docs/rust-hosts.md') do
      if block.language == 'toml' then
        assert.equal(cargo:match 'mlua = { version = "([%d.]+)"', block.source:match 'mlua = { version = "([%d.]+)"')
        for feature in block.source:match('torch%-storage = .-features = %[(.-)%]'):gmatch '"(.-)"' do
          assert.is_truthy(cargo:find('\n' .. feature .. ' = [', 1, true), feature)
          seen = seen + 1
        end
      end
    end
    assert.equal(2, seen)
  end)
end)
