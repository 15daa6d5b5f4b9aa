import type { Link } from '#link/link'
import { type CloseReason, closeCodes } from '#runtime/close-codes'
import type { World } from '#runtime/world'

/**
 * Which links were opened with which credentials: they end with them, whether a device said HELLO on them or not. Links
 * that needed none are not kept.
 */
export class Openings {
  /** By tenant, then by whose credentials. Nearly all are opened by one device, once: a set for each would be dear. */
  readonly #links = new Map<string, Map<string, Link | Set<Link>>>()

  add(link: Link): void {
    const name = nameOf(link)
    if (name === undefined) return
    const { tenant } = link.opening
    let names = this.#links.get(tenant)
    if (!names) {
      names = new Map()
      this.#links.set(tenant, names)
    }
    const there = names.get(name)
    if (there === undefined) names.set(name, link)
    else if (there instanceof Set) there.add(link)
    else names.set(name, new Set([there, link]))
  }

  remove(link: Link): void {
    const name = nameOf(link)
    const names = this.#links.get(link.opening.tenant)
    if (name === undefined || !names) return
    const there = names.get(name)
    if (there instanceof Set) there.delete(link)
    if (there === link || (there instanceof Set && there.size === 0)) names.delete(name)
    if (names.size === 0) this.#links.delete(link.opening.tenant)
  }

  ofDevice(tenant: string, device: string): Link[] {
    return listOf(this.#links.get(tenant)?.get(device))
  }

  ofKey(tenant: string, key: string): Link[] {
    return listOf(this.#links.get(tenant)?.get(keyName(key)))
  }

  ofTenant(tenant: string): Link[] {
    return [...(this.#links.get(tenant)?.values() ?? [])].flatMap(listOf)
  }

  countOf(tenant: string): number {
    let count = 0
    for (const there of this.#links.get(tenant)?.values() ?? []) count += there instanceof Set ? there.size : 1
    return count
  }

  all(): Link[] {
    return [...this.#links.keys()].flatMap((tenant) => this.ofTenant(tenant))
  }
}

function nameOf({ opening: { device, key } }: Link): string | undefined {
  return device ?? (key === undefined ? undefined : keyName(key))
}

/** As in credentials: no device can be called so. */
function keyName(key: string): string {
  return `*/${key}`
}

function listOf(links: Link | Set<Link> | undefined): Link[] {
  if (links === undefined) return []
  return links instanceof Set ? [...links] : [links]
}

/** Closing one takes some ten microseconds, and what follows from it as many again. */
const endedAtATime = 100

/** From now on nothing is taken from them. They are closed some at a time: there may be fifteen thousand. */
export function endAll(world: World, links: readonly Link[], reason: CloseReason = closeCodes.sessionOver): void {
  for (const link of links) link.stopTaking()
  endSome(world, links, reason)
}

function endSome(world: World, links: readonly Link[], reason: CloseReason): void {
  for (const link of links.slice(0, endedAtATime)) link.end(reason)
  const rest = links.slice(endedAtATime)
  if (rest.length > 0) world.soon(() => endSome(world, rest, reason))
}
