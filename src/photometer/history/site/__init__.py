"""The site of a history: the changes, a page per benchmark, any two commits compared; as files, or live on localhost.

    names = SiteNames.read(store)              # names.py: who is who, by small numbers
    index_data(...), benchmark_data(...)       # what each data file says, as plain values
    publish_site(store, folder, options)       # site_files.py: all of it as files
    LiveSite(store, options)                   # local_server.py: the same files, made when they are asked for

The page itself is one document with hash addresses, so that it opens from disk; its data are scripts for that reason.
"""
