"""What an application uses: hosts, handles, events. How bytes and processes work is decided below."""
