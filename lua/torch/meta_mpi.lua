---@meta torch.mpi
-- Types and documentation of torch.mpi, for editors (LuaCATS). docs/api-mpi.md is made from this file by tools/api.lua, and
-- docs/mpi.md explains it. The file holds declarations only: the library never loads it. torch.mpi is a library of its own, which
-- `make mpi` builds.
-- luacheck: ignore 212 241

-- The library ---------------------------------------------------------------------------------------------------------

---Storages and contiguous tensors as buffers of MPI. `require 'torch.mpi'` returns this table, and begins MPI.
---@class torch.mpi
---@field world torch.mpi.Communicator all ranks of the program
local mpi = {}

---A storage of any class, or a tensor that is contiguous.
---@alias torch.mpi.Elements torch.Storage|torch.Tensor

---What a reduction does with two elements. Integers have all of these, bit by bit for the last three. A BoolStorage has all
---but `'sum'` and `'prod'`. Float and Double have the first four, and complex numbers the first two. Half, BFloat16 and the
---floats of 8 bits have none: convert them before.
---@alias torch.mpi.Operation 'sum'|'prod'|'min'|'max'|'and'|'or'|'xor'

---The name and the version of the MPI library, `'Open MPI v4.1.4'` for example. Origin: MPI_Get_library_version.
---```lua (2 ranks)
---if rank == 0 then print(mpi.library():find 'MPI' ~= nil) end --> true
---```
---@return string
function mpi.library() end

---Seconds since a moment in the past. Origin: MPI_Wtime.
---```lua (2 ranks)
---local start = mpi.time()
---world:barrier()
---if rank == 0 then print(mpi.time() - start < 10) end --> true
---```
---@return number
function mpi.time() end

---Whether the ranks agree before each collective. With an argument it is changed, for all Lua states of this process; all
---ranks do that at the same time. Without the agreement, a difference in size or class is undefined: MPI may write past the
---end of a storage. Origin: this library.
---```lua (2 ranks)
---local former = mpi.check(false) -- for a loop of small collectives that is known to be right
---for _ = 1, 100 do world:barrier() end
---mpi.check(former)
---if rank == 0 then print(former, mpi.check()) end --> true	true
---```
---@param enable? boolean
---@return boolean former
function mpi.check(enable) end

-- Ranks ---------------------------------------------------------------------------------------------------------------

---A group of ranks. `tostring` shows the rank and their number.
---@class torch.mpi.Communicator
local Communicator = {}

---The number of this rank, from 0. Origin: MPI_Comm_rank.
---```lua (2 ranks)
---print(world:rank(), world:size())
-----> 0	2
-----> 1	2
---```
---@return integer
function Communicator:rank() end

---How many ranks there are. Origin: MPI_Comm_size.
---```lua (2 ranks)
---local n = 10 -- elements that the ranks share among them
---local first, last = n * rank / world:size() + 1, n * (rank + 1) / world:size()
---print(('%d to %d'):format(first, last))
-----> 1 to 5
-----> 6 to 10
---```
---@return integer
function Communicator:size() end

---Waits until all ranks have called it. Origin: MPI_Barrier.
---```lua (2 ranks)
---local options = { filename = 'shared.i32', shared = true, size = 1 }
---if rank == 0 then torch.IntStorage(options):fill(7) end -- makes a file
---world:barrier() -- from here on the file is there
---print(rank, torch.IntStorage('shared.i32')[1])
-----> 0	7
-----> 1	7
---```
function Communicator:barrier() end

-- Messages ------------------------------------------------------------------------------------------------------------

---Sends all elements, and returns when they may be changed again. Errors: no rank, or no tag, of that number. Origin:
---MPI_Send.
---```lua (2 ranks)
---local x = torch.IntTensor { { 1, 2, 3 }, { 4, 5, 6 } }
---if rank == 0 then world:send(x[2], 1) end -- the second row
---if rank == 1 then
---  world:recv(x[1], 0)
---  print(x:get(1, 1), x:get(1, 3)) --> 4	6
---end
---```
---@param s torch.mpi.Elements
---@param rank integer from 0
---@param tag? integer default 0
function Communicator:send(s, rank, tag) end

