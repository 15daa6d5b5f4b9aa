import { amount, integer, matching, option } from '#bench/command-line'
import type { DeviceKind } from '#bench/fleet/kinds'
import { type UpdateMode, updateModes } from '#bench/fleet/updates'
import { type WriteMode, writeModes } from '#bench/fleet/writes'

export const fleetDefaults = {
  url: 'ws://127.0.0.1:8080',
  devices: 100,
  /** With as many links as devices, each device has its own link. With fewer, the links are gateways. */
  links: 100,
  rate: 1000,
  changes: 4,
  window: 64,
  storm: 0,
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
  /** Instead of the kinds that `flap` and `writes` describe. */
  readonly kinds?: readonly DeviceKind[]
}

/** The address of the server without the base path of the API; it may contain the path of a proxy. */
const serverAddress = /^wss?:\/\/[^/?#]+(\/[^?#]*[^/?#])?$/
const provisioningKey = /^([a-z0-9-]{1,63}\/)?[A-Za-z0-9._-]{1,200}$/
const secondsMax = 86_400

/** `FleetOptions` as options of a command. */
export const fleetOptions = {
  url: option('--url URL', 'the server', matching(serverAddress)),
  devices: option('--devices N', 'number of devices', integer(1, 100_000)),
  links: option(
    '--links N',
    'websockets; fewer than devices: gateways (default: as many as devices)',
    integer(1, 100_000),
  ),
  rate: option('--rate N', 'changes/s in all; 0: as fast as the windows allow', amount(10_000_000)),
  changes: option('--changes N', 'changes per frame', integer(1, 5)),
  window: option('--window N', 'unacknowledged frames per link', integer(1, 65_536)),
  storm: option('--storm S', 'every S seconds all links are cut and reconnect; 0: never', amount(secondsMax)),
  writes: option('--writes HOW', 'add a service Controls; how devices take writes').choices(writeModes),
  updates: option('--updates HOW', 'how devices take firmware').choices(updateModes),
  flap: option('--flap N', 'devices have a level that crosses 50 % every N frames; 0: none', integer(0, 1_000_000)),
  seed: option('--seed N', 'random seed', integer(0, 2 ** 32 - 1)),
  prefix: option('--prefix TEXT', 'prefix of the device identifiers', matching(/^[A-Z0-9]{1,16}$/)),
  key: option('--key KEY', 'provisioning key, if IAM is on; in another tenant: tenant/KEY', matching(provisioningKey)),
}

export const secondsOption = option('--seconds S', 'stop after this time; 0: at Ctrl-C', amount(secondsMax), 0)
