# The link: turns the sideband's descriptors into connections, starts the relay, and carries messages and frames. Knows no request.
#
# R opens a descriptor only through the file system (/dev/fd), which makes another of it; the one that was inherited is closed.
# Interrupts are held back wherever a message is half written or a frame half read.

link <- new.env(parent = emptyenv())
CHUNK_BYTES <- 65536L # of one read: what a pipe holds

# Open everything. Stops with a reason if the sideband is not there.
open_link <- function() {
  names <- c("MCP_CONSOLE_IPC_READ_FD", "MCP_CONSOLE_IPC_WRITE_FD")
  given <- Sys.getenv(names)
  Sys.unsetenv(names)
  if (!all(grepl("^[0-9]{1,9}$", given)) || any(as.integer(given) < 3L)) {
    refuse(paste("this program is a worker of sideband: a host must start it, with", paste(names, collapse = " and ")))
  }
  fds <- as.integer(given)
  for (number in c(fds[1L], 0L)) close(open_descriptor(number, "rb")) # only the relay keeps them
  before <- open_descriptors()
  link$out <- open_descriptor(fds[2L], "wb")
  parallel <- asNamespace("parallel")
  parallel$closeFD(fds[2L])
  pipe <- tempfile("relay")
  holder <- fifo(pipe, "w+b", blocking = TRUE) # makes it
  link$frames <- fifo(pipe, "rb", blocking = TRUE)
  link$ready <- fifo(pipe, "rb", blocking = FALSE)
  link$worker <- Sys.getpid()
  child <- parallel$mcfork(TRUE)
  if (inherits(child, "masterProcess")) {
    start_relay(pipe, holder, fds[1L])
    leave_relay()
  }
  link$relay <- child$pid
  parallel$closeFD(c(fds[1L], 0L))
  link$empty <- file("/dev/null", "rb", raw = TRUE) # takes the place of descriptor 0, for children
  next_frame() # the relay is there: nobody needs the name of the pipe any more
  close(holder)
  unlink(pipe)
  link$stdout <- open_descriptor(1L, "ab") # last, so that all have low numbers: see children.R
  link$stderr <- open_descriptor(2L, "ab")
  link$fds <- setdiff(open_descriptors(), setdiff(before, fds))
}

start_relay <- function(pipe, holder, number) {
  control <- open_descriptor(number, "rb")
  input <- new.env(parent = emptyenv())
  input$waiting <- fifo("/dev/fd/0", "rb", blocking = TRUE) # unlike a file it reads no more than it is asked for
  input$ready <- fifo("/dev/fd/0", "rb", blocking = FALSE)
  input$unended <- FALSE # what was taken last lacked a line feed, which may still come
  out <- file(pipe, "wb", raw = TRUE)
  for (each in list(link$out, link$frames, link$ready, holder)) close(each)
  asNamespace("parallel")$closeFD(c(0:2, number))
  nothing <- lapply(1:3, function(i) file("/dev/null", "r+b", raw = TRUE)) # so that nothing else becomes 0 to 2
  suspendInterrupts(tryCatch({
    send_frame(out, list(kind = "look"))
    run_relay(control, input, out, link$worker)
  }, error = function(e) NULL))
  nothing
}

open_descriptor <- function(number, mode) {
  tryCatch(
    suppressWarnings(file(paste0("/dev/fd/", number), mode, raw = TRUE)),
    error = function(e) refuse(paste0("descriptor ", number, " cannot be opened by way of /dev/fd: it must be a pipe"))
  )
}

# Return the numbers of this process's descriptors. The listing has one of its own, which is gone by then.
open_descriptors <- function() {
  numbers <- list.files("/dev/fd")
  as.integer(numbers[file.exists(file.path("/dev/fd", numbers))])
}

is_child <- function() Sys.getpid() != link$worker

# Send a message. If the host is gone, nothing happens: its end is on its way.
send <- function(...) send_together(list(...))

# Send messages that belong together: at once, so that nobody sees one without the other. Those that are NULL are left out.
send_together <- function(...) {
  lines <- vapply(Filter(Negate(is.null), list(...)), encode_json, "")
  if (is_child() || any(nchar(lines, "bytes") > LINE_BYTES)) return(FALSE)
  suspendInterrupts(tryCatch({
    writeBin(charToRaw(paste0(lines, "\n", collapse = "")), link$out)
    flush(link$out)
    TRUE
  }, error = function(e) FALSE))
}

# Write a mark to the outputs, behind everything.
write_marks <- function(mark, outputs = list(link$stdout, link$stderr)) {
  bytes <- c(as.raw(0x1eL), mark, as.raw(0x1eL))
  flush(stdout())
  flush(stderr())
  for (output in outputs) {
    tryCatch({
      writeBin(bytes, output)
      flush(output)
    }, error = function(e) NULL)
  }
}

# Return the n-th of the marks that are made from `base`: n is added to its last eight digits.
counted_mark <- function(base, n) {
  text <- rawToChar(base)
  half <- function(from) strtoi(substr(text, from, from + 3L), 16L)
  number <- (half(25L) * 65536 + half(29L) + n) %% 2^32
  sprintf("%s%04x%04x", substr(text, 1L, 24L), as.integer(number %/% 65536), as.integer(number %% 65536))
}

# Write text to standard error, between two order marks if the host wants them: they tell where it belongs in standard output.
warn <- function(...) {
  mark_order()
  cat(..., sep = "", file = stderr())
  mark_order()
}

mark_order <- function() {
  base <- session$request$order_mark
  if (is.null(base) || is_child()) return(invisible())
  session$request$orders <- session$request$orders + 1L
  write_marks(charToRaw(counted_mark(base, session$request$orders)))
}

# Wait for the next frame of the relay. If it is gone, so is the host.
next_frame <- function() complete_frame(raw())

# Return the next frame if there is one already, or NULL.
frame_at_hand <- function() {
  head <- tryCatch(suppressWarnings(readBin(link$ready, raw(), 4L)), error = function(e) raw())
  if (length(head)) complete_frame(head) else NULL
}

complete_frame <- function(head) {
  head <- c(head, read_exactly(4L - length(head)))
  if (length(head) < 4L) return(list(kind = "end", reason = "host_gone"))
  unserialize(read_exactly(readBin(head, "integer", endian = "big")))
}

read_exactly <- function(count) {
  chunks <- list()
  while (count > 0L) {
    chunk <- readBin(link$frames, raw(), min(count, CHUNK_BYTES))
    if (!length(chunk)) break
    chunks[[length(chunks) + 1L]] <- chunk
    count <- count - length(chunk)
  }
  if (length(chunks)) unlist(chunks) else raw()
}
