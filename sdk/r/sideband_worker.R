# The R worker of `sideband`: base R only, run as `Rscript --vanilla sideband_worker.R`. Refuses to start without the sideband.
#
# How it works. R has one thread, so a second process, the relay, reads what the host sends: the lines of the sideband and
# the bytes of standard input. It hands them on, in order, through a pipe that has no name, and it sends SIGINT where a
# request is to be interrupted. This process runs one request after the other and alone writes to the host.
# An interrupt is handed on before anything that comes after it, so it can never hit a later request.
#
# What base R cannot do: close a descriptor on exec. The functions that run commands close them in the shell instead
# (children.R); native code that forks by itself is not covered.

stopifnot(getRversion() >= "4.0.0") # also lets R make .Last.value, which only its own top level can

local({
  file <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)[1L])
  if (is.na(file)) {
    args <- commandArgs(FALSE)
    file <- args[match("-f", args) + 1L]
  }
  home <- file.path(dirname(gsub("~+~", " ", file, fixed = TRUE)), "sideband_worker")
  worker <- new.env(parent = baseenv())
  for (noun in c("json", "relay", "link", "children", "pictures", "input", "cell", "debugger", "departure", "session")) {
    sys.source(file.path(home, paste0(noun, ".R")), worker, keep.source = FALSE)
  }
  worker$run_session()
})
