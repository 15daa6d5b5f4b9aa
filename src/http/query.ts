const noFields: Readonly<Record<string, string | string[]>> = Object.freeze(Object.create(null))

/** Query fields, each a string, or an array of strings when repeated. Without a prototype: clients choose the names. */
export function parseQuery(query: string): Readonly<Record<string, string | string[]>> {
  if (query === '') return noFields
  const fields: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of new URLSearchParams(query)) {
    const before = fields[name]
    if (before === undefined) fields[name] = value
    else if (typeof before === 'string') fields[name] = [before, value]
    else before.push(value)
  }
  return fields
}
