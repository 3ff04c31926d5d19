# Turns the text of a request into what R does with it at a prompt: values, warnings, errors. Nothing runs unless all of it can be read.

WARNINGS <- 10L # of one expression that are shown; more are only counted, as R does
WARNINGS_KEPT <- 50L # for warnings(), as R does
MESSAGE_COLUMNS <- 77L # beyond which R puts an error's message on a line of its own

cell <- new.env(parent = emptyenv())
cell$count <- 0L
cell$told <- FALSE # whether the error was shown already
cell$calls <- NULL # of the last error, for traceback()
cell$shown <- NULL # the last warnings, for warnings()

# Let R's functions find what R itself would have kept: only its own top level can put it where they look.
install_cell <- function() {
  replace_function("base", "warnings", function(...) cell$shown)
  (unlockBinding)(".Last.value", baseenv())
  add_case(".traceback", quote(is.null(x)), quote(x <- CALLS()), list(CALLS = function() cell$calls))
}

# Run `text`; return whether it failed.
run_cell <- function(text) {
  cell$count <- cell$count + 1L
  cell$warnings <- list()
  cell$told <- FALSE
  failed <- TRUE
  withRestarts(
    tryCatch(
      withCallingHandlers({
        run_expressions(read_cell(text))
        failed <- FALSE
      }, error = keep_calls, warning = keep_warning, message = show_message),
      error = show_error
    ),
    abort = function(...) NULL # what a debugger's Q does
  )
  failed
}

read_cell <- function(text) {
  if (any(text == as.raw(0L))) stop("nul character not allowed", call. = FALSE)
  text <- rawToChar(text)
  Encoding(text) <- "UTF-8"
  text <- gsub("\r\n?", "\n", text)
  lines <- strsplit(text, "\n", fixed = TRUE)[[1L]]
  source <- srcfilecopy(paste0("<cell ", cell$count, ">"), lines)
  tryCatch(
    parse(text = lines, srcfile = source, keep.source = TRUE, encoding = "UTF-8"),
    error = function(e) stop(conditionMessage(e), call. = FALSE)
  )
}

run_expressions <- function(expressions) {
  for (at in seq_along(expressions)) {
    result <- withVisible(evaluate(expressions[[at]]))
    meet_interrupts()
    notice_interrupt() # R looks for one now and then only
    assign(".Last.value", result$value, envir = baseenv())
    if (result$visible) show_value(result$value)
    show_warnings()
  }
}

evaluate <- function(expression) eval(expression, globalenv())

show_value <- function(value) if (isS4(value)) methods::show(value) else print(value)

say <- function(...) warn(..., "\n")

# Write a message as R does, where it belongs between what was printed.
show_message <- function(condition) {
  warn(conditionMessage(condition))
  if (!is.null(findRestart("muffleMessage"))) invokeRestart("muffleMessage")
}

# Keep where an error happened, for traceback(), and do what the user wants done there: options(error = ).
keep_calls <- function(condition) {
  calls <- sys.calls()
  last <- match(".handleSimpleError", call_names(calls))
  if (is.na(last)) last <- length(calls) # the call of this function
  cell$calls <- rev(lapply(user_calls(calls[seq_len(last - 1L)]), deparse))
  wanted <- getOption("error")
  if (is.null(wanted)) return(invisible())
  show_error(condition)
  cell$told <- TRUE
  tryCatch(if (is.function(wanted)) wanted() else eval(wanted, globalenv()), error = function(e) say(conditionMessage(e)))
}

call_names <- function(calls) vapply(calls, function(each) if (is.name(each[[1L]])) as.character(each[[1L]]) else "", "")

# Return those of `calls` that are the user's: behind `evaluate`, and the two that eval makes.
user_calls <- function(calls) {
  first <- match("evaluate", call_names(calls))
  if (is.na(first)) list() else calls[seq_along(calls) > first + 2L]
}

show_error <- function(condition) {
  if (cell$told) return(invisible())
  text <- conditionMessage(condition)
  at <- conditionCall(condition)
  if (is.null(at) || is_own_call(at)) {
    say("Error: ", text)
  } else {
    code <- deparse(at, nlines = 1L)[1L]
    width <- 14L + nchar(code, "width", allowNA = TRUE) + nchar(strsplit(text, "\n")[[1L]][1L], "width", allowNA = TRUE)
    say("Error in ", code, " : ", if (isTRUE(width > MESSAGE_COLUMNS)) "\n  ", text)
  }
  if (length(cell$warnings)) warn("In addition: ")
  show_warnings()
}

is_own_call <- function(call) {
  any(vapply(list(body(evaluate), quote(evaluate(expressions[[at]])), quote(withVisible(evaluate(expressions[[at]])))),
    identical, NA, call))
}

# Keep a warning until its expression is over, where that is how warnings are treated.
keep_warning <- function(condition) {
  treatment <- as.integer(getOption("warn"))
  at <- conditionCall(condition)
  if (treatment == 1L && is_own_call(at)) {
    say("Warning: ", conditionMessage(condition))
  } else if (treatment != 0L) {
    return(invisible())
  } else if (length(cell$warnings) < WARNINGS_KEPT) {
    kept <- list(if (is_own_call(at)) NULL else at)
    names(kept) <- conditionMessage(condition)
    cell$warnings <- c(cell$warnings, kept)
  }
  if (!is.null(findRestart("muffleWarning"))) invokeRestart("muffleWarning")
}

show_warnings <- function() {
  kept <- cell$warnings
  if (!length(kept)) return(invisible())
  cell$warnings <- list()
  cell$shown <- structure(kept, class = "warnings")
  if (length(kept) <= WARNINGS) {
    lines <- character()
    output <- textConnection("lines", "w", local = TRUE)
    on.exit(close(output))
    sink(output)
    tryCatch(print(cell$shown), finally = sink())
    say(paste(lines, collapse = "\n"))
  } else if (length(kept) < WARNINGS_KEPT) {
    say("There were ", length(kept), " warnings (use warnings() to see them)")
  } else {
    say("There were ", WARNINGS_KEPT, " or more warnings (use warnings() to see the first ", WARNINGS_KEPT, ")")
  }
}
