-- LÖVE reads this before main.lua. The program needs no window.
function love.conf(t)
  t.identity = 'torch-example'
  t.window = false
  for _, module in ipairs { 'window', 'graphics', 'audio', 'joystick', 'physics', 'video' } do
    t.modules[module] = false
  end
end
