import type { SessionKind } from '#bench/fleet/device'
import type { DeviceKind } from '#bench/fleet/kinds'
import type { UpdateMode } from '#bench/fleet/updates'
import type { LinkForm, LinkProtocol } from '#bench/fleet/wire'
import type { WriteMode } from '#bench/fleet/writes'

/** The command describes the options that it has (`command-line.ts`). */
export const fleetDefaults = {
  url: 'ws://127.0.0.1:8080',
  devices: 100,
  /** As many as devices: one link each. Fewer: gateways. */
  links: 100,
  rate: 1000,
  changes: 4,
  properties: 10,
  protocol: 'json' as LinkProtocol,
  form: 'long' as LinkForm,
  window: 64,
  storm: 0,
  session: 'named' as SessionKind,
  /** After each HELLO a device sends its last stored frame again, which the server must not apply twice. */
  isRepeating: false,
  writes: 'none' as WriteMode,
  updates: 'none' as UpdateMode,
  flap: 0,
  seed: 1,
  prefix: 'SIM',
  backoffMsMin: 100,
  backoffMsMax: 5_000,
  key: '',
}

export type FleetOptions = Readonly<typeof fleetDefaults> & {
  /** Local address of a link, by its first device: one address has only 28 000 ports. */
  /** Instead of the kinds that `properties`, `flap` and `writes` describe. */
  readonly kinds?: readonly DeviceKind[]
  readonly localAddressOf?: (device: number) => string
}
