import type { SessionKind } from '#bench/fleet/device'
import type { UpdateManner } from '#bench/fleet/updates'
import type { LinkForm, LinkProtocol } from '#bench/fleet/wire'
import type { WriteManner } from '#bench/fleet/writes'

export interface FleetOptions {
  /** `ws://host:port` */
  readonly url: string
  readonly devices: number
  /** As many as devices: each has its own. Fewer: gateways. */
  readonly links: number
  /** Changes a second in all; 0: as fast as the windows allow. */
  readonly rate: number
  /** Per frame. */
  readonly changes: number
  readonly properties: number
  readonly protocol: LinkProtocol
  readonly form: LinkForm
  /** Unacknowledged frames on a link at most; the server's own window counts too. */
  readonly window: number
  /** Every so many seconds all links are cut and come back; 0: never. */
  readonly storm: number
  readonly session: SessionKind
  /** After each HELLO a device also says its last stored frame again, which the server must not apply twice. */
  readonly isRepeating: boolean
  /** How devices take WRITEs; `none`: they have nothing that could be written. */
  readonly writes: WriteManner
  /** How devices take FIRMWARE; `none`: as they refuse it. */
  readonly updates: UpdateManner
  /** A level crosses its threshold every so many frames of a device; 0: there is none. */
  readonly flap: number
  readonly seed: number
  /** In front of every device identifier, so that several fleets share a server. */
  readonly prefix: string
  readonly backoffMsMin: number
  readonly backoffMsMax: number
  /** A provisioning key, for a server with identity on, `acme/KEY` for one of tenant `acme`; empty: none. */
  readonly key: string
  /** Where a link comes from, by its first device; absent: from wherever it is. More than 28 000 need several. */
  readonly localAddressOf?: (device: number) => string
}

export const fleetDefaults: FleetOptions = {
  url: 'ws://127.0.0.1:8080',
  devices: 100,
  links: 100,
  rate: 1000,
  changes: 4,
  properties: 10,
  protocol: 'json',
  form: 'long',
  window: 64,
  storm: 0,
  session: 'named',
  isRepeating: false,
  writes: 'none',
  updates: 'none',
  flap: 0,
  seed: 1,
  prefix: 'SIM',
  backoffMsMin: 100,
  backoffMsMax: 5_000,
  key: '',
}
