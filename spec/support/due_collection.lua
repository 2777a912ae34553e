-- Makes a garbage collection due, for child processes of specs: the next allocation starts it and finishes it in its first
-- step. So f runs as a finalizer in the middle of the operation that follows.
return function(f)
  collectgarbage()
  collectgarbage 'stop'
  do
    local proxy = newproxy(true)
    getmetatable(proxy).__gc = function()
      collectgarbage('setstepmul', 200)
      collectgarbage('setpause', 200)
      f()
    end
  end
  collectgarbage('setstepmul', 1000000)
  collectgarbage('setpause', 0)
  collectgarbage 'restart'
end
