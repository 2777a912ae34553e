-- The transcripts in Torch7's documentation of storages, typed line by line into a real shell and a real interpreter prompt on
-- a pseudo-terminal: the output is the documented one.
local support = require 'spec.support'

-- A terminal: `script` (from bsdutils, on every Debian) runs an interactive shell on a pseudo-terminal that reads a named pipe
-- and writes a file. `lua` in that shell is the interpreter under test.
local terminal = {}
terminal.__index = terminal

local PROMPTS = { ['$'] = '$ ', ['>'] = '> ' }
local PATIENCE = 30 -- in seconds

function terminal.open(directory)
  local self = setmetatable({ screen = directory .. '/screen', seen = 0 }, terminal)
  local keys, start = directory .. '/keys', directory .. '/start'
  -- The first commands of the shell. The terminal is wide, because a line longer than it would be scrolled.
  support.spit(start, "PS1='$ '\nstty cols 200\nlua() { " .. support.interpreter .. ' "$@"; }\n')
  support.spit(self.screen, '')
  support.sh("mkfifo '" .. keys .. "'")
  -- readline sends no escape sequences to a dumb terminal.
  local shell = "cd '%s' && { TERM=dumb ENV='%s' script -qec 'sh -i' /dev/null >screen <keys 2>&1 & echo $! >process; }"
  assert(os.execute(shell:format(directory, start)))
  self.keys = assert(io.open(keys, 'wb')) -- waits until `script` reads
  self:wait '$'
  return self
end

function terminal:text()
  return (support.slurp(self.screen):gsub('\27%[[%d;?]*%a', ''):gsub('\r', ''))
end

-- Waits until new output ends with the prompt. Returns the text between `echo` and the prompt.
function terminal:wait(prompt, echo)
  local wanted = PROMPTS[prompt]
  for _ = 1, PATIENCE * 50 do
    local new = self:text():sub(self.seen + 1)
    local typed = echo and echo .. '\n' or ''
    if #new >= #typed + #wanted and new:sub(1, #typed) == typed and new:sub(-#wanted) == wanted then
      self.seen = self.seen + #new
      return new:sub(#typed + 1, -#wanted - 1)
    end
    os.execute 'sleep 0.02'
  end
  error(('no prompt %q; the screen shows:\n%s'):format(wanted, self:text()), 2)
end

-- Types a line at one prompt and waits for the next. An empty line at Lua's prompt means end of file.
function terminal:type(prompt, line, next_prompt)
  local leave = prompt == '>' and line == ''
  self.keys:write(leave and '\4' or line .. '\n')
  self.keys:flush()
  return self:wait(next_prompt, not leave and line or nil)
end

-- Closes the terminal, which ends the programs in it (an interactive shell ignores gentler signals).
function terminal.close(directory)
  support.sh("kill -KILL $(cat '" .. directory .. "/process')")
end

-- A transcript as steps: the prompt, the line typed at it, and the output of the terminal.
local function steps(transcript)
  local list = {}
  for line in transcript:gmatch '(.-)\n' do
    local prompt, typed = line:match '^([$>]) ?(.*)$'
    if prompt then
      list[#list + 1] = { prompt = prompt, typed = typed, shown = {} }
    else
      local shown = list[#list].shown
      shown[#shown + 1] = line
    end
  end
  return list
end

local function play(directory, transcript)
  local session = terminal.open(directory)
  local list = steps(transcript)
  for i, step in ipairs(list) do
    local following = list[i + 1] and list[i + 1].prompt or '$'
    local shown = session:type(step.prompt, step.typed, following):gsub('\n$', '')
    local free = step.typed == 'lua' or step.prompt == '>' and step.typed == '' -- a banner; the end
    if not free then
      assert.are.equal(table.concat(step.shown, '\n'), shown, 'after: ' .. step.prompt .. ' ' .. step.typed)
    end
  end
end

describe('the documented transcript at a prompt #process', function()
  local directory
  before_each(function()
    directory = support.directory()
  end)
  after_each(function()
    terminal.close(directory)
    support.remove(directory)
  end)

  it('maps hello.txt privately, then shared', function()
    if support.has_integers then
      pending 'the prompt of Lua 5.3 shows the results of every line'
    end
    play(
      directory,
      [[
$ echo "Hello World" > hello.txt
$ lua
> require 'torch'
> x = torch.CharStorage('hello.txt')
> = x
  72
 101
 108
 108
 111
  32
  87
 111
 114
 108
 100
  10
[torch.CharStorage of size 12]

> = x:string()
Hello World

> = x:fill(42):string()
************
>
$ cat hello.txt
Hello World
$ lua
> require 'torch'
> x = torch.CharStorage('hello.txt', true)
> = x:string()
Hello World

> x:fill(42)
>
$ cat hello.txt
************
]]
    )
    assert.are.equal(('*'):rep(12), support.slurp(directory .. '/hello.txt'))
  end)

  it('makes storages from sizes and tables, and views of them', function()
    if support.has_integers then
      pending 'the prompt of Lua 5.3 shows the results of every line'
    end
    play(
      directory,
      [[
$ lua
> require 'torch'
> = torch.IntStorage({1,2,3,4})
 1
 2
 3
 4
[torch.IntStorage of size 4]

> x = torch.DoubleStorage(10)
> print(x[5])
0
> y = torch.DoubleStorage(x, 3, 5)
> x:fill(0)
> y:fill(1)
> print(x)
 0
 0
 1
 1
 1
 1
 1
 0
 0
 0
[torch.DoubleStorage of size 10]

>
]]
    )
  end)

  it('fills, copies, resizes and converts in one line each', function()
    if support.has_integers then
      pending 'the prompt of Lua 5.3 shows the results of every line'
    end
    play(
      directory,
      [[
$ lua
> require 'torch'
> x = torch.IntStorage(10):fill(1)
> y = torch.DoubleStorage(10):copy(x) -- y won't be nil!
> = y
 1
 1
 1
 1
 1
 1
 1
 1
 1
 1
[torch.DoubleStorage of size 10]

> x = torch.DoubleStorage(10):fill(1)
> y = torch.DoubleStorage():resize(x:size()):copy(x) -- y won't be nil!
> = #y, y:size(), y[10]
10	10	1
>
]]
    )
  end)

  it('converts strings to storages and back', function()
    if support.has_integers then
      pending 'the prompt of Lua 5.3 shows the results of every line'
    end
    play(
      directory,
      [[
$ lua
> require 'torch'
> x = torch.CharStorage():string("blah blah")
> print(x)
  98
 108
  97
 104
  32
  98
 108
  97
 104
[torch.CharStorage of size 9]

> x = torch.CharStorage():string("blah blah")
> print(x:string())
blah blah
>
]]
    )
  end)

  it('shows an error and continues', function()
    if support.has_integers then
      pending 'the prompt of Lua 5.3 shows the results of every line'
    end
    local session = terminal.open(directory)
    session:type('$', 'lua', '>')
    session:type('>', "require 'torch'", '>')
    local shown = session:type('>', '= torch.IntStorage(3)[4]', '>')
    assert.is_truthy(shown:find('index 4 is out of range: the storage has 3 elements, 1 to 3', 1, true), shown)
    assert.are.equal('3\n', session:type('>', '= #torch.IntStorage(3)', '>'))
    session:type('>', '', '$')
  end)
end)
