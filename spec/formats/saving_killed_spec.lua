-- Processes that are killed while they save. The old file stays, and the next save removes what they have left.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'

local path = support.temporary()

-- The names in the test's directory, sorted, on one line.
local function files()
  return (support.sh('LC_ALL=C ls -A ' .. path()):gsub('\n', ' '))
end

-- Saves x in each format.
local SAVES = {
  npy = 'torch.npy.save(name, x, options)',
  npz = 'torch.npz.save(name, { x = x }, options)',
  safetensors = 'torch.safetensors.save(name, { x = x }, nil, options)',
  t7 = 'torch.save(name, x, options)',
}

describe('a process that is killed while it saves', function()
  support.cases('leaves a hidden file, which the next one removes: %s #process', SAVES, function(source)
    local name = path 'file'
    local script = support.spit(
      path 'script.lua',
      ([[
        local torch = require 'torch'
        local name, x = %q, torch.DoubleTensor(1e6)
        local options = {
          progress = function(done)
            if done > 1e6 then
              os.execute 'kill -9 $PPID; sleep 1'
            end
          end,
        }
        %s
      ]]):format(name, source)
    )
    local function run_until_killed()
      support.execute(support.interpreter .. ' ' .. script)
    end
    local in_this_process = assert(loadstring('local torch, name, x, options = ...; ' .. source))
    local function save(options)
      in_this_process(torch, name, torch.FloatTensor(4), options)
    end
    support.spit(name, 'old')
    for _ = 1, 2 do
      run_until_killed()
      assert.equal('old', support.slurp(name))
      -- The second one has removed what the first one left.
      assert.equal('.file.0.new file script.lua', files())
    end
    save {
      progress = function()
        -- A draft that is being written stays, whatever other processes do.
        run_until_killed()
        assert.equal('.file.0.new .file.1.new file script.lua', files())
      end,
    }
    assert.equal('.file.1.new file script.lua', files())
    save()
    assert.equal('file script.lua', files())
  end)
end)
