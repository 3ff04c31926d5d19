# The relay: turns what the host sends into frames for the worker, and interrupts into signals. It runs no user code.
#
# It is a fork of the worker that holds nothing of it but the three ends it reads and writes, so that the host sees the end of
# the worker's output whatever becomes of the relay. It ends when the host or the worker is gone.

END_S <- 1.2 # from session_end to the end of a worker that does not go by itself: it must be gone after 2
GRACE_S <- 0.25 # for the signal that a host may send beside its message: another one would interrupt code twice
AGAIN_S <- c(0.05, 0.25) # after an interrupt that the worker has not met: looks for programs that it has missed
LOOK_S <- 0.05 # between two looks whether the worker is still there, meanwhile
LOOKS_AGAIN <- 5L # of those: for programs that have missed the signal
MARK_BYTES <- 256L # of a mark, so that it is written in one piece
COUNTED_MARK_DIGITS <- 32L
SILENCE_S <- 0.05 # behind a line feed: input whose text was not announced is whole
NEWLINE_S <- 2 # for such input to come, and for the last line feed of any
INPUT_LOOK_S <- 0.005 # between two looks for them
LF <- as.raw(0x0aL)
HEX_DIGITS <- charToRaw("0123456789abcdef")
ID_LIMIT <- 2^53 # above, a number is no longer exact

# Send one value to the worker: its length in 4 bytes, and the value as R writes it.
send_frame <- function(out, value) {
  body <- serialize(value, NULL, xdr = FALSE)
  writeBin(c(writeBin(length(body), raw(), endian = "big"), body), out)
  flush(out)
}

run_relay <- function(control, input, out, worker) {
  last <- NULL # the number of the last request that was handed on
  signals <- FALSE # whether there may be one of an earlier interrupt, that was late
  hand_on <- function(...) tryCatch(send_frame(out, list(...)), error = function(e) leave_relay())
  finish <- function(reason) {
    raise_flag()
    hand_on(kind = "end", reason = reason)
    interrupt_group(worker)
    for (look in seq_len(END_S / LOOK_S)) {
      Sys.sleep(LOOK_S)
      hand_on(kind = "look") # which fails, and ends the relay, if the worker is gone
      if (look %% LOOKS_AGAIN == 1L) signal_untouched(worker)
    }
    others <- setdiff(as.integer(list_group(worker)), Sys.getpid()) # or they would hold the worker's outputs
    unlink(tempdir(), recursive = TRUE) # before its end can be seen, and once more for what it has made meanwhile
    for (pid in unique(c(worker, others))) tools::pskill(pid, tools::SIGKILL)
    unlink(tempdir(), recursive = TRUE)
    leave_relay()
  }
  repeat {
    line <- read_line(control)
    if (is.null(line)) finish("host_gone")
    message <- tryCatch(check_message(decode_json(line)), error = function(e) NULL)
    if (is.null(message)) {
      if (nzchar(line)) hand_on(kind = "ignored")
    } else if (message$type == "stdin_write") {
      unannounced <- !length(message$text) && is.null(message$request_id)
      text <- if (unannounced) take_unannounced(input) else take_announced(input, message$text)
      if (unannounced && !length(text)) next
      unended <- length(text) && text[length(text)] != LF && (unannounced || identical(c(text, LF), message$text))
      if (!unannounced && !unended && !identical(text, message$text)) finish("protocol_error") # nothing after it can be trusted
      if (signals) await_signal(0)
      signals <- FALSE
      last <- message$request_id
      hand_on(kind = "write", number = message$request_id, mark = message$mark, image_mark = message$image_mark,
        order_mark = message$order_mark, text = text, unended = unended)
    } else if (message$type == "interrupt") {
      number <- message$request_id
      signalled <- is.null(number) || identical(number, last)
      if (signalled) raise_flag()
      hand_on(kind = "interrupt", number = number, signalled = signalled)
      if (signalled) {
        if (!await_signal(GRACE_S)) interrupt_group(worker)
        signals <- TRUE
        hand_on(kind = "signalled") # from here on it has arrived
        signal_latecomers(worker)
      }
    } else if (message$type == "session_end") {
      finish("asked")
    } else {
      hand_on(kind = "ignored")
    }
  }
}

# Wait for a signal of the host's, which the relay gets as everybody in its group does. Return whether it came, and forget it.
await_signal <- function(seconds) {
  tryCatch({
    allowInterrupts(Sys.sleep(seconds))
    FALSE
  }, interrupt = function(i) TRUE)
}

# Signal those programs of the worker's that live on and cannot have heard: SIGINT ends whoever does not handle it, but is lost on
# one that a shell is about to begin. Until the worker has met the interrupt, and where /proc tells.
signal_latecomers <- function(worker) {
  for (wait in AGAIN_S) {
    Sys.sleep(wait)
    if (!file.exists(flag_file())) return(invisible())
    signal_untouched(worker)
  }
}

signal_untouched <- function(worker) {
  for (pid in Filter(is_untouched, list_group(worker))) tools::pskill(as.integer(pid), tools::SIGINT)
}

# Return the processes of the worker's group, and of the groups that it has made of its children.
list_group <- function(worker) {
  pids <- list.files("/proc", "^[0-9]+$")
  about <- lapply(pids, function(pid) strsplit(sub(".*\\) ", "", proc_lines(pid, "stat")[1L]), " ", fixed = TRUE)[[1L]])
  of <- function(at) vapply(about, `[`, "", at) # behind the name there are state, parent, group
  groups <- c(worker, pids[of(2L) %in% worker & of(3L) == pids])
  pids[of(3L) %in% groups & !of(1L) %in% "Z"]
}

