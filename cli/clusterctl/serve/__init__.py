"""The web view and the JSON API: a view that knows results only, with Starlette and uvicorn of the extra `serve`."""
