import { Fleet } from '#bench/fleet/fleet'
import type { FleetOptions } from '#bench/fleet/options'

/** The protocols and forms that a proof mixes: all at once against the same server. Devices per link: 1 = its own link. */
const ways: readonly (Partial<FleetOptions> & { readonly devicesPerLink: number })[] = [
  { protocol: 'json', form: 'long', devicesPerLink: 1 },
  { protocol: 'json', form: 'short', devicesPerLink: 10 },
  { protocol: 'msgpack', form: 'long', devicesPerLink: 10 },
  { protocol: 'msgpack', form: 'short', devicesPerLink: 1 },
  { protocol: 'json', form: 'long', session: 'none', devicesPerLink: 1 },
]

export interface ProofFleetOptions {
  /** In all. */
  readonly devices: number
  /** Changes a second in all. */
  readonly rate: number
  readonly seed: number
  /** A provisioning key. */
  readonly key: string
}

/** One fleet for each way, with device identifiers and chance of its own. */
export function proofFleets(serverUrl: string, { devices, rate, seed, key }: ProofFleetOptions): readonly Fleet[] {
  const share = Math.max(1, Math.round(devices / ways.length))
  return ways.map(({ devicesPerLink, ...options }, place) => {
    return new Fleet({
      ...options,
      url: serverUrl.replace(/^http/, 'ws'),
      devices: share,
      links: Math.ceil(share / devicesPerLink),
      rate: rate / ways.length,
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
