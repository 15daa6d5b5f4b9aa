/** Operations by path and method, with the fields that matter here. */
export type Paths = Record<string, Record<string, { responses: Record<string, object> }>>

/**
 * Errors that several operations describe alike become components, named by their status, and `401-2` if there are
 * several of one; operations then refer to them. `taken`: components that exist already.
 */
export function shareAnswers(paths: Paths, taken: Readonly<Record<string, object>>): Record<string, object> {
  const places = new Map<string, Record<string, object>[]>()
  for (const { responses } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, answer] of Object.entries(responses)) {
      if (Number(status) < 400 || '$ref' in answer) continue
      const alike = `${status} ${JSON.stringify(answer)}`
      places.set(alike, [...(places.get(alike) ?? []), responses])
    }
  }
  const components: Record<string, object> = { ...taken }
  for (const [alike, found] of places) {
    const [status = ''] = alike.split(' ', 1)
    const [{ [status]: answer } = {}] = found
    if (!answer || found.length === 1) continue
    const name = freeName(components, status)
    components[name] = answer
    for (const responses of found) responses[status] = { $ref: `#/components/responses/${name}` }
  }
  return components
}

function freeName(taken: Readonly<Record<string, object>>, status: string): string {
  let count = 1
  while ((count === 1 ? status : `${status}-${count}`) in taken) count++
  return count === 1 ? status : `${status}-${count}`
}
