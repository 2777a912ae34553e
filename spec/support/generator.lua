-- A random generator of our own (Park and Miller), so that all interpreters make the same calls: `random(n)` gives 1 to n.
return function(seed)
  local state = seed % 2147483646 + 1
  return function(n)
    state = state * 16807 % 2147483647
    return state % n + 1
  end
end
