import type { Link } from '#link/link'
import { type CloseReason, closeCodes } from '#runtime/close-codes'
import type { World } from '#runtime/world'

/**
 * Open links by the credentials of their upgrade or MQTT sign-in. A link ends with its credentials, even before HELLO.
 * Links that needed no credentials are not listed.
 */
export class LinksByCredential {
  /**
   * By tenant, then by the owner of the credentials. Nearly all owners have one link: a Set for each would cost too
   * much memory.
   */
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
    const existing = names.get(name)
    if (existing === undefined) names.set(name, link)
    else if (existing instanceof Set) existing.add(link)
    else names.set(name, new Set([existing, link]))
  }

  remove(link: Link): void {
    const name = nameOf(link)
    const names = this.#links.get(link.opening.tenant)
    if (name === undefined || !names) return
    const existing = names.get(name)
    if (existing instanceof Set) existing.delete(link)
    if (existing === link || (existing instanceof Set && existing.size === 0)) names.delete(name)
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
    for (const existing of this.#links.get(tenant)?.values() ?? []) count += existing instanceof Set ? existing.size : 1
    return count
  }

  all(): Link[] {
    return [...this.#links.keys()].flatMap((tenant) => this.ofTenant(tenant))
  }
}

function nameOf({ opening: { device, key } }: Link): string | undefined {
  return device ?? (key === undefined ? undefined : keyName(key))
}

/** Differs from every device identifier, which contains no slash. */
function keyName(key: string): string {
  return `*/${key}`
}

function listOf(links: Link | Set<Link> | undefined): Link[] {
  if (links === undefined) return []
  return links instanceof Set ? [...links] : [links]
}

/** The number of links closed before other work runs. Each takes about 20 microseconds, with the consequences. */
const endedAtOnceMax = 100

/** Stops all these links at once, and closes them in portions: there may be fifteen thousand. */
export function endLinks(world: World, links: readonly Link[], reason: CloseReason = closeCodes.sessionOver): void {
  for (const link of links) link.stopAccepting()
  endPortion(world, links, reason)
}

function endPortion(world: World, links: readonly Link[], reason: CloseReason): void {
  for (const link of links.slice(0, endedAtOnceMax)) link.end(reason)
  const rest = links.slice(endedAtOnceMax)
  if (rest.length > 0) world.soon(() => endPortion(world, rest, reason))
}