---Waits for a message, and writes it into the first elements. The other elements stay as they are. Errors: a message with more
---elements, or with a part of one: it is dropped, and nothing is written; a storage that may not be written. The class is not
---part of a message, so a difference is not noticed. Origin: MPI_Mprobe and MPI_Mrecv.
---```lua (2 ranks)
---local s = torch.IntStorage(3):fill(-1)
---if rank == 0 then world:send(torch.IntStorage { 10, 20 }, 1, 5) end
---if rank == 1 then print(world:recv(s)) end --> 2	0	5
---if rank == 1 then print(s:unpack()) end --> 10	20	-1
---```
---@param s torch.mpi.Elements
---@param source? integer default any rank
---@param tag? integer default any tag
---@return integer count how many elements came
---@return integer source
---@return integer tag
function Communicator:recv(s, source, tag) end

---Sends and receives at the same time. The two share no memory. Results: those of `recv`. Errors: those of `send` and `recv`.
---Origin: MPI_Sendrecv.
---```lua (2 ranks)
---local mine, left = torch.IntStorage { rank * 10 }, torch.IntStorage(1)
---world:sendrecv(mine, (rank + 1) % 2, left, (rank - 1) % 2) -- to the next rank in a ring
---print(rank, left[1])
-----> 0	10
-----> 1	0
---```
---@param from torch.mpi.Elements
---@param rank integer
---@param to torch.mpi.Elements
---@param source? integer default any rank
---@param tag? integer of the message that is sent; default 0
---@param received? integer the tag of the message that is received; default any tag
---@return integer count
---@return integer source
---@return integer tag
function Communicator:sendrecv(from, rank, to, source, tag, received) end

-- Messages in the background ------------------------------------------------------------------------------------------

---A message that was begun.
---@class torch.mpi.Request
local Request = {}

---Begins to send. The storage is held until the message is complete: it cannot be resized, and the program does not write to
---it. Errors: those of `send`; memory that belongs to a Lua value, which cannot be held. Origin: MPI_Isend.
---```lua (2 ranks)
---local s = torch.IntStorage { 7 }
---local request = rank == 0 and world:isend(s, 1) or world:irecv(s:fill(0), 0)
---request:wait() -- before it there is time for other work
---print(rank, s[1])
-----> 0	7
-----> 1	7
---```
---@param s torch.mpi.Elements
---@param rank integer
---@param tag? integer default 0
---@return torch.mpi.Request
function Communicator:isend(s, rank, tag) end

---Begins to receive. The storage is held until the message is complete: it cannot be resized, and the program does not read
---it. Receives get messages in the order in which they were begun. Errors: those of `recv`; memory that belongs to a Lua
---value. A message that does not fit is an error of `wait` and `test`. Origin: MPI_Improbe and MPI_Imrecv.
---```lua (2 ranks)
---local s = torch.IntStorage(1)
---local request = world:irecv(s, 1 - rank) -- on both ranks, before either sends
---world:send(torch.IntStorage { rank * 10 }, 1 - rank)
---request:wait()
---if rank == 0 then print(s[1]) end --> 10
---```
---@param s torch.mpi.Elements
---@param source? integer default any rank
---@param tag? integer default any tag
---@return torch.mpi.Request
function Communicator:irecv(s, source, tag) end

---Waits until the message is complete. A second call returns the same. Errors: a message that did not fit; what MPI reports.
---Origin: MPI_Wait.
---```lua (2 ranks)
---local request = world:irecv(torch.IntStorage(100)) -- from any rank
---world:send(torch.IntStorage { 1, 2, 3 }, 1 - rank, 5)
---print(request:wait())
-----> 3	1	5
-----> 3	0	5
---```
---@return integer? count of a message that was received, how many elements came
---@return integer? source
---@return integer? tag
function Request:wait() end

---Looks whether the message is complete, without waiting. Errors: those of `wait`. Origin: MPI_Test.
---```lua (2 ranks)
---local request, complete = world:irecv(torch.IntStorage(1), 1 - rank), nil
---world:send(torch.IntStorage { 7 }, 1 - rank)
---repeat complete = request:test() until complete -- with other work between two looks
---if rank == 0 then print(request:test()) end --> true	1	1	0
---```
---@return boolean complete
---@return integer? count
---@return integer? source
---@return integer? tag
function Request:test() end

