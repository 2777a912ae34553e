-- Lints of the Lua files. The library uses what Lua 5.1 to 5.5 have in common: `jit` and `ffi` are reached through rawget and
-- pcall(require). The specs also use functions of Lua 5.1, which spec/support/lua51.lua gives to later Luas.
std = 'lua51'
-- Code is what stylua makes of it; a comment may end a word later, and a row of text is not broken.
max_code_line_length = 120
max_comment_line_length = 130
max_string_line_length = false

files['lua'] = { std = 'min' }
-- Only LuaJIT comes that far in this file.
files['lua/torch/accessors.lua'] = { read_globals = { 'loadstring' } }
files['lua/torch/atomic.lua'] = { read_globals = { 'loadstring' } }

-- These files are about what differs from Lua to Lua.
files['lua/torch/versions.lua'] = { std = 'max' }
files['spec/support.lua'] = { std = 'max+busted' }
files['spec/support/lua51.lua'] = {
  std = 'max',
  globals = { 'unpack', 'loadstring', 'setfenv', 'getfenv', 'newproxy', 'os', 'collectgarbage' },
}
files['spec/versions'] = { std = 'max+busted' }
files['spec/numbers/unsigned_spec.lua'] = { std = 'max+busted' }
files['spec/numbers/exact_spec.lua'] = { std = 'max+busted' }
files['spec/safety/misuse_spec.lua'] = { std = 'max+busted' }
files['lua/torch/init.lua'] = { globals = { 'torch' } }
files['spec'] = { std = '+busted', globals = { 'torch' } }
files['examples'] = { read_globals = { 'torch' } }
files['examples/nginx'] = { std = '+ngx_lua' }
files['examples/love'] = { std = '+love' }
files['examples/cpp'] = { globals = { 'frame' }, read_globals = { 'x', 'y', 'vx', 'vy' } }
files['examples/neovim'] = { globals = { 'vim' } }
-- Byte for byte as it was recorded.
files['spec/support/golden/manifest.lua'] = { max_code_line_length = false }
files['spec/tensors/golden'] = { max_code_line_length = false }
files['tools/platforms'] = { std = '+busted' }
files['tools/platforms/wine/host.lua'] = { globals = { 'host', 'io', 'os', 'newproxy' } }
