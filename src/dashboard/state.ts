import { client } from '#dashboard/session'

/** The live state of everything this session may see: one for the whole page, as long as somebody is signed in. */

let current: ReturnType<typeof client.state> | undefined

/** Made when first asked for. Only what is shown to somebody who is in asks for it. */
export function state(): ReturnType<typeof client.state> {
  current ??= client.state({ depth: 2 })
  return current
}

/** Forgets all that was seen: whoever signs in next may not see it. */
export function endState(): void {
  current?.close()
  current = undefined
}
