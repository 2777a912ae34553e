-- examples/neovim in a real Neovim without a window: a buffer shows a mapped file as numbers, and writes back what was changed.
-- Interpreters: luajit, lua5.1
local torch = require 'torch'
local blocks = require 'tools.blocks'
local support = require 'spec.support'
local program = require 'spec.support.program'

local test_everywhere, test = program.tests(function()
  return support.sh 'command -v nvim' == '' and 'nvim is missing: tools/need --try nvim' or nil
end)
local path = support.temporary()

-- Runs commands of Neovim in the directory of the test. `show` prints the buffer.
local function nvim(commands)
  support.spit(
    path 'commands.vim',
    "command Show lua io.stdout:write(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n'), '\\n')\n"
      .. commands
      .. '\nqall!\n'
  )
  local here = support.sh 'pwd'
  local command = "cd '%s' && timeout 60 nvim --headless -u NONE -i NONE -n "
    .. "--cmd 'set runtimepath^=%s/examples/neovim' -c 'runtime plugin/numbers.lua' -c 'source commands.vim' </dev/null"
  local output, status = support.execute(command:format(path(), here))
  assert.equal(0, status, output)
  -- Not all messages end with a new line.
  output = output:gsub('\r', ''):gsub('(wrote %d+ of %d+ numbers)\n?', '%1\n')
  return (output:gsub('Error detected while processing [^\n]*\n', ''):gsub('line +%d+:\n', ''))
end

-- What Neovim prints in this case ends with these words.
local function check(expected, commands)
  assert.equal(expected, (nvim(commands):gsub('%s+$', '')))
end

describe('examples/neovim #process', function()
  test_everywhere('starts as examples/README.md says', function()
    local command
    for _, block in ipairs(blocks.of 'examples/README.md') do
      command = block.language == 'sh' and block.source:match '^nvim (.*)$' or command
    end
    local show = "-c 'lua io.stdout:write(vim.api.nvim_buf_get_lines(0, 0, 1, true)[1])' -c 'qall!'"
    local output, status =
      support.execute(('timeout 60 nvim --headless -i NONE -n %s %s </dev/null'):format(command, show))
    assert.equal(0, status, output)
    local pixels = support.slurp 'examples/data/flag.ppm'
    assert.matches(('1: %d %d %d '):format(pixels:byte(16, 18)), output, 1, true)
  end)

  test('shows bytes, and any other type from an offset on', function()
    support.spit(path 'file', '\1\2\3\255\0\0\128\63\205\204\204\61!')
    check(
      ' 1: 1 2 3 255 0 0 128 63\n 9: 205 204 204 61 33\n1: 1 0.1\n1: -253 0 16256 -13107 15820',
      'Numbers file\nShow\nNumbers file float32 4\nShow\nNumbers file int16 2\nShow'
    )
  end)

  test('writes the numbers that were changed, and nothing else', function()
    local name = path 'file'
    local doubles = torch.DoubleStorage { 0.1, 1 / 3, -1e300, 2 ^ 53 + 2, 0 / 0, 1 / 0, 5e-324, 1, 7 }
    support.spit(name, doubles:string())
    check(
      '1: 0.1 0.3333333333333333 -1e+300 9007199254740994 nan inf 5e-324 1\n9: 7\nwrote 2 of 9 numbers\nfalse',
      'Numbers file float64\nShow\n1s/ 1$/ 1.25/\n2s/7/-8/\nwrite\nlua print(vim.bo.modified)'
    )
    doubles[8], doubles[9] = 1.25, -8
    assert.equal(doubles:string(), support.slurp(name))
    -- All bits of an integer.
    support.spit(name, torch.LongStorage({ '9007199254740993', -1 }):string())
    check(
      '1: 9007199254740993 -1\nwrote 1 of 2 numbers\n1: 9007199254740993 9223372036854775807',
      'Numbers file int64\nShow\ns/-1/9223372036854775807/\nwrite\nShow'
    )
    assert.equal('9223372036854775807', torch.LongStorage(name):decimal(2))
  end)

  test('refuses mistakes, and leaves the file as it was', function()
    local bytes = ('abcdefghij'):rep(2)
    support.spit(path 'file', bytes)
    for commands, message in pairs {
      ['1s/97/256/'] = "line 1: '256' is not a uint8",
      ['1s/97/-1/'] = "line 1: '-1' is not a uint8",
      ['1s/97/x/'] = "line 1: 'x' is not a uint8",
      ['1s/97//'] = 'line 1: 8 numbers expected, got 7',
      ['1s/97/1 2/'] = 'line 1: 8 numbers expected, got 9',
      ['2s/9/8/'] = 'line 2 begins with 9: in this page',
      ['2d'] = 'line 2 begins with 9: in this page',
      ['3d'] = '20 numbers expected, got 16',
    } do
      check(
        'Numbers: ' .. message .. '\ntrue',
        'Numbers file\n1s/98/99/\n' .. commands .. '\nwrite\nlua print(vim.bo.modified)'
      )
      assert.equal(bytes, support.slurp(path 'file'))
    end
    local usage = "give a file, a dtype such as float32, and an offset in bytes: ':Numbers --help' says more"
    for commands, message in pairs {
      ['Numbers none'] = 'none does not exist',
      ['Numbers file float64 16'] = 'file has no float64 from byte 16 on',
      ['Numbers file floot'] = usage,
      ['Numbers file complex64'] = usage,
      ['Numbers file uint8 x'] = usage,
    } do
      check('Numbers: ' .. message, commands)
    end
  end)

  test('shows a page of a large file, and turns pages', function()
    local numbers = torch.IntStorage(path 'file', true, 2e6)
    for i = 1, #numbers do
      numbers[i] = i
    end
    numbers:free()
    check(
      '1000 lines\n   8001: 8001 8002 8003 8004 8005 8006 8007 8008\n'
        .. 'Numbers: write the page first, or undo its changes\nwrote 1 of 8000 numbers\n'
        .. '      1: 1 2 3 4 5 6 7 8\nNumbers: there is no such page',
      [=[
Numbers file int32
lua io.stdout:write(vim.api.nvim_buf_line_count(0), ' lines\n')
normal ]]
lua io.stdout:write(vim.api.nvim_buf_get_lines(0, 0, 1, true)[1], '\n')
1s/8002/-8002/
normal [[
write
normal [[
lua io.stdout:write(vim.api.nvim_buf_get_lines(0, 0, 1, true)[1], '\n')
normal [[]=]
    )
    assert.equal(-8002, torch.IntStorage(path 'file')[8002])
  end)

  test('notices that the file became shorter', function()
    support.spit(path 'file', ('x'):rep(10000))
    check(
      'Numbers: file is shorter than it was: open it again',
      'Numbers file\n1s/120/121/\nlua io.open("file", "w"):close()\nwrite'
    )
  end)

  test('prints a help', function()
    assert.matches('^:Numbers FILE %[TYPE %[OFFSET%]%] shows a binary file', nvim 'Numbers --help')
  end)
end)
