import type { RouteEntry } from '#api/route-entry'

/** The path and query of an example. `parameters` and `query` replace those of the example. */
export function examplePath(
  { path, example }: Pick<RouteEntry, 'path' | 'example'>,
  parameters: Readonly<Record<string, string>> = {},
  query = new URLSearchParams(example.query).toString(),
): string {
  const values: Readonly<Record<string, string>> = { ...example.parameters, ...parameters }
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  return query === '' ? filled : `${filled}?${query}`
}

/** The body of an example. Fields of `more` are added or replaced, except in a streamed body. */
export function exampleBody({ example, body }: RouteEntry, more?: object): unknown {
  if (body?.isStreamed) return Buffer.from(example.body as string)
  return more ? { ...(example.body as object), ...more } : example.body
}
