// Search lists pages with an excerpt of each, which a browser may not read from files: without excerpts there.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
