-- What a person sees at the prompt of a real interpreter on a pseudo-terminal: the transcripts in Torch7's documentation of
-- storages, and the first session of a newcomer.
local support = require 'spec.support'
local terminal = require 'spec.support.terminal'

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
    terminal.play(
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
    terminal.play(
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
    terminal.play(
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
    terminal.play(
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

describe('the first session #process', function()
  local path = support.temporary()

  -- examples/session.txt is the same on every interpreter, but for the tracebacks below the errors, which it leaves out.
  it('shows what examples/session.txt says', function()
    finally(function()
      terminal.close(path())
    end)
    local session = support.slurp 'examples/session.txt'
    local _, typed = session:gsub('\n> ', '')
    assert.is_true(typed >= 40, typed .. ' lines')
    terminal.play(path(), session, true)
  end)
end)
