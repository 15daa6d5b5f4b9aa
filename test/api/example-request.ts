import type { RouteEntry } from '#api/route-entry'

/** The path and query of an example, with these parameters and this query instead of its own. */
export function examplePath(
  { path, example }: Pick<RouteEntry, 'path' | 'example'>,
  parameters: Readonly<Record<string, string>> = {},
  query = new URLSearchParams(example.query).toString(),
): string {
  const values: Readonly<Record<string, string>> = { ...example.parameters, ...parameters }
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  return query === '' ? filled : `${filled}?${query}`
}

/** The body of an example, with other fields. Streamed bodies are sent unchanged. */
export function exampleBody({ example, body }: RouteEntry, more?: object): unknown {
  if (body?.isStreamed) return Buffer.from(example.body as string)
  return more ? { ...(example.body as object), ...more } : example.body
}
