-- Moves the particles of examples/cpp/particles.cpp. The program calls frame(dt) 60 times a second. x, y, vx and vy are storages over the
-- program's own arrays.

-- A particle that leaves the square from 0 to 1 comes back from its border.
local function bounce(position, speed)
  for i = 1, #position do
    local p = position[i]
    if p < 0 then
      position[i], speed[i] = -p, -speed[i]
    elseif p > 1 then
      position[i], speed[i] = 2 - p, -speed[i]
    end
  end
end

function frame(dt)
  -- position = position + dt * speed, in one call for all particles
  x:add(dt, vx)
  y:add(dt, vy)
  bounce(x, vx)
  bounce(y, vy)
end