---Waits for all requests. Errors: a value that is not a request; a request that fails: then the others are waited for too, and
---the error is that of the first one. Origin: MPI_Waitall.
---```lua (2 ranks)
---local mine, theirs = torch.IntStorage { rank * 10 }, torch.IntStorage(1)
---mpi.waitall { world:irecv(theirs, 1 - rank), world:isend(mine, 1 - rank) }
---print(rank, theirs[1])
-----> 0	10
-----> 1	0
---```
---@param requests torch.mpi.Request[]
function mpi.waitall(requests) end

-- Collectives ---------------------------------------------------------------------------------------------------------
-- All ranks of a communicator call the same function. Before, they agree: if the functions, classes, sizes, operations or roots
-- differ, or the arguments of one rank are wrong, the call is an error on all ranks. `mpi.check` leaves this out.

---The elements of the root go to all ranks. All have the same number of them. Errors: different sizes, classes or roots.
---Origin: MPI_Bcast.
---```lua (2 ranks)
---local s = rank == 0 and torch.IntStorage { 10, 20 } or torch.IntStorage(2)
---world:bcast(s)
---if rank == 1 then print(s:unpack()) end --> 10	20
---```
---@param s torch.mpi.Elements
---@param root? integer default 0
function Communicator:bcast(s, root) end

---The root gets, for each element, the sum (or another operation) of those of all ranks. Errors: those of `bcast`; a class
---that does not have the operation. Origin: MPI_Reduce.
---```lua (2 ranks)
---local s = torch.IntStorage { rank + 1, 10 }
---world:reduce(s, 'sum') -- rank 0 has the result
---print(rank, s:unpack())
-----> 0	3	20
-----> 1	2	10
---```
---@param s torch.mpi.Elements in place: the root has the result here, and those of the other ranks stay as they are
---@param op torch.mpi.Operation
---@param root? integer default 0
---@overload fun(self, from: torch.mpi.Elements, to: torch.mpi.Elements?, op: torch.mpi.Operation, root?: integer)
function Communicator:reduce(s, op, root) end

---The same as `reduce`, and all ranks get the result. Errors: those of `reduce`. Origin: MPI_Allreduce.
---```lua (2 ranks)
---local mine, most = torch.IntStorage { rank, -rank }, torch.IntStorage(2)
---world:allreduce(mine, most, 'max')
---print(rank, most:unpack())
-----> 0	1	0
-----> 1	1	0
---```
---@param s torch.mpi.Elements in place
---@param op torch.mpi.Operation
---@overload fun(self, from: torch.mpi.Elements, to: torch.mpi.Elements, op: torch.mpi.Operation)
function Communicator:allreduce(s, op) end

---The root gets the elements of all ranks, those of rank 0 first. `to` counts only at the root, and the others may give nil.
---Errors: those of `bcast`; a whole that does not have one part for each rank. Origin: MPI_Gather.
---```lua (2 ranks)
---local all = rank == 0 and torch.IntStorage(4) or nil
---world:gather(torch.IntStorage { rank, rank * 10 }, all, 0)
---if rank == 0 then print(all:unpack()) end --> 0	0	1	10
---```
---@param s torch.mpi.Elements in place: at the root the whole, with its own part where it belongs; at the others their part
---@param root? integer default 0
---@overload fun(self, from: torch.mpi.Elements, to: torch.mpi.Elements?, root?: integer)
function Communicator:gather(s, root) end

---The same as `gather`, and all ranks get the whole. Errors: those of `gather`. Origin: MPI_Allgather.
---```lua (2 ranks)
---local all = torch.IntStorage(2)
---all[rank + 1] = rank + 5 -- the part of this rank, where it belongs
---world:allgather(all)
---print(rank, all:unpack())
-----> 0	5	6
-----> 1	5	6
---```
---@param s torch.mpi.Elements in place: the whole, with the part of this rank where it belongs
---@overload fun(self, from: torch.mpi.Elements, to: torch.mpi.Elements)
function Communicator:allgather(s) end

---Each rank gets its part of the root's elements. `from` counts only at the root, and the others may give nil. Errors: those
---of `gather`. Origin: MPI_Scatter.
---```lua (2 ranks)
---local whole = rank == 0 and torch.IntStorage { 1, 2, 3, 4 } or nil
---local part = torch.IntStorage(2)
---world:scatter(whole, part)
---print(rank, part:unpack())
-----> 0	1	2
-----> 1	3	4
---```
---@param s torch.mpi.Elements in place: at the root the whole; the others get their part here
---@param root? integer default 0
---@overload fun(self, from: torch.mpi.Elements?, to: torch.mpi.Elements, root?: integer)
function Communicator:scatter(s, root) end

