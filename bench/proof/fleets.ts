import { Fleet } from '#bench/fleet/fleet'
import type { FleetOptions } from '#bench/fleet/options'

/** The ways of speaking that a proof mixes: all at once against the same server. Devices per link: 1 = its own link. */
const ways: Readonly<Record<string, Partial<FleetOptions> & { readonly devicesPerLink: number }>> = {
  'json-long': { protocol: 'json', form: 'long', devicesPerLink: 1 },
  'json-short-gateway': { protocol: 'json', form: 'short', devicesPerLink: 10 },
  'msgpack-long-gateway': { protocol: 'msgpack', form: 'long', devicesPerLink: 10 },
  'msgpack-short': { protocol: 'msgpack', form: 'short', devicesPerLink: 1 },
  'json-long-no-session': { protocol: 'json', form: 'long', session: 'none', devicesPerLink: 1 },
}

export const fleetWays: readonly string[] = Object.keys(ways)

export interface ProofFleetOptions {
  /** Of `fleetWays`. */
  readonly ways: readonly string[]
  /** In all. */
  readonly devices: number
  /** Changes a second in all. */
  readonly rate: number
  readonly seed: number
  /** A provisioning key. */
  readonly key: string
}

/** One fleet for each way, with device identifiers and chance of its own. */
export function proofFleets(
  serverUrl: string,
  { ways: names, devices, rate, seed, key }: ProofFleetOptions,
): readonly Fleet[] {
  return names.map((name, place) => {
    const way = ways[name]
    if (!way) throw new RangeError(`no such way to speak: ${name}`)
    const { devicesPerLink, ...options } = way
    const share = Math.max(1, Math.round(devices / names.length))
    return new Fleet({
      ...options,
      url: serverUrl.replace(/^http/, 'ws'),
      devices: share,
      links: Math.ceil(share / devicesPerLink),
      rate: rate / names.length,
      changes: 2 + place,
      isRepeating: true,
      seed: seed + place,
      key,
      prefix: `F${place}`,
      backoffMsMin: 50,
      backoffMsMax: 400,
    })
  })
}
