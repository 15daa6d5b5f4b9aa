import { Fleet } from '#bench/fleet/fleet'
import type { FleetOptions } from '#bench/fleet/options'

/** Protocols and forms that a proof mixes on the same server. Devices per link: 1 = its own link. */
const ways: readonly (Partial<FleetOptions> & { readonly devicesPerLink: number })[] = [
  { protocol: 'json', form: 'long', devicesPerLink: 1 },
  { protocol: 'json', form: 'short', devicesPerLink: 10 },
  { protocol: 'msgpack', form: 'long', devicesPerLink: 10 },
  { protocol: 'msgpack', form: 'short', devicesPerLink: 1 },
  { protocol: 'json', form: 'long', session: 'none', devicesPerLink: 1 },
]

export interface ProofFleetOptions {
  readonly devices: number
  readonly rate: number
  readonly seed: number
  readonly key: string
}

/** One fleet for each way, with its own device identifiers and seed. */
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