---Part r of each rank goes to rank r, which gets the parts in the order of the ranks. Errors: those of `gather`. Origin:
---MPI_Alltoall.
---```lua (2 ranks)
---local s = torch.IntStorage { rank * 10 + 1, rank * 10 + 2 } -- for rank 0, for rank 1
---world:alltoall(s)
---print(rank, s:unpack())
-----> 0	1	11
-----> 1	2	12
---```
---@param s torch.mpi.Elements in place
---@overload fun(self, from: torch.mpi.Elements, to: torch.mpi.Elements)
function Communicator:alltoall(s) end

-- Any value -----------------------------------------------------------------------------------------------------------

---Sends a value through `torch.serialize`. Errors: those of `send` and of `torch.serialize`. Origin: mpi4py, where it is
---`send`.
---```lua (2 ranks)
---if rank == 0 then world:sendobject({ name = 'bias', values = torch.IntStorage { 1, 2 } }, 1) end
---if rank == 1 then print(world:recvobject(0).values:unpack()) end --> 1	2
---```
---@param value any
---@param rank integer
---@param tag? integer default 0
function Communicator:sendobject(value, rank, tag) end

---Waits for a value. Errors: a message that is not a value. Origin: mpi4py, where it is `recv`.
---```lua (2 ranks)
---if rank == 1 then world:sendobject('finished', 0, 3) end
---if rank == 0 then print(world:recvobject()) end --> finished	1	3
---```
---@param source? integer default any rank
---@param tag? integer default any tag
---@return any value
---@return integer source
---@return integer tag
function Communicator:recvobject(source, tag) end

---Returns the value of the root on all ranks. Errors: those of `torch.serialize`, on all ranks. Origin: mpi4py, where it is
---`bcast`.
---```lua (2 ranks)
---local settings = rank == 0 and { rate = 0.5 } or nil
---settings = world:bcastobject(settings)
---print(rank, settings.rate)
-----> 0	0.5
-----> 1	0.5
---```
---@param value any
---@param root? integer default 0
---@return any value
function Communicator:bcastobject(value, root) end

-- Groups --------------------------------------------------------------------------------------------------------------

---The communicator of the ranks that give the same color, in the order of their keys. All ranks call it. Origin:
---MPI_Comm_split.
---```lua (2 ranks)
---local turned = world:split(0, -rank) -- all ranks, the last one first
---print(rank, turned:rank(), turned:size())
-----> 0	1	2
-----> 1	0	2
---```
---@param color? integer from 0; without one this rank gets nil
---@param key? integer default the rank
---@return torch.mpi.Communicator?
function Communicator:split(color, key) end

---Gives a communicator that `split` made back. All its ranks call it. Errors: `mpi.world`; messages of this communicator that
---are not complete. Origin: MPI_Comm_free.
---```lua (2 ranks)
---local alone = world:split(rank) -- a color for each rank
---print(rank, alone:size())
-----> 0	1
-----> 1	1
---alone:free()
---```
function Communicator:free() end

-- The end -------------------------------------------------------------------------------------------------------------

---Calls `f(...)` and returns what it returns. After an error it prints the error, and ends all ranks. Only systems without
---glibc need it: elsewhere the exit status of the process does the same. Origin: this library.
---```lua (2 ranks)
---local function work(n)
---  local s = torch.IntStorage { n }
---  world:allreduce(s, 'sum')
---  return s[1]
---end
---if mpi.main(work, 21) == 42 and rank == 0 then print 'all went well' end
-----> all went well
---```
---@param f function
---@return any ...
function mpi.main(f, ...) end

---Ends MPI before the process ends, on all ranks. Afterwards all calls are errors. Errors: messages of this rank that nobody
---has received. Origin: MPI_Finalize.
---```lua (2 ranks)
---mpi.finalize()
---print((pcall(world.barrier, world)))
-----> false
-----> false
---```
function mpi.finalize() end

---Ends all ranks. What this one has printed is written first. Origin: MPI_Abort.
---```lua (2 ranks)
---if rank == 1 then
---  print 'rank 1 found no data' --> rank 1 found no data
---  world:abort(3)
---end
---world:recv(torch.IntStorage(1)) -- rank 0 does not wait for ever
---```
---@param code? integer the exit status, from 0 to 255; default 1
function Communicator:abort(code) end

return mpi
