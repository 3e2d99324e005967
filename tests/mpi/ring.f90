! A ring and a sum, in Fortran.
program ring
  use mpi
  implicit none
  integer :: rank, size, next, before, error, i
  integer :: status(MPI_STATUS_SIZE)
  double precision :: out(10000), in(10000), total
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  next = mod(rank + 1, size)
  before = mod(rank + size - 1, size)
  do i = 1, 10000
    out(i) = rank * 10000.0d0 + i
  end do
  call MPI_Sendrecv(out, 10000, MPI_DOUBLE_PRECISION, next, 3, in, 10000, MPI_DOUBLE_PRECISION, before, 3, &
                    MPI_COMM_WORLD, status, error)
  do i = 1, 10000
    if (in(i) /= before * 10000.0d0 + i) call MPI_Abort(MPI_COMM_WORLD, 3, error)
  end do
  call MPI_Allreduce(in(1), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  if (total /= size * (size - 1) / 2 * 10000.0d0 + size) call MPI_Abort(MPI_COMM_WORLD, 3, error)
  if (rank == 0) print '(a)', 'fine'
  call MPI_Finalize(error)
end program
