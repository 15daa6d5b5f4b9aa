import type { Link, LinkedDevice } from '#link/link'
import { tenantKey } from '#model/tenant'
import { type CloseReason, closeCodes } from '#runtime/close-codes'
import type { World } from '#runtime/world'

/**
 * Take-overs of one device in a minute. Above this number, HELLO is refused, because two links use the same device.
 * Contract 7.
 */
export const takeOversMax = 10
const takeOverWindowMs = 60_000
/** Devices whose take-overs are counted. Above this number, counting starts again for all devices. */
const countedMax = 100_000

/** Finds the link that a device is on: the last link that sent HELLO for the device. */
export class DeviceLinks {
  readonly #world: World
  /** By tenant, then by device: a combined key would cost memory for each device. */
  readonly #linked = new Map<string, Map<string, LinkedDevice>>()
  /** Includes devices of closed links that are not yet removed. */
  size = 0
  readonly #takeOvers = new Map<string, { count: number; since: number }>()

  constructor(world: World) {
    this.#world = world
  }

  /** The devices of a closed link are offline at once, although they are removed one after another. */
  get(tenant: string, device: string): LinkedDevice | undefined {
    const linked = this.#linked.get(tenant)?.get(device)
    return linked?.link.isClosed ? undefined : linked
  }

  set(tenant: string, linked: LinkedDevice): void {
    let devices = this.#linked.get(tenant)
    if (!devices) {
      devices = new Map()
      this.#linked.set(tenant, devices)
    }
    if (!devices.has(linked.device)) this.size++
    devices.set(linked.device, linked)
  }

  /** Returns false if another link has the device by now. */
  delete(tenant: string, linked: LinkedDevice): boolean {
    const devices = this.#linked.get(tenant)
    if (devices?.get(linked.device) !== linked) return false
    this.size--
    return devices.delete(linked.device)
  }

  /** Counts a take-over. Returns true if there were too many lately. */
  isFlapping(tenant: string, device: string): boolean {
    const now = this.#world.monotonic()
    const key = tenantKey(tenant, device)
    const before = this.#takeOvers.get(key)
    if (before && now - before.since <= takeOverWindowMs) return ++before.count > takeOversMax
    if (this.#takeOvers.size >= countedMax) this.#takeOvers.clear()
    this.#takeOvers.set(key, { count: 1, since: now })
    return false
  }
}

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
