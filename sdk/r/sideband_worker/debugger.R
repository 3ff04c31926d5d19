# Turns `browser()` into questions to the host: an expression is run where it stopped, and shown. It does not step.
#
# R's own reads the console in C, out of reach, and leaves code stepping at its end. `debug()` and the like still use that one:
# they go on as if every question was answered with an empty line.

install_debugger <- function() replace_function("base", "browser", browse)

GO_ON <- c("", "c", "cont", "n", "s", "f")

browse <- function(text = "", condition = NULL, expr = TRUE, skipCalls = 0L) {
  if (!isTRUE(as.logical(expr)) || is_child() || is.null(session$request)) return(invisible())
  frame <- parent.frame()
  from <- if (sys.nframe() > 1L) sys.call(-1L)
  cat("Called from: ", if (is.null(from) || is_own_call(from)) "top level" else deparse(from, nlines = 1L)[1L], "\n", sep = "")
  repeat {
    line <- trimws(ask("Browse[1]> "))
    if (line %in% GO_ON) return(invisible())
    if (line == "Q") invokeRestart("abort")
    if (line == "where") {
      for (each in rev(user_calls(sys.calls()))[-1L]) cat(deparse(each, nlines = 1L)[1L], "\n", sep = "")
    } else {
      tryCatch(browse_line(line, frame), error = show_error)
    }
  }
}

browse_line <- function(line, frame) {
  for (each in as.list(parse(text = line))) {
    result <- withVisible(eval(each, frame))
    if (result$visible) show_value(result$value)
  }
}
