# Objects and arrays from Python.
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
gathered = world.allgather({"rank": rank, "text": "x" * (rank * 50000)})
assert [each["rank"] for each in gathered] == list(range(size))
assert all(len(each["text"]) == p * 50000 for p, each in enumerate(gathered))
request = world.isend([rank] * 1000, dest=(rank + 1) % size, tag=5)
assert world.recv(source=MPI.ANY_SOURCE, tag=5) == [(rank - 1) % size] * 1000
request.wait()
data = bytearray(100000)
data[:] = bytes([rank]) * 100000
world.Bcast(data, root=size - 1)
assert data == bytes([size - 1]) * 100000
assert world.allreduce(rank) == size * (size - 1) // 2
world.barrier()
if rank == 0:
    print("fine")
