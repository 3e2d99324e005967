// Every mode of point-to-point communication, wildcards, probes, cancelling, persistent requests, derived types.
#include "expect.h"
#include <string.h>

static int rank, size;

static void fill(unsigned char* data, int bytes, int seed) {
  for (int i = 0; i < bytes; ++i) data[i] = (unsigned char)(seed * 131 + i * 7 + (i >> 8));
}
static void check(const unsigned char* data, int bytes, int seed) {
  for (int i = 0; i < bytes; ++i) EXPECT(data[i] == (unsigned char)(seed * 131 + i * 7 + (i >> 8)));
}

static void all_modes(int bytes) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  unsigned char* out = malloc((size_t)bytes + 1);
  unsigned char* in = malloc((size_t)bytes + 1);
  void* buffer = malloc((size_t)bytes + MPI_BSEND_OVERHEAD);
  for (int mode = 0; mode < 8; ++mode) {
    MPI_Request request, sent = MPI_REQUEST_NULL;
    MPI_Status status;
    fill(out, bytes, rank + mode);
    MPI_Irecv(in, bytes, MPI_BYTE, mode % 2 ? MPI_ANY_SOURCE : from, mode % 3 ? mode : MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD); // so that ready sends are allowed
    switch (mode) {
      case 0: MPI_Isend(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD, &sent); break;
      case 1: MPI_Issend(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD, &sent); break;
      case 2: MPI_Irsend(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD, &sent); break;
      case 3: MPI_Rsend(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD); break;
      case 4:
        MPI_Buffer_attach(buffer, bytes + MPI_BSEND_OVERHEAD);
        MPI_Bsend(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD);
        break;
      case 5: MPI_Send_init(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD, &sent); MPI_Start(&sent); break;
      case 6: MPI_Ssend_init(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD, &sent); MPI_Start(&sent); break;
      default: MPI_Send(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, &status);
    int count;
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count == bytes && status.MPI_SOURCE == from && status.MPI_TAG == mode);
    check(in, bytes, from + mode);
    if (mode == 4) {
      void* back;
      int back_bytes;
      MPI_Buffer_detach(&back, &back_bytes);
    }
    if (sent != MPI_REQUEST_NULL) MPI_Wait(&sent, MPI_STATUS_IGNORE);
    if (mode == 5 || mode == 6) MPI_Request_free(&sent);
  }
  memset(in, 0, (size_t)bytes);
  fill(in, bytes, rank);
  MPI_Sendrecv_replace(in, bytes, MPI_BYTE, to, 9, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(in, bytes, from);
  free(out);
  free(in);
  free(buffer);
}

static void probes(int bytes) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  unsigned char* out = malloc((size_t)bytes);
  unsigned char* in = malloc((size_t)bytes);
  MPI_Request sent[4];
  for (int i = 0; i < 4; ++i) {
    fill(out, bytes, rank);
    MPI_Isend(out, bytes, MPI_BYTE, to, 20 + i, MPI_COMM_WORLD, &sent[i]);
  }
  for (int i = 3; i >= 0; --i) {
    MPI_Status status;
    MPI_Message message;
    int flag = 0, count;
    if (i == 3) {
      MPI_Probe(from, 20 + i, MPI_COMM_WORLD, &status);
      MPI_Recv(in, bytes, MPI_BYTE, from, 20 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (i == 2) {
      while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 20 + i, MPI_COMM_WORLD, &flag, &status);
      MPI_Recv(in, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      if (i == 1)
        MPI_Mprobe(from, 20 + i, MPI_COMM_WORLD, &message, &status);
      else
        while (!flag) MPI_Improbe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
      MPI_Mrecv(in, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count == bytes && status.MPI_SOURCE == from && status.MPI_TAG == 20 + i);
    check(in, bytes, from);
  }
  MPI_Waitall(4, sent, MPI_STATUSES_IGNORE);
  int flag;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  EXPECT(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
  free(out);
  free(in);
}

static void cancels(void) {
  int in = 0, cancelled = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT(cancelled);
}

static void types(void) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  enum { rows = 300, columns = 200 };
  static int out[rows][columns], in[rows][columns];
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) out[r][c] = rank * 1000000 + r * 1000 + c;
  MPI_Datatype column, indexed, resized, strange;
  MPI_Type_vector(rows, 1, columns, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &resized);
  MPI_Type_commit(&resized);
  memset(in, 0, sizeof in);
  MPI_Sendrecv(out, 3, resized, to, 1, in, 3, resized, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) EXPECT(in[r][c] == (c < 3 ? from * 1000000 + r * 1000 + c : 0));
  int lengths[3] = {5, 1, 7}, places[3] = {100, 3, 4000};
  MPI_Type_indexed(3, lengths, places, MPI_INT, &indexed);
  MPI_Type_commit(&indexed);
  memset(in, 0, sizeof in);
  MPI_Sendrecv(out, 1, indexed, to, 2, in, 1, indexed, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT((&in[0][0])[104] == from * 1000000 + 104 && (&in[0][0])[3] == from * 1000000 + 3 && in[20][6] != 0 && in[0][0] == 0);
  struct {
    char c;
    double d[3];
    int i;
  } a = {(char)('a' + rank), {1.5, 2.5, rank}, -rank}, b;
  MPI_Aint offsets[3] = {(char*)&a.c - (char*)&a, (char*)a.d - (char*)&a, (char*)&a.i - (char*)&a};
  MPI_Datatype parts[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  int counts[3] = {1, 3, 1};
  MPI_Type_create_struct(3, counts, offsets, parts, &strange);
  MPI_Type_commit(&strange);
  MPI_Sendrecv(&a, 1, strange, to, 3, &b, 1, strange, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(b.c == 'a' + from && b.d[1] == 2.5 && b.d[2] == from && b.i == -from);
  MPI_Type_free(&column);
  MPI_Type_free(&resized);
  MPI_Type_free(&indexed);
  MPI_Type_free(&strange);
}

static void cuts(void) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int out[100] = {0}, in[10], class;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request sent;
  MPI_Isend(out, 100, MPI_INT, to, 1, comm, &sent);
  const int error = MPI_Recv(in, 10, MPI_INT, from, 1, comm, MPI_STATUS_IGNORE);
  MPI_Error_class(error, &class);
  EXPECT(class == MPI_ERR_TRUNCATE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int sizes[] = {0, 1, 100, 16000, 16385, 65536, 70000, 1000000};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    all_modes(sizes[i]);
    probes(sizes[i]);
  }
  cancels();
  types();
  cuts();
  if (rank == 0) puts("fine");
  MPI_Finalize();
}
