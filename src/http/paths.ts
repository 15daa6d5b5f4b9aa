/**
 * Finds the row for a method and a path, in a tree of path segments. Pure.
 *
 * - A static segment wins over a parameter, in any order of the rows. A parameter takes one non-empty segment.
 * - Segments are compared as sent, undecoded. Parameters are percent-decoded. If a parameter cannot be decoded, the
 *   path is unknown.
 * - For a path that is known for other methods, the result is `allow`, the content of the `Allow` header. It has HEAD
 *   for each GET, and always OPTIONS.
 */
export interface PathTable<T> {
  match(method: string, path: string): PathMatch<T> | { readonly allow: readonly string[] } | undefined
}

export interface PathMatch<T> {
  readonly binding: T
  readonly rawParameters: Readonly<Record<string, string>>
  /** The methods of this path. */
  readonly allow: readonly string[]
}

export interface PathRow<T> {
  readonly method: string
  /** For example `/devices/:deviceIdentifier`. */
  readonly template: string
  readonly binding: T
}

interface PathNode<T> {
  readonly statics: Map<string, PathNode<T>>
  parameter: PathNode<T> | undefined
  readonly targets: Map<string, Target<T>>
  allow: readonly string[]
}

interface Target<T> {
  readonly binding: T
  readonly names: readonly string[]
}

/** Throws if two rows have the same method and path: the later row would never be reached. */
export function pathTable<T>(rows: readonly PathRow<T>[]): PathTable<T> {
  const root = newNode<T>()
  for (const row of rows) add(root, row)

  return {
    match(method, path) {
      const values: string[] = []
      const place = find(root, path.split('/'), 1, values)
      if (!place || !decodeAll(values)) return undefined
      const target = place.targets.get(method === 'HEAD' ? 'GET' : method)
      if (!target) return { allow: place.allow }
      return { binding: target.binding, rawParameters: named(target.names, values), allow: place.allow }
    },
  }
}

const noParameters: Readonly<Record<string, string>> = Object.freeze({})

function newNode<T>(): PathNode<T> {
  return { statics: new Map(), parameter: undefined, targets: new Map(), allow: [] }
}

function add<T>(root: PathNode<T>, row: PathRow<T>): void {
  const segments = row.template.split('/')
  if (segments[0] !== '' || segments.length < 2) throw new Error(`a path starts with a slash: ${row.template}`)
  const names: string[] = []
  let place = root
  for (const segment of segments.slice(1)) {
    if (segment.startsWith(':')) {
      names.push(segment.slice(1))
      place.parameter ??= newNode()
      place = place.parameter
    } else {
      const next: PathNode<T> = place.statics.get(segment) ?? newNode()
      place.statics.set(segment, next)
      place = next
    }
  }
  if (place.targets.has(row.method)) throw new Error(`two routes for ${row.method} ${row.template}`)
  place.targets.set(row.method, { binding: row.binding, names })
  place.allow = allowOf([...place.targets.keys()])
}

function allowOf(methods: readonly string[]): readonly string[] {
  return [...methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS']
}

/** Tries the parameter if the static branch has no match, as for `/updates/projects/log` with `/updates/:id/log`. */
function find<T>(
  place: PathNode<T>,
  segments: readonly string[],
  index: number,
  values: string[],
): PathNode<T> | undefined {
  const segment = segments[index]
  if (segment === undefined) return place.targets.size > 0 ? place : undefined
  const next = place.statics.get(segment)
  const found = next && find(next, segments, index + 1, values)
  if (found || !place.parameter || segment === '') return found
  values.push(segment)
  const below = find(place.parameter, segments, index + 1, values)
  if (!below) values.pop()
  return below
}

/** Decodes the values in place. Returns false if a value is malformed. */
function decodeAll(values: string[]): boolean {
  for (const [index, value] of values.entries()) {
    if (!value.includes('%')) continue
    try {
      values[index] = decodeURIComponent(value)
    } catch {
      return false
    }
  }
  return true
}

function named(names: readonly string[], values: readonly string[]): Readonly<Record<string, string>> {
  if (names.length === 0) return noParameters
  const parameters: Record<string, string> = {}
  for (const [index, name] of names.entries()) parameters[name] = values[index] ?? ''
  return parameters
}
