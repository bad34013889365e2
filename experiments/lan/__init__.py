"""An ordinary LAN: Linux bridges between network namespaces, a shaped link, the kernel's TCP."""
