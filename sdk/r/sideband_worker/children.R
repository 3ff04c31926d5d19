# Keeps the sideband from child processes, and from code that tidies up connections. Not from native code that forks by itself.
#
# Base R cannot mark a descriptor as closed on exec. Everything in base R that runs a command does so through a shell, which
# closes them first; forks of the package parallel close them themselves.

SHELL_DIGITS <- 9L # some shells know only descriptors of one digit; a worker has them, unless it inherits many

INTERRUPTED <- c(2L, 130L) # what a command returns that SIGINT has ended: R's way of saying it, and a shell's
LATE_S <- 0.25 # for the relay to say that there was an interrupt
LATE_LOOK_S <- 0.005

# Replace a function of a package, for everybody who calls it.
replace_function <- function(package, name, value) {
  places <- list(asNamespace(package))
  attached <- paste0("package:", package)
  if (package != "base" && attached %in% search()) places <- c(places, list(as.environment(attached)))
  for (place in places) {
    if (!exists(name, envir = place, inherits = FALSE)) next
    locked <- bindingIsLocked(name, place)
    if (locked) (unlockBinding)(name, place)
    assign(name, value, envir = place)
    if (locked) lockBinding(name, place)
  }
}

hide_link <- function() {
  closing <- link$fds[link$fds <= SHELL_DIGITS]
  flag <- shQuote(flag_file())
  prefix <- paste0("[ -e ", flag, " ] && kill -s INT $$; exec ", paste0(closing, ">&-", collapse = " "), "; ")
  for (name in c("system", "system2", "pipe")) {
    changed <- get(name, envir = baseenv())
    body(changed) <- prefix_commands(body(changed), prefix)
    replace_function("base", name, changed)
  }
  parallel <- asNamespace("parallel")
  fork <- parallel$mcfork
  replace_function("parallel", "mcfork", function(estranged = FALSE) {
    made <- fork(estranged)
    if (inherits(made, "masterProcess")) parallel$closeFD(link$fds)
    made
  })
  replace_function("base", "closeAllConnections", close_others)
}

# Return code in which every command that is given to a shell has `prefix` in front of it.
prefix_commands <- function(code, prefix) {
  if (!is.call(code)) return(code)
  if (identical(code[[1L]], quote(.Internal)) && deparse(code[[2L]][[1L]]) %in% c("system", "pipe")) {
    code[[2L]][[2L]] <- call("paste0", prefix, code[[2L]][[2L]])
    return(as.call(list(around_command, code)))
  }
  for (i in seq_along(code)) {
    if (!identical(code[[i]], quote(expr = ))) code[i] <- list(prefix_commands(code[[i]], prefix))
  }
  code
}

# R hears no interrupt while a command runs, only the command does: it is raised again where its frame is met. The host's own
# signal may have ended the command before the relay has said so: a status that looks like that is worth a moment.
around_command <- function(command) {
  if (is_child() || is.null(session$request)) return(command)
  meet_interrupts()
  notice_interrupt()
  result <- withVisible(command)
  session$deaf <- TRUE
  heard <- hear_interrupts()
  suspect <- is.numeric(result$value) && isTRUE(result$value[1L] %in% INTERRUPTED)
  if (suspect) {
    for (look in seq_len(LATE_S / LATE_LOOK_S)) {
      if (heard) break
      suspendInterrupts(Sys.sleep(LATE_LOOK_S))
      heard <- hear_interrupts()
    }
  } else {
    session$deaf <- FALSE
  }
  if (heard) notice_interrupt()
  if (result$visible) result$value else invisible(result$value)
}

# `closeAllConnections` without the worker's own: it would end the session.
close_others <- function() {
  while (sink.number() > 0L) sink()
  sink(type = "message")
  own <- vapply(own_connections(), as.integer, 0L)
  for (number in setdiff(as.integer(rownames(showConnections())), own)) close(getConnection(number))
  invisible()
}

own_connections <- function() list(link$out, link$stdout, link$stderr, link$frames, link$ready, link$empty)
