-- The public module: returns the table of torch.storage, and sets the global variable `torch` to it.
local module = require 'torch.storage'
torch = module
return module
