# The session: turns frames of the relay into requests that run, one after the other. Everything the others share is here.
#
# Interrupts are held back except in user code. One that comes late stays pending, and is cleared before the next request.

VERSION <- "0.1.0" # told to the host; the same as of the SDK for Python

UNENDED <- "the input does not end in a line feed, so it may not be whole: nothing of it was run"
MISMATCH <- "what was written to standard input is not what stdin_write announced: nothing of it was run"

session <- new.env(parent = emptyenv())
session$request <- NULL # the one that runs: number, its marks, and how many pictures and order marks it has written
session$last <- NULL # the number of the one before
session$struck <- FALSE # whether a signal has ended that one, of which the relay has said nothing yet
session$deaf <- FALSE # whether R may have missed a signal, which a command has heard
session$waiting <- FALSE # for a line
session$answers <- raw() # that nobody has read yet
session$later <- list() # frames that came while a request ran, and are for after it
session$leaving <- FALSE
session$ignored <- 0L

run_session <- function() {
  tryCatch(open_link(), error = function(e) {
    say("sideband_worker.R: ", conditionMessage(e))
    really_quit("no", 2L, FALSE)
  })
  if (!l10n_info()$`UTF-8`) {
    for (locale in c("C.UTF-8", "en_US.UTF-8")) {
      if (nzchar(suppressWarnings(Sys.setlocale("LC_CTYPE", locale)))) break
    }
  }
  hide_link()
  install_input()
  install_cell()
  install_debugger()
  install_departure()
  if (can_draw()) install_pictures()
  options(pager = show_files, error = NULL)
  send(
    type = "backend_info", language = "r", supports_images = can_draw(),
    plughost = list(worker = "r", version = VERSION, request_ids = TRUE, marks = TRUE, image_marks = TRUE,
      order_marks = TRUE, pid = link$worker)
  )
  suspendInterrupts(repeat {
    if (length(session$later)) {
      frame <- session$later[[1L]]
      session$later <- session$later[-1L]
      take_frame(frame)
    } else {
      take_frame(next_frame())
    }
  })
}

# Act on a frame. Return whether it interrupts the request that runs.
take_frame <- function(frame) {
  request <- session$request
  switch(frame$kind,
    end = {
      if (frame$reason == "protocol_error") say(MISMATCH)
      depart(frame$reason)
    },
    ignored = session$ignored <- session$ignored + 1L,
    interrupt = {
      if (frame$signalled) {
        next_frame() # which says that the signal has arrived
        lower_flag()
      }
      hit <- !is.null(request) && (is.null(frame$number) || identical(frame$number, request$number))
      struck <- session$struck && is.null(request) && (is.null(frame$number) || identical(frame$number, session$last))
      session$struck <- FALSE
      if (hit) session$answers <- raw()
      if (hit && session$deaf) tools::pskill(link$worker, tools::SIGINT)
      session$deaf <- FALSE
      send(type = "interrupted", outcome = if (hit || struck) "delivered" else "idle", request_id = frame$number)
      return(hit)
    },
    write = if (is_answer(frame)) {
      if (!is.null(request)) session$answers <- c(session$answers, end_line(frame$text)) # a late one must never run
    } else if (is.null(request)) {
      run_request(frame)
    } else {
      session$later <- c(session$later, list(frame))
    }
  )
  FALSE
}

end_line <- function(text) c(text, if (length(text) && text[length(text)] != LF) LF)

is_answer <- function(frame) {
  if (!is.null(frame$mark)) return(FALSE)
  if (is.null(frame$number)) return(session$waiting)
  identical(frame$number, if (is.null(session$request)) session$last else session$request$number)
}

run_request <- function(frame) {
  clear_interrupts()
  session$request <- list(number = frame$number, mark = frame$mark, image_mark = frame$image_mark, pictures = 0L,
    order_mark = frame$order_mark, orders = 0L)
  session$answers <- raw()
  session$struck <- session$deaf <- FALSE
  failed <- if (frame$unended) {
    say(UNENDED)
    TRUE
  } else tryCatch(
    withCallingHandlers(allowInterrupts(run_cell(frame$text)), interrupt = judge_interrupt),
    interrupt = function(i) {
      say("")
      TRUE
    }
  )
  if (is_child()) leave_child(failed) # a fork at the end of its cell has nobody to answer
  finish_request(failed)
}

# End the request that runs, if any: pictures, marks, that it is over, and `farewell` if it is the last.
finish_request <- function(failed, farewell = NULL) {
  request <- session$request
  if (is.null(request)) return(invisible())
  if (can_draw()) tryCatch(show_pages(), error = show_error)
  while (!is.null(frame <- frame_at_hand())) take_frame_at_end(frame)
  session$request <- NULL
  session$last <- request$number
  session$answers <- raw()
  if (!is.null(request$mark)) write_marks(request$mark)
  over <- list(
    type = "request_end", request_id = request$number, marked = if (!is.null(request$mark)) TRUE,
    error = if (failed) TRUE
  )
  send_together(over, farewell)
}

# An end that comes now is put off until the request is over: it would begin in the middle of it.
take_frame_at_end <- function(frame) {
  if (frame$kind == "end") session$later <- c(list(frame), session$later) else take_frame(frame)
}

# Send a message about the request that runs.
send_about <- function(...) send(..., request_id = session$request$number)

# Decide, where user code has been interrupted, whether it is meant; if not, it goes on. A host's own signal may be faster than
# the relay: what it ends is told as soon as the relay has said which request was meant.
judge_interrupt <- function(condition) {
  if (is_child()) return(invisible())
  meant <- other <- FALSE
  suspendInterrupts(while (!is.null(frame <- frame_at_hand())) {
    if (take_frame(frame)) meant <- TRUE else if (frame$kind == "interrupt") other <- TRUE
  })
  if (other && !meant && !is.null(findRestart("resume", condition))) {
    invokeRestart("resume")
  }
  session$struck <- !meant
}

# Take what has come; return whether the request that runs is to be interrupted.
hear_interrupts <- function() {
  hit <- FALSE
  suspendInterrupts(while (!is.null(frame <- frame_at_hand())) hit <- take_frame(frame) || hit)
  hit
}

# Raise an interrupt that has come, unless user code has handled it already.
meet_interrupts <- function() if (hear_interrupts()) notice_interrupt()

# Raise the interrupt whose signal has arrived and was held back, where code may handle it.
notice_interrupt <- function() allowInterrupts(Sys.sleep(0))

clear_interrupts <- function() tryCatch(notice_interrupt(), interrupt = function(i) NULL)

# Show help and other files inline: there is no screen for a pager.
show_files <- function(files, header, title, delete.file) {
  for (file in files) {
    lines <- gsub("_\b", "", readLines(file, warn = FALSE), fixed = TRUE)
    cat(lines, sep = "\n")
  }
  if (isTRUE(delete.file)) unlink(files)
}
