# The relay: turns what the host sends into frames for the worker, and interrupts into signals. It runs no user code.
#
# It is a fork of the worker that holds nothing of it but the three ends it reads and writes, so that the host sees the end of
# the worker's output whatever becomes of the relay. It ends when the host or the worker is gone.

END_S <- 1.5 # from session_end to the end of a worker that does not go by itself: the host waits for 2
LOOK_S <- 0.05 # between two looks whether the worker is still there, meanwhile
MARK_BYTES <- 256L # of a mark, so that it is written in one piece
ID_LIMIT <- 2^53 # above, a number is no longer exact

# Send one value to the worker: its length in 4 bytes, and the value as R writes it.
send_frame <- function(out, value) {
  body <- serialize(value, NULL, xdr = FALSE)
  writeBin(c(writeBin(length(body), raw(), endian = "big"), body), out)
  flush(out)
}

run_relay <- function(control, input, out, worker) {
  compiler::enableJIT(3L) # a fork has it switched off
  last <- NULL # the number of the last request that was handed on
  hand_on <- function(...) tryCatch(send_frame(out, list(...)), error = function(e) leave_relay())
  finish <- function(reason) {
    hand_on(kind = "end", reason = reason)
    interrupt_group(worker)
    for (look in seq_len(END_S / LOOK_S)) {
      Sys.sleep(LOOK_S)
      hand_on(kind = "look") # which fails, and ends the relay, if the worker is gone
    }
    tools::pskill(worker, tools::SIGKILL)
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
      text <- take_bytes(input, length(message$text))
      if (!identical(text, message$text)) finish("protocol_error") # nothing after it can be trusted
      last <- message$request_id
      hand_on(kind = "write", number = message$request_id, mark = message$mark, text = text)
    } else if (message$type == "interrupt") {
      number <- message$request_id
      signalled <- is.null(number) || identical(number, last)
      hand_on(kind = "interrupt", number = number, signalled = signalled)
      if (signalled) {
        interrupt_group(worker)
        hand_on(kind = "signalled") # from here on it has arrived
      }
    } else if (message$type == "session_end") {
      finish("asked")
    } else {
      hand_on(kind = "ignored")
    }
  }
}

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
  known <- message[names(message) %in% c("type", "text", "request_id", "mark")]
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

# Return exactly `count` bytes, or fewer at the end of the input.
take_bytes <- function(input, count) {
  if (count) readBin(input, raw(), count) else raw()
}
