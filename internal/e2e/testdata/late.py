#!/usr/bin/python3
"""A GTK form whose field comes 700 ms after a click on its button.

Keys before that are lost. Each line is appended to the file in the argument.
"""
import sys

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

window = Gtk.Window(title="Late")
area = Gtk.Fixed()
button = Gtk.Button(label="Open", can_focus=False)
button.set_size_request(200, 60)
field = Gtk.Entry(no_show_all=True)
field.set_size_request(400, 40)
area.put(button, 100, 100)
area.put(field, 100, 300)
window.add(area)
ready = False


def show():
    global ready
    ready = True
    field.show()
    field.grab_focus()


def take(_):
    global ready
    with open(sys.argv[1], "a", encoding="utf-8") as out:
        out.write(field.get_text() + "\n")
    field.set_text("")
    field.hide()
    ready = False


button.connect("clicked", lambda _: GLib.timeout_add(700, show))
field.connect("activate", take)
window.connect("key-press-event", lambda *_: not ready)
window.connect("destroy", Gtk.main_quit)
window.fullscreen()
window.show_all()
Gtk.main()
