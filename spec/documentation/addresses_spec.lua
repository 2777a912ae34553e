-- examples/addresses.lua, run as by a user: addresses of a list are found, and others are not.
-- Interpreters: luajit, lua5.1, lua5.4
local support = require 'spec.support'

local path = support.temporary()

local function addresses(arguments)
  return support.execute(('%s examples/addresses.lua %s'):format(support.interpreter, arguments))
end

describe('examples/addresses.lua #process', function()
  it('finds the addresses of a list', function()
    local lines = {}
    for i = 1, 3000 do
      lines[i] = ('%d.%d.%d.7'):format(255 - i * 7 % 256, i % 256, math.floor(i / 256))
    end
    lines[3001] = lines[5]
    support.spit(path 'text', table.concat(lines, '\n') .. '\n')
    local output, status = addresses(("'%s' < '%s'"):format(path 'list', path 'text'))
    assert.equal(0, status, output)
    assert.equal('3000 addresses', output)
    output, status = addresses(("'%s' %s %s 0.0.0.1 255.255.255.255"):format(path 'list', lines[1], lines[3000]))
    assert.equal(0, status, output)
    local expected = ('%s is in the list\n%s is in the list\n'):format(lines[1], lines[3000])
    assert.equal(expected .. '0.0.0.1 is not in the list\n255.255.255.255 is not in the list', output)
  end)

  it('says what is wrong', function()
    local function fails(arguments, message)
      local output, status = addresses(arguments)
      assert.equal(1, status)
      assert.matches(message, output, 1, true)
    end
    fails('', 'addresses: give the file of a list, or --help')
    fails(("'%s' 1.2.3.4"):format(path 'none'), 'cannot open file')
    support.spit(path 'text', '1.2.3.4\n1.2.3\n')
    fails(("'%s' < '%s'"):format(path 'list', path 'text'), "addresses: line 2 is not an IPv4 address: '1.2.3'")
    support.spit(path 'text', '1.2.3.4\n')
    assert.equal(0, select(2, addresses(("'%s' < '%s'"):format(path 'list', path 'text'))))
    for _, address in ipairs { '1.2.3', '1.2.3.256', '1.2.3.4.5', 'x' } do
      fails(("'%s' %s"):format(path 'list', address), "addresses: not an IPv4 address: '" .. address .. "'")
    end
  end)
end)
