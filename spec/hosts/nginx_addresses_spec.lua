-- examples/nginx/addresses.conf in a real nginx: clients whose addresses are in a mapped list are refused.
-- Interpreters: luajit
local support = require 'spec.support'
local nginx_host = require 'spec.support.nginx_host'
local program = require 'spec.support.program'

local test = program.tests(nginx_host.missing)

describe('examples/nginx/addresses.conf #process', function()
  local path = support.temporary()
  local server
  after_each(function()
    if server then
      server:stop()
      server = nil
    end
  end)

  test('refuses the addresses of a list, and those of a new one after a reload', function()
    local function write_list(text)
      local build = ("printf '%s' | %s examples/addresses.lua '%s' && chmod 644 '%s'"):format(
        text,
        support.interpreter,
        path 'list',
        path 'list'
      )
      local output, status = support.execute(build)
      assert.equal(0, status, output)
    end
    write_list '10.0.0.1\\n127.0.0.2\\n255.255.255.255\\n'
    local configuration, count = support.slurp('examples/nginx/addresses.conf'):gsub('/tmp/addresses', path 'list', 2)
    assert.equal(2, count)
    server = nginx_host.start('', configuration)

    local function status_for(address)
      local ask = "curl -s -o /dev/null -w '%%{http_code}' -m 20 --interface %s http://127.0.0.1:%d/"
      return (support.sh(ask:format(address, server.port)):gsub('%s', ''))
    end
    assert.same({ '200', '403', '200' }, { status_for '127.0.0.1', status_for '127.0.0.2', status_for '127.0.0.3' })

    write_list '127.0.0.3\\n'
    assert.equal('403', status_for '127.0.0.2', 'the old list stays open until the reload')
    server:reload()
    assert.same({ '200', '200', '403' }, { status_for '127.0.0.1', status_for '127.0.0.2', status_for '127.0.0.3' })
  end)
end)
