# Turns what the host answers into the lines that code reads from standard input. A request's own code is never among them.
#
# R reads its console in C, out of reach; so the functions that read it are replaced: `readline`, `readLines`, `scan`, `menu`.
# Bytes and characters of `stdin()` are at their end at once. `interactive()` is FALSE: compiled code would not see another.

TOLD_CHARACTERS <- 65536L # of a prompt or a line, in a message about it; whoever reads gets all

is_input <- function(con) {
  named <- if (inherits(con, "connection")) summary(con)$description else con
  is.character(named) && length(named) == 1L && named %in% c("stdin", "/dev/stdin", "/dev/fd/0")
}

install_input <- function() {
  replace_function("base", "readline", function(prompt = "") {
    line <- ask(paste(prompt, collapse = " "))
    if (is.null(line)) "" else sub("^[ \t]+", "", line)
  })
  replace_function("utils", "menu", choose)
  add_case("readLines", quote(IS(con)), quote(return(ASK(n))), list(IS = is_input, ASK = ask_lines))
  add_case(
    "scan", quote(missing(text) && (identical(file, "") || IS(file))), quote(return(ASK(match.call(), parent.frame()))),
    list(IS = is_input, ASK = ask_items(base::scan))
  )
}

# Ask for one of `choices`: R's own refuses to, since it does not know that there is somebody.
choose <- function(choices, graphics = FALSE, title = NULL) {
  if (length(title) && nzchar(title[1L])) cat(title[1L], "\n", sep = "")
  cat(paste0(format(seq_along(choices)), ": ", choices, "\n"), sep = "")
  while (length(choices) && !is.null(line <- ask("Selection: "))) {
    number <- suppressWarnings(as.integer(line))
    if (number %in% 0:length(choices)) return(number)
    cat("Enter an item from the menu, or 0 to exit\n")
  }
  0L
}

# Let a function of base do something else in one case.
add_case <- function(name, case, what, values) {
  changed <- get(name, envir = baseenv())
  put <- function(code) do.call(substitute, list(code, values))
  body(changed) <- call("{", call("if", put(case), put(what)), body(changed))
  replace_function("base", name, changed)
}

# Return a line without its end, asking the host for it; NULL if there is nobody to ask.
ask <- function(prompt) {
  request <- session$request
  if (is_child() || is.null(request)) return(NULL)
  show_pages()
  flush(stdout())
  meet_interrupts()
  shown <- substr(prompt, 1L, TOLD_CHARACTERS)
  suspendInterrupts({
    number <- session$request$number
    asked <- list(type = "readline_start", prompt = shown, request_id = number)
    if (!any(session$answers == as.raw(0x0aL))) {
      send_together(asked)
      asked <- NULL # it is told with its answer if that is there already
    }
    session$waiting <- TRUE
    on.exit(session$waiting <- FALSE)
    while (!any(session$answers == as.raw(0x0aL))) {
      if (take_frame(next_frame())) notice_interrupt() # unless code has handled it already: then the question stands
    }
    end <- match(as.raw(0x0aL), session$answers)
    line <- rawToChar(session$answers[seq_len(end - 1L)][session$answers[seq_len(end - 1L)] != as.raw(0L)])
    session$answers <- session$answers[-seq_len(end)]
    Encoding(line) <- "UTF-8"
    told <- paste0(substr(line, 1L, TOLD_CHARACTERS), "\n")
    send_together(asked, list(type = "readline_result", prompt = shown, line = told, request_id = number))
    sub("\r$", "", line)
  })
}

# Return `count` lines; without a number it goes on until it is interrupted, since this input has no end.
ask_lines <- function(count) {
  lines <- character()
  while (count < 0L || length(lines) < count) {
    line <- ask("")
    if (is.null(line)) break
    lines[length(lines) + 1L] <- line
  }
  lines
}

# Return a `scan` of lines that are asked for: up to a blank one, or until there are as many items or lines as wanted.
ask_items <- function(scan) {
  function(call, frame) {
    wanted <- function(name) if (is.null(call[[name]])) -1 else max(-1, eval(call[[name]], frame))
    call[[1L]] <- scan
    call$file <- NULL
    count <- max(wanted("n"), wanted("nmax"))
    lines <- character()
    items <- 0L
    repeat {
      line <- ask(paste0(items + 1L, ": "))
      if (is.null(line) || !grepl("[^ \t]", line)) break
      lines <- c(lines, line)
      call$text <- lines
      counting <- call
      counting$quiet <- TRUE
      items <- length(eval(counting, frame))
      if ((count > 0 && items >= count) || length(lines) == wanted("nlines")) break
    }
    call$text <- if (length(lines)) lines else ""
    eval(call, frame)
  }
}
