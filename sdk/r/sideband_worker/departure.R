# Turns the end of a session into an exit: what R runs at its end, the end of the request, session_end, and then the status.

STATUS <- c(asked = 0L, host_gone = 0L, protocol_error = 76L) # 76: the usual status of a broken protocol

really_quit <- base::quit

install_departure <- function() {
  leave <- function(save = "default", status = 0, runLast = TRUE) {
    if (is_child()) leave_child(status)
    if (!save %in% c("default", "no", "yes", "ask")) stop("unrecognized value of 'save'")
    status <- suppressWarnings(as.integer(status))[1L]
    depart("exit", if (is.na(status)) 1L else bitwAnd(status, 255L), save = save == "yes", last = runLast)
  }
  for (name in c("quit", "q")) replace_function("base", name, leave)
}

# End a fork that would otherwise go on as if it were the worker. R's own way would delete the directory that they share.
leave_child <- function(status) {
  flush(stdout())
  asNamespace("parallel")$mcexit(as.integer(status))
}

depart <- function(reason, status = STATUS[[reason]], save = FALSE, last = TRUE) {
  lower_flag() # or what R runs at its end could run no commands
  last_words <- function() get0(".Last", globalenv(), mode = "function", inherits = FALSE)
  if (last && !session$leaving && is.function(last_words())) {
    session$leaving <- TRUE # it may leave itself
    tryCatch(last_words()(), error = show_error, interrupt = function(i) NULL)
  }
  suspendInterrupts({
    farewell <- list(type = "session_end", reason = reason, status = status, ignored = if (session$ignored) session$ignored)
    if (is.null(session$request)) send_together(farewell) else finish_request(failed = FALSE, farewell)
    if (reason == "exit") tools::pskill(link$relay, tools::SIGKILL) # else it sees to it that this process goes
    really_quit(if (save) "yes" else "no", status, FALSE)
  })
}
