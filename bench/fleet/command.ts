import { parseArgs } from 'node:util'
import { propertiesPerDeviceMax, propertiesPerDeviceMin } from '#bench/fleet/kinds'
import type { FleetOptions } from '#bench/fleet/options'
import { fleetDefaults } from '#bench/fleet/options'
import { updateManners } from '#bench/fleet/updates'
import { writeManners } from '#bench/fleet/writes'

/** The fleet's options and those of the command around it. */
export interface FleetCommand {
  readonly fleet: FleetOptions
  /** 0: until it is stopped. */
  readonly seconds: number
  /** Seconds at the start that no total counts. */
  readonly warmup: number
  readonly isJson: boolean
  readonly hasSchemas: boolean
  readonly isHelp: boolean
}

type Check = (text: string) => number | string | undefined

interface Flag {
  readonly name: string
  readonly value: string
  readonly standard: string
  readonly about: string
  /** The value, or nothing when the text is no good. */
  readonly read: Check
}

const between =
  (low: number, high: number): Check =>
  (text) => {
    const number = Number(text)
    return text !== '' && Number.isInteger(number) && number >= low && number <= high ? number : undefined
  }
const amount =
  (high: number): Check =>
  (text) => {
    const number = Number(text)
    return text !== '' && number >= 0 && number <= high ? number : undefined
  }
const oneOf =
  (...words: readonly string[]): Check =>
  (text) =>
    words.includes(text) ? text : undefined
const shaped =
  (pattern: RegExp): Check =>
  (text) =>
    pattern.test(text) ? text : undefined

const standard = fleetDefaults

/** Without the base path of the API; behind a proxy it may have a path of its own. */
const serverAddress = /^wss?:\/\/[^/?#]+(\/[^?#]*[^/?#])?$/

const flags: readonly Flag[] = [
  { name: 'url', value: 'URL', standard: standard.url, about: 'the server', read: shaped(serverAddress) },
  { name: 'devices', value: 'N', standard: String(standard.devices), about: '1 … 100000', read: between(1, 100_000) },
  {
    name: 'links',
    value: 'N',
    standard: 'devices',
    about: 'websockets; fewer than devices: gateways',
    read: between(1, 100_000),
  },
  {
    name: 'rate',
    value: 'N',
    standard: String(standard.rate),
    about: 'changes/s in all; 0: as fast as the windows allow',
    read: amount(10_000_000),
  },
  {
    name: 'changes',
    value: 'N',
    standard: String(standard.changes),
    about: 'changes per frame',
    read: between(1, 1024),
  },
  {
    name: 'properties',
    value: 'N',
    standard: String(standard.properties),
    about: 'properties per device',
    read: between(propertiesPerDeviceMin, propertiesPerDeviceMax),
  },
  {
    name: 'protocol',
    value: 'json|msgpack',
    standard: standard.protocol,
    about: 'of the link',
    read: oneOf('json', 'msgpack'),
  },
  { name: 'form', value: 'short|long', standard: standard.form, about: 'of UPDATE', read: oneOf('short', 'long') },
  {
    name: 'mix',
    value: 'numeric|mixed',
    standard: standard.mix,
    about: 'kinds of properties',
    read: oneOf('numeric', 'mixed'),
  },
  {
    name: 'window',
    value: 'N',
    standard: String(standard.window),
    about: 'unacknowledged frames per link',
    read: between(1, 65_536),
  },
  {
    name: 'burst',
    value: 'S',
    standard: '0',
    about: 'every S seconds a second of frames at once; 0: never',
    read: amount(86_400),
  },
  {
    name: 'storm',
    value: 'S',
    standard: '0',
    about: 'every S seconds all links are cut and reconnect; 0: never',
    read: amount(86_400),
  },
  {
    name: 'session',
    value: 'named|none',
    standard: standard.session,
    about: 'numbering over reconnects',
    read: oneOf('named', 'none'),
  },
  {
    name: 'writes',
    value: 'HOW',
    standard: standard.writes,
    about: `a service Controls, and how it takes writes: ${writeManners.join(', ')}`,
    read: oneOf(...writeManners),
  },
  {
    name: 'updates',
    value: 'HOW',
    standard: standard.updates,
    about: `how firmware is taken: ${updateManners.join(', ')}`,
    read: oneOf(...updateManners),
  },
  {
    name: 'flap',
    value: 'N',
    standard: String(standard.flap),
    about: 'every N frames of a device its level crosses 50 %; 0: it has none',
    read: between(0, 1_000_000),
  },
  { name: 'seed', value: 'N', standard: String(standard.seed), about: 'of chance', read: between(0, 2 ** 32 - 1) },
  {
    name: 'prefix',
    value: 'TEXT',
    standard: standard.prefix,
    about: 'of the device identifiers',
    read: shaped(/^[A-Z0-9]{1,16}$/),
  },
  {
    name: 'key',
    value: 'KEY',
    standard: 'none',
    about: 'a provisioning key, where the server has IAM on; of a tenant: tenant/KEY',
    read: shaped(/^([a-z0-9-]{1,63}\/)?[A-Za-z0-9._-]{1,200}$/),
  },
  { name: 'seconds', value: 'S', standard: '0', about: 'then stop; 0: until Ctrl-C', read: amount(86_400) },
  { name: 'warmup', value: 'S', standard: '0', about: 'seconds that do not count', read: amount(3_600) },
]

const switches: readonly (readonly [string, string])[] = [
  ['json', 'one JSON object a second, the totals last'],
  ['schemas', 'put the schemas of the services first, so that raw=false reads with names; IAM off only'],
  ['help', 'this page'],
]

/** Reads the command line; throws a `RangeError` with one line per mistake. */
export function readFleetCommand(args: readonly string[]): FleetCommand {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(flags.map(({ name }) => [name, { type: 'string' as const }])),
      ...Object.fromEntries(switches.map(([name]) => [name, { type: 'boolean' as const }])),
    },
  })
  const read: Record<string, number | string> = {}
  const mistakes: string[] = []
  for (const { name, value, about, read: check } of flags) {
    const text = values[name]
    if (typeof text !== 'string') continue
    const result = check(text)
    if (result === undefined) mistakes.push(`--${name} ${value}: ${about}; got '${text}'`)
    else read[name] = result
  }
  if (mistakes.length > 0) throw new RangeError(mistakes.join('\n'))
  const { seconds = 0, warmup = 0, ...fleet } = read
  const devices = (fleet.devices ?? standard.devices) as number
  return {
    fleet: { ...standard, links: devices, ...(fleet as Partial<FleetOptions>) },
    seconds: seconds as number,
    warmup: warmup as number,
    isJson: values.json === true,
    hasSchemas: values.schemas === true,
    isHelp: values.help === true,
  }
}

export function fleetHelp(): string {
  const rows = [
    ...flags.map((flag) => [`--${flag.name} ${flag.value}`, `${flag.about} (${flag.standard})`] as const),
    ...switches.map(([name, about]) => [`--${name}`, about] as const),
  ]
  const lines = rows.map(([left, right]) => `  ${left.padEnd(26)}${right}`)
  return ['Usage: npm run fleet -- [options]', '', 'A simulated fleet on the device link.', '', ...lines].join('\n')
}
