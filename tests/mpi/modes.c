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
  for (int mode = 0; mode < 13; ++mode) {
    const int buffered = mode == 4 || mode == 9 || mode == 10;
    if (buffered) MPI_Buffer_attach(buffer, bytes + MPI_BSEND_OVERHEAD);
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
      case 4: MPI_Bsend(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD); break;
      case 5: MPI_Send_init(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD, &sent); MPI_Start(&sent); break;
      case 6: MPI_Ssend_init(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD, &sent); MPI_Start(&sent); break;
      case 8: MPI_Ssend(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD); break;
      case 9: MPI_Ibsend(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD, &sent); break;
      case 10: MPI_Bsend_init(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD, &sent); MPI_Start(&sent); break;
      case 11: MPI_Rsend_init(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD, &sent); MPI_Start(&sent); break;
      default: MPI_Send(out, bytes, MPI_BYTE, to, mode, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, &status);
    int count;
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count == bytes && status.MPI_SOURCE == from && status.MPI_TAG == mode);
    check(in, bytes, from + mode);
    if (sent != MPI_REQUEST_NULL) MPI_Wait(&sent, MPI_STATUS_IGNORE);
    if (sent != MPI_REQUEST_NULL) MPI_Request_free(&sent); // a persistent one
    if (buffered) {
      void* back;
      int back_bytes;
      MPI_Buffer_detach(&back, &back_bytes);
      EXPECT(back == buffer);
    }
  }
  memset(in, 0, (size_t)bytes);
  fill(in, bytes, rank);
  MPI_Sendrecv_replace(in, bytes, MPI_BYTE, to, 9, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(in, bytes, from);
  free(out);
  free(in);
  free(buffer);
}

// Each started again and again, all at once.
static void persistent(int bytes) {
  enum { each = 3 };
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  unsigned char* data[2 * each];
  MPI_Request requests[2 * each];
  for (int i = 0; i < 2 * each; ++i) data[i] = malloc((size_t)bytes + 1);
  for (int i = 0; i < each; ++i) {
    MPI_Recv_init(data[i], bytes, MPI_BYTE, i == 1 ? MPI_ANY_SOURCE : from, 30 + i, MPI_COMM_WORLD, &requests[i]);
    MPI_Send_init(data[each + i], bytes, MPI_BYTE, to, 30 + i, MPI_COMM_WORLD, &requests[each + i]);
  }
  for (int round = 0; round < 4; ++round) {
    MPI_Status statuses[2 * each];
    for (int i = 0; i < each; ++i) fill(data[each + i], bytes, rank + round + i);
    MPI_Startall(2 * each, requests);
    MPI_Waitall(2 * each, requests, statuses);
    for (int i = 0; i < each; ++i) {
      EXPECT(statuses[i].MPI_SOURCE == from && statuses[i].MPI_TAG == 30 + i);
      check(data[i], bytes, from + round + i);
    }
  }
  for (int i = 0; i < 2 * each; ++i) {
    EXPECT(requests[i] != MPI_REQUEST_NULL);
    MPI_Request_free(&requests[i]);
    free(data[i]);
  }
}

#if MPI_VERSION >= 4
// The parts leave in an order of their own.
static void partitioned(int bytes) {
  enum { parts = 5 };
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  unsigned char* out = malloc((size_t)bytes * parts + 1);
  unsigned char* in = malloc((size_t)bytes * parts + 1);
  MPI_Request requests[2];
  MPI_Precv_init(in, parts, bytes, MPI_BYTE, from, 40, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Psend_init(out, parts, bytes, MPI_BYTE, to, 40, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 3; ++round) {
    MPI_Startall(2, requests);
    for (int i = 0; i < parts; ++i) {
      const int part = (2 * i + round) % parts;
      fill(out + (size_t)part * (size_t)bytes, bytes, rank + part + round);
      MPI_Pready(part, requests[1]);
    }
    for (int part = parts - 1; part >= 0; --part) {
      int there = 0;
      while (!there) MPI_Parrived(requests[0], part, &there);
      check(in + (size_t)part * (size_t)bytes, bytes, from + part + round);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  free(out);
  free(in);
}
#endif

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

#ifndef OPEN_MPI // whose mtl/ofi crashes in MPI_Cancel of a send, over every provider
// A send that is cancelled before there is a receive for it either is never seen or arrives whole, and the sender knows which.
static void cancelled_sends(void) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int in = -1, out = rank + 500, mine, theirs, cancelled;
  MPI_Request sent, received;
  MPI_Status status;
  MPI_Issend(&out, 1, MPI_INT, to, 98, MPI_COMM_WORLD, &sent);
  MPI_Cancel(&sent);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Irecv(&in, 1, MPI_INT, from, 98, MPI_COMM_WORLD, &received);
  MPI_Wait(&sent, &status);
  MPI_Test_cancelled(&status, &mine);
  MPI_Sendrecv(&mine, 1, MPI_INT, to, 97, &theirs, 1, MPI_INT, from, 97, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (theirs) MPI_Cancel(&received);
  MPI_Wait(&received, &status);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT(!cancelled == !theirs);
  EXPECT(in == (theirs ? -1 : from + 500));
}
#endif

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
    persistent(sizes[i]);
#if MPI_VERSION >= 4
    partitioned(sizes[i]);
#endif
  }
  cancels();
#ifndef OPEN_MPI
  cancelled_sends();
#endif
  types();
  cuts();
  if (rank == 0) puts("fine");
  MPI_Finalize();
}
