! Rank 1 waits while rank 0 sleeps, by the interface of Fortran 2008; the barrier, so that it is there when the sleep begins.
program waits
  use mpi_f08
  implicit none
  integer :: rank, word
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  word = 0
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) then
    call execute_command_line('sleep 0.2')
    call MPI_Send(word, 1, MPI_INTEGER, 1, 0, MPI_COMM_WORLD)
  else if (rank == 1) then
    call MPI_Recv(word, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end if
  call MPI_Finalize()
end program
