"""A viewer made of gtk-vnc, for the tests: host, port and password are arguments. It
fills its screen and shows the picture as it is."""

import sys

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
gi.require_version("GtkVnc", "2.0")
from gi.repository import Gdk, Gtk, GtkVnc

host, port, password = sys.argv[1:]

window = Gtk.Window()
window.set_decorated(False)
display = GtkVnc.Display()
display.set_scaling(False)
display.set_shared_flag(True)
display.set_lossy_encoding(False)


def authenticate(display, credentials):
    for i in range(credentials.n_values):
        kind = credentials.get_nth(i)
        if kind == GtkVnc.DisplayCredential.PASSWORD:
            display.set_credential(kind, password)
        else:
            display.set_credential(kind, "test")


display.connect("vnc-auth-credential", authenticate)
display.connect("vnc-disconnected", lambda _: sys.exit("disconnected"))
display.connect("vnc-error", lambda _, message: print("error:", message, file=sys.stderr))
window.add(display)
window.move(0, 0)
window.show_all()
display.grab_focus()
display.open_host(host, port)
Gtk.main()
