"""The web view and the JSON API: a view of results that decides nothing, with Starlette and uvicorn of the extra `serve`."""
