-- A collection that is due: the next allocation begins it and ends it within its first step. For children of specs: there f
-- runs as a finalizer in the middle of what is done next.
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
