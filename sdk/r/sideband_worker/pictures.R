# Turns what is drawn into pictures for the host: one per page, sent again under its id when more was drawn on it. Draws nothing itself.
#
# The device that code draws on is never shown. It keeps a list of what was drawn, and that is drawn again into a file when a
# picture is due: at the end of a request, before a line is asked for, before a page is left, before a device is closed.

WIDTH_PX <- 960L # 8 by 6 inches: text is readable, and a picture small enough to look at
HEIGHT_PX <- 720L
RESOLUTION <- 120L # pixels to the inch

pages <- new.env(parent = emptyenv()) # by the number of the device: its page's id, and what was sent of it
drawn <- new.env(parent = emptyenv())
drawn$count <- 0L
drawn$drawing <- FALSE
drawn$able <- isTRUE(unname(capabilities("png")))

can_draw <- function() drawn$able

open_png <- function(file) {
  type <- if (isTRUE(unname(capabilities("cairo")))) "cairo" else getOption("bitmapType") # which needs no screen
  grDevices::png(file, width = WIDTH_PX, height = HEIGHT_PX, res = RESOLUTION, type = type)
}

# Be the device that R opens when code draws and there is none.
open_device <- function(...) {
  open_png(file.path(tempdir(), "page.png"))
  grDevices::dev.control("enable")
  assign(as.character(grDevices::dev.cur()), new_page(), envir = pages)
  invisible()
}

new_page <- function() {
  drawn$count <- drawn$count + 1L
  list(id = paste0("plot-", drawn$count), list = NULL, bytes = NULL)
}

install_pictures <- function() {
  options(device = open_device)
  turn <- function(...) if (!drawn$drawing && leaves_page()) turn_page()
  turn_grid <- function(...) if (!drawn$drawing) turn_page()
  setHook("before.plot.new", turn)
  setHook("before.grid.newpage", turn_grid)
  close_device <- grDevices::dev.off
  replace_function("grDevices", "dev.off", function(which = grDevices::dev.cur()) {
    if (!drawn$drawing) {
      show_page(which)
      forget_page(which)
    }
    close_device(which)
  })
  close_all <- grDevices::graphics.off
  replace_function("grDevices", "graphics.off", function() {
    show_pages()
    rm(list = ls(pages), envir = pages)
    close_all()
  })
}

# Tell whether the next plot begins a page: it does not if there is room for one more on this, or if it is drawn over the last.
leaves_page <- function() {
  is_ours(grDevices::dev.cur()) && graphics::par("page") && !graphics::par("new")
}

is_ours <- function(device) {
  exists(as.character(device), envir = pages, inherits = FALSE) &&
    device %in% grDevices::dev.list() && names(grDevices::dev.list())[match(device, grDevices::dev.list())] == "png"
}

turn_page <- function() {
  device <- grDevices::dev.cur()
  if (!is_ours(device)) return(invisible())
  show_page(device)
  if (!is.null(get(as.character(device), envir = pages)$bytes)) {
    assign(as.character(device), new_page(), envir = pages)
  }
}

forget_page <- function(device) {
  name <- as.character(device)
  if (exists(name, envir = pages, inherits = FALSE)) rm(list = name, envir = pages)
}

# Send what has changed on any page.
show_pages <- function() {
  for (device in as.integer(ls(pages))) {
    if (is_ours(device)) show_page(device) else forget_page(device)
  }
}

show_page <- function(device) {
  if (is_child() || !is_ours(device)) return(invisible())
  page <- get(as.character(device), envir = pages)
  drawing <- drawn$drawing
  current <- grDevices::dev.cur()
  drawn$drawing <- TRUE
  on.exit({
    drawn$drawing <- drawing
    if (current %in% grDevices::dev.list()) grDevices::dev.set(current)
  })
  grDevices::dev.set(device)
  plot <- grDevices::recordPlot()
  if (is.null(plot[[1L]]) || identical(plot[[1L]], page$list)) return(invisible())
  bytes <- draw_again(plot)
  page$list <- plot[[1L]]
  if (!is.null(bytes) && !identical(bytes, page$bytes)) {
    send_about(
      type = "plot_image", id = page$id, mime_type = "image/png", data = base64(bytes),
      is_new = is.null(page$bytes), mark = mark_place()
    )
    page$bytes <- bytes
  }
  assign(as.character(device), page, envir = pages)
}

# Mark in standard output where a picture is, if the host wants that, and return the mark.
mark_place <- function() {
  flush(stdout())
  mark <- session$request$image_mark
  if (is.null(mark)) return(NULL)
  session$request$pictures <- session$request$pictures + 1L
  made <- counted_mark(mark, session$request$pictures)
  write_marks(charToRaw(made), list(link$stdout))
  made
}

# Return a recorded plot as the bytes of a PNG; NULL if nothing came of it.
draw_again <- function(plot) {
  file <- tempfile("picture", fileext = ".png")
  on.exit(unlink(file))
  open_png(file)
  mine <- grDevices::dev.cur()
  tryCatch(suppressWarnings(grDevices::replayPlot(plot)), finally = grDevices::dev.off(mine))
  if (file.exists(file)) readBin(file, raw(), file.size(file)) else NULL
}