is_untouched <- function(pid) {
  masks <- grep("^Sig(Ign|Cgt):", proc_lines(pid, "status"), value = TRUE)
  length(masks) == 2L && !any(grepl("[2367abef]$", masks)) # the bit of SIGINT
}

proc_lines <- function(pid, name) {
  tryCatch(suppressWarnings(readLines(file.path("/proc", pid, name))), error = function(e) character())
}

# A command that has not begun cannot be signalled: it looks for a file instead, which is there before the signal. See children.R.
# It is there until the worker has met the interrupt.
flag_file <- function() file.path(tempdir(), "interrupted")

raise_flag <- function() suppressWarnings(file.create(flag_file()))

lower_flag <- function() unlink(flag_file())

# Send SIGINT to the worker and to the commands it runs, as a terminal does; to the worker alone if it leads no group.
interrupt_group <- function(worker) {
  if (system(paste0("trap '' INT; kill -s INT -- -", worker, " 2>/dev/null"))) tools::pskill(worker, tools::SIGINT)
}

# The only way out: R's own would delete the directory that it shares with the worker.
leave_relay <- function() {
  tools::pskill(Sys.getpid(), tools::SIGKILL)
}

# Return a message with the types that the contract gives its members, or fail.
check_message <- function(message) {
  known <- message[names(message) %in% c("type", "text", "request_id", "mark", "image_mark", "order_mark")]
  if (!is.raw(known$type)) refuse("no type")
  known$type <- rawToChar(known$type)
  if ("request_id" %in% names(known)) {
    number <- known$request_id
    whole <- is.numeric(number) && number >= 1 && number < ID_LIMIT && number == trunc(number)
    if (!whole) refuse("no number of a request")
  }
  if (known$type == "stdin_write") {
    if (!is.raw(known$text)) refuse("no text")
    if ("mark" %in% names(known)) {
      mark <- known$mark
      fits <- is.raw(mark) && length(mark) > 0L && length(mark) <= MARK_BYTES
      if (!fits || any(mark < as.raw(0x20L) | mark > as.raw(0x7eL))) refuse("no mark")
    }
    for (name in intersect(c("image_mark", "order_mark"), names(known))) {
      mark <- known[[name]]
      if (!is.raw(mark) || length(mark) != COUNTED_MARK_DIGITS || !all(mark %in% HEX_DIGITS)) refuse(paste("no", name))
    }
  }
  known
}

# Return the next line without its end; NULL at the end. A NUL in it, which R cannot hold, makes it a line that is no JSON.
read_line <- function(control) {
  nul <- FALSE
  line <- withCallingHandlers(
    readLines(control, 1L, warn = TRUE, encoding = "bytes"),
    warning = function(w) {
      nul <<- grepl("nul", conditionMessage(w), fixed = TRUE)
      invokeRestart("muffleWarning")
    }
  )
  if (!length(line)) NULL else if (nul) "\\" else line
}

# Return as many bytes as were announced; fewer at the end of the input, or if the last line feed does not come.
take_announced <- function(input, announced) {
  count <- length(announced)
  if (!count) return(raw())
  ends <- announced[count] == LF
  text <- readBin(input$waiting, raw(), min(count, CHUNK_BYTES)) # most input is there at once
  if (input$unended && identical(text[1L], LF) && announced[1L] != LF) text <- text[-1L] # of the input before
  if (length(text) < count) {
    text <- c(text, read_input(input, count - length(text) - ends))
    if (ends && length(text) == count - 1L) text <- c(text, await_last(input))
  }
  input$unended <- length(text) < count || !ends
  text
}

await_last <- function(input) {
  for (look in seq_len(NEWLINE_S / INPUT_LOOK_S)) {
    last <- read_ready(input, 1L)
    if (length(last)) break
    Sys.sleep(INPUT_LOOK_S)
  }
  last
}

# Return the input of a host that announces it with an empty text: up to a line feed and a silence.
take_unannounced <- function(input) {
  taken <- raw()
  waited <- 0
  while (waited < if (length(taken) && taken[length(taken)] == LF) SILENCE_S else NEWLINE_S) {
    chunk <- read_ready(input, CHUNK_BYTES)
    if (!length(taken) && input$unended && identical(chunk[1L], LF)) chunk <- chunk[-1L]
    if (length(chunk)) {
      taken <- c(taken, chunk)
      waited <- 0
    } else {
      Sys.sleep(INPUT_LOOK_S)
      waited <- waited + INPUT_LOOK_S
    }
  }
  input$unended <- length(taken) && taken[length(taken)] != LF
  taken
}

# Return the bytes that are there, `count` at most.
read_ready <- function(input, count) {
  tryCatch(suppressWarnings(readBin(input$ready, raw(), count)), error = function(e) raw())
}

# Return exactly `count` bytes, or fewer at the end of the input.
read_input <- function(input, count) {
  chunks <- list()
  while (count > 0L) {
    chunk <- readBin(input$waiting, raw(), min(count, CHUNK_BYTES))
    if (!length(chunk)) break
    chunks[[length(chunks) + 1L]] <- chunk
    count <- count - length(chunk)
  }
  if (length(chunks)) unlist(chunks) else raw()
}
